import KafkaLog
import PushEngine
import PushModel
import ShardLoop
import Testing

@testable import PushWorker

struct StartPositionsTests {
    private static func position(
        _ topic: String, committed: Int64?, metadata: String? = nil, low: Int64, end: Int64
    ) -> PartitionPositions {
        PartitionPositions(
            topicPartition: TopicPartition(topic: topic, partition: 3), committed: committed,
            committedMetadata: metadata, lowOffset: low, endOffset: end)
    }

    private static func starts(
        _ events: (committed: Int64?, low: Int64, end: Int64), _ routed: (committed: Int64?, low: Int64, end: Int64),
        from startFrom: WorkerConfiguration.StartFrom = .beginning
    ) -> StartPositions {
        StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: events.committed, low: events.low, end: events.end),
                Self.position("routed", committed: routed.committed, low: routed.low, end: routed.end),
            ], startFrom: startFrom)
    }

    @Test func whereTheGroupIsItGoesOn() {
        let start = Self.starts((12, 5, 20), (7, 7, 7))
        #expect(start.starts.map(\.nextOffset) == [12, 7])
        #expect(start.logEnds.map(\.nextOffset) == [20, 7])
        #expect(start.toCommit.isEmpty)
        #expect(start.haltReason == nil)
    }

    /// The metadata of a released partition's last commit has the time of the release. The next owner replaces that
    /// metadata at once.
    @Test(
        arguments: [
            ("mailboat released=1700000000123", nil, 1_700_000_000_123, [12]),
            ("mailboat-released=1700000000123", nil, 1_700_000_000_123, [12]),
            (nil, "mailboat released=1", nil, []), ("", nil, nil, []), ("somebody else's", nil, nil, []),
            ("mailboat at=3:4", nil, nil, []),
        ] as [(String?, String?, Int64?, [Int64])])
    func whatTheFormerOwnerSaidIsReadAndReplaced(
        driver: String?, routed: String?, released: Int64?, committed: [Int64]
    ) {
        let start = StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: 12, metadata: driver, low: 5, end: 20),
                Self.position("routed", committed: 7, metadata: routed, low: 7, end: 7),
            ], startFrom: .beginning)
        #expect(start.releasedWallMillis == released)
        #expect(start.toCommit.map(\.nextOffset) == committed)
        #expect(start.starts.map(\.nextOffset) == [12, 7])
    }

    @Test func aGroupThatNeverCommittedBeginsAsTold() {
        #expect(Self.starts((nil, 5, 20), (nil, 2, 9)).starts.map(\.nextOffset) == [5, 2])
        let end = Self.starts((nil, 5, 20), (nil, 2, 9), from: .end)
        // `routed` is read from its beginning. Its records were already taken from the input, so they must not be
        // skipped.
        #expect(end.starts.map(\.nextOffset) == [20, 2])
        // These offsets are committed when an owner is at work. An earlier commit would make an empty `state` look
        // lost.
        #expect(end.toCommit.isEmpty && end.toConfirm.map(\.nextOffset) == [20, 2])
    }

    /// A marker in `state` shows that an owner was at work, although Kafka has forgotten the group's offsets. So the
    /// input is read from its beginning, not from its end.
    @Test func aGroupThatStateKnowsNeverBeginsAtTheEnd() {
        var findings = LogFindings()
        findings.stateHasOwner = true
        let start = StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: nil, low: 5, end: 20),
                Self.position("routed", committed: nil, low: 2, end: 9),
            ], startFrom: .end, findings: findings)
        #expect(start.starts.map(\.nextOffset) == [5, 2])
    }

    /// The group's offsets of the input were deleted. Its offsets of `routed` still show that an owner was at work. So
    /// the input is read from its beginning, not from its end.
    @Test func offsetsOfOneTopicThatAreDeletedDoNotBeginAtTheEnd() {
        let start = StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: nil, low: 5, end: 20),
                Self.position("routed", committed: 7, metadata: "mailboat state=38", low: 7, end: 7),
            ], startFrom: .end)
        #expect(start.starts.map(\.nextOffset) == [5, 7])
    }

    /// Cases: the record at offset 11 of the input, the end of `state`, the end that an operator accepted, and parts of
    /// the expected reason.
    @Test(
        arguments: [
            (.record(millis: 110), 40, nil, []), (.record(millis: 111), 40, nil, ["events is another one"]),
            (.nothing, 40, nil, []), (.nothing, 39, nil, ["lost records"]), (.nothing, 39, 40, []),
            (.nothing, nil, nil, []),
            (
                .record(millis: 111), 0, 7,
                ["events is another one", "lost records", "offsets reset", "accept-empty"]
            ),
        ] as [(LogIdentity.Found, Int64?, Int64?, [String])])
    func anotherLogHaltsThePartition(
        found: LogIdentity.Found, stateLogEnd: Int64?, acceptedEnd: Int64?, reasons: [String]
    ) {
        var findings = LogFindings()
        findings.found[0] = found
        findings.stateLogEnd = stateLogEnd
        findings.acceptedStateEnd = acceptedEnd
        let start = StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: 12, metadata: "mailboat at=11:110 state=40", low: 5, end: 20),
                Self.position("routed", committed: 7, metadata: "mailboat state=38", low: 7, end: 7),
            ], startFrom: .beginning, findings: findings, stateTopic: "state")
        #expect((start.haltReason == nil) == reasons.isEmpty)
        for reason in reasons { #expect(start.haltReason?.contains(reason) == true) }
    }

    /// A partition halts if `state` begins later than the group's commits say, unless an operator has accepted that. A
    /// running partition commits the present beginning of `state`. A halted one keeps the committed beginning.
    @Test(
        arguments: [
            (3, nil, nil, 3), (2, nil, nil, 2), (4, nil, "begins at offset 4, and began at 3", 3), (4, 40, nil, 4),
        ]
            as [(Int64, Int64?, String?, Int64)])
    func aHeadThatWasCutHaltsThePartition(
        stateLogStart: Int64, acceptedEnd: Int64?, reason: String?, told: Int64
    ) throws {
        var findings = LogFindings()
        findings.stateLogStart = stateLogStart
        findings.stateLogEnd = 40
        findings.acceptedStateEnd = acceptedEnd
        let positions = [
            Self.position("events", committed: 12, metadata: "mailboat state=40 from=3", low: 5, end: 20),
            Self.position("routed", committed: 7, metadata: "mailboat state=38 from=3", low: 7, end: 7),
        ]
        let plan = AssignmentPlan(
            partitions: [3], topics: ["events", "routed"],
            positions: Dictionary(uniqueKeysWithValues: positions.map { ($0.topicPartition, $0) }),
            startFrom: .beginning, findings: [3: findings], stateTopic: "state", shardCount: 1, hasQueues: { _ in true }
        )
        let grant = try #require(plan.grants[0]?.first)
        #expect((grant.haltReason == nil) == (reason == nil))
        #expect(grant.haltReason?.contains(reason ?? "") ?? true)
        #expect(plan.metadata.map(\.metadata.stateStart) == [told, told])
    }

    /// When a topic is deleted, Kafka also deletes the group's offsets for it. The commits of other topics remain, and
    /// their metadata names a position in the deleted topic. As soon as the new topic has a commit of its own, that
    /// position is ignored.
    @Test(
        arguments: [
            (nil, nil, 20, true), (nil, nil, 4, true), (0, "mailboat new-log", 20, false), (3, nil, 20, false),
        ] as [(Int64?, String?, Int64, Bool)])
    func aTopicMadeAnewIsKnownByTheOthers(committed: Int64?, metadata: String?, end: Int64, halts: Bool) {
        var findings = LogFindings()
        if end > 11 { findings.found[0] = .record(millis: 111) }
        let start = StartPositions(
            partition: 3,
            positions: [
                Self.position("events", committed: committed, metadata: metadata, low: 0, end: end),
                Self.position("routed", committed: 7, metadata: "mailboat of=events:11:110", low: 7, end: 7),
            ], startFrom: .beginning, findings: findings)
        #expect((start.haltReason != nil) == halts)
    }

    /// Offsets of the input that an operator set by hand do not prove that an owner was at work.
    @Test(
        arguments: [
            ("mailboat state=40", "mailboat state=38", 40), (nil, "mailboat state=38", nil),
            ("mailboat new-log", "mailboat state=38", nil), ("mailboat-released=5", nil, nil),
        ] as [(String?, String?, Int64?)])
    func offsetsSetByHandBeginOnAnEmptyState(events: String?, routed: String?, stateEnd: Int64?) {
        let positions = [
            Self.position("events", committed: 12, metadata: events, low: 5, end: 20),
            Self.position("routed", committed: 7, metadata: routed, low: 7, end: 7),
        ]
        let start = StartPositions(partition: 3, positions: positions, startFrom: .beginning)
        #expect(start.stateEnd == stateEnd)
        #expect(start.isOfNewLog == (events == "mailboat new-log"))
    }

    @Test(arguments: [4, 21] as [Int64])
    func aPositionOutsideTheLogHaltsThePartition(committed: Int64) throws {
        let start = Self.starts((committed, 5, 20), (nil, 0, 0))
        let reason = try #require(start.haltReason)
        #expect(reason.contains("\(committed)") && reason.contains("events[3]") && reason.contains("5 to 20"))
        #expect(reason.contains("mailboat offsets reset"))
    }

    /// The input's records at the worker's position were deleted while the worker runs. The reason says how to reset
    /// the offsets. For `state` it does not, because `state` is read from its beginning.
    @Test func aPositionCutOffWhileRunningSaysWhatToDo() throws {
        let failure = PartitionFailure.offsetOutOfRange(
            TopicPartitionOffset(topic: "events", partition: 3, offset: 7), text: "Broker: Offset out of range")
        let reason = try #require(failure.inputHaltReason)
        #expect(reason.contains("events[3]@7") && reason.contains("mailboat offsets reset"))
        #expect(reason.contains("stop the group's workers") && reason.contains("start them again"))
        #expect(failure.haltReason?.contains("offsets reset") == false)
    }

    @Test func aMissingRightSaysWhatToGrant() throws {
        let partition = TopicPartition(topic: "events", partition: 3)
        let error = KafkaError(code: .topicAuthorizationFailed, subject: .partition(partition)).needing(.read)
        let reason = try #require(PartitionFailure.failed(partition, error).inputHaltReason)
        #expect(reason.contains("grant this client's user Read on the topic events; then start the worker again"))
        #expect(PartitionFailure.failed(partition, KafkaError(code: .transport)).inputHaltReason == nil)
    }

    @Test(arguments: [5, 20] as [Int64])
    func bothEndsAreInside(committed: Int64) { #expect(Self.starts((committed, 5, 20), (nil, 0, 0)).haltReason == nil) }
}

