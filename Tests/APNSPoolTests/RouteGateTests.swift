import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

@Suite struct RouteGateTests {
    private func gate(_ state: String, random: inout SplitMix64) -> RouteGate {
        var gate = RouteGate(streakMax: 3, restMillisMin: 100, restMillisMax: 1_000)
        if state == "flowing" { return gate }
        for _ in 0..<3 { _ = gate.failed(now: at(0), using: &random) }
        if state == "resting" { return gate }
        _ = gate.advance(now: at(100))
        return gate
    }

    @Test(arguments: zip(["flowing", "resting", "probing"], [RouteGate.FailureAction.none, .none, .restAgain]))
    func failed(state: String, action: RouteGate.FailureAction) {
        var random = SplitMix64(seed: 1)
        var gate = self.gate(state, random: &random)
        expectEqual(gate.failed(now: at(100), using: &random), action)
    }

    @Test(arguments: zip(["flowing", "resting", "probing"], [RouteGate.SuccessAction.none, .none, .resume]))
    func succeeded(state: String, action: RouteGate.SuccessAction) {
        var random = SplitMix64(seed: 1)
        var gate = self.gate(state, random: &random)
        expectEqual(gate.succeeded(), action)
    }

    @Test(arguments: zip(["flowing", "resting", "probing"], [[7, 7], [0, 0], [1, 0]]))
    func limited(state: String, credits: [Int]) {
        var random = SplitMix64(seed: 1)
        let gate = self.gate(state, random: &random)
        #expect(gate.limited(7, inFlight: 0) == credits[0])
        #expect(gate.limited(7, inFlight: 2) == credits[1])
    }

    @Test func onlyAnUnbrokenStreakTrips() {
        var random = SplitMix64(seed: 1)
        var gate = RouteGate(streakMax: 3, restMillisMin: 100, restMillisMax: 1_000)
        for _ in 0..<10 {
            expectEqual(gate.failed(now: at(0), using: &random), .none)
            expectEqual(gate.failed(now: at(0), using: &random), .none)
            _ = gate.succeeded()
        }
        _ = gate.failed(now: at(0), using: &random)
        _ = gate.failed(now: at(0), using: &random)
        expectEqual(gate.failed(now: at(0), using: &random), .trip)
    }

    @Test func theRestIsAsLongAsAskedButNeverOverFifteenMinutes() {
        var random = SplitMix64(seed: 1)
        var gate = RouteGate(streakMax: 1, restMillisMin: 100, restMillisMax: 1_000)
        _ = gate.failed(now: at(0), retryAfterSeconds: 30, using: &random)
        #expect((30_000...37_500).contains(gate.nextDeadlineMillis ?? 0), "a quarter longer at most: not all at once")
        var greedy = RouteGate(streakMax: 1, restMillisMin: 100, restMillisMax: 1_000)
        _ = greedy.failed(now: at(0), retryAfterSeconds: .max, using: &random)
        #expect((900_000...1_125_000).contains(greedy.nextDeadlineMillis ?? 0))
        var negative = RouteGate(streakMax: 1, restMillisMin: 100, restMillisMax: 1_000)
        _ = negative.failed(now: at(0), retryAfterSeconds: -5, using: &random)
        #expect((50...100).contains(negative.nextDeadlineMillis ?? 0))
    }

    @Test func restsGrowFromProbeToProbe() {
        var random = SplitMix64(seed: 1)
        var gate = RouteGate(streakMax: 1, restMillisMin: 100, restMillisMax: 1_000)
        var now: Int64 = 0
        var rests: [Int64] = []
        for _ in 0..<6 {
            _ = gate.failed(now: at(now), using: &random)
            let until = gate.nextDeadlineMillis ?? 0
            rests.append(until - now)
            expectEqual(gate.advance(now: at(until - 1)), false)
            expectEqual(gate.advance(now: at(until)), true)
            now = until
        }
        for (rest, whole) in zip(rests, [100, 200, 400, 800, 1_000, 1_000] as [Int64]) {
            #expect((whole / 2...whole).contains(rest))
        }
    }

    @Test(arguments: 1...50 as ClosedRange<UInt64>) func backoffStaysInItsBounds(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var backoff = JitteredBackoff(millisMin: 7, millisMax: 60_000)
        for failure in 0..<100 {
            let whole = min(60_000, 7 * Int64(1 << min(failure, 40)))
            let delay = backoff.failed(using: &random)
            #expect(((whole + 1) / 2...whole).contains(delay))
        }
        backoff.succeeded()
        let delay = backoff.failed(using: &random)
        #expect(delay <= 7)
    }
}
