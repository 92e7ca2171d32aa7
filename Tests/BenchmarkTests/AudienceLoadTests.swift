import Foundation
import Testing

@testable import mailboat_bench

/// Tests of the audience events that the benchmark makes.
struct AudienceLoadTests {
    @Test func eventsNameTheirAudience() throws {
        var value: [UInt8] = []
        AudienceWorkload.appendUpdate(3, to: &value)
        let event = try #require(try JSONSerialization.jsonObject(with: Data(value)) as? [String: Any])
        #expect((event["to"] as? [String: String]) == ["audience": "match"])
    }
}