struct TopicCheckTests {
    private static func topics(_ counts: [String: Int]) -> TopicCheck.Verdict {
        let topics = WorkerConfiguration().topics
        return TopicCheck.judge(
            topics.all.compactMap { name in
                let count = counts[name] ?? 8
                return count < 0 ? nil : TopicDescription(name: name, partitionCount: count, replicationFactor: 1)
            }, topics: topics)
    }

    @Test func equalCountsAreGood() { #expect(Self.topics([:]) == .agreed(partitionCount: 8)) }

    /// Outcomes and dead letters may have any number of partitions.
    @Test func othersMayDiffer() {
        #expect(
            Self.topics(["liveactivity.outcomes": 1, "liveactivity.dead-letters": 3]) == .agreed(partitionCount: 8))
    }

    @Test(arguments: [
        "liveactivity.events", "liveactivity.routed", "liveactivity.state", "liveactivity.outcomes",
        "liveactivity.dead-letters",
    ])
    func aMissingTopicIsNamed(name: String) {
        guard case .faults(let faults) = Self.topics([name: -1]) else { Issue.record("nothing was found"); return }
        #expect(faults.count == 1 && faults[0].contains(name))
    }

    /// A cluster hides topics that the client has no right to describe. The fault names the rights to grant.
    @Test(arguments: [
        ("liveactivity.events", "Read"), ("liveactivity.routed", "Read and Write"),
        ("liveactivity.state", "Read and Write"),
        ("liveactivity.outcomes", "Write"), ("liveactivity.dead-letters", "Write"),
    ])
    func aHiddenTopicSaysWhatToGrant(name: String, rights: String) {
        let topics = WorkerConfiguration().topics
        let shown = topics.all.filter { $0 != name }.map {
            TopicDescription(name: $0, partitionCount: 8, replicationFactor: 1)
        }
        #expect(
            TopicCheck.judge(shown, hidden: [name], topics: topics)
                == .faults(["this client's user may not see the topic \(name): grant it \(rights) on it"]))
    }

    @Test(arguments: ["liveactivity.events", "liveactivity.routed", "liveactivity.state"])
    func differentCountsAreNamed(name: String) {
        guard case .faults(let faults) = Self.topics([name: 4]) else { Issue.record("nothing was found"); return }
        #expect(faults.count == 1 && faults[0].contains("\(name) has 4") && faults[0].contains("has 8"))
    }

    /// A wrong setting is a fault if a promise depends on it. A wrong setting that is only recommended does not keep a
    /// worker from starting.
    @Test(arguments: [
        ("liveactivity.state", "cleanup.policy", "delete", true),
        ("liveactivity.state", "min.compaction.lag.ms", "0", true),
        ("liveactivity.events", "retention.ms", "60000", true),
        ("liveactivity.state", "segment.ms", "604800000", false),
        ("liveactivity.events", "min.insync.replicas", "1", false),
    ])
    func aSettingThatAPromiseRestsOnIsNamed(topic: String, setting: String, value: String, isFault: Bool) {
        let topics = WorkerConfiguration().topics
        let found = topics.all.map { TopicDescription(name: $0, partitionCount: 8, replicationFactor: 1) }
        var configurations: [String: [String: String]] = [:]
        for topic in topics.planned {
            configurations[topic.name] = Dictionary(
                topic.role.rules.map { ($0.name, $0.createdValue) }, uniquingKeysWith: { first, _ in first })
        }
        #expect(TopicCheck.settingFaults(found, configurations: configurations, topics: topics).isEmpty)
        configurations[topic]?[setting] = value
        let faults = TopicCheck.settingFaults(found, configurations: configurations, topics: topics)
        #expect(faults.count == (isFault ? 1 : 0))
        #expect(faults.allSatisfy { $0.hasPrefix("\(setting) of the topic \(topic) is \(value), expected ") })
    }

    /// `routed` and `state` may have more partitions than `events`. The count in the markers of `state` decides, and a
    /// check of settings does not read the markers.
    @Test func moreRoutedAndStatePartitionsAreNoFaultOfASetting() {
        let topics = WorkerConfiguration().topics
        var configurations: [String: [String: String]] = [:]
        for topic in topics.planned {
            configurations[topic.name] = Dictionary(
                topic.role.rules.map { ($0.name, $0.createdValue) }, uniquingKeysWith: { first, _ in first })
        }
        let found = topics.all.map {
            TopicDescription(
                name: $0, partitionCount: [topics.routed, topics.state].contains($0) ? 9 : 8, replicationFactor: 1)
        }
        #expect(TopicCheck.settingFaults(found, configurations: configurations, topics: topics).isEmpty)
    }

    @Test func noPartitionsIsNoTopic() {
        let none = Dictionary(uniqueKeysWithValues: WorkerConfiguration().topics.all.map { ($0, 0) })
        guard case .faults = Self.topics(none) else { Issue.record("nothing was found"); return }
    }
}

