import Logging
import PushModel
import Testing
import TraceCollecting
import Tracing

@testable import PushWorker

/// Tests of spans as they are written for a collector. A strict reader reads them back.
struct OTLPDocumentTests {
    private static func moment(_ nanos: UInt64) -> TraceMoment { TraceMoment(nanosecondsSinceEpoch: nanos) }

    private static func tracer() throws -> OTLPTracer {
        var settings = WorkerConfiguration.Tracing()
        settings.otlpEndpoint = "http://127.0.0.1:1"
        return try #require(OTLPTracer(settings, logger: .init(label: "test")))
    }

    private static var resource: TelemetryResource {
        var settings = WorkerConfiguration.Tracing()
        settings.instanceID = "i-1"
        settings.environment = OTelEnvironment(["OTEL_RESOURCE_ATTRIBUTES": "k8s.pod.name=mailboat-0"])
        return TelemetryResource(settings)
    }

    @Test func aSpanKeepsWhatWasSaidOfIt() throws {
        let tracer = try Self.tracer()
        var context = ServiceContext.topLevel
        tracer.extract(
            [
                "traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
                "tracestate": "vendor=1,other=\"2\"",
            ], into: &context, using: Dictionaries())
        let span = tracer.startAnySpanAt("outer", context: context, ofKind: .consumer, at: Self.moment(1_500))
        let inner = tracer.startAnySpanAt(
            "inner \"\\\n", context: span.context, ofKind: .client, at: Self.moment(2_000))
        inner.attributes["text"] = "\u{1}é\u{1F355}"
        inner.attributes["number"] = Int64.min
        inner.attributes["share"] = 0.25
        inner.attributes["none"] = Double.nan
        inner.attributes["flag"] = true
        inner.attributes["list"] = ["a", "b"]
        inner.addLink(SpanLink(context: span.context, attributes: ["why": "into"]))
        inner.addEvent(SpanEvent(name: "seen", at: Self.moment(2_100), attributes: ["n": 1]))
        inner.setStatus(SpanStatus(code: .error, message: "BadDeviceToken"))
        inner.end(at: Self.moment(3_000))
        // Nothing changes a span that has ended.
        inner.attributes["late"] = true
        inner.end(at: Self.moment(9_000))
        span.end(at: Self.moment(1_000))

        let spans = try CollectedSpan.read(OTLPDocument.write(tracer.spans.take(max: 9), of: Self.resource))
        #expect(spans.map(\.name) == ["inner \"\\\n", "outer"])
        let (first, second) = (try #require(spans.first), try #require(spans.last))
        #expect(first.traceID == "0af7651916cd43dd8448eb211c80319c" && second.traceID == first.traceID)
        #expect(second.parentSpanID == "b7ad6b7169203331")
        #expect(first.parentSpanID == second.spanID)
        #expect(first.traceState == "vendor=1,other=\"2\"")
        #expect(first.kind == .client && second.kind == .consumer)
        #expect(first.startNanos == 2_000 && first.endNanos == 3_000)
        // The second span was ended with a time before its beginning. It ends at its beginning.
        #expect(second.startNanos == 1_500 && second.endNanos == 1_500)
        #expect(
            first.attributes == [
                "text": "\u{1}é\u{1F355}", "number": "\(Int64.min)", "share": "0.25", "none": "NaN", "flag": "1",
                "list": "a,b",
            ])
        #expect(first.links == [.init(traceID: second.traceID, spanID: second.spanID)])
        #expect(first.status == 2 && first.statusMessage == "BadDeviceToken" && second.status == 0)
        #expect(first.resource["service.name"] == "mailboat")
        #expect(first.resource["service.instance.id"] == "i-1")
        #expect(first.resource["k8s.pod.name"] == "mailboat-0" && first.resource.count == 4)
    }

    @Test func aTraceThatNobodyKeepsIsNotExported() throws {
        let tracer = try Self.tracer()
        var context = ServiceContext.topLevel
        tracer.extract(
            ["traceparent": "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"], into: &context,
            using: Dictionaries())
        let span = tracer.startAnySpanAt("unheard", context: context, ofKind: .internal, at: Self.moment(1))
        #expect(!span.isRecording)
        span.end()
        #expect(tracer.spans.take(max: 9).isEmpty)
        // The trace context is still passed on.
        var carrier: [String: String] = [:]
        tracer.inject(span.context, into: &carrier, using: Dictionaries())
        #expect(carrier["traceparent"]?.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-") == true)
        #expect(carrier["traceparent"]?.hasSuffix("-00") == true)
    }

    @Test func whatIsTooMuchIsCutAndCounted() throws {
        let tracer = try Self.tracer()
        let span = tracer.startAnySpanAt("much", context: .topLevel, ofKind: .internal, at: Self.moment(1))
        for number in 0..<100 {
            span.attributes["a\(number)"] = String(repeating: "\u{1F355}", count: 1_000)
            span.addLink(SpanLink(context: span.context, attributes: [:]))
            span.addEvent(SpanEvent(name: "e\(number)"))
        }
        span.end(at: Self.moment(2))
        let text = String(
            decoding: OTLPDocument.write(
                tracer.spans.take(max: 1), of: TelemetryResource(WorkerConfiguration.Tracing())), as: UTF8.self)
        let read = try #require(try CollectedSpan.read(Array(text.utf8)).first)
        #expect(read.attributes.count == OTLPDocument.attributeCountMax)
        #expect(read.attributes["a0"] == String(repeating: "\u{1F355}", count: 512))
        #expect(read.links.count == OTLPSpan.linkCountMax)
        #expect(text.contains("\"droppedAttributesCount\":36"))
        #expect(text.contains("\"droppedLinksCount\":68"))
        #expect(text.contains("\"droppedEventsCount\":68"))
    }

    @Test func aFullQueueDropsTheNewestAndCounts() throws {
        let tracer = try Self.tracer()
        for number in 0..<(SpanQueue.spanCountMax + 3) {
            tracer.startAnySpanAt("\(number)", context: .topLevel, ofKind: .internal, at: Self.moment(1)).end()
        }
        #expect(tracer.spans.counters == ExportCounters(spansDropped: 3))
        #expect(tracer.spans.take(max: 2).map(\.name) == ["0", "1"])
        #expect(tracer.spans.take(max: .max).count == SpanQueue.spanCountMax - 2)
    }

    @Test(arguments: [
        ("{}", 0), ("", 0), ("nonsense", 0), (#"{"partialSuccess":{}}"#, 0),
        (#"{"partialSuccess":{"rejectedSpans":"3","errorMessage":"too old"}}"#, 3),
        (#"{"partialSuccess":{"rejectedSpans":4}}"#, 4), (#"{"partialSuccess":{"rejectedSpans":-1}}"#, 0),
        (#"{"partialSuccess":{"rejectedSpans":"x"}}"#, 0),
    ])
    func rejectedSpansAreCounted(_ body: String, _ count: UInt64) {
        #expect(OTLPExporter.rejectedSpanCount(Array(body.utf8)) == count)
    }
}

/// Reads and writes headers in a dictionary.
struct Dictionaries: Extractor, Injector {
    func extract(key: String, from carrier: [String: String]) -> String? { carrier[key] }

    func inject(_ value: String, forKey key: String, into carrier: inout [String: String]) { carrier[key] = value }
}
