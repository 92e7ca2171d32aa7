import Testing

@testable import PushInspection

/// Tests of what the timeline says about an event that waits.
struct EventWaitTests {
    private static let until: Int64 = 1_795_600_010_000

    private static func wait(_ cause: String = "token", untilMillis: Int64? = Self.until) -> EventWait {
        EventWait(cause: cause, text: "a token", untilMillis: untilMillis, isGivenUpThen: true)
    }

    private static func timeline() -> Timeline {
        var timeline = TimelineTests.timeline()
        for (offset, key) in ["order-1", "order-1", "order-2"].enumerated() {
            _ = timeline.takeEvent(
                at: EventPosition(partition: 0, offset: Int64(offset)), key: Array(key.utf8),
                value: Array(#"{"event":"update","content-state":{"minutes":12}}"#.utf8),
                nowMillis: TimelineTests.now + Int64(offset))
        }
        return timeline
    }

    @Test func whatWaitsIsListedByActivity() {
        let timeline = Self.timeline()
        let all = timeline.waiting(countMax: 16, beforeMillis: TimelineTests.now + 10)
        #expect(all.map(\.key) == ["order-2", "order-1"] && all.map(\.entries) == [[3], [2, 1]])
        #expect(timeline.waiting(countMax: 1, beforeMillis: TimelineTests.now + 10).map(\.key) == ["order-2"])
        #expect(timeline.waiting(countMax: 16, beforeMillis: TimelineTests.now).map(\.entries) == [[1]])
    }

    @Test func theReasonStandsInTheEntryUntilItsOutcome() throws {
        var timeline = Self.timeline()
        timeline.setWait(Self.wait(), of: [1, 2])
        let entry = try #require(timeline.entry(1))
        #expect(timeline.summary(of: entry).hasPrefix("Waits for a token. It is given up at "))
        #expect(timeline.json(entry)["wait"]?["cause"]?.plainText == "token")
        let revision = timeline.revision
        timeline.setWait(Self.wait(untilMillis: Self.until + 900), of: [1, 2])
        #expect(timeline.revision == revision, "nothing else is told")
        timeline.setWait(Self.wait("window", untilMillis: nil), of: [1])
        #expect(timeline.revision > revision)
        timeline.setWait(nil, of: [2])
        #expect(timeline.summary(of: try #require(timeline.entry(2))) == "Waits in the worker.")
        timeline.setWait(Self.wait(), of: [1])
        let outcome = try #require(EventOutcome.read(TimelineTests.outcome("delivered", at: 0), topic: "events"))
        timeline.takeOutcome(outcome.outcome, of: outcome.position)
        timeline.setWait(Self.wait(), of: [1])
        let done = try #require(timeline.entry(1))
        #expect(timeline.json(done)["waitedFor"]?.plainText == "a token")
        #expect(timeline.json(done)["wait"] == nil && timeline.summary(of: done).hasPrefix("Delivered"))
    }

    /// After a swipe no token comes, and the line of a waiting event says so. What the line advises depends on what the
    /// server has said.
    @Test func afterASwipeNobodyIsToldToWaitForAToken() throws {
        var timeline = Self.timeline()
        let id = timeline.meet(token: TimelineTests.token, activity: "order-1", app: "")
        timeline.setWait(Self.wait(), of: [1])
        timeline.setSwiped(id)
        timeline.setWait(Self.wait(), of: [1])
        let gone = try #require(timeline.entry(1))
        #expect(
            timeline.summary(of: gone).hasPrefix(
                "The card was swiped away, and its token is dead: no phone shows this event. For a new card, publish "
                    + "{\"event\": \"unregister\"} with this key, then a start. The worker gives the event up at "))
        #expect(timeline.json(gone)["wait"]?["text"]?.plainText.contains("Waits") == false)
        timeline.setWait(Self.wait("record", untilMillis: nil), of: [1])
        #expect(timeline.summary(of: try #require(timeline.entry(1))) == "Waits for a token.")
        Self.publish(#"{"event":"unregister"}"#, at: 7, &timeline)
        timeline.setWait(Self.wait(), of: [1])
        #expect(timeline.summary(of: try #require(timeline.entry(1))).contains("event. A new card needs a start. The"))
        _ = timeline.removeApp(from: id)
        timeline.setWait(Self.wait(), of: [1])
        #expect(timeline.summary(of: try #require(timeline.entry(1))).contains("Nothing is left to do."))
        // A new card takes the place of the one that is gone.
        timeline.addToken(String(repeating: "cd", count: 32), to: id, isReported: true)
        timeline.setWait(Self.wait(), of: [1])
        #expect(timeline.summary(of: try #require(timeline.entry(1))).hasPrefix("Waits for a token."))
    }

    /// The advice for a second start depends on the card. The start is a duplicate as long as the worker regards the
    /// activity as living.
    @Test func theAdviceForASecondStartFitsTheCard() throws {
        var timeline = Self.timeline()
        let id = timeline.meet(token: TimelineTests.token, activity: "order-1", app: "")
        let token = String(repeating: "ef", count: 32)
        let start =
            #"{"event":"start","to":{"start-token":"\#(token)"},"attributes-type":"A","attributes":{},"#
            + #""content-state":{},"alert":{"title":"a","body":"b"}}"#
        Self.publish(start, at: 7, &timeline)
        let read = try #require(
            EventOutcome.read(
                TimelineTests.outcome(
                    "duplicate", at: 7, more: #","reason":"the activity was already started and has not ended""#),
                topic: "events"))
        timeline.takeOutcome(read.outcome, of: read.position)
        let line = try #require(timeline.entries.last).id
        func advice() throws -> String { timeline.summary(of: try #require(timeline.entry(line))) }
        #expect(try advice().hasSuffix("Publish it with another key: each start needs an id of its own."))
        timeline.setSwiped(id)
        #expect(try advice().hasSuffix("with this key, then the start again. Or start with another key."))
        Self.publish(#"{"event":"unregister"}"#, at: 8, &timeline)
        #expect(try advice().hasSuffix("its server has said so since: publish the start again."))
        _ = timeline.removeApp(from: id)
        #expect(try advice().hasSuffix("The app was removed from the phone: no start reaches it."))
    }

    private static func publish(_ value: String, at offset: Int64, _ timeline: inout Timeline) {
        _ = timeline.takeEvent(
            at: EventPosition(partition: 0, offset: offset), key: Array("order-1".utf8), value: Array(value.utf8),
            nowMillis: TimelineTests.now)
    }
}
