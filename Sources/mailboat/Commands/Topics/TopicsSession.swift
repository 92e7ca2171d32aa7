import ArgumentParser
import CommandSupport
import KafkaLog
import PushWorker

/// One run of `mailboat topics`. Blocks: use a thread of its own.
struct TopicsSession: Sendable {
    let plan: TopicPlan
    let admin: KafkaAdmin
    let brokers: String
    private let cluster: ClusterOptions
    let limit: Duration
    private let showsAll: Bool
    let isJSON: Bool

    /// Creates a session.
    /// - Parameters:
    ///   - isRequiredOnly: whether new topics get only the settings that a promise depends on.
    ///   - leftOut: Kafka's names of settings that new topics do not get.
    init(
        _ options: TopicsOptions, partitionCount: Int, isRequiredOnly: Bool = false, leftOut: Set<String> = []
    ) throws {
        try self.init(
            options.cluster, partitionCount: partitionCount, replication: options.replication,
            minInsync: options.minInsync, limit: .seconds(options.timeout), showsAll: options.all,
            isJSON: options.format == .json, isRequiredOnly: isRequiredOnly, leftOut: leftOut)
    }

    init(
        _ cluster: ClusterOptions, partitionCount: Int = 64, replication: Int, minInsync: Int?, limit: Duration,
        showsAll: Bool = false, isJSON: Bool = false, isRequiredOnly: Bool = false, leftOut: Set<String> = []
    ) throws {
        // An administrator has no properties of its own, so use those of a consumer.
        let settings = try cluster.settings(for: .consumer)
        let topics = try cluster.configuration().topics.planned
        var plan = TopicPlan(
            topics: topics, partitionCount: partitionCount, replicationFactor: replication,
            inSyncReplicasMin: minInsync)
        plan.isRequiredOnly = isRequiredOnly
        plan.leftOut = leftOut
        self.plan = plan
        self.brokers = try cluster.brokers()
        self.cluster = cluster
        self.limit = limit
        self.showsAll = showsAll
        self.isJSON = isJSON
        do throws(KafkaError) {
            self.admin = try KafkaAdmin(settings, log: { _ in })
        } catch { throw ValidationError("\(error)") }
    }

    /// The result of a look at all topics.
    struct Findings {
        var findings: [TopicFinding]
        /// Why replication and settings could not be checked; `nil`: they were checked.
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
            self.remark(
                "Not checked: replication and settings. \(self.brokers) does not report them: \(reasonUnknown).")
            self.remark("Checked: that the topics exist, and their partition counts.")
        }
        if findings.contains(where: { $0.verdict == .wrong }) { throw ExitCode(1) }
    }

    /// Prints a remark. It is not among the lines that a program reads.
    func remark(_ line: String) {
        if self.isJSON { StandardError.print(line) } else { StandardOutput.print(line) }
    }

    /// Names hidden topics. A topic that this client may not describe looks missing; the broker says so when asked for
    /// it by name.
    func nameHidden(_ present: Set<String>) throws {
        for name in self.plan.topics.map(\.name) where !present.contains(name) {
            do throws(KafkaError) {
                guard let refusal = try self.admin.refusal(toShow: name, within: self.limit) else { continue }
                throw refusal
            } catch { throw CommandFailure("\(self.brokers) does not show a topic: \(error)") }
        }
    }

    /// Reads the topics' configurations. Asks again if the answering broker does not yet know a topic that another
    /// broker has shown.
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

    func existing() throws -> [TopicDescription] {
        try self.cluster.ask("for its topics", within: self.limit) { () throws(KafkaError) -> [TopicDescription] in
            try self.admin.describeTopics(self.plan.topics.map(\.name), within: self.limit)
        }
    }
}
