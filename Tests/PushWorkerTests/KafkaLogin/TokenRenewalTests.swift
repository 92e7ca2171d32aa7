import PushModel
import Testing

@testable import PushWorker

/// Tests of when a source of Kafka login tokens is asked, and of whether a token is still good. The tests set the time.
struct TokenRenewalTests {
    private static let fault = TokenFault(cause: .command, setting: "kafka.oauth.token-command", text: "is gone")
    private static let late = TokenFault(cause: .expired, setting: "kafka.oauth.token-file", text: "is late")

    private static func validity(_ renewal: TokenRenewal, _ nowMillis: Int64) -> TokenRenewal.Validity {
        renewal.validity(nowMillis: nowMillis, late: Self.late)
    }

    @Test func atFirstItIsAskedAtOnce() {
        let renewal = TokenRenewal()
        #expect(renewal.millisUntilDue(nowMillis: 5) == 0)
        #expect(Self.validity(renewal, 5) == .unknown)
        #expect(renewal.leftMillis(nowMillis: 5) == nil)
    }

    /// A renewal is due at a random moment between 70 and 80 percent of a token's life.
    @Test(arguments: [60_000, 900_000, 3_600_000, 86_400_000] as [Int64])
    func aTokenIsRenewedBeforeFourFifthsOfItsLife(life: Int64) {
        var seen: Set<Int64> = []
        for seed in 0..<200 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var renewal = TokenRenewal()
            renewal.got(leftMillis: life, isNew: true, isWatched: false, nowMillis: 1_000, using: &random)
            let due = renewal.millisUntilDue(nowMillis: 1_000)
            #expect((life * 7 / 10...life * 8 / 10).contains(due), "seed \(seed)")
            seen.insert(due)
            #expect(Self.validity(renewal, 1_000 + due) == .good)
        }
        #expect(seen.count > 100)
    }

    @Test func noSourceIsAskedInALoop() {
        var random = SplitMix64(seed: 1)
        var renewal = TokenRenewal()
        renewal.got(leftMillis: 1_001, isNew: true, isWatched: false, nowMillis: 0, using: &random)
        #expect(renewal.millisUntilDue(nowMillis: 0) == 1_000)
    }

    /// A failing source is asked again within three seconds, even after many failures. So clients can log in within ten
    /// seconds after the source works again.
    @Test func aSourceThatFailsIsAskedAgainSoon() {
        for seed in 0..<50 as Range<UInt64> {
            var random = SplitMix64(seed: seed)
            var renewal = TokenRenewal()
            var now: Int64 = 0
            for _ in 0..<100 {
                renewal.failed(Self.fault, nowMillis: now, using: &random)
                let wait = renewal.millisUntilDue(nowMillis: now)
                #expect((500...3_000).contains(wait))
                now += wait
                #expect(Self.validity(renewal, now) == .missing(Self.fault))
            }
            renewal.got(leftMillis: 60_000, isNew: true, isWatched: false, nowMillis: now, using: &random)
            #expect(Self.validity(renewal, now) == .good)
        }
    }

    @Test func aTokenOutlivesItsSource() {
        var random = SplitMix64(seed: 7)
        var renewal = TokenRenewal()
        renewal.got(leftMillis: 60_000, isNew: true, isWatched: false, nowMillis: 0, using: &random)
        renewal.failed(Self.fault, nowMillis: 45_000, using: &random)
        #expect(Self.validity(renewal, 59_999) == .worn(Self.fault))
        #expect(renewal.leftMillis(nowMillis: 59_000) == 1_000)
        #expect(Self.validity(renewal, 60_000) == .missing(Self.fault))
        renewal.got(leftMillis: 60_000, isNew: true, isWatched: false, nowMillis: 70_000, using: &random)
        #expect(Self.validity(renewal, 70_000) == .good)
    }

    /// A token file is read every two seconds. An unchanged token is a fault only near the end of its life.
    @Test func aWatchedTokenIsLateAtTheEndOfItsLife() {
        var random = SplitMix64(seed: 3)
        var renewal = TokenRenewal()
        for now in stride(from: 0, to: 600_000, by: 2_000) as StrideTo<Int64> {
            renewal.got(
                leftMillis: 600_000 - now, isNew: now == 0, isWatched: true, nowMillis: now, using: &random)
            #expect(renewal.millisUntilDue(nowMillis: now) == 2_000)
            #expect(Self.validity(renewal, now) == (now < 570_000 ? .good : .worn(Self.late)), "\(now)")
        }
        #expect(Self.validity(renewal, 600_000) == .missing(Self.late))
        renewal.got(leftMillis: 600_000, isNew: true, isWatched: true, nowMillis: 601_000, using: &random)
        #expect(Self.validity(renewal, 601_000) == .good)
    }
}
