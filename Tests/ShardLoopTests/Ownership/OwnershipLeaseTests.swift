import PushEngine
import Testing

@testable import ShardLoop

/// Tests of the lease: a worker acts only if the group has recently confirmed its membership (contract: One owner).
@Suite struct OwnershipLeaseTests {
    @Test func itIsHeldFromTheAskingNotFromTheAnswer() {
        var lease = OwnershipLease(sessionTimeoutMillis: 10_000)
        #expect(!lease.isHeld(nowMillis: 0))
        lease.confirmed(askedAtMillis: 1_000)
        #expect(lease.isHeld(nowMillis: 9_999))
        #expect(!lease.isHeld(nowMillis: 10_000), "a tenth less than the session")
        // A late answer to an earlier question does not shorten the lease.
        lease.confirmed(askedAtMillis: 500)
        #expect(lease.isHeld(nowMillis: 9_999))
    }

    /// The lease counts from the sending of a commit, even if the answer comes long after.
    @Test func aCommitConfirmsFromItsSending() {
        var queue = CommitQueue(lease: OwnershipLease(sessionTimeoutMillis: 10_000))
        queue.own([3], starts: [])
        queue.ask()
        #expect(queue.takeBatch(nowMillis: 1_000, isJoining: false) == [], "nothing is known to ask with")
        queue.own([3], starts: [.init(topic: 0, partition: 3, nextOffset: 40)])
        queue.ask()
        let batch = queue.takeBatch(nowMillis: 2_000, isJoining: false)
        #expect(batch == [.init(topic: 0, partition: 3, nextOffset: 40)])
        queue.took(committed: batch, refused: [])
        #expect(queue.lease.endsMillis == 11_000)
    }

    /// The group keeps refusing the commit of one topic. The next commit includes another topic, so its answer can
    /// renew the lease.
    @Test func aRefusedPositionDoesNotEndTheLease() {
        var queue = CommitQueue(lease: OwnershipLease(sessionTimeoutMillis: 10_000))
        let (good, bad) = (
            CommitPosition(topic: 0, partition: 3, nextOffset: 40),
            CommitPosition(topic: 1, partition: 3, nextOffset: 7)
        )
        queue.own([3], starts: [good, bad])
        queue.add([bad])
        for second in 0..<60 {
            let now = Int64(second) * 1_000
            queue.ask()
            let batch = queue.takeBatch(nowMillis: now, isJoining: false)
            #expect(batch.contains(bad), "it is tried again")
            queue.took(committed: batch.filter { $0 == good }, refused: batch.filter { $0 == bad })
            if second > 0 { #expect(queue.lease.endsMillis == now + 9_000) }
        }
        // After the refused position is committed, the commit that renews the lease contains only one topic again.
        queue.ask()
        queue.took(committed: queue.takeBatch(nowMillis: 60_000, isJoining: false), refused: [])
        queue.ask()
        let last = queue.takeBatch(nowMillis: 61_000, isJoining: false)
        #expect(last.count == 1)
    }
}
