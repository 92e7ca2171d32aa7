import APNSProtocol
import Logging
import PushModel
import Testing
import TraceCollecting

@testable import PushEngine
@testable import PushWorker

/// Tests of the spans of an audience's passes, made from the engine's notices. No engine runs.
struct FanOutTracesTests {
    private static let parent = TraceContext(
        traceIDHigh: 0x0af7_6519_16cd_43dd, traceIDLow: 0x8448_eb21_1c80_319c, spanID: 0xb7ad_6b71_6920_3331,
        isSampled: true)
    private static let source = SourcePosition(topic: 0, partition: 3, offset: 42)

    /// The traces of a shard, the test's clock, and the spans that come out.
    private final class Room {
        let tracer: OTLPTracer
        let traces: EventTraces
        var now = EngineTime(steadyMillis: 1_000, wallMillis: 1_700_000_000_000)

        init(perSecondMax: Int = 100) throws {
            var settings = WorkerConfiguration.Tracing()
            settings.otlpEndpoint = "http://127.0.0.1:1"
            settings.samplesPerSecondMax = perSecondMax
            self.tracer = try #require(OTLPTracer(settings, logger: .init(label: "test")))
            self.traces = EventTraces(
                tracer: self.tracer,
                EventTraces.Configuration(
                    settings: settings, inputTopics: ["events", "routed"], bundleIDs: ["com.example.pizza"],
                    routes: [("api.push.apple.com", 443)], groupID: "mailboat"),
                randomSeed: 7)
            self.traces.turnBegan(now: self.now)
        }
        func after(millis: Int64) {
            self.now.steadyMillis += millis
            self.now.wallMillis += millis
            self.traces.turnBegan(now: self.now)
        }
        func take(_ happening: TraceNotice.Happening) {
            let accepted = self.traces.take(TraceNotice(source: FanOutTracesTests.source, happening: happening))
            #expect(accepted == nil)
        }
        func begin(_ number: UInt64, partition: Int32 = 5, audience: String = "match", isResumed: Bool = false) {
            self.take(
                .passBegan(
                    TracedPass(
                        id: PassTraceID(rawValue: number), app: 0, audience: Array(audience.utf8),
                        partition: partition, life: 1_699_999_000, stampSeconds: 1_700_000_000, isStart: false,
                        isResumed: isResumed, recordMillis: self.now.wallMillis - 250,
                        parent: FanOutTracesTests.parent)))
        }
        func spans() throws -> [CollectedSpan] {
            self.traces.handOver()
            return try CollectedSpan.read(
                OTLPDocument.write(
                    self.tracer.spans.take(max: .max), of: TelemetryResource(WorkerConfiguration.Tracing())))
        }
    }

    private static func push(_ result: PushAnswer.Result, sentMillis: Int64, attempt: UInt8 = 0) -> TracedMemberPush {
        TracedMemberPush(
            route: 0, priority: .high, apnsIDHigh: 0x0102_0304_0506_0708, apnsIDLow: 0x090a_0b0c_0d0e_0f10,
            sentMillis: sentMillis, attempt: attempt,
            answer: PushAnswer(id: PushID(rawValue: 1), result: result, apnsMicros: 15_000))
    }

