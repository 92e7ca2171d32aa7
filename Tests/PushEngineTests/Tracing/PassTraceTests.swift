import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests what the engine reports, for tracing, of the passes that bring an audience's event to its members.
@Suite struct PassTraceTests {
    private static let traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"

    private static func harness(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = AudienceTests.harness(configure)
        h.tracesPasses = true
        h.traceparent = Self.traceparent
        return h
    }

    /// A pass as it was reported.
    struct Told {
        var pass: TracedPass
        var source: SourcePosition
        var pushes: [TracedMemberPush] = []
        var end: PassEnd?
        var tally: PassTally?
    }
    /// What was reported of passes since the last call, in the order in which they began.
    private static func passes(_ h: EngineHarness, _ told: [Told] = []) -> [Told] {
        var told = told
        for note in h.traceNotices() {
            switch note.happening {
            case .passBegan(let pass): told.append(Told(pass: pass, source: note.source))
            case .passAnswered(let id, let push):
                let index = told.firstIndex { $0.pass.id == id }
                #expect(index != nil && told[index ?? 0].end == nil && told[index ?? 0].source == note.source)
                if let index { told[index].pushes.append(push) }
            case .passEnded(let id, let end, let tally):
                let index = told.firstIndex { $0.pass.id == id }
                #expect(index != nil && told[index ?? 0].end == nil)
                if let index { (told[index].end, told[index].tally) = (end, tally) }
            case .passSkipped, .sent, .answered, .ended, .forwarded, .broadcastAnswered: break
            }
        }
        return told
    }

    // MARK: One pass

    @Test func aPassIsFollowedFromItsVersionToItsLastMember() throws {
        let h = Self.harness()
        for member in 1...20 { h.join(member) }
        #expect(Self.passes(h).isEmpty)
        let offset = h.audienceUpdate(1, alert: "goal")
        let began = Self.passes(h)
        let pass = try #require(began.first?.pass)
        #expect(began.count == 1 && began[0].source == SourcePosition(topic: 0, partition: 0, offset: offset))
        #expect(pass.audience == Array("match".utf8) && pass.partition == 0 && pass.app == 0)
        #expect(!pass.isStart && !pass.isResumed && pass.recordMillis == h.now.wallMillis)
        #expect(pass.parent == TraceContext(traceparent: Array(Self.traceparent.utf8).span))
        h.advance(20)
        let sentMillis = h.now.steadyMillis
        h.deliverAll()
        let told = try #require(Self.passes(h, began).first)
        #expect(told.end == .finished)
        #expect(told.tally?.counts.due == 20 && told.tally?.counts.accepted == 20 && told.tally?.waitingCount == 0)
        // Some of the pass's pushes are reported as examples.
        #expect(told.pushes.count == PassTraces.examplesMax)
        #expect(told.pushes.allSatisfy { $0.sentMillis == sentMillis && $0.priority == .high && $0.route == 0 })
        #expect(told.pushes.allSatisfy { $0.answer.result == .accepted && $0.attempt == 0 })
        #expect(Set(told.pushes.map(\.apnsIDLow)).count == told.pushes.count)
        // A push to a late member is never an example.
        h.join(21)
        #expect(h.deliverAll().count == 1)
        #expect(Self.passes(h).isEmpty)
    }

    /// After the first pushes only pushes that APNs did not accept are reported, up to a limit.
    @Test func refusalsAreToldBeyondTheFirst() throws {
        let h = Self.harness()
        for member in 1...60 { h.join(member) }
        h.audienceUpdate(1)
        var taken = 0
        while let push = h.take() {
            taken += 1
            let dead = PushResponse(status: 410, reason: "ExpiredToken", timestampMillis: h.now.wallMillis)
            h.answer(push, taken <= 10 || taken % 2 == 0 ? .accepted : .response(dead))
        }
        h.carryBus()
        let told = try #require(Self.passes(h).first)
        #expect(taken == 60 && told.end == .finished)
        #expect(told.tally?.counts.gone == 25 && told.tally?.counts.accepted == 35)
        #expect(told.tally?.refusals == [PassTally.Refusal(reason: "ExpiredToken", count: 25)])
        let refused = told.pushes.dropFirst(PassTraces.examplesMax)
        #expect(refused.count == PassTraces.failedExamplesMax)
        #expect(refused.allSatisfy { $0.answer.result != .accepted })
    }

