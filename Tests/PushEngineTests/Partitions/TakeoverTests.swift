import APNSProtocol
import PushEngine
import PushModel
import Testing

/// What the owner before may have sent without `state` knowing: one push of a slot, and nothing when it gave the partition back in order.
@Suite struct TakeoverTests {
    private static func alive() -> EngineHarness {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        h.advance(1_000)
        return h
    }
    private static func expires(_ at: Int64) -> String { #""expires":\#(EngineHarness.seconds(at))"# }

    /// Gives the partition back, as a worker does that is told to stop; everything is acknowledged.
    private static func release(_ h: EngineHarness) {
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased)
        h.engine.forget(partition: 0)
        h.step()
    }

    // MARK: After a crash

    /// Its push was accepted; all that Kafka has of it is the outcome. Read again after its `expires`, it is not said to have been set aside.
    @Test func aReplayThatHasExpiredMayBeOnThePhone() {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.deliver()
        h.crash(afterMillis: 60_000)
        #expect(h.outcomes(of: offset) == ["delivered", "unknown"])
        #expect(h.take() == nil)
    }

    /// A push that `state` has as waiting may have left.
    @Test func whatWaitedMayHaveLeft() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        h.deliver()
        h.crash(afterMillis: 60_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["delivered", "unknown"])
    }

    /// It left with a stamp that no record tells of, and expired before it could be sent again: the phone would ignore other content under
    /// that stamp. Found by the simulation.
    @Test(arguments: [true, false])
    func noPushGetsTheStampOfOneThatMayHaveLeft(isInState: Bool) throws {
        let h = Self.alive()
        let eventSeconds = EngineHarness.seconds(100)
        let offset = h.update(1, at: 100, priority: 10, more: Self.expires(30))
        if isInState { h.advance(2_000) }
        h.acknowledgesAtOnce = false
        let first = try #require(h.deliver())
        #expect(first.body.contains(#""timestamp":\#(eventSeconds),"#))
        h.crash(afterMillis: 60_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset).last == "unknown")
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        h.advance(2_000)
        Self.release(h)
        h.crash()
        h.advance(2_000)
        h.update(2, at: 100, priority: 10)
        let second = try #require(h.deliver())
        #expect(second.body.contains(#""n":2"#) && !second.body.contains(#""timestamp":\#(eventSeconds),"#))
    }

    /// The phone shows it, which the next owner cannot know: something older that comes later goes along with an end that has no content.
    /// One of the two exceptions of README's limits. Found by the simulation.
    @Test func anEndTakesOverWhatIsOlderThanOneThatWasGivenUp() throws {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        let given = h.update(1, at: 100, priority: 10, more: Self.expires(30))
        h.deliver()
        h.crash(afterMillis: 60_000)
        #expect(h.outcomes(of: given) == ["delivered", "unknown"])
        let older = h.update(2, at: 50)
        h.end(at: 160)
        h.advance(2_000)
        #expect(try #require(h.deliver()).body.contains(#""n":2"#))
        #expect(h.outcomes(of: older) == ["superseded"])
    }

    /// An alert was to go first, as the content behind it had not fitted beside it; newer content does, and both went as one when the first attempt had
    /// failed. `state` has the two: the next owner sends no older one first. Found by the simulation.
    @Test func whatMayHaveLeftAsOneIsPutTogether() throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        let blocking = try #require(h.take())
        let (alert, padding) = (String(repeating: "a", count: 2_000), 2_500)
        h.update(2, alert: alert)
        h.update(3, padding: padding)
        h.update(4)
        h.answer(blocking, .accepted)
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        let first = try #require(h.take())
        #expect(first.n == 2 && first.alert == alert)
        h.answer(first, .notProcessed)
        h.advance(2_000)
        let both = try #require(h.deliver())
        #expect(both.n == 4 && both.alert == alert)
        h.crash()
        h.advance(2_000)
        let again = try #require(h.deliver())
        #expect(again.n == 4 && again.alert == alert && again.stamp > both.stamp)
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    /// A position may be `delivered` by one owner and give way at the next, which has read something newer: that says that it may have been sent.
    @Test func aReplayThatGivesWaySaysThatItMayHaveBeenSent() throws {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        let first = h.update(1, priority: 10)
        h.deliver()
        h.crash()
        let second = h.update(2, priority: 10)
        h.advance(2_000)
        h.deliver()
        #expect(h.outcomes(of: first) == ["delivered", "superseded"])
        let reason = "gave way; an attempt whose answer is not known may have reached the device before"
        #expect(h.outcomes.last { $0.offset == first }?.reason == reason)
        #expect(h.outcome(of: second)?.outcome == "delivered")
    }

    /// The one between the two gave the partition back in order, and had not read what the first had pushed without a record. Found by the
    /// simulation.
    @Test func whoLeavesBeforeReadingHandsNothingOver() throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        let first = h.update(2, priority: 10)
        h.deliver()
        h.crash(replays: false)
        Self.release(h)
        h.crash()
        h.update(3, priority: 10)
        #expect(h.outcomes(of: first) == ["delivered", "superseded"])
        let reason = "gave way; an attempt whose answer is not known may have reached the device before"
        #expect(h.outcomes.last { $0.offset == first }?.reason == reason)
    }

    /// A worker that had read a part of `state`, and so wrote the slot down when it left, hands nothing over.
    @Test func whoHasReadAPartHandsNothingOver() {
        let h = Self.alive()
        // What waits in `state` would be doubted by itself: nothing waits.
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        let registered = h.register(token: "bb01")
        let first = h.update(2, priority: 10)
        #expect(h.deliver()?.token == "bb01")
        h.crash(replays: false)
        h.replay(offset: registered)
        Self.release(h)
        #expect(h.committed[0] == first, "the one between has written the slot down")
        h.crash()
        h.update(3, priority: 10)
        #expect(h.outcomes(of: first) == ["delivered", "superseded"])
        let reason = "gave way; an attempt whose answer is not known may have reached the device before"
        #expect(h.outcomes.last { $0.offset == first }?.reason == reason)
    }

    /// Nobody can have sent it: it gives way without a word about that.
    @Test func whatNobodyCanHaveSentGivesWayAsUsual() throws {
        let h = Self.alive()
        let first = h.update(1, priority: 10)
        h.update(2, priority: 10)
        h.deliver()
        #expect(try #require(h.outcome(of: first)).reason == nil)
    }

    /// It was too late already when it was written: nobody has sent it.
    @Test func aReplayThatWasAlwaysTooLateIsExpired() {
        let h = Self.alive()
        h.advance(60_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.crash()
        #expect(Set(h.outcomes(of: offset)) == ["expired"])
    }

    /// Its token died before it was read again.
    @Test func aReplayWhoseTokenHasDiedMayBeOnThePhone() throws {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10)
        h.deliver()
        h.crash()
        h.advance(2_000)
        let push = try #require(h.take())
        h.answer(push, .response(PushResponse(status: 410, reason: "Unregistered")))
        h.advance(301_000)
        #expect(h.outcomes(of: offset) == ["delivered", "unknown"])
    }

    /// A start is announced in `state` before it leaves: one that was not has not left.
    @Test func aStartThatWasNotAnnouncedHasNotLeft() {
        let h = EngineHarness()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.start(1)
        h.crash(afterMillis: 1_000_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    /// The first start of all: what lies in the log already has been read by nobody.
    @Test func withoutAnOwnerBeforeNothingHasLeft() {
        var engine = RestoredEngine.make()
        let now = EngineTime(steadyMillis: 0, wallMillis: 1_700_000_000_000)
        engine.partitionAssigned(0, now: now)
        let marker = engine.batch.records[0]
        let key = Array(engine.batch.bytes[marker.key])
        let value = Array(engine.batch.bytes[marker.value])
        engine.acknowledged(marker.acknowledgement, offset: 0, now: now)
        let result = engine.restore(
            partition: 0, key: key.span, value: value.span, isTombstone: false, offset: 0, now: now)
        #expect(result == .ignored)
        let end = CommitPosition(topic: 0, partition: 0, nextOffset: 50)
        engine.restoreFinished(partition: 0, logEnds: [end], starts: [], now: now)
        let event = Array(#"{"event":"update","content-state":{"n":1},"expires":1699999999}"#.utf8)
        let record = InputRecord(
            topic: 0, partition: 0, offset: 7, timestampMillis: 1_699_999_000_000, hasKey: true, hasValue: true,
            origin: nil)
        engine.consume(
            record, key: Array("a".utf8).span, value: event.span, traceparent: [UInt8]().span, now: now)
        let counters = engine.counters
        #expect(counters.count(.expired) == 1 && counters.count(.unknown) == 0)
    }

    // MARK: After a release

    @Test func whatWasHandedOverExpiresAsUsual() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        Self.release(h)
        h.crash(afterMillis: 60_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    /// Nothing can have left unrecorded: the whole budget is there.
    @Test func aReleaseCountsNoExtraUnit() {
        let h = Self.alive()
        #expect(BudgetHarness.spend(h, 1) == [10])
        h.update(2, priority: 10)
        Self.release(h)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 10)
    }

    /// Somebody has owned it in between, and died before it wrote anything about the activity.
    @Test func anOwnerInBetweenMayHaveSentIt() {
        let h = Self.alive()
        #expect(BudgetHarness.spend(h, 1) == [10])
        let offset = h.update(2, priority: 10, more: Self.expires(600))
        Self.release(h)
        h.crash()
        h.advance(2_000)
        h.acknowledgesAtOnce = false
        #expect(h.deliver()?.priority == 10)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 5)
        #expect(h.outcomes(of: offset).last == "delivered")
    }
}
