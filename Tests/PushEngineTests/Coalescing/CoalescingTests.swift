import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests which events are merged, and what is kept of events that give way (contract: Merging).
@Suite struct CoalescingTests {
    private static func alive(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = EngineHarness(configure)
        h.register()
        return h
    }

    // MARK: Newest

    struct Newest: Sendable, CustomTestStringConvertible {
        /// Timestamps in the order of arrival. The content of each event is its index.
        var at: [Int64?]
        var shown: Int
        var testDescription: String { "\(self.at.map { $0.map(String.init) ?? "-" }) shows \(self.shown)" }
    }

    /// The newest event is decided by timestamp, then by arrival. An event without a timestamp has its record's time,
    /// here second 0.
    @Test(arguments: [
        Newest(at: [1, 2, 3], shown: 2), Newest(at: [3, 2, 1], shown: 0), Newest(at: [2, 3, 1], shown: 1),
        Newest(at: [5, 5, 5], shown: 2), Newest(at: [5, 4, 5], shown: 2), Newest(at: [nil, nil], shown: 1),
        Newest(at: [1, nil], shown: 0), Newest(at: [-1, nil], shown: 1), Newest(at: [0, nil], shown: 1),
        Newest(at: [nil, 0], shown: 1),
    ])
    func newestByTimestampThenByArrival(_ events: Newest) {
        let h = Self.alive()
        let offsets = events.at.enumerated().map { h.update($0.offset, at: $0.element, priority: 10) }
        let push = h.deliver()
        #expect(push?.n == events.shown)
        for (place, offset) in offsets.enumerated() {
            #expect(h.outcomes(of: offset) == [place == events.shown ? "delivered" : "superseded"])
        }
        #expect(h.outcome(of: offsets[events.shown])?.merged == Int64(offsets.count))
        h.advance(5_000)
        #expect(h.take() == nil)
    }

    @Test func theNewestContentBringsItsOwnDatesAndScore() {
        let h = Self.alive()
        h.update(
            1, at: 1, priority: 10, more: #""stale-date":\#(EngineHarness.seconds(500))"#, #""relevance-score":50"#)
        h.update(2, at: 2, more: #""expires":\#(EngineHarness.seconds(700))"#)
        let push = h.deliver()
        #expect(push?.n == 2)
        #expect(push?.staleDate == nil)
        #expect(push?.relevanceScore == nil)
        #expect(push?.expirationSeconds == EngineHarness.seconds(700))
    }

    @Test func theReplacedOneSaysByWhatAndWhatLivesOn() {
        let h = Self.alive()
        let first = h.update(1, at: 1, priority: 10, alert: "one")
        let second = h.update(2, at: 2)
        let third = h.update(3, at: 3)
        #expect(h.outcome(of: first)?.into == second)
        #expect(h.outcome(of: first)?.kept == ["alert", "priority"])
        #expect(h.outcome(of: second)?.into == third)
    }

    // MARK: The newest alert is never lost

    struct Alerts: Sendable, CustomTestStringConvertible {
        var alerts: [String?]
        var at: [Int64]
        var shown: String?
        var testDescription: String { "\(self.alerts.map { $0 ?? "-" }) at \(self.at)" }
    }

    @Test(arguments: [
        Alerts(alerts: ["a", nil], at: [1, 2], shown: "a"),
        Alerts(alerts: ["a", nil, nil], at: [1, 2, 3], shown: "a"),
        Alerts(alerts: ["a", "b"], at: [1, 2], shown: "b"),
        Alerts(alerts: ["a", nil, "c", nil], at: [1, 1, 1, 1], shown: "c"),
        // The device ignores an event that is older than the one it has, together with the older event's alert.
        Alerts(alerts: [nil, "b"], at: [2, 1], shown: nil), Alerts(alerts: ["a", "b"], at: [2, 1], shown: "a"),
    ])
    func theNewestAlertIsKept(_ events: Alerts) {
        let h = Self.alive()
        for (place, alert) in events.alerts.enumerated() { h.update(place, at: events.at[place], alert: alert) }
        h.advance(1_000)
        #expect(h.deliver()?.alert == events.shown)
    }

    /// An alert and content that do not fit into one push wait as two updates. A newer alert merges them again, and the
    /// push then counts the events of both.
    @Test func whatWaitedApartIsCountedTogether() {
        let h = Self.alive()
        h.update(1, priority: 10, alert: String(repeating: "a", count: 3_000))
        h.update(2, priority: 10, padding: 3_000)
        let last = h.update(3, priority: 10, alert: "c", padding: 3_000)
        let push = h.deliver()
        #expect(push?.n == 3 && push?.alert == "c")
        #expect(h.outcome(of: last)?.merged == 3)
    }

    @Test func theHighestPriorityOfTheUnsentCounts() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.update(2, priority: 5)
        #expect(h.deliver()?.priority == 10)
        h.advance(2_000)
        h.update(3, priority: 5)
        h.update(4, priority: 10)
        #expect(h.deliver()?.priority == 10)
        h.advance(2_000)
        h.update(5, priority: 5)
        h.advance(1_000)
        #expect(h.deliver()?.priority == 5, "what was sent has no say any more")
    }

    // MARK: Older than what was accepted

    @Test func anEventOlderThanTheLastAcceptedIsSupersededWithItsAlert() {
        let h = Self.alive()
        h.update(1, at: 10, priority: 10)
        h.deliver()
        let offset = h.update(2, at: 9, priority: 10, alert: "old")
        let said = h.outcome(of: offset)
        #expect(said?.outcome == "superseded")
        #expect(said?.kept.isEmpty == true)
        #expect(
            said?.reason
                == "older than an event that was already accepted: its timestamp is \(EngineHarness.seconds(9)), and \(EngineHarness.seconds(10)) was accepted before"
        )
        h.advance(5_000)
        #expect(h.take() == nil)
        let equal = h.update(3, at: 10, priority: 10)
        #expect(h.deliver()?.n == 3)
        #expect(h.outcomes(of: equal) == ["delivered"])
    }

