@testable import PushEngine
import PushModel
import Testing

/// Tests records about audiences that another owner wrote to `state`, and a partition that has no room for an audience.
@Suite struct AudienceRepairTests {
    /// A former owner's void is stored in `state` behind the next owner's marker. The void does not remove members
    /// whose records are before it. That holds even when compaction has removed the records that show that the void is
    /// late.
    @Test func aFormerOwnersVoidThatComesLateTakesNobody() {
        let h = AudienceTests.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_500)
        Self.takeOver(h)
        h.writeState(Self.void(of: "match", epoch: 0, life: h.wallSeconds))
        Self.takeOver(h)
        h.compactState()
        Self.takeOver(h)
        #expect(h.counters.membersHeld == 1)
        h.audienceUpdate(2)
        h.advance(2_000)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
    }
    /// A void's record is written again while members of the voided life are being removed. The next owner still knows
    /// that this life is over.
    @Test func aFormerOwnersVoidIsSaidAgainWhileMembersLeave() throws {
        let h = Self.whileMembersLeave()
        let void = try #require(h.stateLog.last { $0.keyText.hasPrefix("d/") && !$0.isNull })
        let held = h.counters.membersHeld
        #expect(held > 0 && held < 1_500)
        let (key, value) = (void.key, void.value)
        let done = h.engine.repair(partition: 0, key: key.span, value: value.span, offset: 0, now: h.now)
        #expect(done == .overwritten)
        h.step()
        h.compactState()
        Self.takeOver(h)
        h.advance(2_000)
        #expect(h.counters.membersHeld == 0)
    }
    /// Another owner's record about a member is found while members of a voided life are being removed. The member's
    /// join is not written again behind the void, where it would be a join of the next life. The member is removed
    /// instead.
    @Test func aJoinIsNotSaidAgainBehindTheVoid() throws {
        let h = Self.whileMembersLeave()
        let held = h.counters.membersHeld
        var last: [[UInt8]: Bool] = [:]
        for record in h.stateLog where record.key.first == MemberRecord.keyMark { last[record.key] = record.isNull }
        let key = try #require(last.first { !$0.value }?.key)
        let done = h.engine.repair(partition: 0, key: key.span, value: [UInt8]().span, offset: 0, now: h.now)
        #expect(done == .removed)
        h.step()
        #expect(h.counters.membersHeld == held - 1)
        Self.takeOver(h)
        h.advance(2_000)
        #expect(h.counters.membersHeld == 0)
    }
    /// A start member stays when its audience ends. The member's record can be written again while the audience's void
    /// is being carried out.
    @Test func aStartMemberIsSaidAgainWhileAVoidIsUnderWay() throws {
        let h = EngineHarness.starts()
        h.join(1)
        h.joinStart(2)
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_500)
        let key = try #require(h.stateLog.last { $0.key.first == StartMemberRecord.keyMark }?.key)
        h.acknowledgesAtOnce = false
        h.consumeVoid(life: h.wallSeconds)
        let done = h.engine.repair(partition: 0, key: key.span, value: [UInt8]().span, offset: 0, now: h.now)
        #expect(done == .overwritten)
        h.acknowledgesAtOnce = true
        h.step()
        h.advance(1_000)
        #expect(h.stateLog.last { $0.key == key }?.isNull == false)
        #expect(h.counters.membersHeld == 1)
    }
    /// A partition that is removing the members of an audience that is over.
    private static func whileMembersLeave() -> EngineHarness {
        let h = AudienceTests.harness()
        for member in 0..<1_500 { h.join(member) }
        h.audienceUpdate(1)
        h.deliverAll()
        h.advance(1_000)
        h.audienceEnd(2)
        h.advance(1_000)
        h.deliverAll()
        for _ in 0..<200 where h.counters.membersHeld == 1_500 {
            h.advance(60_000)
            h.carryBus()
        }
        return h
    }
    private static func takeOver(_ h: EngineHarness) {
        h.crash()
        h.carryBus()
        h.advance(1_500)
    }
    static func void(of audience: String, epoch: Int64, life: Int64) -> WrittenRecord {
        var (value, scratch): ([UInt8], [UInt8]) = ([], [])
        value.append(using: &scratch) { VoidedRecord(epoch: epoch, life: life).write(to: &$0) }
        return WrittenRecord(
            topic: .state, partition: 0, key: Array("d/com.example.pizza/\(audience)".utf8), hasKey: true, value: value,
            isNull: false, headers: [:], timestampMillis: 0, acknowledgement: 0)
    }

    // MARK: No room
    /// A restore finds a partition with as many audiences as it can hold. It takes further members of these audiences,
    /// and reports a member of any other audience.
    @Test func aFullPartitionReadsItsMembers() throws {
        let h = AudienceTests.harness()
        for member in 1...3 { h.join(member) }
        h.join(4, of: "other")
        let records = h.stateLog.filter { $0.key.first == MemberRecord.keyMark }
        #expect(records.count == 4)
        h.engine = ShardEngine(configuration: h.configuration, randomSeed: 9)
        h.engine.partitionAssigned(h.partition, releasedWallMillis: nil, now: h.now)
        h.step()
        var results: [RestoreResult] = []
        for (index, record) in records.enumerated() {
            if index == 1 {
                let members = h.engine.fanOut.crowds.members(of: PartitionIndex(rawValue: 0))
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
