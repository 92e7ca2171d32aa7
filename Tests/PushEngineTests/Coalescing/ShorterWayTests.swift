import APNSProtocol
import Foundation
import PushModel
import Testing

@testable import PushEngine

/// Compares two engines that get the same random events. One takes the shorter ways for an update that only replaces
/// another (`replacePending`, `replaces`); the other never does. Pushes, `state`, outcomes, dead letters and commits
/// must be equal byte for byte after every step. This also holds after a crash at any moment, which leaves only what
/// Kafka has.
@Suite struct ShorterWayTests {
    /// Something that left the engine, and the step of the day when it left.
    private struct Line: Equatable, CustomStringConvertible {
        var step: Int
        var text: String
        var bytes: [UInt8] = []

        var description: String {
            let plain = self.bytes.map { $0 >= 0x20 && $0 < 0x7f ? String(UnicodeScalar($0)) : "<\($0)>" }
            return "step \(self.step): \(self.text) \(plain.joined())"
        }
    }

    /// One engine's day: random steps, and everything that left the engine.
    private struct Day {
        let h: EngineHarness
        let isLong: Bool
        var random: SplitMix64
        let activities: [String]
        var lines: [Line] = []
        var inFlight: [Push] = []
        var writtenCount = 0
        /// Number of updates that replaced an unsent one, added up over all processes of the day.
        var mergedCount: UInt64 = 0
        var crashCount = 0

        init(seed: UInt64, isLong: Bool) {
            self.random = SplitMix64(seed: seed &* 977)
            self.isLong = isLong
            self.activities = seed.isMultiple(of: 3) ? ["a"] : ["a", "a", "a", "b"]
            self.h = EngineHarness {
                $0.inputTopics = ["liveactivity.events", "liveactivity.more", "liveactivity.routed"]
                $0.routedTopicIndex = 2
                $0.settings.outcomePublication = seed.isMultiple(of: 5) ? .failures : .pushes
                $0.apps[0].budgetPolicy = seed.isMultiple(of: 2) ? .defer : .downgrade
                $0.apps[0].budgetPerHour = 3
                $0.apps[0].budgetReserve = seed.isMultiple(of: 3) ? 1 : 0
                $0.apps[0].alertOnUnknown = seed.isMultiple(of: 7) ? .drop : .resend
                $0.apps[0].startOnUnknown = seed.isMultiple(of: 4) ? .resend : .drop
                $0.settings.markerRefreshMillis = 100_000_000
            }
            self.h.engine.core.coalescer.takesShorterWays = !isLong
        }

        mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }

