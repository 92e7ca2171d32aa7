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
}