    /// Stamps on the wire run ahead of events' timestamps. The engine must never compare an event with a stamp.
    @Test func wireStampsAreNeverComparedWithEvents() {
        let h = Self.alive()
        for n in 0..<10 {
            h.update(n, at: 0, priority: 10)
            #expect(h.deliver()?.stamp == Int64(n))
            h.advance(1_000)
        }
        h.update(10, at: 3, priority: 10)
        let push = h.deliver()
        #expect(push?.n == 10)
        #expect(push?.stamp == 10)
    }

    @Test(arguments: [true, false])
    func whatIsOlderThanTheOneInFlightGoesWithIt(isAccepted: Bool) {
        let h = Self.alive()
        h.update(1, at: 10, priority: 10)
        let push = h.take()!
        let older = h.update(2, at: 9, priority: 10, alert: "old")
        h.answer(push, isAccepted ? .accepted : .unknown(detail: "reset"))
        h.advance(5_000)
        #expect(h.outcomes(of: older) == ["superseded"])
        let again = h.take()
        #expect(again?.n == (isAccepted ? nil : 1))
        #expect(again?.alert == nil)
    }

    /// X (timestamp 10) is in flight. Then A (timestamp 9, with an alert) and B (timestamp 11) arrive. The device would
    /// have ignored A, so B must not bring A's alert.
    @Test(arguments: [true, false])
    func anAlertOlderThanTheOneInFlightIsNotBroughtAlong(isAccepted: Bool) {
        let h = Self.alive()
        h.update(1, at: 10, priority: 10, alert: "x")
        let push = h.take()!
        h.update(2, at: 9, priority: 10, alert: "a")
        h.update(3, at: 11, priority: 10)
        h.answer(push, isAccepted ? .accepted : .unknown(detail: "reset"))
        h.advance(5_000)
        let again = h.deliver()
        #expect(again?.n == 3)
        #expect(again?.alert == (isAccepted ? nil : "x"))
    }

    @Test func anAlertNewerThanTheOneInFlightIsBroughtAlong() {
        let h = Self.alive()
        h.update(1, at: 10, priority: 10, alert: "x")
        let push = h.take()!
        h.update(2, at: 10, priority: 10, alert: "a")
        h.update(3, at: 11, priority: 10)
        h.answer(push, .unknown(detail: "reset"))
        h.advance(5_000)
        #expect(h.deliver()?.alert == "a")
    }

    // MARK: Too large together

    @Test func contentTooLargeBesideTheKeptAlertMakesTwoPushes() {
        let h = Self.alive()
        let alert = String(repeating: "A", count: 1_000)
        let first = h.update(1, at: 1, alert: alert)
        let second = h.update(2, at: 2, padding: 3_500)
        let push = h.deliver()
        #expect(push?.n == 1)
        #expect(push?.alert == alert)
        h.advance(2_000)
        let next = h.deliver()
        #expect(next?.n == 2)
        #expect(next?.alert == nil)
        #expect(next!.stamp > push!.stamp)
        #expect(h.outcomes(of: first) == ["delivered"])
        #expect(h.outcomes(of: second) == ["delivered"])
    }

