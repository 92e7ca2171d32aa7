import Testing

@testable import ShardLoop

@Suite struct GiveUpLimitTests {
    @Test func aHundredInTenMinutesAreTaken() {
        var limit = GiveUpLimit()
        for number in 0..<GiveUpLimit.countMax {
            let takes = limit.takes(0, nowMillis: Int64(number))
            #expect(takes)
        }
        let others = limit.takes(1, nowMillis: 100)
        #expect(others, "each partition has its own")
        let more = limit.takes(0, nowMillis: 100)
        #expect(!more)
        let later = limit.takes(0, nowMillis: 100 + GiveUpLimit.windowMillis)
        #expect(!later, "it has stopped until the partition is taken anew")
        limit.forget(0)
        let anew = limit.takes(0, nowMillis: 101 + GiveUpLimit.windowMillis)
        #expect(anew)
    }

    @Test func theyAreForgottenAfterTenMinutes() {
        var limit = GiveUpLimit()
        for number in 0..<GiveUpLimit.countMax { _ = limit.takes(0, nowMillis: Int64(number)) }
        let takes = limit.takes(0, nowMillis: GiveUpLimit.windowMillis)
        #expect(takes)
    }
}
