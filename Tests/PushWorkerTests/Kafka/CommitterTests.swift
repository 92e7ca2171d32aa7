import KafkaLog
import Logging
import PushEngine
import PushModel
import Synchronization
import Testing

@testable import PushWorker

/// What is committed when, and what an answer means.
@Suite struct CommitterTests {
    /// What the committer sends, and a hand on its answers.
    private final class Group: Sendable {
        struct Sent {
            var positions: [TopicPartitionOffset]
            var answer: @Sendable (CommitResult) -> Void
        }
        let sent = Mutex<[Sent]>([])
        let isJoining = Mutex(false)
        func take() -> Sent? { self.sent.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    private static func make() -> (committer: Committer, lease: OwnershipLease, group: Group) {
        let lease = OwnershipLease(sessionTimeoutMillis: 100_000_000)
        let committer = Committer(
            lease: lease, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let group = Group()
        committer.use(isJoining: { group.isJoining.withLock { $0 } }) { positions, answer in
            group.sent.withLock { $0.append(.init(positions: positions, answer: answer)) }
        }
        return (committer, lease, group)
    }

    private static let start = TopicPartition(topic: "events", partition: 3)

    @Test func askingCommitsWhereReadingBeganUntilThereIsNews() throws {
        let (committer, lease, group) = Self.make()
        committer.ask()
        #expect(group.take() == nil, "nothing is owned, nothing is asked")
        committer.own([3], starts: [Self.start: 40])
        committer.ask()
        let first = try #require(group.take())
        #expect(first.positions == [TopicPartitionOffset(topic: "events", partition: 3, offset: 40)])
        committer.ask()
        #expect(group.take() == nil, "one question at a time")
        #expect(!lease.isHeld(nowMillis: ShardClock.now().steadyMillis))
        first.answer(CommitResult(committed: first.positions, refused: []))
        #expect(lease.isHeld(nowMillis: ShardClock.now().steadyMillis))
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 57)])
        let second = try #require(group.take())
        second.answer(CommitResult(committed: second.positions, refused: []))
        committer.ask()
        #expect(try #require(group.take()).positions.first?.offset == 57, "never back")
    }

    @Test func aRefusalConfirmsNothing() throws {
        let (committer, lease, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
        committer.ask()
        let sent = try #require(group.take())
        sent.answer(
            CommitResult(
                committed: [], refused: sent.positions.map { .init(position: $0, error: KafkaError(code: .timedOut)) }))
        #expect(!lease.isHeld(nowMillis: ShardClock.now().steadyMillis))
        committer.ask()
        #expect(group.take() != nil, "asked again")
    }

    /// No commit of a partition once its unassign begins, not even as a question.
    @Test func aPartitionThatLeftIsNotAskedFor() throws {
        let (committer, _, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
        _ = committer.take([3])
        committer.ask()
        #expect(group.take() == nil)
    }

    private static func refusal(_ sent: Group.Sent, _ code: KafkaError.Code) -> CommitResult {
        CommitResult(committed: [], refused: sent.positions.map { .init(position: $0, error: KafkaError(code: code)) })
    }

    /// During a rebalance the group refuses what names the generation it has left. The partition stays, nothing new may come to it
    /// for hours, and its position must not stay behind.
    @Test(arguments: [.rebalanceInProgress, .illegalGeneration, .unknownMember, .notCoordinator] as [KafkaError.Code])
    func whatWasRefusedIsCommittedAgain(code: KafkaError.Code) throws {
        let (committer, _, group) = Self.make()
        committer.own([3, 4], starts: [Self.start: 40])
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 57)])
        let first = try #require(group.take())
        first.answer(Self.refusal(first, code))
        #expect(group.take() == nil, "not at once: the cause is seldom gone in a moment")
        committer.add([TopicPartitionOffset(topic: "events", partition: 4, offset: 8)])
        let second = try #require(group.take())
        #expect(
            Set(second.positions) == [
                TopicPartitionOffset(topic: "events", partition: 3, offset: 57),
                TopicPartitionOffset(topic: "events", partition: 4, offset: 8),
            ])
    }

    @Test func aRefusedPositionNeverReplacesANewerOne() throws {
        let (committer, _, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 57)])
        let first = try #require(group.take())
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 60)])
        first.answer(Self.refusal(first, .rebalanceInProgress))
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [60])
    }

    /// The partition went to another worker, which committed, and came back before the old answer did.
    @Test func aRefusalOfAnEarlierOwnershipIsForgotten() throws {
        let (committer, _, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 57)])
        let first = try #require(group.take())
        _ = committer.take([3])
        committer.own([3], starts: [Self.start: 90])
        first.answer(Self.refusal(first, .illegalGeneration))
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [90])
    }

    /// One topic of the partition is gone; the group answered as to a member.
    @Test func onePositionThatIsTakenConfirmsTheMembership() throws {
        let (committer, lease, group) = Self.make()
        committer.own([3, 4], starts: [Self.start: 40])
        committer.add((3...4).map { TopicPartitionOffset(topic: "events", partition: $0, offset: 50) })
        let sent = try #require(group.take())
        sent.answer(
            CommitResult(
                committed: [sent.positions[0]],
                refused: [.init(position: sent.positions[1], error: KafkaError(code: .unknownTopicOrPartition))]))
        #expect(lease.isHeld(nowMillis: ShardClock.now().steadyMillis))
    }

    /// A commit that is sent while the group is joined again would be refused, and cost every partition.
    @Test func nothingIsSentWhileTheGroupIsJoined() throws {
        let (committer, _, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
        group.isJoining.withLock { $0 = true }
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 57)])
        committer.ask()
        #expect(group.take() == nil)
        group.isJoining.withLock { $0 = false }
        committer.ask()
        #expect(try #require(group.take()).positions.map(\.offset) == [57])
    }

    /// Readiness names it; a refusal that is part of a rebalance is none of these.
    @Test func aMissingRightIsKeptUntilACommitIsTaken() throws {
        let (committer, _, group) = Self.make()
        committer.own([3], starts: [Self.start: 40])
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
        committer.add([TopicPartitionOffset(topic: "events", partition: 3, offset: 41)])
        try #require(group.take()).answer(CommitResult(committed: [position], refused: []))
        #expect(committer.refusal == nil)
    }
}
