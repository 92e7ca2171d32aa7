@testable import PushEngine
import PushModel
import Testing

/// What `state` says of audiences that its owner has not said, and what there is no room for.
@Suite struct AudienceRepairTests {
    /// A partition that has as many audiences as it can reads the rest of their members. One audience more is told of.
    @Test func aFullPartitionReadsItsMembers() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.join(4, of: "other")
        let records = h.stateLog.filter { $0.key.first == AudienceCodec.memberKeyMark }
        #expect(records.count == 4)
        h.engine = ShardEngine(configuration: h.configuration, randomSeed: 9)
        h.engine.partitionAssigned(h.partition, releasedWallMillis: nil, now: h.now)
        h.step()
        var results: [RestoreResult] = []
        for (index, record) in records.enumerated() {
            if index == 1 {
                let members = h.engine.audiences.crowds.members(of: PartitionIndex(rawValue: 0))
                while members.table.makeRing(of: .update).isSome {}
            }
            let (key, value) = (record.key, record.value)
            results.append(
                h.engine.restore(
                    partition: h.partition, key: key.span, value: value.span, isTombstone: false,
                    offset: Int64(index), now: h.now))
        }
        #expect(Array(results.prefix(3)) == [.restored, .restored, .restored])
        guard case .malformed(let why) = results[3] else { return #expect(Bool(false), "\(results[3])") }
        #expect(why.contains("can hold"))
    }
}
