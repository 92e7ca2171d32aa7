import Foundation
import Testing

@testable import mailboat_bench

/// Audiences as the benchmark makes them, and what it reads of them.
struct AudienceLoadTests {
    @Test func membersOfAnAudienceLieInOnePartitionOrInMany() {
        let near = ManyAudiences(audienceCount: 100, membersPerAudience: 20, partitionCount: 16, placement: .near)
        let spread = ManyAudiences(audienceCount: 100, membersPerAudience: 20, partitionCount: 16, placement: .spread)
        #expect(near.crowdCount == 100)
        #expect(spread.crowdCount > 900 && spread.crowdCount < 1_600)
        #expect(near.memberCount == 2_000 && spread.memberCount == 2_000)
    }

    @Test func eventsNameTheirAudience() throws {
        var value: [UInt8] = []
        AudienceWorkload.appendUpdate(3, audience: "match-7", to: &value)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(value)) as? [String: Any])
        #expect((event["to"] as? [String: String]) == ["audience": "match-7"])
    }

    @Test func pushesOfAnOlderVersionAreFound() {
        var arrivals = VersionArrivals(partitionCount: 1)
        for (millis, stamp) in [(1_000, 10), (1_500, 10), (2_000, 11), (2_003, 10), (2_500, 11), (3_000, 10)] {
            arrivals.note(atMillis: Int64(millis), token: Array("00".utf8), stamp: stamp)
        }
        #expect(arrivals.lateMillis == [3, 1_000])
        #expect(arrivals.stamps == [10, 11] && arrivals.pushCount == 6)
        let ages = arrivals.ages(publishedMillis: [900, 1_900], everyMillis: 1_000)
        #expect(ages.map(\.oldestMillis) == [600, 1_103, 2_100])
    }

    @Test(
        arguments: [
            (#"{"aps":{"timestamp":1685952000,"event":"update"}}"#, 1_685_952_000), (#"{"timestamp":7}"#, 7),
            ("{}", nil),
        ] as [(String, Int?)])
    func theStampOfABody(body: String, stamp: Int?) {
        #expect(VersionArrivals.stamp(of: Array(body.utf8)) == stamp)
    }
}