    @Test func whatFollowsMergesIntoTheSecondOfTwo() {
        let h = Self.alive()
        h.update(1, at: 1, alert: String(repeating: "A", count: 1_000))
        let second = h.update(2, at: 2, padding: 3_500)
        let third = h.update(3, at: 3)
        #expect(h.outcome(of: second)?.into == third)
        #expect(h.deliver()?.n == 1)
        h.advance(2_000)
        #expect(h.deliver()?.n == 3)
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    /// Content with an alert of its own does not fit beside an older alert. The newer alert replaces the older one.
    @Test func aNewerAlertThatDoesNotFitEitherReplacesTheFirst() {
        let h = Self.alive()
        let a = h.update(1, at: 1, alert: String(repeating: "A", count: 1_000))
        let alert = String(repeating: "B", count: 200)
        let b = h.update(2, at: 2, alert: alert, padding: 3_500)
        #expect(h.outcomes(of: a) == ["superseded"])
        let c = h.update(3, at: 3, padding: 3_970)
        let first = h.deliver()
        #expect(first?.n == 2)
        #expect(first?.alert == alert)
        h.advance(2_000)
        #expect(h.deliver()?.n == 3)
        #expect(h.outcomes(of: b) == ["delivered"])
        #expect(h.outcomes(of: c) == ["delivered"])
    }

    /// The first update waits only to bring its alert, which a newer alert replaces. If the first update were kept, a
    /// crash could make it leave after a newer one.
    @Test func aNewerAlertThatFitsLeavesOnePush() {
        let h = Self.alive()
        let a = h.update(1, at: 1, priority: 10, alert: String(repeating: "A", count: 1_000))
        let b = h.update(2, at: 2, priority: 5, padding: 3_500)
        let c = h.update(3, at: 3, priority: 5, alert: "C")
        #expect(h.outcome(of: a)?.into == c)
        #expect(h.outcome(of: b)?.into == c)
        let push = h.deliver()
        #expect(push?.n == 3)
        #expect(push?.alert == "C")
        #expect(push?.priority == 10, "the highest of those that were not sent")
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    @Test func anEndTooLargeBesideTheKeptAlertFollows() {
        let h = Self.alive()
        h.update(1, at: 1, alert: String(repeating: "A", count: 1_000))
        let end = h.end(2, padding: 3_500)
        #expect(h.deliver()?.event == "update")
        h.advance(2_000)
        let push = h.deliver()
        #expect(push?.event == "end")
        #expect(push?.n == 2)
        #expect(h.outcomes(of: end) == ["delivered"])
        #expect(h.outcomes(of: h.update(3)) == ["late"])
    }

    @Test func contentThatFailedAndNoLongerFitsIsSentFirst() {
        let h = Self.alive()
        h.update(1, at: 1, priority: 10, alert: String(repeating: "A", count: 1_000))
        let push = h.take()!
        h.update(2, at: 2, padding: 3_500)
        h.answer(
            push, .response(PushResponse(status: 500, reason: "InternalServerError")))
        h.advance(5_000)
        #expect(h.deliver()?.n == 1)
        h.advance(2_000)
        #expect(h.deliver()?.n == 2)
    }

    /// Two updates that do not fit together arrive during an attempt that fails. Both are older than the failed update,
    /// and a device that has that update would ignore them. So both give way.
    @Test func whatFailedTakesInWhatIsOlder() {
        let h = Self.alive()
        let a = h.update(1, at: 33, priority: 10)
        let push = h.take()!
        let b = h.update(2, at: 14, alert: String(repeating: "B", count: 1_000))
        let c = h.update(3, at: 15, padding: 3_500)
        h.answer(
            push, .response(PushResponse(status: 500, reason: "InternalServerError")))
        #expect(h.outcome(of: b)?.into == a)
        #expect(h.outcome(of: c)?.into == a)
        let d = h.update(4, at: 16, alert: "D")
        #expect(h.outcome(of: d)?.into == a)
        h.advance(5_000)
        #expect(h.deliver()?.n == 1)
        h.advance(2_000)
        #expect(h.take() == nil)
    }

    /// Three updates do not fit together: one that failed, content too large for the failed update's alert, and an end
    /// with an alert too large for that content. The oldest gives way.
    @Test func ofThreeThatDoNotFitTheOldestGivesWay() {
        let h = Self.alive()
        let first = h.update(1, at: 1, priority: 10, alert: String(repeating: "A", count: 1_000))
        let push = h.take()!
        h.update(2, at: 2, padding: 3_500)
        h.end(at: 3, alert: String(repeating: "B", count: 1_000))
        h.answer(push, .notProcessed)
        h.advance(1_000)
        let second = h.deliver()
        #expect(second?.event == "update")
        #expect(second?.n == 2)
        h.advance(2_000)
        let third = h.deliver()
        #expect(third?.event == "end")
        #expect(third?.alert?.first == "B")
        #expect(h.outcomes(of: first) == ["superseded"])
    }

    /// No payload exceeds Apple's limit, even when the stamp is not the event's own timestamp.
    @Test func aLongStampNeverMakesThePayloadTooLarge() {
        let h = Self.alive()
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        // An end is accepted with any timestamp. Its stamp will have ten digits.
        var padding = 4_080
        while true {
            let pad = String(repeating: "x", count: padding)
            let offset = h.consume(
                key: "a", value: #"{"event":"end","timestamp":1500000000,"content-state":{"n":9,"pad":"\#(pad)"}}"#)
            if h.outcomes(of: offset) != ["dead-lettered"] { break }
            padding -= 1
        }
        let push = h.deliver()
        #expect(push?.n == 9)
        #expect(push?.byteCount == 4_096)
    }
}