        mutating func event(_ n: Int) {
            let activity = self.activities[self.int(0...self.activities.count - 1)]
            // Most events come from one topic. An event of another topic takes the slot's entry in the ledger, which
            // forces the longer way.
            let topic = UInt16(self.int(0...14) == 0 ? 1 : self.int(0...14) == 0 ? 2 : 0)
            let at = self.int(0...2) == 0 ? h.wallSeconds - EngineHarness.seconds(0) - Int64(self.int(0...3)) : nil
            let alert = self.int(0...5) == 0 ? "alert \(n)" : nil
            let withdrawsAlert = alert == nil && self.int(0...7) == 0
            let priority = [nil, 5, 10][self.int(0...2)]
            // The payloads have equal or different lengths, or are too large beside an alert.
            let padding = self.int(0...30) == 0 ? 3_990 : self.int(0...2) == 0 ? self.int(0...40) : 0
            var more: [String] = []
            switch self.int(0...9) {
            case 0: more.append(#""expires":\#(h.wallSeconds + Int64(self.int(0...9)))"#)
            case 1: more.append(#""stale-date":\#(h.wallSeconds + Int64(self.int(0...90)))"#)
            case 2: more.append(#""relevance-score":\#(n)"#)
            case 3: more.append(#""id":"event \#(n)""#)
            default: break
            }
            if withdrawsAlert { more.append(#""alert":null"#) }
            let value: String
            switch self.int(0...39) {
            case 0: value = Self.start(n, h)
            case 1:
                more.append(#""to":{"token":"cc0\#(self.int(0...3))"}"#)
                value = EngineHarness.content(
                    "update", n, at: at, priority: priority, alert: alert, padding: 0, more: more)
            case 2:
                value = EngineHarness.content(
                    "end", self.int(0...1) == 0 ? n : nil, at: at, priority: nil, alert: alert, padding: padding,
                    more: more)
            case 3: value = #"{"event":"register","token":"\#(activity)\#(activity)\#(10 + n % 90)"}"#
            case 4: value = #"{"event":"unregister"}"#
            case 5: value = #"{"event":"update"}"#
            default:
                value = EngineHarness.content(
                    "update", n, at: at, priority: priority, alert: alert, padding: padding, more: more)
            }
            h.consume(
                key: activity, value: value, topic: topic, recordMillis: h.now.wallMillis - Int64(self.int(0...2_000)),
                origin: topic == 2
                    ? SourcePosition(topic: 0, partition: 5, offset: Int64(1_000 + n)) : nil,
                traceparent: self.int(0...3) == 0 ? "00-\(n)-01" : "")
        }

        private static func start(_ n: Int, _ h: EngineHarness) -> String {
            EngineHarness.content(
                "start", n, at: nil, priority: nil, alert: "start", padding: 0,
                more: [
                    #""to":{"start-token":"5747a7"}"#, #""attributes-type":"Pizza""#, #""attributes":{}"#,
                ])
        }

        mutating func answer() {
            guard let push = self.inFlight.popLast() else { return }
            let results: [PushAnswer.Result] = [
                .accepted, .accepted, .accepted, .notProcessed, .unknown(detail: "reset"),
                .response(PushResponse(status: 400, reason: "BadDeviceToken")),
                .response(PushResponse(status: 410, reason: "Unregistered")),
                .response(PushResponse(status: 413, reason: "PayloadTooLarge")),
                .response(PushResponse(status: 503, reason: "ServiceUnavailable", retryAfterSeconds: 3)),
            ]
            h.answer(push, results[self.int(0...results.count - 1)])
        }

        mutating func takeOver(afterMillis: Int64) {
            self.mergedCount += h.counters.eventsMerged
            self.inFlight = []
            self.crashCount += 1
            h.crash(afterMillis: afterMillis, replays: false)
            h.engine.core.coalescer.takesShorterWays = !self.isLong
            h.replay()
        }

        /// Plays one step and records what leaves the engine.
        mutating func step(_ n: Int) {
            switch self.int(0...99) {
            case 0..<66: self.event(n)
            case 66..<69: h.acknowledgesAtOnce.toggle()
            case 69..<72:
                let topic = [EngineRecord.Topic.state, .outcomes][self.int(0...1)]
                h.acknowledgeAll { $0.topic == topic }
            case 72..<84: h.advance(Int64([1, 40, 60, 900, 1_100, 5_000, 400_000][self.int(0...6)]))
            case 84..<95: self.answer()
            case 95: self.takeOver(afterMillis: Int64([0, 5_000, 100_000][self.int(0...2)]))
            case 96:
                // The partition is released in good order, and another process takes it over.
                if self.int(0...1) == 0 {
                    while !self.inFlight.isEmpty { self.answer() }
                    h.engine.beginRelease(partition: 0, now: h.now)
                    h.engine.finishRelease(partition: 0, now: h.now)
                    h.step()
                    h.acknowledgeAll()
                    h.step()
                    self.takeOver(afterMillis: 2_000)
                }
            case 97: h.advance(43_200_000)
            default: h.advance(1_000)
            }
            if h.acknowledgesAtOnce { h.acknowledgeAll() }
            // The runner asks the engine for what is due before it asks for pushes.
            h.advance(0)
            while self.int(0...3) > 0, let push = h.take() {
                let text = "\(push.token) \(push.priority) \(push.expirationSeconds) \(push.apnsID) \(push.body)"
                self.lines.append(Line(step: n, text: "sent \(text)"))
                self.inFlight.append(push)
            }
            self.note(n)
        }

        /// Adds to `lines` the records written since the last call, and the offsets that may be committed.
        mutating func note(_ n: Int) {
            for record in h.written[self.writtenCount...] {
                let headers = record.headers.sorted { $0.key < $1.key }
                self.lines.append(
                    Line(
                        step: n, text: "\(record.topic) \(record.keyText) \(record.isNull) \(headers)",
                        bytes: record.value))
            }
            self.writtenCount = h.written.count
            self.lines.append(Line(step: n, text: "committed \(h.committed.sorted { $0.key < $1.key })"))
        }

        /// Answers and acknowledges everything, and waits until nothing is pending.
        mutating func finish() {
            h.acknowledgesAtOnce = true
            for n in 1_000..<1_030 {
                h.acknowledgeAll()
                while let push = self.inFlight.popLast() { h.answer(push, .accepted) }
                // The last steps are long enough to end the life of a card whose token never came.
                h.advance(n < 1_020 ? 600_000 : 10_000_000)
                while let push = h.take() {
                    self.lines.append(Line(step: n, text: "sent \(push.token) \(push.body)"))
                    h.answer(push, .accepted)
                }
                self.note(n)
            }
            self.mergedCount += h.counters.eventsMerged
        }
    }

    private static func live(seed: UInt64, isLong: Bool, crashAfter: Int? = nil, steps: Int = 120) -> Day {
        var day = Day(seed: seed, isLong: isLong)
        day.h.register(token: "aa01", of: "a")
        if day.int(0...1) == 0 { day.h.register(token: "bb01", of: "b") }
        for n in 0..<steps {
            day.step(n)
            if n == crashAfter { day.takeOver(afterMillis: 1_000) }
        }
        day.finish()
        return day
    }

    /// Sorts the lines of each step: the order of two activities that are due at the same moment is not promised.
    private static func sorted(_ day: Day) -> [Line] {
        guard day.activities.contains("b") else { return day.lines }
        return day.lines.map { ($0, $0.description) }
            .sorted { ($0.0.step, $0.1) < ($1.0.step, $1.1) }
            .map(\.0)
    }

    private static func compare(_ long: Day, _ short: Day, _ text: String) {
        if let different = zip(Self.sorted(long), Self.sorted(short)).first(where: { $0 != $1 }) {
            Issue.record("\(text):\n  long  \(different.0)\n  short \(different.1)")
        } else {
            #expect(long.lines.count == short.lines.count, "\(text)")
        }
        #expect(long.h.counters == short.h.counters, "\(text)")
        for topic: UInt16 in 0..<3 { #expect(short.h.isCommitted(topic: topic), "\(text), topic \(topic)") }
        #expect(short.h.counters.pending == 0, "\(text)")
    }

    @Test(arguments: 0..<10)
    func nothingThatLeavesTellsWhichWayWasTaken(tens: UInt64) {
        var (merged, crashes) = (UInt64(0), 0)
        for seed in tens * 20..<tens * 20 + 20 {
            let long = Self.live(seed: seed, isLong: true)
            let short = Self.live(seed: seed, isLong: false)
            Self.compare(long, short, "seed \(seed)")
            merged += short.mergedCount
            crashes += short.crashCount
        }
        #expect(merged > 200)
        #expect(crashes > 5)
    }

    /// Both engines also behave alike after a crash, which may follow any step.
    @Test(arguments: 0..<8)
    func norAfterACrashAtAnyMoment(seed: UInt64) {
        for step in 0..<40 {
            let long = Self.live(seed: 1_000 + seed, isLong: true, crashAfter: step, steps: 40)
            let short = Self.live(seed: 1_000 + seed, isLong: false, crashAfter: step, steps: 40)
            Self.compare(long, short, "seed \(1_000 + seed), crash after step \(step)")
        }
    }
}
