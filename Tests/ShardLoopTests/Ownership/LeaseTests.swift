import PushEngine
import PushModel
import Testing

@testable import ShardLoop

/// Tests that a shard without the lease only takes in what arrives, and does nothing else (contract: One owner).
@Suite struct LeaseTests {
    @Test func nothingIsReadPushedWrittenOrCommittedWithoutIt() {
        var harness = LoopHarness()
        harness.begin()
        harness.writeUpdate(1)
        harness.push.credit = 0
        harness.writeUpdate(2)
        let (requests, written, read, commits) = (
            harness.push.requests.count, harness.log.state().count, harness.log.positions[0], harness.log.commits.count
        )
        harness.log.leaseEndsMillis = harness.now.steadyMillis
        harness.push.credit = 10
        harness.accept()
        harness.writeUpdate(3)
        harness.settle()
        harness.wait(millis: 5_000)
        harness.turn()
        #expect(harness.push.requests.count == requests)
        #expect(harness.log.state().count == written)
        #expect(harness.log.positions[0] == read)
        #expect(harness.log.commits.count == commits)
        let errors = harness.loop.errors
        #expect(errors.contains { $0.contains("has not confirmed recently") }, "\(errors)")
        harness.log.leaseEndsMillis = .max
        harness.turn()
        harness.settle()
        harness.wait(millis: 1_000)
        harness.settle()
        harness.wait(millis: 1_000)
        #expect(harness.push.requests.count > requests)
        #expect(harness.log.state().count > written)
        #expect(harness.log.positions[0] == 4)
        #expect(harness.log.commits.count > commits)
    }

    /// The end of the lease is a deadline of the loop. So the loop notices and reports it even if nothing else happens.
    @Test func itsEndIsLookedAt() {
        var harness = LoopHarness()
        harness.begin()
        harness.wait(millis: 10_000)
        _ = harness.loop.takesChange()
        harness.log.leaseEndsMillis = harness.now.steadyMillis + 700
        let deadline = harness.loop.deadlineMillis
        #expect(deadline == harness.now.steadyMillis + 700)
        harness.wait(millis: 700)
        let (holdsLease, hasChanged) = (harness.loop.holdsLease, harness.loop.takesChange())
        #expect(!holdsLease)
        #expect(hasChanged)
    }

    /// A shard without partitions does not wait for a lease, because it has nothing that could belong to another
    /// worker.
    @Test func aShardWithoutPartitionsIsNotHeldBack() {
        var harness = LoopHarness()
        harness.log.leaseEndsMillis = .min
        harness.turn()
        let holdsLease = harness.loop.holdsLease
        #expect(holdsLease)
        harness.wait(millis: 1_000)
        let deadline = harness.loop.deadlineMillis
        #expect(deadline.map { $0 > harness.now.steadyMillis } ?? true)
    }
}
