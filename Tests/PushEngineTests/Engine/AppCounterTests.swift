import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests the counters that say, for each app, what became of its requests.
struct AppCounterTests {
    private static let second = #""app":"com.example.football""#

    private static func twoApps() throws -> EngineHarness {
        let h = EngineHarness()
        try h.reconfigure {
            var app = $0.apps[0]
            app.bundleID = "com.example.football"
            $0.apps.append(app)
        }
        for (key, app) in [("a", "com.example.pizza"), ("b", "com.example.football")] {
            _ = h.consume(key: key, value: #"{"event":"register","token":"aa0\#(key)","app":"\#(app)"}"#)
        }
        return h
    }

    @Test func eachAppCountsItsOwn() throws {
        let h = try Self.twoApps()
        h.update(1, of: "a", priority: 10, more: #""app":"com.example.pizza""#)
        h.deliver()
        h.update(1, of: "b", priority: 10, more: Self.second)
        h.answer(try #require(h.take()), .unknown(detail: "lost"))
        h.advance(70_000)
        h.answer(try #require(h.take()), .notProcessed)
        h.advance(70_000)
        h.answer(try #require(h.take()), .response(PushResponse(status: 429, reason: "TooManyRequests")))
        h.advance(70_000)
        h.deliver()
        #expect(h.counters.apps.count == 2)
        let (pizza, football) = (h.counters.apps[0], h.counters.apps[1])
        #expect(pizza.accepted == 1 && pizza.refused == 0 && pizza.refusals.isEmpty)
        #expect(football.accepted == 1 && football.unknown == 1 && football.notProcessed == 1)
        #expect(football.refused == 1 && football.refusals == ["TooManyRequests": 1])
        #expect(h.counters.pushesAccepted == 2 && h.counters.pushesRefused == 1)
    }

    /// All reasons that Mailboat does not know share one label. A proxy before APNs may send any number of them.
    @Test func reasonsAreAClosedSet() throws {
        let h = EngineHarness()
        h.register()
        for (round, reason) in ["ServiceUnavailable", "", "made up 1", "made up 2"].enumerated() {
            h.update(round, priority: 10)
            h.advance(70_000)
            h.answer(try #require(h.take()), .response(PushResponse(status: 503, reason: reason)))
            h.advance(70_000)
            h.deliver()
        }
        #expect(h.counters.apps[0].refusals == ["ServiceUnavailable": 1, "none": 1, "other": 2])
        #expect(h.counters.pushesRefused == 4 && h.counters.pushesAccepted == 4)
    }
}
