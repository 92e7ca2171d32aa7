import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests `aps.timestamp` (contract: Wire stamp). Each push has a newer stamp, and a retry of the same content keeps
/// its stamp.
@Suite struct WireStampTests {
    private static func alive() -> EngineHarness {
        let h = EngineHarness()
        h.register()
        return h
    }
    private static let failures: [PushAnswer.Result] = [
        .unknown(detail: "reset"), .notProcessed,
        .response(PushResponse(status: 429, reason: "TooManyRequests", retryAfterSeconds: 1)),
        .response(PushResponse(status: 503, reason: "ServiceUnavailable")),
        .response(PushResponse(status: 403, reason: "ExpiredProviderToken")),
    ]

    @Test func itIsTheEventsTimestamp() {
        let h = Self.alive()
        h.update(1, at: 42, priority: 10)
        #expect(h.deliver()?.stamp == 42)
    }

    @Test func itDefaultsToTheRecordsTimeNotAheadOfTheClock() {
        let h = Self.alive()
        h.update(1, priority: 10, recordMillis: h.now.wallMillis - 7_000)
        #expect(h.deliver()?.stamp == -7)
        h.advance(3_000)
        h.update(2, priority: 10, recordMillis: h.now.wallMillis + 3_600_000)
        #expect(h.deliver()?.stamp == 3)
    }

    /// An owner's push is not recorded before a crash, and compaction removes the markers of earlier owners. The next
    /// owner must still use a newer stamp.
    @Test func itGrowsFromOwnerToOwnerThoughTheirTracesAreCompacted() throws {
        let h = Self.alive()
        for _ in 0..<5 { h.crash() }
        h.update(1, at: 100, priority: 10)
        h.deliver()
        h.advance(5_000)
        h.update(2, at: 200, priority: 10)
        h.crash()
        h.advance(5_000)
        let first = try #require(h.take())
        h.compactMarkers(keeping: 2)
        h.crash()
        h.advance(5_000)
        let second = try #require(h.take())
        #expect(first.n == 2 && second.n == 2)
        #expect(second.stamp > first.stamp)
    }

    @Test func itIsAtLeastOnePastTheLast() {
        let h = Self.alive()
        h.update(1, at: 50, priority: 10)
        h.deliver()
        h.advance(1_000)
        h.update(2, at: 50, priority: 10)
        #expect(h.deliver()?.stamp == 51)
        h.advance(1_000)
        h.end(3, at: 3)
        #expect(h.deliver()?.stamp == 52)
    }

    @Test(arguments: failures)
    func aRetryOfUnchangedContentKeepsIt(answer: PushAnswer.Result) {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        let first = h.take()!
        h.answer(first, answer)
        h.advance(5_000)
        let second = h.take()!
        #expect(second.stamp == 5)
        #expect(second.n == 1)
        #expect(second.apnsID != first.apnsID, "each request has its own id")
    }

    @Test(arguments: failures)
    func changedContentGetsANewOne(answer: PushAnswer.Result) {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        let first = h.take()!
        h.update(2, at: 5, priority: 10)
        h.answer(first, answer)
        h.advance(5_000)
        let second = h.deliver()
        // A push that APNs did not process does not use up its stamp.
        #expect(second?.stamp == (answer == .notProcessed ? 5 : 6))
        #expect(second?.n == 2)
    }

    /// An older event that arrives during an attempt does not change the content, so the stamp stays.
    @Test func anOlderEventLeavesItAlone() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        let first = h.take()!
        h.update(2, at: 4, priority: 10)
        h.answer(first, .unknown(detail: "reset"))
        h.advance(5_000)
        #expect(h.deliver()?.stamp == 5)
    }

    // MARK: Replays

    /// The former owner may have pushed an event and died before it recorded that push. The next owner reads the event
    /// again, and pushes it with a newer stamp.
    @Test func aReplayIsStampedPastTheUnrecordedPush() {
        let h = Self.alive()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        h.update(1, at: 5, priority: 10)
        let lost = h.deliver()
        h.crash()
        h.advance(2_000)
        let again = h.deliver()
        #expect(again?.n == 1)
        #expect(again!.stamp > lost!.stamp)
    }

    @Test func aReplayIsStampedTwoPastTheLastRecorded() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.update(2, at: 5, priority: 10)
        let lost = h.deliver()
        #expect(lost?.stamp == 6)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()!.stamp >= 7)
    }

    @Test func newEventsMergedWithAReplayAreStampedAsOne() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        h.update(2, at: 5, priority: 10)
        h.deliver()
        h.crash()
        h.update(3, at: 5, priority: 10)  // above the log end
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.n == 3)
        #expect(push!.stamp >= 7)
    }

    @Test func anEventAboveTheLogEndIsStampedAsAlways() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.crash()
        h.update(2, at: 5, priority: 10)
        h.advance(2_000)
        #expect(h.deliver()?.stamp == 6)
    }

    /// The pending update in `state` may have been sent since it was written, so it is stamped like a replay.
    @Test func aRestoredPendingUpdateIsStampedAsAReplay() {
        let h = Self.alive()
        h.update(1, at: 5, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.update(2, at: 5, priority: 10)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        let lost = h.deliver()
        #expect(lost?.stamp == 6)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()!.stamp >= 7)
    }

    /// A newer push contains an older event that is read again. The former owner may have pushed the older event
    /// without recording it, so the newer push needs a newer stamp.
    @Test func anOlderReplayCountsAsContained() {
        let h = Self.alive()
        h.update(1, at: 20, priority: 10)
        h.deliver()
        h.advance(2_000)
        h.update(2, at: 20, priority: 10)
        #expect(h.deliver()?.stamp == 21)
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        let forwarded = EngineHarness.content("update", 3, at: 20, priority: 10, alert: nil, padding: 0, more: [])
        h.consume(key: "a", value: forwarded, topic: 1, origin: SourcePosition(topic: 0, partition: 5, offset: 3))
        #expect(h.deliver()?.stamp == 22)
        h.crash(replays: false)
        h.update(4, at: 21, priority: 10)  // a new event, from the other log
        h.replay(topic: 1)
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.n == 4)
        #expect(push!.stamp > 22)
    }
}
