import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests when a push may leave: windows, distance, one in flight, and the order between slots (contract: Windows and
/// distance).
@Suite struct PacingTests {
    private static func alive(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = EngineHarness(configure)
        h.register()
        return h
    }

    // MARK: The window

    @Test func aHighPriorityUpdateHasNoWindow() {
        let h = Self.alive()
        h.update(1, priority: 10)
        #expect(h.take() != nil)
    }

    @Test func aLowPriorityUpdateWaitsFromTheFirstUnsentEvent() {
        let h = Self.alive()
        h.update(1)
        h.advance(600)
        h.update(2)
        h.advance(399)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 2)
        // The next event begins the next window.
        h.advance(5_000)
        h.update(3)
        h.advance(999)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 3)
    }

    @Test func whatArrivesDuringAPushWaitsFromItsOwnArrival() {
        let h = Self.alive()
        h.update(1, priority: 10)
        let push = h.take()!
        h.advance(3_000)
        h.update(2)
        h.advance(500)
        h.answer(push, .accepted)
        h.advance(499)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 2)
    }

    @Test func aHighOneEndsTheWindow() {
        let h = Self.alive()
        h.update(1)
        #expect(h.take() == nil)
        h.update(2, priority: 10)
        #expect(h.deliver()?.n == 2)
    }

    @Test func windowsAreTheAppsOwn() {
        let h = Self.alive { $0.apps[0].lowPriorityWindowMillis = 0 }
        h.update(1)
        #expect(h.deliver()?.n == 1)
    }

    // MARK: The distance

    @Test(arguments: [1_000, 15_000] as [Int64])
    func everyPushKeepsTheMinimumDistance(millis: Int64) {
        let h = Self.alive { $0.apps[0].minimumDistanceMillis = millis }
        h.update(1, priority: 10)
        h.deliver()
        h.update(2, priority: 10)
        h.advance(millis - 1)
        #expect(h.take() == nil)
        h.advance(1)
        #expect(h.deliver()?.n == 2)
        h.end(3)
        h.advance(millis - 1)
        #expect(h.take() == nil, "an end too")
        h.advance(1)
        #expect(h.deliver()?.event == "end")
    }

    @Test func aPushThatWasNotProcessedLeavesNoDistance() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.answer(h.take()!, .notProcessed)
        #expect(h.take() != nil)
    }

    @Test func theDistanceHoldsAcrossARestart() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(200)
        h.crash(afterMillis: 0)
        h.update(2, priority: 10)
        #expect(h.take() == nil)
        h.advance(1_000)
        #expect(h.deliver()?.n == 2)
    }

    // MARK: One in flight

    @Test func oneIsInFlightAndTheNextWaitsForTheStateRecord() {
        let h = Self.alive()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10)
        let push = h.take()!
        h.update(2, priority: 10)
        h.advance(5_000)
        #expect(h.take() == nil)
        h.answer(push, .accepted)
        h.advance(5_000)
        #expect(h.take() == nil, "its state record is not acknowledged")
        h.acknowledgeAll { $0.topic == .outcomes }
        h.advance(100)
        #expect(h.take() == nil)
        h.acknowledgeAll { $0.topic == .state }
        #expect(h.take()?.n == 2)
    }

    /// A state record that was written while a push was in flight does not contain the push's answer. So it does not
    /// let the next push leave.
    @Test func aRecordWrittenBeforeTheAnswerDoesNotCount() {
        let h = Self.alive()
        h.advance(1_000)
        h.update(1, priority: 10)
        let push = h.take()!
        h.acknowledgesAtOnce = false
        h.register(token: "bb02")
        h.acknowledgeAll { $0.topic == .outcomes }
        h.advance(100)
        #expect(h.outstanding.contains { $0.topic == .state })
        h.update(2, priority: 10)
        h.answer(push, .accepted)
        h.acknowledgeAll { $0.topic == .state }
        h.advance(5_000)
        #expect(h.take() == nil)
        h.acknowledgesAtOnce = true
        h.step()
        h.advance(100)
        #expect(h.take()?.n == 2)
    }

    @Test func afterAnUnknownAnswerTooTheStateRecordComesFirst() {
        let h = Self.alive()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        h.update(1, priority: 10)
        h.answer(h.take()!, .unknown(detail: "reset"))
        h.advance(60_000)
        #expect(h.take() == nil)
        h.acknowledgeAll()
        #expect(h.take()?.n == 1)
    }

    @Test func anAnswerToAnAttemptThatIsOverChangesNothing() {
        let h = Self.alive()
        h.update(1, at: 0, priority: 10)
        let first = h.take()!
        h.answer(first, .notProcessed)
        let second = h.take()!
        h.answer(first, .accepted)
        h.answer(first, .unknown(detail: "again"))
        #expect(h.counters.pushesAccepted == 0)
        #expect(h.counters.inFlight == 1)
        h.answer(second, .accepted)
        h.answer(second, .accepted)
        #expect(h.counters.pushesAccepted == 1)
        #expect(h.counters.inFlight == 0)
    }

    // MARK: Backing off

    /// The waits of retries grow to a minute if APNs throttles the device token. If the route is at fault, they grow to
    /// a shorter limit, because the route's gate waits, too.
    @Test(
        arguments: [(429, "TooManyRequests", 60_000), (503, "ServiceUnavailable", 4_000)] as [(UInt16, String, Int64)])
    func retriesComeLaterAndLater(status: UInt16, reason: String, millisMax: Int64) {
        let h = Self.alive()
        h.update(1, priority: 10)
        var waits: [Int64] = []
        for _ in 0..<12 {
            let push = h.take()!
            h.answer(push, .response(PushResponse(status: status, reason: reason)))
            let from = h.now.steadyMillis
            while !h.hasReady() { h.advance(100) }
            waits.append(h.now.steadyMillis - from)
        }
        for (attempt, wait) in waits.enumerated() {
            let full = min(millisMax, Int64(1_000) << Int64(attempt))
            #expect(wait >= max(1_000, full / 2) && wait <= full + 1_100, "attempt \(attempt) waited \(wait) ms")
        }
    }

    @Test(
        arguments: [(30, 30_000), (3_600, 3_600_000), (.max, 3_600_000), (0, 0), (-1, 0), (.min, 0)] as [(Int64, Int64)]
    )
    func retryAfterIsHonouredUpToAnHour(seconds: Int64, leastMillis: Int64) {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.answer(
            h.take()!,
            .response(PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: seconds)))
        if leastMillis > 0 {
            h.advance(leastMillis - 1)
            #expect(h.take() == nil)
        }
        h.advance(3_000)
        #expect(h.take() != nil)
    }

    @Test func anAcceptedPushEndsTheBackoff() {
        let h = Self.alive()
        let refusal = PushAnswer.Result.response(PushResponse(status: 500, reason: "InternalServerError"))
        h.update(1, priority: 10)
        for _ in 0..<6 {
            h.answer(h.take()!, refusal)
            h.advance(70_000)
        }
        h.deliver()
        h.advance(2_000)
        h.update(2, priority: 10)
        h.answer(h.take()!, refusal)
        h.advance(1_100)
        #expect(h.take() != nil, "it begins with the first step again")
    }

    @Test func aConnectionThatIsOfNoMoreUseCostsNoBackoff() {
        let h = Self.alive { $0.apps[0].minimumDistanceMillis = 1_000 }
        h.update(1, priority: 10)
        h.answer(h.take()!, .response(PushResponse(status: 421, reason: "")))
        h.advance(1_000)
        #expect(h.take() != nil)
    }
}
