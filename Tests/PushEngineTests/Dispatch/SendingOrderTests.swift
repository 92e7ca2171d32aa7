import PushEngine
import PushModel
import Testing

/// Tests in which order slots send when streams are scarce (contract: Sending order): high before low, oldest first.
/// Low priority does not starve, and the apps of a route take turns.
@Suite struct SendingOrderTests {
    private static func alive(_ activities: [String], _ configure: (inout EngineConfiguration) -> Void = { _ in })
        -> EngineHarness
    {
        let h = EngineHarness(configure)
        for (number, activity) in activities.enumerated() { h.register(token: "aa\(10 + number)", of: activity) }
        return h
    }
    private static func drain(_ h: EngineHarness, route: UInt16 = 0) -> [Int?] {
        var order: [Int?] = []
        while let push = h.take(route: route) { order.append(push.n) }
        return order
    }

    @Test func highBeforeLowOldestFirstWithinEach() {
        let h = Self.alive(["a", "b", "c", "d"])
        h.update(1, of: "a")
        h.advance(10)
        h.update(2, of: "b")
        h.advance(1_000)
        h.update(3, of: "c", priority: 10)
        h.advance(10)
        h.update(4, of: "d", priority: 10)
        #expect(Self.drain(h) == [3, 4, 1, 2])
    }

    @Test func lowCannotStarve() {
        let names = (0..<60).map { "h\($0)" }
        let h = Self.alive(["low"] + names)
        h.update(-1, of: "low")
        h.advance(1_000)
        // There is one stream, and two high-priority updates arrive for each push that leaves.
        var sent: [Int] = []
        for turn in 0..<60 where !sent.contains(-1) {
            h.update(turn, of: names[turn], priority: 10)
            h.advance(100)
            if turn.isMultiple(of: 2), let push = h.deliver() { sent.append(push.n ?? 0) }
        }
        #expect(sent.contains(-1))
    }

    @Test func mergingAHighEventMovesItForward() {
        let h = Self.alive(["a", "b"])
        h.update(1, of: "a")
        h.update(2, of: "b")
        h.advance(1_000)
        h.update(3, of: "b", priority: 10)
        #expect(Self.drain(h) == [3, 1])
    }

    @Test func mergingDoesNotCostTheTurn() {
        let h = Self.alive(["a", "b"])
        h.update(1, of: "a", priority: 10)
        h.update(2, of: "b", priority: 10)
        h.update(3, of: "a", priority: 10)
        #expect(Self.drain(h) == [3, 2])
    }

    @Test func appsOfOneRouteTakeTurns() {
        let h = EngineHarness {
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            $0.apps.append(other)
        }
        for number in 0..<6 {
            let app = #""app":"com.example.\#(number < 4 ? "pizza" : "other")""#
            h.consume(key: "\(number)", value: #"{"event":"register","token":"aa\#(10 + number)",\#(app)}"#)
            h.consume(
                key: "\(number)", value: #"{"event":"update","content-state":{"n":\#(number)},"priority":10,\#(app)}"#)
        }
        let order = Self.drain(h)
        #expect(
            order.compactMap { $0 }.prefix(4).count { $0 >= 4 } == 2,
            "four of one app do not hold back two of another: \(order)")
        #expect(order.count == 6)
    }

    @Test func aRouteThatIsNotConfiguredHasNothing() {
        let h = Self.alive(["a"])
        h.update(1, priority: 10)
        #expect(!h.hasReady(route: 7))
        #expect(h.take(route: 7) == nil)
        #expect(!h.hasReady(route: 1))
    }

    @Test func readinessIsToldWithoutTakingAnything() {
        let h = Self.alive(["a"])
        #expect(!h.hasReady())
        h.update(1, priority: 10)
        #expect(h.hasReady())
        #expect(h.deliver() != nil)
        #expect(!h.hasReady())
    }
}
