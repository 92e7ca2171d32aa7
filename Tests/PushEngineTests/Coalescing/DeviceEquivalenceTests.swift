import APNSProtocol
import DeviceModel
import PushEngine
import PushModel
import Testing

/// Device equivalence on one activity (contract: Device equivalence): after the last push the device shows what it
/// would show had every event been pushed in order. Events, answers, clocks and crashes are random. The simulation
/// plays the whole engine with many activities.
@Suite struct DeviceEquivalenceTests {
    /// The events of one activity, and its phone.
    private struct Run {
        let seed: UInt64
        var random: SplitMix64
        let h: EngineHarness
        var device = Device()
        /// The offset of each event, its payload if it were pushed by itself, and the timestamp up to which it
        /// withdraws alerts; `nil`: it withdraws none.
        var events: [(offset: Int64, payload: [UInt8], withdrawsUpTo: Int64?)] = []
        var hasEnded = false
        /// What happened, printed when the test fails.
        var trace: [String] = []
        var faults: [String] = []

        init(seed: UInt64, expires: Bool) {
            self.seed = seed
            self.random = SplitMix64(seed: seed)
            self.h = EngineHarness {
                $0.apps[0].budgetPolicy = seed.isMultiple(of: 3) ? .defer : .downgrade
                $0.apps[0].budgetPerHour = 15
            }
            self.expires = expires
        }
        let expires: Bool
        var startsByPush = false

        mutating func int(_ range: ClosedRange<Int>) -> Int { Int.random(in: range, using: &self.random) }
        mutating func chance(_ percent: Int) -> Bool { self.int(0...99) < percent }