    @Test func aMemberThatIsTriedAgainSaysSo() throws {
        let h = Self.harness()
        h.join(1)
        h.audienceUpdate(1)
        h.answer(try #require(h.take()), .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
        h.advance(120_000)
        h.deliverAll()
        let told = try #require(Self.passes(h).first)
        #expect(told.pushes.map(\.attempt) == [0, 1])
        #expect(told.end == .finished && told.tally?.counts.repeated == 1)
    }

    /// A version has expired when it reaches the partition. The pass of the former version is resumed, and no new one
    /// begins.
    @Test func whatHasExpiredOnItsWayIsNoNewPass() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 1...4 { h.deliver() }
        h.advance(1_000)
        let more = [#""to":{"audience":"match"}"#, #""expires":\#(h.wallSeconds + 2)"#]
        h.consume(
            key: "match",
            value: EngineHarness.content("update", 2, at: nil, priority: 10, alert: nil, padding: 0, more: more))
        for _ in 1...4 {
            h.engine.publishVersions(now: h.now)
            h.step()
        }
        h.advance(3_000)
        h.carryBus()
        h.deliverAll()
        let told = Self.passes(h)
        #expect(told.map(\.pass.isResumed) == [false, true] && told.map(\.end) == [.superseded, .finished])
        #expect(Set(told.map(\.pass.stampSeconds)).count == 1 && told.last?.tally?.counts.accepted == 10)
    }

    /// A channel did not bring a version, so members get it by token. That resumes the version's pass.
    @Test func whatAChannelHasNotBroughtGoesOn() throws {
        let (h, _) = AudienceChannelTests.harness()
        for member in 2...3 { h.join(member, channel: AudienceChannelTests.channel) }
        h.deliverAll()
        h.advance(3_000)
        (h.tracesPasses, h.traceparent) = (true, Self.traceparent)
        h.audienceUpdate(2)
        h.deliverAll()
        for _ in 0..<75 {
            while let broadcast = h.take(route: 2) {
                h.answer(broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable")))
            }
            h.advance(1_000)
            h.carryBus()
        }
        #expect(h.deliverAll().count == 2)
        let told = Self.passes(h)
        #expect(told.map(\.pass.isResumed) == [false, true] && told.map(\.end) == [.finished, .finished])
        #expect(told.map(\.tally?.counts.accepted) == [1, 3])
    }

    // MARK: How it ends

    @Test func aNewerVersionTakesOver() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 1...4 { h.deliver() }
        h.advance(1_000)
        let second = h.audienceUpdate(2)
        h.advance(2_000)
        h.deliverAll()
        let told = Self.passes(h)
        #expect(told.map(\.end) == [.superseded, .finished])
        #expect(told[0].tally?.counts.accepted == 4 && told[0].tally?.counts.superseded == 6)
        #expect(told[0].pushes.count == 4)
        #expect(told[1].source.offset == second && told[1].tally?.counts.accepted == 10)
        #expect(told[0].pass.stampSeconds < told[1].pass.stampSeconds && told[0].pass.life == told[1].pass.life)
    }

    /// A version expires, and its members go back to the version before it, whose pass is resumed.
    @Test func aVersionExpires() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        h.deliver()
        h.advance(1_000)
        h.audienceUpdate(2, more: #""expires":\#(h.wallSeconds + 60)"#)
        h.advance(1_000)
        h.deliver()
        h.advance(61_000)
        h.deliverAll()
        let told = Self.passes(h)
        #expect(told.map(\.end) == [.superseded, .expired, .finished])
        #expect(told.map(\.pass.isResumed) == [false, false, true])
        #expect(told[1].tally?.counts.accepted == 1 && told[1].tally?.counts.expired == 9)
        #expect(told[2].pass.stampSeconds == told[0].pass.stampSeconds)
    }

    @Test func anOperatorStopsItAndLetsItGoOn() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 1...4 { h.deliver() }
        h.pause("match")
        let paused = Self.passes(h)
        #expect(paused.map(\.end) == [.paused] && paused[0].tally?.waitingCount == 6)
        h.advance(1_000)
        h.pause("match", isPaused: false)
        h.deliverAll()
        let told = Self.passes(h)
        #expect(told.map(\.end) == [.finished] && told.first?.pass.isResumed == true)
        #expect(told.first?.tally?.counts.accepted == 10, "counted from its beginning")
        #expect(told.first?.pushes.count == 6)
    }

