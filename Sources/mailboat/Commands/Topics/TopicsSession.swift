import ArgumentParser
import CommandSupport
import KafkaLog
import PushWorker

/// One run of `mailboat topics`. Blocks: on a thread of its own.
struct TopicsSession: Sendable {
    private let plan: TopicPlan
    private let admin: KafkaAdmin
    private let brokers: String
    private let limit: Duration
    private let showsAll: Bool
    private let isJSON: Bool

    init(_ options: TopicsOptions, partitionCount: Int) throws {
        try self.init(
            options.cluster, partitionCount: partitionCount, replication: options.replication,
            minInsync: options.minInsync, limit: .seconds(options.timeout), showsAll: options.all,
            isJSON: options.format == .json)
    }

    init(
        _ cluster: ClusterOptions, partitionCount: Int = 64, replication: Int, minInsync: Int?, limit: Duration,
        showsAll: Bool = false, isJSON: Bool = false
    ) throws {
        // Consumer properties: an administrator is a client that neither reads nor writes.
        let settings = try cluster.settings(for: .consumer)
        let topics = try cluster.configuration().topics.planned
        self.plan = TopicPlan(
            topics: topics, partitionCount: partitionCount, replicationFactor: replication,
            inSyncReplicasMin: minInsync)
        self.brokers = try cluster.brokers()
        self.limit = limit
        self.showsAll = showsAll
        self.isJSON = isJSON
        do throws(KafkaError) {
            self.admin = try KafkaAdmin(settings, log: { _ in })
        } catch { throw ValidationError("\(error)") }
    }

    func create() throws {
        let missing = self.plan.missing(existing: try self.existing())
        if missing.isEmpty { self.remark("nothing to create: all \(self.plan.topics.count) topics exist") }
        var failureCount = 0
        for answer in try self.createTopics(missing) {
            if answer.error != nil { failureCount += 1 }
            let topic = missing.first { $0.name == answer.name }
            StandardOutput.print(
                self.isJSON ? TopicsTable.json(answer, topic) : TopicsTable.line(answer, topic))
        }
        if failureCount > 0 { throw ExitCode(1) }
        try self.waitUntilShown(missing)
        try self.check()
    }

    /// A cluster may say that a topic is created before its metadata shows it.
    private func waitUntilShown(_ created: [NewTopic]) throws {
        let clock = ContinuousClock()
        let beganAt = clock.now
        var wait = TopicWait(for: created, limitMillis: Int64(self.limit / .milliseconds(1)))
        let status = StatusLine()
        var toldAt: ContinuousClock.Instant?
        while true {
            let elapsed = clock.now - beganAt
            switch wait.looked(try self.existing(), elapsedMillis: Int64(elapsed / .milliseconds(1))) {
            case .done: return status.end()
            case .overdue(let missing):
                throw CommandFailure(
                    "created, but \(self.brokers) does not show \(missing.joined(separator: ", ")) after "
                        + "\(self.limit.components.seconds) s: run 'mailboat topics check' in a moment, or give a longer --timeout"
                )
            case .lookAgain(let afterMillis, let missing):
                status.show("waiting for the cluster to show \(missing.joined(separator: ", "))")
                if toldAt.map({ clock.now - $0 >= Self.tellDistance }) ?? (elapsed >= .seconds(1)) {
                    // It may be there and not for this client to see: then waiting does not help.
                    try self.nameHidden(Set(self.plan.topics.map(\.name)).subtracting(missing))
                    status.report(
                        "waiting for the cluster to show \(missing.joined(separator: ", ")) (\(elapsed.components.seconds) s)"
                    )
                    toldAt = clock.now
                }
                Sleeping.sleep(.milliseconds(afterMillis))
            }
        }
    }

    /// How often a wait that takes long says so to whoever does not watch.
    private static let tellDistance = Duration.seconds(5)

    private func createTopics(_ missing: [NewTopic]) throws -> [TopicAnswer] {
        do throws(KafkaError) {
            return try self.admin.createTopics(missing, within: self.limit)
        } catch  where error.code == .unsupportedFeature {
            throw CommandFailure(
                "\(self.brokers) cannot create topics: \(error.text). Start 'mailboat embedded-kafka' with --topic for each: "
                    + missing.map { "\($0.name):\($0.partitionCount)" }.joined(separator: " "))
        } catch { throw CommandFailure("\(self.brokers) cannot be asked to create topics: \(error)") }
    }

    /// What a look at all topics found.
    struct Findings {
        var findings: [TopicFinding]
        /// Why replication and settings could not be checked; `nil`: they were.
        var reasonUnknown: String?
    }

    func look() throws -> Findings {
        let existing = try self.existing()
        let present = Set(existing.map(\.name))
        let names = self.plan.topics.map(\.name).filter { present.contains($0) }
        var configurations: [String: [String: String]]?
        var reasonUnknown: String?
        do throws(KafkaError) {
            configurations = try self.configurations(names)
        } catch  where error.code == .unsupportedFeature {
            reasonUnknown = error.text
        } catch  where error.isRefusal && error.right == .describeConfigs {
            reasonUnknown = "\(error)"
        } catch { throw CommandFailure("\(self.brokers) cannot be asked for topic settings: \(error)") }
        try self.nameHidden(present)
        return Findings(
            findings: self.plan.check(existing: existing, configurations: configurations), reasonUnknown: reasonUnknown)
    }

    func check() throws {
        let looked = try self.look()
        let (findings, reasonUnknown) = (looked.findings, looked.reasonUnknown)
        for line in self.isJSON
            ? TopicsTable.json(findings, showsAll: self.showsAll)
            : TopicsTable.lines(findings, showsAll: self.showsAll)
        { StandardOutput.print(line) }
        self.remark(TopicsTable.summary(findings))
        if let reasonUnknown {
            self.remark("Not checked: replication and settings. \(self.brokers) does not tell: \(reasonUnknown).")
            self.remark("Checked: that the topics exist, and their partition counts.")
        }
        if findings.contains(where: { $0.verdict == .wrong }) { throw ExitCode(1) }
    }

    /// What is said about the lines: not among them where a program reads.
    private func remark(_ line: String) {
        if self.isJSON { StandardError.print(line) } else { StandardOutput.print(line) }
    }

    /// A topic that this client may not describe looks like none; the broker says so when it is asked for by name.
    private func nameHidden(_ present: Set<String>) throws {
        for name in self.plan.topics.map(\.name) where !present.contains(name) {
            do throws(KafkaError) {
                guard let refusal = try self.admin.refusal(toShow: name, within: self.limit) else { continue }
                throw refusal
            } catch { throw CommandFailure("\(self.brokers) does not show a topic: \(error)") }
        }
    }

    /// Asked again while the broker that answers has not heard of a topic that another one has shown.
    private func configurations(_ names: [String]) throws(KafkaError) -> [String: [String: String]] {
        let deadline = ContinuousClock.now + self.limit
        while true {
            do throws(KafkaError) {
                return try self.admin.topicConfigurations(names, within: self.limit)
            } catch {
                guard error.code == .unknownTopicOrPartition, ContinuousClock.now < deadline else { throw error }
            }
            Sleeping.sleep(.milliseconds(200))
        }
    }

    private func existing() throws -> [TopicDescription] {
        do throws(KafkaError) {
            return try self.admin.describeTopics(self.plan.topics.map(\.name), within: self.limit)
        } catch { throw CommandFailure("\(self.brokers) cannot be asked for its topics: \(error)") }
    }
}
