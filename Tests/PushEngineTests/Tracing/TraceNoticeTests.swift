import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what the engine reports of traced events.
@Suite struct TraceNoticeTests {
    private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private static func harness(
        _ publication: OutcomePublication = .all, placement: Bool = false
    ) -> EngineHarness {
        let h = EngineHarness {
            $0.settings.outcomePublication = publication
            if placement { $0.settings.placement = .check }
        }
        h.tracesEvents = true
        return h
    }

    private static func update(_ n: Int, _ h: EngineHarness, more: String = "") -> Int64 {
        h.consume(
            key: "a", value: #"{"event":"update","priority":10,"content-state":{"n":\#(n)}\#(more)}"#,
            traceparent: Self.traceparent)
    }

    private static func position(_ offset: Int64) -> SourcePosition {
        SourcePosition(topic: 0, partition: 0, offset: offset)
    }

    @Test func anEventIsFollowedFromItsPushToItsOutcome() throws {
        let h = Self.harness()
        let registration = h.register()
        #expect(
            h.traceNotices() == [
                TraceNotice(source: Self.position(registration), happening: .ended(.applied, reason: "", into: nil))
            ])
        let offset = Self.update(1, h)
        #expect(h.traceNotices() == [])
        let push = try #require(h.take())
        let sent = h.traceNotices()
        guard case .sent(let told) = sent.first?.happening else {
            Issue.record("nothing is told of the push: \(sent)")
            return
        }
        #expect(sent.count == 1 && sent[0].source == Self.position(offset))
        #expect(told.id == push.id)
        #expect(told.slotID == Array("a".utf8))
        #expect(told.priority == .high)
        #expect(told.mergedCount == 1)
        #expect(told.kind == .device)
        h.answer(push, .accepted)
        let ends = h.traceNotices().map(\.happening)
        #expect(ends.count == 2)
        guard case .answered(let answer) = ends.first else {
            Issue.record("nothing is told of the answer: \(ends)")
            return
        }
        #expect(answer.id == push.id && answer.result == .accepted)
        #expect(ends.last == .ended(.delivered, reason: "", into: nil))
        // A reader of outcomes continues the trace as any consumer would.
        let outcome = h.written.last { $0.topic == .outcomes }
        #expect(outcome?.headers["traceparent"] == Self.traceparent)
    }

    /// `tracestate` is carried in headers with the trace. It is not written in the values of outcomes or in `state`.
    @Test func whatOthersSaidOfTheTraceGoesOnWithIt() throws {
        let carried = Self.traceparent + "vendor=1,other=2"
        let update = #"{"event":"update","priority":10,"content-state":{"n":1}}"#
        let h = Self.harness()
        h.register()
        let offset = h.consume(key: "a", value: update, traceparent: carried)
        h.deliver()
        let outcome = try #require(h.written.last { $0.topic == .outcomes })
        #expect(outcome.headers["traceparent"] == Self.traceparent)
        #expect(outcome.headers["tracestate"] == "vendor=1,other=2")
        #expect(outcome.text.contains("\"traceparent\":\"\(Self.traceparent)\""))
        #expect(h.outcomes(of: offset) == ["delivered"])
        // These events are not pushed.
        for value in ["{", #"{"event":"unregister"}"#] {
            h.consume(key: "a", value: value, traceparent: carried)
            let last = try #require(h.written.last { $0.topic == .outcomes })
            #expect(last.headers["tracestate"] == "vendor=1,other=2", "\(value)")
            #expect(last.text.contains("\"traceparent\":\"\(Self.traceparent)\""), "\(value)")
        }
        // The event waits for a token when its partition is lost. The next owner does not continue the trace.
        let waiting = h.consume(key: "b", value: update, traceparent: carried)
        h.advance(2_000)
        h.tracesEvents = false
        h.crash(replays: false)
        h.advance(600_000)
        #expect(h.outcomes(of: waiting).count == 1)
        let told = try #require(h.written.last { $0.topic == .outcomes && $0.text.contains("\"offset\":\(waiting)") })
        #expect(told.headers["tracestate"] == nil && told.headers["traceparent"] == nil)
        #expect(told.text.contains("\"traceparent\":\"\(Self.traceparent)\""))
    }

    @Test func aMisplacedRecordTakesItAlong() throws {
        let h = Self.harness(placement: true)
        for key in 1...9 {
            h.consume(
                key: "\(key)", value: #"{"event":"unregister"}"#, traceparent: Self.traceparent + "vendor=1")
        }
        let forwarded = h.written.filter { $0.topic == .routed }
        #expect(!forwarded.isEmpty)
        #expect(
            forwarded.allSatisfy {
                $0.headers["traceparent"] == Self.traceparent && $0.headers["tracestate"] == "vendor=1"
            })
    }

    /// Without tracing, the header is kept whole, whatever it holds.
    @Test func whatIsNotTracedIsNotTakenApart() throws {
        let h = Self.harness()
        h.tracesEvents = false
        h.register()
        let text = Self.traceparent + "-more"
        h.consume(
            key: "a", value: #"{"event":"update","priority":10,"content-state":{"n":1}}"#, traceparent: text)
        h.deliver()
        let outcome = try #require(h.written.last { $0.topic == .outcomes })
        #expect(outcome.headers.isEmpty && outcome.text.contains("\"traceparent\":\"\(text)\""))
    }

    @Test func ofOthersNothingIsTold() throws {
        let h = Self.harness()
        h.tracesEvents = false
        h.register()
        _ = Self.update(1, h)
        _ = Self.update(2, h)
        h.deliver()
        h.consume(key: "a", value: "{")
        #expect(h.traceNotices() == [])
        #expect(h.written.allSatisfy { $0.topic != .outcomes || $0.headers.isEmpty })
    }

    /// An event may be replaced by the usual shorter way, which writes no outcome record, or by the longer way. Both
    /// report which event replaced it.
    @Test(arguments: [OutcomePublication.all, .failures])
    func aReplacedEventSaysByWhich(_ publication: OutcomePublication) throws {
        let h = Self.harness(publication)
        h.register()
        let first = Self.update(1, h)
        let second = Self.update(2, h)
        let third = h.consume(key: "a", value: #"{"event":"end"}"#, traceparent: Self.traceparent)
        let superseded = h.traceNotices().suffix(2)
        #expect(
            Array(superseded) == [
                TraceNotice(
                    source: Self.position(first),
                    happening: .ended(.superseded, reason: "", into: Self.position(second))),
                TraceNotice(
                    source: Self.position(second),
                    happening: .ended(.superseded, reason: "", into: Self.position(third))),
            ])
    }

    @Test func everyAttemptIsTold() throws {
        let h = Self.harness()
        h.register()
        _ = Self.update(1, h)
        _ = h.traceNotices()
        h.answer(try #require(h.take()), .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(120_000)
        h.answer(try #require(h.take()), .accepted)
        let kinds = h.traceNotices().map { note in
            switch note.happening {
            case .sent: "sent"
            case .answered(let answer): answer.result == .accepted ? "accepted" : "refused"
            case .ended(let outcome, _, _): "\(outcome.name)"
            case .forwarded: "forwarded"
            case .passBegan, .passSkipped, .passAnswered, .passEnded, .broadcastAnswered: "of a pass"
            }
        }
        #expect(kinds == ["sent", "refused", "sent", "accepted", "delivered"])
    }

    @Test func aRecordThatCannotBeTakenSaysWhy() throws {
        let h = Self.harness()
        let offset = h.consume(key: "a", value: "{}", traceparent: Self.traceparent)
        let notes = h.traceNotices()
        #expect(notes.map(\.source) == [Self.position(offset)])
        guard case .ended(.deadLettered, let reason, nil) = notes.first?.happening else {
            Issue.record("\(notes)")
            return
        }
        #expect(reason.hasPrefix("event: "))
    }

    @Test func aMisplacedRecordIsToldWhereItGoes() throws {
        let h = Self.harness(placement: true)
        // At least one of nine keys belongs to another partition.
        for key in 1...9 { h.register(of: "\(key)") }
        let forwards = h.traceNotices().filter {
            if case .forwarded = $0.happening { true } else { false }
        }
        #expect(!forwards.isEmpty)
        #expect(UInt64(forwards.count) == h.counters.forwarded)
    }

    /// Events get random fates. The outcome of each is reported once.
    @Test(arguments: [OutcomePublication.all, .pushes, .failures], [1, 2, 3, 4] as [UInt64])
    func everyOutcomeIsToldOnce(_ publication: OutcomePublication, seed: UInt64) throws {
        let h = Self.harness(publication)
        var random = SplitMix64(seed: seed)
        var ended: [SourcePosition: Outcome] = [:]
        func note() {
            for note in h.traceNotices() {
                guard case .ended(let outcome, _, _) = note.happening else { continue }
                #expect(ended.updateValue(outcome, forKey: note.source) == nil, "\(note.source) ended twice")
            }
        }
        for _ in 0..<400 {
            let activity = ["a", "b", "c"].randomElement(using: &random)!
            switch Int.random(in: 0..<12, using: &random) {
            case 0: h.register(of: activity)
            case 1: h.end(Int.random(in: 0..<9, using: &random), of: activity)
            case 2: h.start(1, of: activity)
            case 3: h.consume(key: activity, value: "nonsense")
            case 4: h.advance(Int64.random(in: 1...400_000, using: &random))
            case 5:
                let results: [PushAnswer.Result] = [
                    .unknown(detail: "lost"), .notProcessed,
                    .response(PushResponse(status: 410, reason: "Unregistered")),
                    .response(PushResponse(status: 400, reason: "BadMessageId")), .accepted,
                ]
                if let push = h.take() { h.answer(push, results.randomElement(using: &random)!) }
            case 6:
                let expires = h.wallSeconds + Int64.random(in: 0...300, using: &random)
                h.update(
                    7, of: activity, alert: Bool.random(using: &random) ? "!" : nil, more: #""expires":\#(expires)"#)
            default:
                h.update(
                    Int.random(in: 0..<9, using: &random), of: activity,
                    at: Bool.random(using: &random) ? Int64.random(in: 0...60, using: &random) : nil,
                    priority: Bool.random(using: &random) ? 10 : 5, alert: Bool.random(using: &random) ? "!" : nil)
            }
            note()
        }
        for outcome in Outcome.allCases {
            let told = UInt64(ended.values.count { $0 == outcome })
            #expect(told == h.counters.count(outcome), "\(outcome.name)")
        }
        #expect(ended.count > 100)
    }
}

extension WrittenRecord {
    fileprivate var text: String { String(decoding: self.value, as: UTF8.self) }
}
