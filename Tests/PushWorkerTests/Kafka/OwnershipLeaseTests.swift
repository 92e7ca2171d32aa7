import KafkaLog
import Logging
import PushEngine
import Synchronization
import Testing

@testable import PushWorker

/// A worker acts only while the group has confirmed lately that it is a member (contract §6, one owner).
@Suite struct OwnershipLeaseTests {
    @Test func itIsHeldFromTheAskingNotFromTheAnswer() {
        let lease = OwnershipLease(sessionTimeoutMillis: 10_000)
        #expect(!lease.isHeld(nowMillis: 0))
        lease.confirmed(askedAtMillis: 1_000)
        #expect(lease.isHeld(nowMillis: 9_999))
        #expect(!lease.isHeld(nowMillis: 10_000), "a tenth less than the session")
        // An answer that was long on its way takes nothing back.
        lease.confirmed(askedAtMillis: 500)
        #expect(lease.isHeld(nowMillis: 9_999))
    }

    @Test(
        arguments: [
            ([], 45_000), ([("session.timeout.ms", "6000")], 6_000),
            ([("session.timeout.ms", "60000"), ("max.poll.interval.ms", "60001")], 60_000),
            ([("max.poll.interval.ms", "30000")], 30_000), ([("session.timeout.ms", "nonsense")], 45_000),
            ([("session.timeout.ms", "6000"), ("session.timeout.ms", "7000")], 7_000),
        ] as [([(String, String)], Int64)])
    func theShorterOfTheTwoTimesCounts(settings: [(String, String)], millis: Int64) {
        let settings = KafkaSettings(settings.map { .init($0.0, $0.1) })
        #expect(OwnershipLease.sessionTimeoutMillis(settings) == millis)
    }

    /// What the committer sends, and a hand on its answers.
    private final class Group: Sendable {
        struct Sent {
            var positions: [TopicPartitionOffset]
            var answer: @Sendable (CommitResult) -> Void
        }
        let sent = Mutex<[Sent]>([])
        func take() -> Sent? { self.sent.withLock { $0.isEmpty ? nil : $0.removeFirst() } }
    }

    private static func make() -> (committer: Committer, lease: OwnershipLease, group: Group) {
        let lease = OwnershipLease(sessionTimeoutMillis: 100_000_000)
        let committer = Committer(
            lease: lease, logger: Logger(label: "test", factory: { _ in SwiftLogNoOpLogHandler() }))
        let group = Group()
        committer.use { positions, answer in
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
}
