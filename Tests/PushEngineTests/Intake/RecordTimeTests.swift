import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Records whose own time cannot be one: their producer's client wrote seconds, 0, or what a wrong clock said.
@Suite struct RecordTimeTests {
    private static let now: Int64 = 1_700_000_000_000
    static let noTimes: [Int64] = [
        .min, -1, 0, 1, 1_700_000_000, 1_483_228_799_999, now + 310_000, now * 1_000, now * 1_000_000, .max,
    ]

    @Test func aTimeIsBelievedFrom2017UntilFiveMinutesAhead() {
        for millis in Self.noTimes { #expect(!RecordTime.isBelievable(millis: millis, nowMillis: Self.now)) }
        #expect(!RecordTime.isBelievable(millis: Self.now + 300_001, nowMillis: Self.now))
        for millis in [1_483_228_800_000, Self.now, Self.now + 300_000] {
            #expect(RecordTime.believed(millis: millis, nowMillis: Self.now) == millis)
        }
    }

    @Test(arguments: noTimes) func theClockStandsInForNoTime(millis: Int64) {
        let h = EngineHarness()
        h.register()
        h.advance(2_000)
        h.update(1, priority: 10, recordMillis: millis)
        #expect(h.deliver()?.stamp == 2)
        #expect(h.engine.counters.untimed == 1)
        h.advance(3_000)
        h.update(2, priority: 10)
        #expect(h.deliver()?.stamp == 5)
    }

    @Test func itIsToldOnceForEachTopic() {
        let h = EngineHarness()
        h.register()
        let offset = h.update(1, priority: 10, recordMillis: 1)
        h.update(2, priority: 10, recordMillis: 2)
        var told: [UntimedRecord] = []
        for case .tellUntimed(let record) in h.told() { told.append(record) }
        #expect(told == [UntimedRecord(topic: 0, partition: 0, offset: offset, timestampMillis: 1)])
        #expect(h.engine.counters.untimed == 2)
    }

    /// Both lie in the log for a while before they are read: what came later is newer, whatever the clock says when the first is taken.
    @Test func whatComesLaterIsNewerThoughItWasWrittenBeforeItIsRead() {
        let h = EngineHarness()
        h.register()
        h.advance(600_000)
        h.update(1, priority: 10, recordMillis: 0)
        #expect(h.deliver()?.n == 1)
        h.advance(1_000)
        h.update(2, priority: 10, recordMillis: h.now.wallMillis - 500_000)
        #expect(h.deliver()?.n == 2)
    }

    /// Each crash gives the record a later clock: it must not win over what came after it.
    @Test func aCrashDoesNotMakeItNewer() {
        let h = EngineHarness()
        h.register()
        h.advance(1_000)
        h.update(1, priority: 10, recordMillis: 0)
        h.update(2, priority: 10)
        for _ in 0..<3 {
            h.crash()
            h.advance(60_000)
        }
        #expect(h.deliver()?.n == 2)
        #expect(h.take() == nil)
    }

    /// It came after them, so it is no older.
    @Test func itComesBehindWhatHasArrived() {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 200, priority: 10)
        h.update(2, priority: 10, recordMillis: 0)
        #expect(h.deliver()?.n == 2)
        h.advance(1_000)
        h.update(3, priority: 10, recordMillis: 0)
        #expect(h.deliver()?.n == 3)
        h.advance(1_000)
        h.update(4, at: 100, priority: 10)
        #expect(h.take() == nil, "older than the first")
    }

    /// Its copy may have been written twice, and the first have been pushed by an owner before: nothing says that it was not.
    @Test func aForwardedOneMayHaveBeenPushedBefore() {
        let h = EngineHarness()
        h.register()
        h.advance(10_000)
        h.consume(
            key: "a", value: #"{"event":"update","content-state":{"n":1},"priority":10}"#, topic: 1, recordMillis: 0,
            origin: SourcePosition(topic: 0, partition: 7, offset: 5))
        #expect(h.deliver()?.stamp == 11)
    }

    @Test func aStartHasItsFifteenMinutesFromWhenItIsTaken() {
        let h = EngineHarness()
        h.start(1, recordMillis: 1_700_000)
        #expect(h.take() != nil)
    }

    @Test func agesDoNotGain56Years() {
        let h = EngineHarness()
        h.register()
        h.update(1, priority: 10, recordMillis: 1_700_000_000)
        h.deliver()
        var ages: [Int64] = []
        h.engine.takeAcceptedSamples { ages.append(h.now.wallMillis - $0.recordMillis) }
        #expect(ages.count == 1 && ages.allSatisfy { $0 < 10_000 })
    }
}
