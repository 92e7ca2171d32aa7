import PushEngine
import Testing

@testable import ShardLoop

/// A worker acts only while the group has confirmed lately that it is a member (contract §6, one owner).
@Suite struct OwnershipLeaseTests {
    @Test func itIsHeldFromTheAskingNotFromTheAnswer() {
        var lease = OwnershipLease(sessionTimeoutMillis: 10_000)
        #expect(!lease.isHeld(nowMillis: 0))
        lease.confirmed(askedAtMillis: 1_000)
        #expect(lease.isHeld(nowMillis: 9_999))
        #expect(!lease.isHeld(nowMillis: 10_000), "a tenth less than the session")
        // An answer that was long on its way takes nothing back.
        lease.confirmed(askedAtMillis: 500)
        #expect(lease.isHeld(nowMillis: 9_999))
    }

    /// The answer to a commit comes long after it was sent.
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
}