        mutating func event(_ kind: String, _ n: Int) {
            var parts: [String] = []
            let at = self.h.wallSeconds + Int64(self.int(-4...2))
            // No event is large if events may expire. Otherwise an alert that does not fit beside older content could
            // be lost.
            let isBig = !self.expires && self.chance(6)
            if kind != "end" || self.chance(50) {
                let pad = String(repeating: "x", count: isBig ? self.int(2_500...3_600) : 0)
                parts.append(#""content-state":{"n":\#(n),"p":"\#(pad)"}"#)
            }
            if kind == "start" || self.chance(25) {
                let title = String(
                    repeating: "t", count: self.chance(20) && !isBig && !self.expires ? self.int(500...1_500) : 1)
                parts.append(#""alert":{"title":"\#(title)","body":"\#(n)"}"#)
            }
            if self.chance(30) { parts.append(#""relevance-score":\#(n).5"#) }
            if self.chance(20) {
                let ahead = self.expires ? Int64(self.int(1...8)) : 1_000_000
                parts.append(#""stale-date":\#(self.h.wallSeconds + ahead)"#)
            }
            if kind == "end", self.chance(50) { parts.append(#""dismissal-date":\#(at + 60)"#) }
            if kind == "start" { parts += [#""attributes-type":"P""#, #""attributes":{"a":\#(n)}"#] }
            let payload = #"{"aps":{"event":"\#(kind)","timestamp":\#(at),\#(parts.joined(separator: ","))}}"#
                .replacing(",}}", with: "}}")
            var fields = parts + [#""event":"\#(kind)""#, #""timestamp":\#(at)"#]
            if kind == "start" { fields.append(#""to":{"start-token":"5747"}"#) }
            if self.chance(30) { fields.append(#""priority":\#(self.chance(50) ? 10 : 5)"#) }
            let withdrawsAlert = kind != "start" && !payload.contains("alert") && self.chance(20)
            if withdrawsAlert { fields.append(#""alert":null"#) }
            if self.expires, self.chance(15) {
                fields.append(#""expires":\#(self.h.wallSeconds + Int64(self.int(1...6)))"#)
            }
            let offset = self.h.consume(key: "a", value: EngineHarness.object(fields))
            self.events.append((offset, Array(payload.utf8), withdrawsAlert ? (kind == "end" ? .max : at) : nil))
            self.note("event \(offset) \(payload)\(withdrawsAlert ? ", withdraws alerts" : "")")
            if kind == "end" { self.hasEnded = true }
        }

        mutating func note(_ text: String) {
            let text = text.replacing(/[xt]{20,}/, with: "…")
            self.trace.append("\(self.h.now.wallMillis - EngineHarness.seconds(0) * 1_000) ms: \(text)")
        }

        /// Answers a push as APNs, the network and the phone would.
        mutating func answer(_ request: PushRequest) {
            let roll = self.int(0...99)
            let result: PushAnswer.Result
            var arrives = true
            switch roll {
            case 0..<60: result = .accepted
            case 60..<75:
                result = .unknown(detail: "reset")
                // A start with an unknown answer must arrive, because without it there is no card. If events expire,
                // other unknown pushes must not arrive: it would be undecided whether the phone should show them.
                arrives = self.device.cardCount == 0 && self.startsByPush || (!self.expires && self.chance(50))
            case 75..<85:
                result = .notProcessed
                arrives = false
            default:
                result = .response(PushResponse(status: 503, reason: "ServiceUnavailable"))
                arrives = false
            }
            self.note(
                "push \(String(decoding: request.body, as: UTF8.self)) \(result) \(arrives ? "arrives" : "is lost")")
            if arrives {
                do throws(PayloadFault) {
                    let reaction = try self.device.push(
                        body: request.body, priority: Int(request.priority.rawValue), nowMillis: self.h.now.wallMillis)
                    if reaction == .ignoredSameStamp { self.faults.append("another content with the same stamp") }
                } catch {
                    self.faults.append("\(error)")
                }
            }
            self.h.engine.answered(PushAnswer(id: request.id, result: result, apnsMicros: 1), now: self.h.now)
            self.h.step()
        }

        /// What the phone would show if it had got every event in order. Events that expired or were late do not count,
        /// nor does a start that never arrived.
        func reference() -> ReferenceDevice {
            var outcomes: [Int64: OutcomeRecord] = [:]
            for outcome in self.h.outcomes { outcomes[outcome.offset] = outcome }
            var reference = ReferenceDevice()
            for (offset, payload, withdrawsUpTo) in self.events {
                if let withdrawsUpTo { reference.withdrawAlerts(upTo: withdrawsUpTo) }
                var last = outcomes[offset]
                while let into = last?.into, last?.outcome == "superseded" { last = outcomes[into] }
                guard let last else {
                    Issue.record("offset \(offset) has no outcome, seed \(self.seed)")
                    continue
                }
                if last.outcome == "expired" || last.outcome == "late"
                    || (last.outcome == "unknown" && self.device.cardCount == 0)
                {
                    continue
                }
                do throws(PayloadFault) {
                    _ = try reference.take(payload: payload)
                } catch { Issue.record("\(error)") }
            }
            return reference
        }
    }

    private static func check(_ run: inout Run, crashes: Bool) {
        let h = run.h
        if !run.expires, run.chance(30) {
            run.startsByPush = true
            run.event("start", 0)
        } else {
            h.register()
        }
        var held: [PushRequest] = []
        for n in 1...run.int(5...40) {
            if run.chance(60), !run.hasEnded || run.chance(20) { run.event(run.chance(4) ? "end" : "update", n) }
            if run.chance(10) { h.register(token: "aa\(10 + n)") }
            h.advance(Int64(run.int(0...[50, 1_500, 4_000][run.int(0...2)])))
            var request = PushRequest()
            if h.fill(&request) { held.append(request) }
            h.step()
            if run.chance(60), let request = held.popLast() { run.answer(request) }
            if run.chance(10) { h.acknowledgesAtOnce.toggle() }
            h.step()
            if crashes, run.chance(8) {
                // A push that was in flight may have arrived.
                run.note("crash with \(held.count) in flight")
                for request in held where run.chance(50) {
                    run.note("push \(String(decoding: request.body, as: UTF8.self)) arrives")
                    _ = try? run.device.push(body: request.body, priority: 5, nowMillis: h.now.wallMillis)
                }
                held = []
                // A partition is never assigned twice within one second, which keeps the stamps of two owners apart.
                h.crash(afterMillis: Int64(run.int(1_000...4_000)))
            }
        }
        h.acknowledgesAtOnce = true
        h.step()
        h.register(token: "ffff")
        for _ in 0..<200 {
            for request in held { run.answer(request) }
            held = []
            var request = PushRequest()
            if h.fill(&request) { held.append(request) }
            h.step()
            if h.counters.pending == 0 { break }
            h.advance(30_000)
        }
        h.advance(2_000)
        #expect(h.counters.pending == 0, "everything settles, seed \(run.seed)")
        #expect(h.isCommitted(), "everything is committed, seed \(run.seed)")
        // A start with an unknown answer may never have arrived. In that case there is no card to compare.
        let isLost = run.startsByPush && run.device.cardCount == 0 && h.counters.count(.unknown) > 0
        let reference = run.reference()
        if !isLost, let difference = run.device.firstDifference(from: reference.device, alerts: reference.alerts) {
            run.faults.append(difference)
        }
        if !run.faults.isEmpty {
            let outcomes = h.outcomes.map { "\($0.offset) \($0.outcome) \($0.into.map { "into \($0)" } ?? "")" }
            Issue.record(
                "\(run.faults.joined(separator: "; ")), seed \(run.seed)\n\((run.trace + outcomes).joined(separator: "\n"))"
            )
        }
    }

    @Test(arguments: 1...120 as ClosedRange<UInt64>)
    func theDeviceShowsWhatInOrderPushesWouldShow(seed: UInt64) {
        var run = Run(seed: seed, expires: false)
        Self.check(&run, crashes: false)
    }

    @Test(arguments: 1_001...1_120 as ClosedRange<UInt64>)
    func crashesChangeNothing(seed: UInt64) {
        var run = Run(seed: seed, expires: false)
        Self.check(&run, crashes: true)
    }

    @Test(arguments: 2_001...2_120 as ClosedRange<UInt64>)
    func expiredEventsAreAside(seed: UInt64) {
        var run = Run(seed: seed, expires: true)
        Self.check(&run, crashes: false)
    }
}