struct AssignmentPlanTests {
    private static let topics = ["events", "routed"]

    /// A plan for partitions 0 to 4. The last digit of a committed offset, and of the end of a log, is the partition's
    /// number. The group has never committed in partition 3.
    private static func plan(
        startFrom: WorkerConfiguration.StartFrom = .beginning, missingQueueOf missing: Int32? = nil
    ) -> AssignmentPlan {
        var positions: [TopicPartition: PartitionPositions] = [:]
        for number in 0..<Int32(5) {
            for topic in Self.topics {
                let key = TopicPartition(topic: topic, partition: number)
                positions[key] = PartitionPositions(
                    topicPartition: key, committed: number == 3 ? nil : 10 + Int64(number), committedMetadata: nil,
                    lowOffset: 0, endOffset: 100 + Int64(number))
            }
        }
        return AssignmentPlan(
            partitions: [0, 1, 2, 3, 4], topics: Self.topics, positions: positions, startFrom: startFrom,
            shardCount: 2, hasQueues: { $0 != missing })
    }

    @Test func eachPartitionGoesToItsShard() {
        let plan = Self.plan()
        #expect(plan.grants[0]?.map(\.number) == [0, 2, 4])
        #expect(plan.grants[1]?.map(\.number) == [1, 3])
        #expect(plan.grants[0]?[1].starts.map(\.nextOffset) == [12, 12])
        #expect(plan.grants[0]?[1].logEnds.map(\.nextOffset) == [102, 102])
    }

    /// Kafka, the committer and the shard must begin at the same offset.
    @Test func allAreToldTheSameBeginning() {
        let plan = Self.plan()
        #expect(plan.starts.count == 10 && plan.toRead.count == 10)
        for position in plan.toRead {
            let key = TopicPartition(topic: Self.topics[Int(position.topic)], partition: position.partition)
            #expect(plan.starts[key] == position.nextOffset)
        }
        #expect(plan.starts[TopicPartition(topic: "events", partition: 3)] == 0)
        #expect(plan.toCommit.isEmpty)
    }

    /// A partition that begins at the end of the input commits that offset once the owner is at work. A worker killed
    /// before that leaves no commit that would make `state` look lost.
    @Test func aBeginningAtTheEndIsCommitted() {
        let plan = Self.plan(startFrom: .end)
        #expect(plan.toCommit.isEmpty)
        #expect(plan.toConfirm.filter { $0.partition == 3 }.map(\.nextOffset) == [103, 0])
    }

    @Test func aPartitionThatCannotBeReadIsHalted() {
        let grants = Self.plan(missingQueueOf: 2).grants
        #expect(grants[0]?.map { $0.haltReason != nil } == [false, true, false])
    }
}
