import KafkaLog
import Logging
import PushEngine
import PushModel
import PushTransport
import ShardLoop
import Synchronization
import Testing

@testable import PushWorker

/// Tests of what the committer commits and when, and of how it treats an answer.
@Suite struct CommitterTests {
    /// Records what the committer sends. The test decides the answers.
    private final class Group: Sendable {
        struct Sent {
            var positions: [TopicPartitionOffset]
            var answer: @Sendable (CommitResult) -> Void
        }
        let sent = Mutex<[Sent]>([])
        let isJoining = Mutex(false)
        func take() -> Sent? { self.sent.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    private static func make() -> (committer: Committer, group: Group) {
        let committer = Committer(
            inputTopics: ["events", "routed"], sessionTimeoutMillis: 100_000_000,
            logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let group = Group()
        committer.use(isJoining: { group.isJoining.withLock { $0 } }) { positions, answer in
            group.sent.withLock { $0.append(.init(positions: positions, answer: answer)) }
        }
        return (committer, group)
    }

    private static func start(_ offset: Int64) -> [CommitPosition] {
        [CommitPosition(topic: 0, partition: 3, nextOffset: offset)]
    }

    private static func position(_ partition: Int32 = 3, _ offset: Int64) -> CommitPosition {
        CommitPosition(topic: 0, partition: partition, nextOffset: offset)
    }

    private static func isHeld(_ committer: Committer) -> Bool {
        MachineClock.now().steadyMillis < committer.leaseEndsMillis
    }

    @Test func askingCommitsWhereReadingBeganUntilThereIsNews() throws {
        let (committer, group) = Self.make()
        committer.ask()
        #expect(group.take() == nil, "nothing is owned, nothing is asked")
        committer.own([3], starts: Self.start(40))
        committer.ask()
        let first = try #require(group.take())
        #expect(first.positions.map(\.description) == ["events[3]@40"])
        committer.ask()
        #expect(group.take() == nil, "one question at a time")
        #expect(!Self.isHeld(committer))
        first.answer(CommitResult(committed: first.positions, refused: []))
        #expect(Self.isHeld(committer))
        committer.add([Self.position(3, 57)])
        let second = try #require(group.take())
        second.answer(CommitResult(committed: second.positions, refused: []))
        committer.ask()
        #expect(try #require(group.take()).positions.first?.offset == 57, "never back")
    }

    @Test func aRefusalConfirmsNothing() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        committer.ask()
        let sent = try #require(group.take())
        sent.answer(
            CommitResult(
                committed: [], refused: sent.positions.map { .init(position: $0, error: KafkaError(code: .timedOut)) }))
        #expect(!Self.isHeld(committer))
        committer.ask()
        #expect(group.take() != nil, "asked again")
    }

    /// From the moment that a partition begins to leave, nothing is committed for it. A question about the membership
    /// does not name it either.
    @Test func aPartitionThatLeftIsNotAskedFor() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        _ = committer.take([3])
        committer.ask()
        #expect(group.take() == nil)
    }

    private static func refusal(_ sent: Group.Sent, _ code: KafkaError.Code) -> CommitResult {
        CommitResult(committed: [], refused: sent.positions.map { .init(position: $0, error: KafkaError(code: code)) })
    }

    /// During a rebalance the group refuses commits of the generation that has ended. The partition stays here, and its
    /// next event may be hours away. So its refused position must be committed again.
    @Test(arguments: [.rebalanceInProgress, .illegalGeneration, .unknownMember, .notCoordinator] as [KafkaError.Code])
    func whatWasRefusedIsCommittedAgain(code: KafkaError.Code) throws {
        let (committer, group) = Self.make()
        committer.own([3, 4], starts: Self.start(40))
        committer.add([Self.position(3, 57)])
        let first = try #require(group.take())
        first.answer(Self.refusal(first, code))
        #expect(group.take() == nil, "not at once: the cause is seldom gone in a moment")
        committer.add([Self.position(4, 8)])
        let second = try #require(group.take())
        #expect(Set(second.positions.map(\.description)) == ["events[3]@57", "events[4]@8"])
    }

