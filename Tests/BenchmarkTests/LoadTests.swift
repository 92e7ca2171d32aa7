import ArgumentParser
import Foundation
import Testing

@testable import mailboat_bench

/// Tests that the benchmark sends what it claims to send.
struct LoadTests {
    @Test func theSampleBodyIsOfTheSizeOfTheComparison() throws {
        #expect(SampleRequest.body.utf8.count == 266)
        _ = try JSONSerialization.jsonObject(with: Data(SampleRequest.body.utf8))
    }

    @Test func tokensAreDistinctAndOfOneLength() {
        var tokens: Set<[UInt8]> = []
        for index in 0..<10_000 as Range<UInt64> {
            var token: [UInt8] = []
            SampleRequest.appendToken(index, to: &token)
            #expect(token.count == SampleRequest.tokenHexCount)
            tokens.insert(token)
        }
        #expect(tokens.count == 10_000)
    }

    @Test func recordsAreJSONWithinTheirEstimate() throws {
        var (update, registration, key): ([UInt8], [UInt8], [UInt8]) = ([], [], [])
        Workload.appendUpdate(1_234_567, to: &update)
        Workload.appendRegistration(1, to: &registration)
        Workload.appendKey(42, to: &key)
        _ = try JSONSerialization.jsonObject(with: Data(update))
        _ = try JSONSerialization.jsonObject(with: Data(registration))
        #expect(String(decoding: key, as: UTF8.self) == "order-0000042")
        #expect(update.count + key.count < Workload.updateByteCount)
        #expect(registration.count + key.count < Workload.registrationByteCount)
    }

    @Test func longIdentitiesAreUUIDsAndTokensOf80Bytes() throws {
        struct Registration: Decodable { var token: String }
        var (keys, tokens): (Set<[UInt8]>, Set<String>) = ([], [])
        for activity in 0..<1_000 {
            var (key, value): ([UInt8], [UInt8]) = ([], [])
            Workload.appendKey(activity, to: &key, identity: .long)
            Workload.appendRegistration(activity, to: &value, identity: .long)
            #expect(UUID(uuidString: String(decoding: key, as: UTF8.self)) != nil)
            #expect(value.count + key.count < Workload.registrationByteCount + 128)
            let token = try JSONDecoder().decode(Registration.self, from: Data(value)).token
            #expect(token.count == 160)
            keys.insert(key)
            tokens.insert(token)
        }
        #expect(keys.count == 1_000)
        #expect(tokens.count == 1_000)
    }

    @Test(
        arguments: [(["--activities", "10"], true), ([], false), (["--activities", "0"], false)] as [([String], Bool)])
    func aPublisherIsToldHowManyActivities(words: [String], isAccepted: Bool) {
        let common = ["--bootstrap", "b:1", "--topic", "t", "--partitions", "1", "--per-second", "1", "--count", "1"]
        #expect(((try? PacedPublisherCommand.parse(common + words)) != nil) == isAccepted)
    }

    /// Each pass pushes each activity once. Equal arguments must give equal work, because callgrind counts
    /// instructions.
    @Test func countedPushesArePushedOncePerPass() throws {
        var meter = AllocationMeter()
        var shard = CountedShard(activities: 100, partitionCount: 4)
        try shard.register(0..<100)
        for pass in 1...3 {
            shard.wait(millis: 2_000)
            try shard.push(0..<60, number: pass, meter: &meter)
            try shard.push(60..<100, number: pass, meter: &meter)
            #expect(shard.pushCount == 100 * pass)
        }
        try CountedPushesCommand.parse(["--activities", "700", "--passes", "2"]).run()
    }

    @Test(arguments: [(0, 0), (1_000_000, 100_000), (100_000, 2_000_000)])
    func partitionsStayFarFromTheBrokersBound(activities: Int, updates: Int) {
        let count = Workload.partitionCount(activities: activities, updates: updates)
        #expect(count >= 64)
        #expect(updates * Workload.updateByteCount <= count * Workload.partitionByteCountMax)
        #expect((activities + updates) * Workload.stateByteCount <= count * Workload.partitionByteCountMax)
    }
}
