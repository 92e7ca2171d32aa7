import CommandSupport
import Foundation
import KafkaLog
import PushWorker
import Synchronization

/// Topics and consumer groups of a row on an existing Kafka. Everything with the row's prefix is deleted afterwards.
final class RealBroker: Sendable {
    /// Prefix of the name of each topic and group. Nothing else has it.
    let prefix: String
    private let bootstrap: String
    private let topics: [TopicPlan.Topic]
    private let groups = Mutex<Set<String>>([])

    /// Time limit of each request. It also limits how long the cluster may take to show created topics and to hide
    /// deleted ones.
    private static let limit = Duration.seconds(20)
    /// How long the row tries to delete the groups. A killed member stays in its group until its session ends.
    private static let groupLimitMicros: Int64 = 60_000_000

    /// Creates the worker's five topics, and waits until the cluster shows them. They have the settings of `mailboat
    /// topics create`, and the broker's default number of replicas.
    init(bootstrap: String, partitionCount: Int) throws {
        let prefix = "mailboat-bench-\(String(UInt32.random(in: 0...UInt32.max), radix: 36))-"
        self.prefix = prefix
        self.bootstrap = bootstrap
        let plan = TopicPlan(
            topics: WorkerConfiguration().topics.planned.map { .init(prefix + $0.name, $0.role) },
            partitionCount: partitionCount, replicationFactor: -1)
        self.topics = plan.topics
        RealBrokers.add(self)
        do {
            let admin = try self.admin()
            let topics = plan.missing(existing: [])
            for answer in try admin.createTopics(topics, within: Self.limit) {
                if let error = answer.error { throw error }
            }
            // A cluster may report a topic as created before its metadata shows it.
            try admin.waitUntilShown(topics, within: Self.limit)
        } catch {
            try? self.remove()
            throw BenchmarkFailure("\(bootstrap): topics cannot be created: \(error)")
        }
    }

    private var topicNames: [String] { self.topics.map(\.name) }

    /// Lines of a worker's settings file that name the topics.
    var settings: [String] { self.topics.map { "topics.\($0.role.rawValue): \($0.name)" } }

    /// The name of a consumer group, which is deleted with the topics.
    func group(_ name: String) -> String {
        let name = self.prefix + name
        self.groups.withLock { _ = $0.insert(name) }
        return name
    }

    /// Deletes topics and groups, and waits until the cluster no longer shows the topics. Every client must have ended.
    /// A second call does nothing.
    /// - Throws: when something is left. The failure names it.
    func remove() throws {
        guard RealBrokers.take(self) else { return }
        let admin = try self.admin()
        for answer in try admin.deleteTopics(self.topicNames, within: Self.limit) {
            guard let error = answer.error, error.code != .unknownTopicOrPartition else { continue }
            throw BenchmarkFailure("\(self.bootstrap): the topic \(answer.name) is left: \(error.text)")
        }
        let deadline = Clock.nowMicros + Self.groupLimitMicros
        while let fault = try self.removeGroups(admin) {
            guard Clock.nowMicros < deadline else { throw BenchmarkFailure("\(self.bootstrap): \(fault)") }
            Clock.sleep(millis: 500)
        }
        // A KRaft broker shows a topic for a moment after it has reported the deletion.
        do { try admin.waitUntilGone(self.topicNames, within: Self.limit) } catch {
            throw BenchmarkFailure("\(self.bootstrap): deleted topics are left: \(error.text)")
        }
    }

    /// Deletes the groups.
    /// - Returns: which group is left, and why, or `nil` when none is.
    private func removeGroups(_ admin: KafkaAdmin) throws -> String? {
        let names = self.groups.withLock { $0.sorted() }
        for answer in try admin.deleteGroups(names, within: Self.limit) {
            // A group without any commit never existed.
            guard let error = answer.error, error.code != .groupIDNotFound else { continue }
            return "the group \(answer.name) is left: \(error.text)"
        }
        return nil
    }

    private func admin() throws -> KafkaAdmin {
        try KafkaAdmin(KafkaSettings(bootstrap: self.bootstrap), log: { _ in })
    }
}

/// Real brokers that have to be cleaned up, also when the benchmark is interrupted.
enum RealBrokers {
    private static let living = Mutex<[RealBroker]>([])

    static func add(_ broker: RealBroker) { self.living.withLock { $0.append(broker) } }

    static var isEmpty: Bool { self.living.withLock { $0.isEmpty } }

    /// Takes a broker off the list.
    /// - Returns: `false` when it was taken already.
    static func take(_ broker: RealBroker) -> Bool {
        self.living.withLock { living in
            guard let index = living.firstIndex(where: { $0 === broker }) else { return false }
            living.remove(at: index)
            return true
        }
    }

    /// Cleans up all brokers, and reports on standard error what could not be removed.
    static func removeAll() {
        for broker in self.living.withLock({ $0 }) {
            do { try broker.remove() } catch {
                StandardError.print("mailboat-bench: \(error)")
            }
        }
    }
}
