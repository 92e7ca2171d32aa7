import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests records whose time cannot be right: the producer's client wrote seconds, 0, or the time of a wrong clock.
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
        for case .warnOfUntimed(let record) in h.actionsSoFar() { told.append(record) }
        #expect(told == [UntimedRecord(topic: 0, partition: 0, offset: offset, timestampMillis: 1)])
        #expect(h.engine.counters.untimed == 2)
    }

    /// Two updates wait in the log, the first without a time. The second counts as newer, although it was written
    /// before the first is read.
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

    /// A record without a time gets a later time after each crash, when it is read again. It must not become newer than
    /// the records behind it.
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

    /// A record without a time counts as newer than the records that arrived before it.
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

    /// A record may have been forwarded twice, and a former owner may have pushed the first copy. So its push is
    /// stamped like a replay.
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
