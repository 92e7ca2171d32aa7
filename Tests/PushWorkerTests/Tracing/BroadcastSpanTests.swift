import APNSProtocol
import Logging
import PushModel
import Testing
import TraceCollecting

@testable import PushEngine
@testable import PushWorker

/// Tests of the span of a broadcast that brings an audience's version to a channel.
struct BroadcastSpanTests {
    private static let parent = TraceContext(
        traceIDHigh: 0x0af7_6519_16cd_43dd, traceIDLow: 0x8448_eb21_1c80_319c, spanID: 0xb7ad_6b71_6920_3331,
        isSampled: true)
    private static let source = SourcePosition(topic: 0, partition: 3, offset: 42)

    private static func note(_ result: PushAnswer.Result, sentMillis: Int64) -> TraceNotice {
        TraceNotice(
            source: Self.source,
            happening: .broadcastAnswered(
                TracedBroadcast(
                    source: Self.source, app: 0, audience: Array("match".utf8), channel: Array("Y2g=".utf8),
                    life: 1_699_999_000, stampSeconds: 1_700_000_000, mergedCount: 2, route: 0, priority: .high,
                    apnsIDHigh: 0x0102_0304_0506_0708, apnsIDLow: 0x090a_0b0c_0d0e_0f10, sentMillis: sentMillis,
                    parent: Self.parent),
                PushAnswer(id: PushID(rawValue: 1), result: result, apnsMicros: 15_000)))
    }

    @Test func aBroadcastIsAPushBelowItsEvent() throws {
        var settings = WorkerConfiguration.Tracing()
        settings.otlpEndpoint = "http://127.0.0.1:1"
        settings.samplesPerSecondMax = 2
        let tracer = try #require(OTLPTracer(settings, logger: .init(label: "test")))
        let traces = EventTraces(
            tracer: tracer,
            EventTraces.Configuration(
                settings: settings, inputTopics: ["events", "routed"], bundleIDs: ["com.example.pizza"],
                routes: [("api.push.apple.com", 443)], groupID: "mailboat"),
            randomSeed: 7)
        traces.turnBegan(now: EngineTime(steadyMillis: 1_020, wallMillis: 1_700_000_000_020))
        let gone = PushResponse(status: 410, reason: "ChannelNotRegistered")
        for result in [.accepted, .response(gone), .accepted] as [PushAnswer.Result] {
            #expect(traces.take(Self.note(result, sentMillis: 1_000)) == nil)
        }
        #expect(traces.counters == TracingCounters(passesSkipped: 1), "one more than begin in a second")
        traces.handOver()
        let spans = try CollectedSpan.read(
            OTLPDocument.write(tracer.spans.take(max: .max), of: TelemetryResource(WorkerConfiguration.Tracing())))
        #expect(spans.map(\.name) == ["push", "push"] && spans.allSatisfy { $0.kind == .client })
        #expect(spans.allSatisfy { $0.traceID == Self.parent.traceIDText })
        #expect(spans.allSatisfy { $0.parentSpanID == Self.parent.spanIDText })
        let begin = UInt64(1_700_000_000_000)
        #expect(spans[0].startNanos / 1_000_000 == begin && spans[0].endNanos / 1_000_000 == begin + 15)
        #expect(
            spans[0].attributes == [
                "http.request.method": "POST", "url.template": "/4/broadcasts/apps/{bundleId}",
                "server.address": "api.push.apple.com", "server.port": "443",
                "apns.id": "01020304-0506-0708-090a-0b0c0d0e0f10", "apns.priority": "10",
                "http.response.status_code": "200", "mailboat.app": "com.example.pizza",
                "mailboat.audience": "match", "mailboat.channel": "Y2g=", "mailboat.life": "1699999000",
                "mailboat.version": "1700000000", "mailboat.merged": "2", "mailboat.source": "events/3/42",
            ])
        #expect(spans[1].status == 2 && spans[1].attributes["error.type"] == "ChannelNotRegistered")
    }
}
