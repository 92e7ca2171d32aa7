import APNSProtocol
import Foundation
import PushEngine
import PushModel
import Testing

/// An update that only replaces an unsent one takes a shorter path, unless outcomes of superseded events are
/// published. An observer of the pushes must not be able to tell which path was taken.
@Suite struct ReplaceTests {
    /// A push that left the engine, and when.
    private struct Sent: Equatable {
        var token: String
        var body: String
        var priority: Int
        var expirationSeconds: Int64
        var millis: Int64
    }

    /// Plays random events, chosen by the seed, in an engine with this `publication` of outcomes.
    private static func run(seed: UInt64, _ publication: OutcomePublication) -> (sent: [Sent], counters: EngineCounters)
    {
        var random = SplitMix64(seed: seed)
        let h = EngineHarness {
            $0.settings.outcomePublication = publication
            $0.apps[0].budgetPolicy = seed.isMultiple(of: 2) ? .defer : .downgrade
            $0.apps[0].budgetPerHour = 3
            $0.apps[0].budgetReserve = seed.isMultiple(of: 3) ? 1 : 0
        }
        var sent: [Sent] = []
        var inFlight: [Push] = []
        func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &random) }
        h.register(token: "aa01", of: "a")
        if int(0...1) == 0 { h.register(token: "bb01", of: "b") }
        for n in 0..<120 {
            let activity = int(0...3) == 0 ? "b" : "a"
            switch int(0...99) {
            case 0..<66:
                h.update(
                    n, of: activity,
                    at: int(0...2) == 0 ? h.wallSeconds - EngineHarness.seconds(0) - Int64(int(0...3)) : nil,
                    priority: [nil, 5, 10][int(0...2)], alert: int(0...5) == 0 ? "alert \(n)" : nil,
                    padding: int(0...30) == 0 ? 3_000 : int(0...40),
                    more: int(0...5) == 0 ? #""expires":\#(h.wallSeconds + Int64(int(0...9)))"# : #""x-n":\#(n)"#,
                    int(0...5) == 0
                        ? #""stale-date":\#(h.wallSeconds + Int64(int(1...90)))"# : #""relevance-score":\#(n)"#)
            case 66..<70: h.update(n, of: activity, more: #""alert":null"#)
            case 70..<72: h.end(n, of: activity)
            case 72..<75: h.register(token: "\(activity)\(activity)\(100 + n)0", of: activity)
            case 75..<77: h.unregister(activity)
            case 77..<80: h.acknowledgesAtOnce.toggle()
            case 80..<92: h.advance(Int64([1, 40, 900, 5_000, 400_000][int(0...4)]))
            default:
                // The order of pushes is not promised. Pushes are sorted by token, so that the answer goes to the same
                // activity in both engines.
                inFlight.sort { $0.token < $1.token }
                if let push = inFlight.popLast() {
                    h.answer(push, int(0...3) == 0 ? .notProcessed : .accepted)
                }
            }
            if h.acknowledgesAtOnce { h.acknowledgeAll() }
            while let push = h.take() {
                sent.append(
                    Sent(
                        token: push.token, body: push.body, priority: push.priority,
                        expirationSeconds: push.expirationSeconds, millis: h.now.steadyMillis))
                inFlight.append(push)
            }
        }
        h.acknowledgesAtOnce = true
        h.acknowledgeAll()
        while let push = inFlight.popLast() { h.answer(push, .accepted) }
        // From here on every push is answered at once, and only time goes on.
        for _ in 0..<40 {
            h.advance(600_000)
            while let push = h.take() {
                sent.append(
                    Sent(
                        token: push.token, body: push.body, priority: push.priority,
                        expirationSeconds: push.expirationSeconds, millis: h.now.steadyMillis))
                h.answer(push, .accepted)
            }
        }
        return (sent, h.counters)
    }

    @Test(arguments: 0..<10)
    func theShorterWayLeadsToTheSamePushes(tens: UInt64) {
        var (sentCount, mergedCount) = (0, UInt64(0))
        for seed in tens * 30..<tens * 30 + 30 {
            let long = Self.run(seed: seed, .all)
            let short = Self.run(seed: seed, .pushes)
            // The order of two activities that become ready at the same moment is not promised.
            for activity in ["aa", "bb"] {
                #expect(
                    long.sent.filter { $0.token.hasPrefix(activity) }
                        == short.sent.filter { $0.token.hasPrefix(activity) }, "seed \(seed)")
            }
            #expect(long.counters.outcomes == short.counters.outcomes, "seed \(seed)")
            #expect(long.counters.eventsMerged == short.counters.eventsMerged, "seed \(seed)")
            #expect(long.counters.pending == short.counters.pending, "seed \(seed)")
            sentCount += long.sent.count
            mergedCount += long.counters.eventsMerged
        }
        #expect(sentCount > 100)
        #expect(mergedCount > 500)
    }

    /// A replaced event is committed only when a `state` record with the newer event is acknowledged. After a crash
    /// before that, all replaced events are read again.
    @Test func aReplacedEventIsNotCommittedBeforeItsSuccessor() {
        let h = EngineHarness {
            $0.settings.outcomePublication = .pushes
            $0.apps[0].budgetPolicy = .defer
            $0.apps[0].budgetPerHour = 1
            $0.apps[0].budgetReserve = 0
        }
        h.register()
        h.update(0, priority: 10)
        h.deliver()
        h.acknowledgesAtOnce = false
        let first = h.update(1, priority: 10)
        h.update(2, priority: 10)
        h.update(3, priority: 10)
        #expect(h.counters.eventsMerged == 2)
        #expect((h.committed[0] ?? 0) <= first)
        h.crash()
        h.advance(3_600_000)
        let push = h.deliver()
        #expect(push?.body.contains(#""n":3"#) == true)
        #expect(h.isCommitted())
    }
}
