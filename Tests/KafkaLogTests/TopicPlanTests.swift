import KafkaLog
import Testing

struct TopicPlanTests {
    private static let plan = TopicPlan(
        topics: [
            .init("events", .events), .init("routed", .routed), .init("state", .state), .init("outcomes", .outcomes),
            .init("dead", .deadLetters),
        ],
        partitionCount: 12, replicationFactor: 3)

    private static func described(_ new: NewTopic) -> TopicDescription {
        TopicDescription(name: new.name, partitionCount: new.partitionCount, replicationFactor: new.replicationFactor)
    }

    @Test func whatIsCreatedPassesTheCheck() {
        let new = Self.plan.missing(existing: [])
        #expect(new.map(\.name) == ["events", "routed", "state", "outcomes", "dead"])
        #expect(
            new.allSatisfy {
                $0.partitionCount == 12 && $0.replicationFactor == 3 && $0.configuration["min.insync.replicas"] == "2"
            })
        #expect(new[2].configuration["cleanup.policy"] == "compact")
        #expect(new[2].configuration["min.compaction.lag.ms"] == "1800000")
        let findings = Self.plan.check(
            existing: new.map(Self.described),
            configurations: Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0.configuration) }))
        #expect(findings.filter { $0.verdict != .right } == [])
        #expect(Self.plan.missing(existing: new.map(Self.described)).isEmpty)
    }

    @Test func whatIsOnlyAdvisedCanBeLeftOut() throws {
        var plan = Self.plan
        plan.isRequiredOnly = true
        let new = plan.missing(existing: [])
        let state = try #require(new.first { $0.name == "state" })
        #expect(
            Set(state.configuration.keys) == [
                "cleanup.policy", "min.compaction.lag.ms", "max.message.bytes", "unclean.leader.election.enable",
            ])
        #expect(try #require(new.first { $0.name == "outcomes" }).configuration == ["cleanup.policy": "delete"])
        let findings = plan.check(
            existing: new.map(Self.described),
            configurations: Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0.configuration) }))
        #expect(!findings.contains { $0.verdict == .wrong })
        // A new topic gets the number of in-sync replicas that the operator chose, even with `isRequiredOnly`.
        var chosen = TopicPlan(topics: plan.topics, replicationFactor: 3, inSyncReplicasMin: 2)
        chosen.isRequiredOnly = true
        #expect(chosen.missing(existing: []).allSatisfy { $0.configuration["min.insync.replicas"] == "2" })
    }

    @Test func singleSettingsCanBeLeftOut() throws {
        var plan = Self.plan
        plan.leftOut = ["segment.bytes", "min.insync.replicas"]
        let all = Self.plan.missing(existing: [])
        let some = plan.missing(existing: [])
        for (whole, lacking) in zip(all, some) {
            #expect(lacking.configuration == whole.configuration.filter { !plan.leftOut.contains($0.key) })
        }
        #expect(plan.leftOut.isSubset(of: TopicPlan.createdSettings))
        #expect(all.allSatisfy { Set($0.configuration.keys).isSubset(of: TopicPlan.createdSettings) })
        #expect(!TopicPlan.requiredSettings.contains("segment.bytes"))
        #expect(TopicPlan.requiredSettings.contains("cleanup.policy"))
    }

    @Test func missingTopicsTakeTheCountThatExists() {
        let new = Self.plan.missing(existing: [TopicDescription(name: "state", partitionCount: 7, replicationFactor: 1)]
        )
        #expect(new.map(\.partitionCount) == [7, 7, 7, 7])
        let findings = Self.plan.check(
            existing: [
                .init(name: "events", partitionCount: 8, replicationFactor: 3),
                .init(name: "state", partitionCount: 7, replicationFactor: 3),
            ],
            configurations: nil)
        let counts = findings.filter { $0.setting == "partitions" }
        #expect(counts.map(\.verdict) == [.poor, .right])
        #expect(counts[0].value == "8" && counts[0].expected == "7")
        #expect(findings.filter { $0.setting == "exists" }.map(\.topic) == ["routed", "outcomes", "dead"])
    }

    /// Partitions that were added to some topics cause a warning. Missing partitions are an error.
    @Test(arguments: [
        (3, 2, 2, [TopicFinding.Verdict.poor, .right, .right]), (2, 3, 2, [.right, .poor, .right]),
        (2, 2, 3, [.right, .right, .poor]), (3, 3, 3, [.right, .right, .right]), (1, 2, 2, [.wrong, .right, .right]),
    ])
    func partitionsThatWereAddedAreWarnedOf(events: Int, routed: Int, state: Int, verdicts: [TopicFinding.Verdict]) {
        let findings = Self.plan.check(
            existing: [
                .init(name: "events", partitionCount: events, replicationFactor: 3),
                .init(name: "routed", partitionCount: routed, replicationFactor: 3),
                .init(name: "state", partitionCount: state, replicationFactor: 3),
            ], configurations: nil
        ).filter { $0.setting == "partitions" }
        #expect(findings.map(\.verdict) == verdicts)
        for finding in findings where finding.verdict == .poor {
            #expect(finding.reason.contains(finding.topic == "events" ? "forwarded" : "not used"))
        }
    }

    @Test(arguments: [
        ("state", "cleanup.policy", "compact,delete", TopicFinding.Verdict.wrong),
        ("state", "min.compaction.lag.ms", "0", .wrong),
        ("state", "min.compaction.lag.ms", "3600000", .right), ("state", "segment.bytes", "1073741824", .poor),
        ("state", "max.compaction.lag.ms", "9223372036854775807", .poor), ("events", "retention.ms", "3600000", .wrong),
        ("events", "retention.ms", "-1", .right), ("events", "retention.bytes", "1000000", .poor),
        ("events", "max.message.bytes", "10000", .wrong),
        ("events", "min.insync.replicas", "1", .poor), ("outcomes", "retention.ms", "60000", .poor),
        ("dead", "cleanup.policy", "compact", .wrong),
        ("state", "unclean.leader.election.enable", "true", .wrong),
    ])
    func settingsAreJudged(topic: String, setting: String, value: String, verdict: TopicFinding.Verdict) {
        let new = Self.plan.missing(existing: [])
        var configurations = Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0.configuration) })
        configurations[topic]?[setting] = value
        let finding = Self.plan.check(existing: new.map(Self.described), configurations: configurations).first {
            $0.topic == topic && $0.setting == setting
        }
        #expect(finding?.verdict == verdict)
        #expect(finding?.value == value)
    }

    /// If a cluster limits record times, the limits are checked. Mailboat creates no such limits.
    @Test(arguments: [
        ("routed", "3600000", TopicFinding.Verdict.poor), ("routed", "9223372036854775807", .right),
        ("outcomes", "86400000", .right), ("state", "1000", .poor),
    ])
    func boundsOnTimesAreKnown(topic: String, millis: String, verdict: TopicFinding.Verdict) {
        let new = Self.plan.missing(existing: [])
        let setting = "message.timestamp.before.max.ms"
        var configurations = Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0.configuration) })
        func finding() -> TopicFinding? {
            Self.plan.check(existing: new.map(Self.described), configurations: configurations).first {
                $0.topic == topic && $0.setting == setting
            }
        }
        #expect(finding() == nil)
        configurations[topic]?[setting] = millis
        #expect(finding()?.verdict == verdict)
        configurations[topic]?["message.timestamp.type"] = "LogAppendTime"
        #expect(finding() == nil)
    }

    @Test func outcomesAreAskedForTheirSize() {
        let new = Self.plan.missing(existing: [])
        var configurations = Dictionary(uniqueKeysWithValues: new.map { ($0.name, $0.configuration) })
        configurations["outcomes"]?["max.message.bytes"] = "1000"
        let findings = Self.plan.check(existing: new.map(Self.described), configurations: configurations)
        #expect(findings.filter { $0.verdict != .right }.map(\.setting) == ["max.message.bytes"])
        #expect(findings.first { $0.verdict != .right }?.verdict == .poor)
    }

    @Test func aClusterThatDoesNotTellIsNotCalledRight() {
        let existing = Self.plan.missing(existing: []).map(Self.described)
        let verdicts = Self.plan.check(existing: existing, configurations: nil).filter { $0.setting != "partitions" }
            .map(\.verdict)
        #expect(Set(verdicts) == [.unknown])
    }

    @Test func oneReplicaNeedsNoSecondInSync() {
        #expect(TopicPlan(topics: [], replicationFactor: 1).inSyncReplicasMin == 1)
        #expect(TopicPlan(topics: [], replicationFactor: 3, inSyncReplicasMin: 3).inSyncReplicasMin == 3)
    }
}