    @Test func aRefusedPositionNeverReplacesANewerOne() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        committer.add([Self.position(3, 57)])
        let first = try #require(group.take())
        committer.add([Self.position(3, 60)])
        first.answer(Self.refusal(first, .rebalanceInProgress))
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [60])
    }

    /// A late refusal is ignored if the partition has left and come back meanwhile. Another worker may have committed a
    /// newer position.
    @Test func aRefusalOfAnEarlierOwnershipIsForgotten() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        committer.add([Self.position(3, 57)])
        let first = try #require(group.take())
        _ = committer.take([3])
        committer.own([3], starts: Self.start(90))
        first.answer(Self.refusal(first, .illegalGeneration))
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [90])
    }

    /// The group refuses one position because its topic is gone, and takes the other. So the worker is still a member.
    @Test func onePositionThatIsTakenConfirmsTheMembership() throws {
        let (committer, group) = Self.make()
        committer.own([3, 4], starts: Self.start(40))
        committer.add((3...4).map { Self.position($0, 50) })
        let sent = try #require(group.take())
        sent.answer(
            CommitResult(
                committed: [sent.positions[0]],
                refused: [.init(position: sent.positions[1], error: KafkaError(code: .unknownTopicOrPartition))]))
        #expect(Self.isHeld(committer))
    }

    /// Nothing is committed while the worker joins. The group would refuse the commit, and the worker would lose every
    /// partition.
    @Test func nothingIsSentWhileTheGroupIsJoined() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        group.isJoining.withLock { $0 = true }
        committer.add([Self.position(3, 57)])
        committer.ask()
        #expect(group.take() == nil)
        group.isJoining.withLock { $0 = false }
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [57])
    }

    /// Readiness names a missing right until a commit succeeds. A refusal because of a rebalance neither counts as a
    /// missing right nor hides one. A worker without partitions names none.
    @Test func aMissingRightIsKeptUntilACommitIsTaken() throws {
        let (committer, group) = Self.make()
        committer.own([3], starts: Self.start(40))
        let position = TopicPartitionOffset(topic: "events", partition: 3, offset: 40)
        func answer(_ code: KafkaError.Code?) throws {
            committer.ask()
            let sent = try #require(group.take())
            guard let code else { return sent.answer(CommitResult(committed: sent.positions, refused: [])) }
            let error = KafkaError(code: code, subject: .position(position)).needing(.read)
            sent.answer(CommitResult(committed: [], refused: [.init(position: position, error: error)]))
        }
        try answer(.rebalanceInProgress)
        #expect(committer.refusal == nil)
        try answer(nil)
        try answer(.topicAuthorizationFailed)
        #expect(committer.refusal?.remedy == "grant this client's user Read on the topic events")
        try answer(.rebalanceInProgress)
        #expect(committer.refusal?.code == .topicAuthorizationFailed)
        _ = committer.take([3])
        #expect(committer.refusal == nil)
        committer.own([3], starts: Self.start(40))
        #expect(committer.refusal?.code == .topicAuthorizationFailed)
        committer.add([Self.position(3, 41)])
        try #require(group.take()).answer(CommitResult(committed: [position], refused: []))
        #expect(committer.refusal == nil)
    }

    /// Only the answer that returns the lease wakes the shards. Further confirmations do not.
    @Test func theShardsAreToldWhenTheLeaseReturns() throws {
        let (committer, group) = Self.make()
        let returns = Mutex(0)
        committer.whenLeaseReturns { returns.withLock { $0 += 1 } }
        committer.own([3], starts: Self.start(40))
        for isConfirmed in [false, true, true] {
            committer.ask()
            let sent = try #require(group.take())
            sent.answer(
                isConfirmed
                    ? CommitResult(committed: sent.positions, refused: []) : Self.refusal(sent, .rebalanceInProgress))
        }
        #expect(returns.withLock { $0 } == 1)
    }
}
