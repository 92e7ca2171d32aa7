import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests what a former owner may have sent without a record in `state`: one push of each slot, or nothing if it
/// released the partition.
@Suite struct TakeoverTests {
    private static func alive() -> EngineHarness {
        let h = BudgetHarness.alive(perHour: 2, reserve: 0)
        h.advance(1_000)
        return h
    }
    private static func expires(_ at: Int64) -> String { #""expires":\#(EngineHarness.seconds(at))"# }

    /// Releases the partition as a worker does when it is told to stop. Everything is acknowledged.
    private static func release(_ h: EngineHarness) {
        h.engine.beginRelease(partition: 0, now: h.now)
        h.engine.finishRelease(partition: 0, now: h.now)
        h.step()
        #expect(h.isReleased)
        h.engine.forget(partition: 0)
        h.step()
    }

    // MARK: After a crash

    /// The push was accepted, but Kafka only has its outcome. The event is read again after its `expires`, and ends
    /// as `unknown`, not as `expired`.
    @Test func aReplayThatHasExpiredMayBeOnThePhone() {
        let h = Self.alive()
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.deliver()
        h.crash(afterMillis: 60_000)
        #expect(h.outcomes(of: offset) == ["delivered", "unknown"])
        #expect(h.take() == nil)
    }

    /// An update that waits in `state` may have left. So it ends as `unknown` when it expires.
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

    /// An update left with an unrecorded stamp, and expired before it could be sent again. No later push may have
    /// that stamp, because the phone would ignore it. Found by the simulation.
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

    /// The phone shows an update, and the next owner cannot know that. An older update then goes along with an end that
    /// has no content. README's limits name this as “Older content after newer”. Found by the simulation.
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

    /// Content did not fit beside an alert, so the alert went first and failed. Newer content did fit, and left with
    /// the alert in one push without a record. `state` has two updates, and the next owner must not send the older
    /// one first. Found by the simulation.
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

    /// Three updates wait behind a push with an alert when the owner crashes. The first fits beside the alert. The
    /// second does not, but expires later than the third, so it is kept behind. Found by the simulation.
    @Test func whatOutlivesTheNewestWaitsThoughAnotherFitsBesideTheAlert() throws {
        let h = Self.alive()
        h.update(1, at: 1, priority: 10, alert: String(repeating: "a", count: 2_000))
        #expect(h.take()?.n == 1)
        h.update(2, at: 2)
        let large = h.update(3, at: 3, padding: 2_500, more: Self.expires(600))
        let soon = h.update(4, at: 4, more: Self.expires(30))
        h.advance(2_000)
        #expect(h.isCommitted())
        h.crash(afterMillis: 60_000)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
        h.advance(2_000)
        #expect(h.deliver()?.n == 3)
        #expect(h.outcomes(of: large) == ["delivered"])
        #expect(h.outcomes(of: soon) == ["unknown"])
    }

    /// One owner delivers an event. The next owner has read a newer event, so the first event gives way. The first
    /// event's outcome then says that the event may have been sent before.
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

    /// The first owner pushed an event without a record. The second owner released the partition before it had read
    /// that event. The third owner must still doubt the event. Found by the simulation.
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

    /// A worker has read only part of the log when it releases the partition and writes the slot down. The next owner
    /// must still doubt the events that this worker had not read.
    @Test func whoHasReadAPartHandsNothingOver() {
        let h = Self.alive()
        // An update that waits in `state` would be doubted in any case, so none waits here.
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

    /// No owner can have sent the event, so its outcome does not say that it may have been sent.
    @Test func whatNobodyCanHaveSentGivesWayAsUsual() throws {
        let h = Self.alive()
        let first = h.update(1, priority: 10)
        h.update(2, priority: 10)
        h.deliver()
        #expect(try #require(h.outcome(of: first)).reason == nil)
    }

    /// The event had expired before it was written, so no owner can have sent it. It ends as `expired`.
    @Test func aReplayThatWasAlwaysTooLateIsExpired() {
        let h = Self.alive()
        h.advance(60_000)
        h.acknowledgesAtOnce = false
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        h.crash()
        #expect(Set(h.outcomes(of: offset)) == ["expired"])
    }

    /// The event's token dies before the next owner sends the event again. The event may be on the phone from the first
    /// push, so it ends as `unknown`.
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
        let last = try #require(h.outcomes.last { $0.offset == offset })
        #expect(
            last.reason
                == "the token is dead; an attempt whose answer is not known may have reached the device before it died")
        #expect(last.fields["token"] as? String == "dead" && last.fields["token-hash"] is String)
    }