    @Test func aPassHasASpanAndExamplesBelow() throws {
        let room = try Room()
        room.begin(1)
        room.after(millis: 30)
        let id = PassTraceID(rawValue: 1)
        let sentMillis = room.now.steadyMillis
        room.after(millis: 20)
        room.take(.passAnswered(id, Self.push(.accepted, sentMillis: sentMillis)))
        let dead = PushResponse(status: 410, reason: "Unregistered")
        room.take(.passAnswered(id, Self.push(.response(dead), sentMillis: sentMillis, attempt: 1)))
        #expect(room.traces.counters == TracingCounters(passesTraced: 1, passesLive: 1))
        room.after(millis: 50)
        var counts = MemberCounters()
        (counts.due, counts.accepted, counts.gone, counts.failed, counts.repeated) = (10, 7, 1, 0, 1)
        let refusals = [PassTally.Refusal(reason: "Unregistered", count: 1)]
        room.take(.passEnded(id, .superseded, PassTally(counts: counts, waitingCount: 2, refusals: refusals)))
        #expect(room.traces.counters == TracingCounters(passesTraced: 1, passesLive: 0))
        // An answer after the end of the pass belongs to no span.
        room.take(.passAnswered(id, Self.push(.accepted, sentMillis: sentMillis)))

        let spans = try room.spans()
        #expect(
            spans.map(\.name) == ["push", "push", "fan out"] && spans.map(\.kind) == [.client, .client, .internal])
        let whole = try #require(spans.last)
        #expect(spans.allSatisfy { $0.traceID == Self.parent.traceIDText })
        #expect(whole.parentSpanID == Self.parent.spanIDText)
        #expect(spans.dropLast().allSatisfy { $0.parentSpanID == whole.spanID })
        let begin = UInt64(1_700_000_000_000)
        let millis = spans.map { [$0.startNanos / 1_000_000 - begin, $0.endNanos / 1_000_000 - begin] }
        #expect(millis == [[30, 45], [30, 45], [0, 100]])
        #expect(
            whole.attributes == [
                "mailboat.app": "com.example.pizza", "mailboat.audience": "match", "mailboat.life": "1699999000",
                "mailboat.version": "1700000000", "mailboat.members.kind": "update", "mailboat.partition": "5",
                "mailboat.source": "events/3/42", "mailboat.record.age_ms": "250", "mailboat.members.due": "10",
                "mailboat.members.accepted": "7", "mailboat.members.superseded": "0", "mailboat.members.expired": "0",
                "mailboat.members.gone": "1", "mailboat.members.failed": "0", "mailboat.members.left": "0",
                "mailboat.members.waiting": "2", "mailboat.members.retried": "1",
                "mailboat.members.refused": "Unregistered: 1", "mailboat.outcome": "superseded",
            ])
        #expect(whole.status == 0)
        let common = [
            "http.request.method": "POST", "url.template": "/3/device/{token}",
            "server.address": "api.push.apple.com", "server.port": "443",
            "apns.id": "01020304-0506-0708-090a-0b0c0d0e0f10", "apns.priority": "10",
        ]
        #expect(spans[0].attributes == common.merging(["http.response.status_code": "200"]) { $1 })
        #expect(
            spans[1].attributes
                == common.merging([
                    "http.response.status_code": "410", "error.type": "Unregistered",
                    "http.request.resend_count": "1",
                ]) { $1 })
        #expect(spans[1].status == 2)
    }

    @Test func onlySoManyBeginASecond() throws {
        let room = try Room(perSecondMax: 2)
        for number in 1...4 as ClosedRange<UInt64> { room.begin(number) }
        room.take(.passSkipped)
        #expect(room.traces.counters == TracingCounters(passesTraced: 2, passesLive: 2, passesSkipped: 3))
        room.take(.passAnswered(PassTraceID(rawValue: 3), Self.push(.accepted, sentMillis: 1_000)))
        room.take(
            .passEnded(PassTraceID(rawValue: 3), .finished, PassTally(counts: .init(), waitingCount: 0, refusals: [])))
        #expect(try room.spans().isEmpty)
        room.after(millis: 1_000)
        room.begin(5)
        #expect(room.traces.counters.passesLive == 3)
    }

    @Test func whatIsNotToldOfEndsAllTheSame() throws {
        let room = try Room()
        room.begin(1, partition: 5)
        room.begin(2, partition: 6, isResumed: true)
        room.traces.partitionsLeft([5])
        #expect(try room.spans().map { $0.attributes["mailboat.outcome"] } == ["handed over"])
        room.after(millis: EventTraces.ageMillisMax + 60_001)
        let late = try room.spans()
        #expect(late.map { $0.attributes["mailboat.outcome"] } == ["still under way"])
        #expect(late.allSatisfy { $0.attributes["mailboat.resumed"] != nil })
        room.begin(3)
        room.traces.close()
        #expect(room.traces.counters.passesLive == 0)
    }

    @Test func noSpanHasAToken() throws {
        let room = try Room()
        let token = String(repeating: "ab", count: 32)
        room.begin(1, audience: token)
        room.traces.close()
        #expect(try room.spans().allSatisfy { $0.attributes.values.allSatisfy { !$0.contains(token) } })
    }
}