    /// The former owner reports how far the pass has come. The next owner resumes the pass as a child of the same span.
    @Test func anotherOwnerGoesOn() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        for _ in 1...4 { h.deliver() }
        h.advance(1_500)
        h.engine.beginRelease(partition: h.partition, now: h.now)
        h.engine.finishRelease(partition: h.partition, now: h.now)
        let former = try #require(Self.passes(h).first)
        #expect(former.end == .handedOver)
        #expect(former.tally?.counts.accepted == 4 && former.tally?.waitingCount == 6)
        h.step()
        h.crash()
        h.advance(10_000)
        h.deliverAll()
        let next = try #require(Self.passes(h).first)
        #expect(next.pass.isResumed && next.pass.parent == former.pass.parent && next.end == .finished)
        #expect(next.tally?.counts.accepted == 10)
    }

    /// The partition is lost without a release. Its passes end.
    @Test func aPartitionIsLost() throws {
        let h = Self.harness()
        for member in 1...10 { h.join(member) }
        h.audienceUpdate(1)
        h.deliver()
        h.engine.forget(partition: h.partition)
        let told = Self.passes(h)
        #expect(told.map(\.end) == [.handedOver] && told.first?.tally?.counts.accepted == 1)
    }

    @Test func theAudienceIsOver() throws {
        let h = Self.harness()
        h.join(1)
        h.audienceEnd(1)
        // APNs refuses the end for as long as the audience has members.
        for _ in 0..<20_000 {
            guard h.counters.membersHeld > 0 else { break }
            if let push = h.take() { h.answer(push, .response(PushResponse(status: 503, reason: "Shutdown"))) }
            h.advance(600_000)
            h.carryBus()
        }
        let told = Self.passes(h)
        #expect(told.count == 1 && (told.first?.end == .voided || told.first?.end == .expired))
    }

    // MARK: Starts

    @Test func aStartHasAPassOfItsOwn() throws {
        let h = Self.harness()
        h.join(1)
        for member in 11...14 { h.joinStart(member) }
        let offset = h.audienceStart(1)
        _ = h.deliverAll(withinMillis: 2_000)
        let told = Self.passes(h)
        let start = try #require(told.first { $0.pass.isStart })
        let update = try #require(told.first { !$0.pass.isStart })
        #expect(told.count == 2 && told.allSatisfy { $0.source.offset == offset && $0.end == .finished })
        #expect(start.tally?.counts.due == 4 && start.tally?.counts.accepted == 4 && start.pushes.count == 4)
        #expect(update.tally?.counts.due == 1 && update.pushes.count == 1)
        // The next version carries the start along. The start's round is over, so no pass begins for it.
        h.audienceUpdate(2)
        _ = h.deliverAll(withinMillis: 2_000)
        #expect(Self.passes(h).map(\.pass.isStart) == [false])
    }

    @Test func aStartExpiresBeforeAllHaveIt() throws {
        let h = Self.harness()
        for member in 11...14 { h.joinStart(member) }
        h.audienceStart(1)
        let push = try #require(h.take())
        h.answer(push, .accepted)
        h.advance(16 * 60_000)
        h.carryBus()
        let start = try #require(Self.passes(h).first)
        #expect(start.pass.isStart && start.end == .expired)
        #expect(start.tally?.counts.accepted == 1 && start.tally?.counts.expired == 3)
    }

    // MARK: What is not traced

    @Test func ofOthersNothingIsTold() throws {
        for (traces, traceparent) in [
            (false, Self.traceparent), (true, ""), (true, "nonsense"),
            (true, Self.traceparent.replacing("-01", with: "-00")),
        ] {
            let h = AudienceTests.harness()
            h.tracesPasses = traces
            h.traceparent = traceparent
            for member in 1...10 { h.join(member) }
            h.audienceUpdate(1)
            h.deliverAll()
            #expect(h.traceNotices().isEmpty, "\(traces), \(traceparent)")
        }
    }

    /// A member joins long after the version was published. Its push is not traced.
    @Test func whatIsLongPastIsNotTraced() throws {
        let h = Self.harness()
        h.audienceUpdate(1)
        h.advance(PassTraces.ageMillisMax)
        h.join(1)
        #expect(h.deliverAll().count == 1)
        #expect(h.traceNotices().isEmpty)
    }

    @Test func moreThanSoManyAtATimeAreNotTraced() throws {
        let h = Self.harness()
        let count = PassTraces.liveMax + 3
        for number in 1...count { h.join(number, of: "match-\(number)") }
        for number in 1...count { h.audienceUpdate(1, of: "match-\(number)") }
        let notes = h.traceNotices()
        #expect(notes.count { if case .passBegan = $0.happening { true } else { false } } == PassTraces.liveMax)
        #expect(notes.count { $0.happening == .passSkipped } == 3)
        #expect(h.deliverAll().count == count)
        let ends = h.traceNotices().count { if case .passEnded = $0.happening { true } else { false } }
        #expect(ends == PassTraces.liveMax)
        h.advance(2_000)
        // There is room for a pass again.
        h.audienceUpdate(2, of: "match-1")
        h.deliverAll()
        #expect(h.traceNotices().contains { if case .passBegan = $0.happening { true } else { false } })
    }

    // MARK: Random events

    /// Every pass that begins ends once, unless its process dies, and accounts for every member.
    @Test(arguments: 1...12 as ClosedRange<UInt64>)
    func everyPassEndsOnce(seed: UInt64) throws {
        let h = Self.harness()
        var random = SplitMix64(seed: seed)
        var (told, former): ([Told], [Told]) = ([], [])
        func draw(_ range: Range<Int>) -> Int { Int.random(in: range, using: &random) }
        for member in 1...40 { h.join(member) }
        for step in 0..<400 {
            switch draw(0..<16) {
            case 0: h.audienceUpdate(step, alert: Bool.random(using: &random) ? "goal" : nil)
            case 1: h.audienceUpdate(step, more: #""expires":\#(h.wallSeconds + Int64(draw(1..<40)))"#)
            case 2: h.join(draw(1..<60))
            case 3: h.leave(draw(1..<60))
            case 4: h.pause("match", isPaused: Bool.random(using: &random))
            case 5: if draw(0..<4) == 0 { h.audienceStart(step) } else { h.joinStart(draw(100..<120)) }
            case 6: if draw(0..<6) == 0 { h.audienceEnd(step) }
            case 7:
                if draw(0..<6) == 0 {
                    // What this process has traced is lost with it.
                    former += Self.passes(h, told)
                    h.crash()
                    told = Self.passes(h)
                }
            case 8...10: h.advance(Int64(draw(1..<20_000)))
            default:
                guard let push = h.take() else { break }
                let results: [PushAnswer.Result] = [
                    .unknown(detail: "lost"), .notProcessed, .accepted, .accepted, .accepted,
                    .response(PushResponse(status: 503, reason: "ServiceUnavailable")),
                    .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: h.now.wallMillis)),
                ]
                h.answer(push, results.randomElement(using: &random)!)
            }
            told = Self.passes(h, told)
            #expect(told.count { $0.end == nil } <= 2, "one version and one start go round")
        }
        h.pause("match", isPaused: false)
        _ = h.deliverAll(withinMillis: 60_000, stepMillis: 1_000)
        told = Self.passes(h, told)
        #expect(told.allSatisfy { $0.end != nil })
        for pass in former + told {
            guard let tally = pass.tally else { continue }
            let counts = tally.counts
            let ended =
                counts.accepted + counts.superseded + counts.expired + counts.gone + counts.failed + counts.left
                + counts.unknown
            #expect(counts.due == ended + tally.waitingCount, "\(pass)")
            #expect(pass.end != .finished || tally.waitingCount == 0, "\(pass)")
            #expect(pass.pushes.count <= PassTraces.examplesMax + PassTraces.failedExamplesMax)
        }
    }
}