    /// No token was registered, so no owner can have sent the event. Its outcome is certain.
    @Test(arguments: [false, true]) func whatNeverHadATokenHasNotBeenSent(isInState: Bool) {
        let h = Self.alive()
        if !isInState { h.acknowledgesAtOnce = false }
        let offset = h.update(1, of: "b", priority: 10)
        h.advance(2_000)
        #expect(h.isCommitted() == isInState)
        h.crash()
        h.advance(301_000)
        #expect(h.outcomes(of: offset) == ["unregistered"])
    }

    /// The former owner had read a registration and sent the event, and `state` has neither. The next owner reads the
    /// registration again.
    @Test func aRegistrationThatIsReadAgainLeavesADoubt() {
        let h = Self.alive()
        let offset = h.update(1, of: "b", priority: 10)
        h.advance(2_000)
        #expect(h.isCommitted())
        h.acknowledgesAtOnce = false
        h.register(token: "bb01", of: "b")
        #expect(h.deliver()?.n == 1)
        h.unregister("b")
        h.crash()
        h.advance(301_000)
        #expect(h.outcomes(of: offset) == ["delivered", "unknown"])
    }

    // MARK: After a release

    /// A worker left in good order, and the event was written after that. Nobody can have sent it, so its outcome is
    /// certain and it has taken no unit of the budget.
    @Test(arguments: [false, true]) func whatCameAfterAReleaseHasNotBeenSent(isNewActivity: Bool) throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        Self.release(h)
        let id = isNewActivity ? "new" : "a"
        if isNewActivity { h.register(token: "bb01", of: id) }
        let first = h.update(2, of: id, priority: 10, more: Self.expires(30))
        h.crash(afterMillis: 60_000)
        #expect(h.outcomes(of: first) == ["expired"])
        h.advance(2_000)
        let second = h.update(3, of: id, priority: 10)
        #expect(h.deliver()?.n == 3, "the budget of 2 has a unit left")
        #expect(h.outcomes(of: second) == ["delivered"])
    }

    /// The token died while nobody owned the partition. The outcome of an update that waited for the next owner says
    /// that the token is dead.
    @Test func aTokenThatDiedAfterAReleaseIsNamed() throws {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        Self.release(h)
        let offset = h.update(2, priority: 10)
        h.crash()
        h.advance(2_000)
        let push = try #require(h.take())
        h.answer(push, .response(PushResponse(status: 410, reason: "Unregistered")))
        h.advance(301_000)
        #expect(h.outcomes(of: offset) == ["rejected"])
        #expect(h.outcome(of: offset)?.fields["token"] as? String == "dead")
    }

    /// A start that was not announced in `state` has not left. So it ends as `expired`, not as `unknown`.
    @Test func aStartThatWasNotAnnouncedHasNotLeft() {
        let h = EngineHarness()
        h.advance(1_000)
        h.acknowledgesAtOnce = false
        let offset = h.start(1)
        h.crash(afterMillis: 1_000_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    /// The partition has no former owner, so nobody can have sent an event in its log. An event that has expired ends
    /// as `expired`, not as `unknown`.
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

    @Test func whatWasHandedOverExpiresAsUsual() {
        let h = Self.alive()
        let offset = h.update(1, priority: 10, more: Self.expires(30))
        Self.release(h)
        h.crash(afterMillis: 60_000)
        h.advance(1_000)
        #expect(h.outcomes(of: offset) == ["expired"])
    }

    /// After a release nothing can have left without a record, so the next owner counts no extra unit of the budget.
    @Test func aReleaseCountsNoExtraUnit() {
        let h = Self.alive()
        #expect(BudgetHarness.spend(h, 1) == [10])
        h.update(2, priority: 10)
        Self.release(h)
        h.crash()
        h.advance(2_000)
        #expect(h.deliver()?.priority == 10)
    }

    /// The owner after a release crashed before it wrote anything about the activity. It may have sent the push, so a
    /// unit of the budget counts for that push.
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
