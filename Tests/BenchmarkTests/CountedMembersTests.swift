import Testing

@testable import mailboat_bench

struct CountedMembersTests {
    @Test func everyMemberJoinsIsPushedToAndIsRestored() throws {
        var meter = AllocationMeter()
        meter.isOn = true
        var shard = CountedMembers(members: 40, partitionCount: 4)
        shard.keepState(true)
        try shard.join(0..<32, meter: &meter)
        try shard.join(32..<40, meter: &meter)
        shard.keepState(false)
        try shard.push(number: 0, meter: &meter)
        try shard.push(number: 1, meter: &meter)
        #expect(shard.pushCount == 80)
        #expect(meter.steps[.join]?.operations == 40)
        #expect(meter.steps[.memberPush]?.operations == 80)
        var successor = CountedMembers(members: 40, partitionCount: 4, state: shard.state)
        try successor.restore(meter: &meter)
        #expect(try #require(meter.steps[.memberRestore]).operations >= 40)
    }

    /// Pushes to members have bodies of the size that the benchmark of the transport sends, because the two benchmarks
    /// are compared.
    @Test func pushesToMembersAreAsLongAsTheTransports() throws {
        var meter = AllocationMeter()
        var shard = CountedMembers(members: 1, partitionCount: 1)
        try shard.join(0..<1, meter: &meter)
        try shard.push(number: 0, meter: &meter)
        #expect(shard.bodyByteCount == SampleRequest.body.utf8.count)
        var key: [UInt8] = []
        AudienceWorkload.appendKey(0, to: &key)
        #expect(key.count == SampleRequest.tokenHexCount)
    }

    @Test(arguments: AudienceWorkload.TokenLength.allCases)
    func everyMemberHasATokenOfItsOwn(length: AudienceWorkload.TokenLength) {
        let keys = (0..<1_000).map { member in
            var key: [UInt8] = []
            AudienceWorkload.appendKey(member, to: &key, length: length)
            return key
        }
        #expect(Set(keys).count == 1_000)
        #expect(keys.allSatisfy { $0.count == 2 * length.rawValue })
    }

    @Test func partitionsGrowWithMembersAndTokens() {
        #expect(AudienceWorkload.partitionCount(members: 1_000_000) == 64)
        #expect(AudienceWorkload.partitionCount(members: 1_000_000, length: .long) == 128)
        #expect(AudienceWorkload.partitionCount(members: 2_000_000) == 128)
    }
}
