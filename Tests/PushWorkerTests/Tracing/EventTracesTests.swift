import APNSProtocol
import InMemoryTracing
import Logging
import PushModel
import Testing
import TraceCollecting
import Tracing

@testable import PushEngine
@testable import PushWorker

/// Tests of the spans made from the engine's notices. No engine runs.
struct EventTracesTests {
    private static let header = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
    private static let source = SourcePosition(topic: 0, partition: 3, offset: 42)

    /// The event traces of a shard, the test's clock, and the spans that come out.
    private final class Room {
        let tracer: OTLPTracer
        let traces: EventTraces
        var now = EngineTime(steadyMillis: 1_000, wallMillis: 1_700_000_000_000)

        init(_ change: (inout WorkerConfiguration.Tracing) -> Void = { _ in }) throws {
            var settings = WorkerConfiguration.Tracing()
            settings.otlpEndpoint = "http://127.0.0.1:1"
            change(&settings)
            self.tracer = try #require(OTLPTracer(settings, logger: .init(label: "test")))
            self.traces = EventTraces(tracer: self.tracer, EventTracesTests.configuration(settings), randomSeed: 7)
            self.traces.turnBegan(now: self.now)
        }

        func after(millis: Int64) {
            self.now.steadyMillis += millis
            self.now.wallMillis += millis
            self.traces.turnBegan(now: self.now)
        }

        /// Begins the trace of an event.
        /// - Returns: the trace header to pass on with the event, or `nil` when the event is not traced.
        @discardableResult
        func begin(
            _ header: String = EventTracesTests.header, state: String? = nil, key: String = "order-7",
            at source: SourcePosition = EventTracesTests.source, routed: Bool = false
        ) -> String? {
            EventTracesTests.begin(
                self.traces, header, state: state, key: key, at: source, routed: routed, now: self.now)
        }

        @discardableResult
        func take(
            _ happening: TraceNotice.Happening, of source: SourcePosition = EventTracesTests.source
        ) -> AcceptedTrace? {
            self.traces.take(TraceNotice(source: source, happening: happening))
        }

        func spans() throws -> [CollectedSpan] {
            self.traces.handOver()
            return try CollectedSpan.read(
                OTLPDocument.write(
                    self.tracer.spans.take(max: .max), of: TelemetryResource(WorkerConfiguration.Tracing())))
        }
    }

    private static func configuration(_ settings: WorkerConfiguration.Tracing) -> EventTraces.Configuration {
        EventTraces.Configuration(
            settings: settings, inputTopics: ["events", "routed"], bundleIDs: ["com.example.pizza"],
            routes: [("api.push.apple.com", 443)], groupID: "mailboat")
    }

    private static func begin(
        _ traces: EventTraces, _ header: String, state: String? = nil, key: String = "order-7",
        at source: SourcePosition, routed: Bool = false, now: EngineTime
    ) -> String? {
        var record = InputRecord(
            topic: routed ? 1 : source.topic, partition: source.partition, offset: routed ? 7 : source.offset,
            timestampMillis: now.wallMillis - 250, hasKey: true, hasValue: true, origin: routed ? source : nil)
        let bytes = Array(header.utf8)
        let carried = traces.begin(
            &record, traceparent: bytes.span, traceState: { state }, key: { Array(key.utf8) })
        #expect(record.isTraced == (carried != nil))
        return carried.map { String(decoding: $0, as: UTF8.self) }
    }

    private static func push(_ number: UInt64) -> TracedPush {
        TracedPush(
            id: PushID(rawValue: number), route: 0, app: 0, slotID: Array("order-7".utf8), kind: .device,
            priority: .high, apnsIDHigh: 0x0102_0304_0506_0708, apnsIDLow: 0x090a_0b0c_0d0e_0f10, mergedCount: 2)
    }

    private static func answer(
        _ number: UInt64, _ result: PushAnswer.Result, millis: Int64
    ) -> TraceNotice.Happening {
        .answered(PushAnswer(id: PushID(rawValue: number), result: result, apnsMicros: millis * 1_000))
    }

    /// A well-formed `tracestate` is passed on after the worker's own `traceparent`. A malformed one is dropped, and
    /// the trace continues.
    @Test(arguments: [
        ("vendor=1,other=2", "vendor=1,other=2"), ("", ""), ("Vendor=1", ""), ("a=1,a=2", ""),
        ("a=\(String(repeating: "x", count: 512))", ""),
    ])
    func whatOthersSayIsCarriedOn(_ state: String, _ carriedState: String) throws {
        let room = try Room()
        let carried = try #require(room.begin(state: state))
        #expect(carried.hasPrefix("00-0af7651916cd43dd8448eb211c80319c-"))
        #expect(carried.dropFirst(TraceContext.headerByteCount) == carriedState)
        // An event that begins a new trace passes no `tracestate` on.
        let alone = try Room { $0.sampleRatio = 1 }
        #expect(alone.begin("", state: state)?.utf8.count == TraceContext.headerByteCount)
    }

    /// Every event's span has the event's key, even if nothing was sent. A key that may be a token is shortened, and so
    /// is a long key.
    @Test(arguments: [
        ("order-7", "order-7"), (String(repeating: "ab", count: 32), "abababab…(64 digits)"),
        (String(repeating: "x", count: 300), String(repeating: "x", count: 256)),
    ])
    func everyEventHasItsKey(key: String, shown: String) throws {
        let room = try Room()
        room.begin(key: key)
        room.take(.ended(.superseded, reason: "", into: nil))
        let span = try #require(try room.spans().last)
        #expect(span.attributes["messaging.kafka.message.key"] == shown)
    }

    @Test func aDeliveredEventHasItsWholeWay() throws {
        let room = try Room()
        let carried = try #require(room.begin(state: "vendor=1"))
        room.after(millis: 400)
        room.take(.sent(Self.push(1)))
        room.after(millis: 30)
        let refusal = PushResponse(status: 503, reason: "ServiceUnavailable")
        #expect(room.take(Self.answer(1, .response(refusal), millis: 29)) == nil)
        room.after(millis: 1_000)
        room.take(.sent(Self.push(2)))
        room.after(millis: 20)
        let accepted = room.take(Self.answer(2, .accepted, millis: 15))
        #expect(room.traces.counters == TracingCounters(eventsTraced: 1, eventsLive: 1))
        room.take(.ended(.delivered, reason: "", into: nil))
        #expect(room.traces.counters == TracingCounters(eventsTraced: 1, eventsLive: 0))

        let spans = try room.spans()
        #expect(spans.map(\.name) == ["queued", "push", "queued", "push", "process events"])
        let whole = try #require(spans.last)
        #expect(spans.allSatisfy { $0.traceID == "0af7651916cd43dd8448eb211c80319c" && $0.traceState == "vendor=1" })
        #expect(whole.parentSpanID == "b7ad6b7169203331")
        #expect(spans.dropLast().allSatisfy { $0.parentSpanID == whole.spanID })
        #expect(carried == "00-\(whole.traceID)-\(whole.spanID)-01vendor=1")
        #expect(spans.map(\.kind) == [.internal, .client, .internal, .client, .consumer])

        let begin = UInt64(1_700_000_000_000)
        let millis = spans.map { [$0.startNanos / 1_000_000 - begin, $0.endNanos / 1_000_000 - begin] }
        #expect(millis == [[0, 400], [400, 429], [430, 1_430], [1_430, 1_445], [0, 1_450]])

        #expect(
            whole.attributes == [
                "messaging.system": "kafka", "messaging.operation.type": "process",
                "messaging.operation.name": "process", "messaging.destination.name": "events",
                "messaging.destination.partition.id": "3", "messaging.kafka.offset": "42",
                "messaging.kafka.message.key": "order-7", "messaging.consumer.group.name": "mailboat",
                "mailboat.record.age_ms": "250", "mailboat.activity": "order-7", "mailboat.app": "com.example.pizza",
                "mailboat.outcome": "delivered",
            ])
        #expect(whole.status == 0)
        let common = [
            "http.request.method": "POST", "url.template": "/3/device/{token}",
            "server.address": "api.push.apple.com", "server.port": "443",
            "apns.id": "01020304-0506-0708-090a-0b0c0d0e0f10", "apns.priority": "10", "mailboat.merged": "2",
        ]
        #expect(
            spans[1].attributes
                == common.merging([
                    "http.response.status_code": "503", "error.type": "ServiceUnavailable",
                ]) { $1 })
        #expect(spans[1].status == 2)
        #expect(
            spans[3].attributes
                == common.merging([
                    "http.response.status_code": "200", "http.request.resend_count": "1",
                ]) { $1 })
        // The span's times agree with the histograms, which measure from taking the event to the answer.
        let example = try #require(accepted)
        #expect(example.context.spanIDText == whole.spanID)
        #expect(example.takenToAcceptedMicros == 1_445_000)
        #expect(example.recordToAcceptedMillis == 1_700)
    }

    /// No span shows a whole token. Anyone who has the token can push to that phone.
    @Test func noSpanShowsAWholeToken() throws {
        let room = try Room()
        let token = String(repeating: "0a1b2c3d", count: 8)
        room.begin()
        var push = Self.push(1)
        push.slotID = Array(token.utf8)
        room.take(.sent(push))
        room.take(.ended(.rejected, reason: "\(token) is no id", into: nil))
        let spans = try room.spans()
        #expect(spans.last?.attributes["mailboat.activity"] == "0a1b2c3d…(64 digits)")
        #expect(spans.last?.attributes["mailboat.reason"] == "0a1b2c3d…(64 digits) is no id")
        #expect(spans.last?.statusMessage == "0a1b2c3d…(64 digits) is no id")
    }

    @Test func aReplacedEventPointsToTheOther() throws {
        let room = try Room()
        room.begin()
        let other = SourcePosition(topic: 0, partition: 3, offset: 43)
        room.begin("00-1af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", at: other)
        room.after(millis: 5)
        room.take(.ended(.superseded, reason: "", into: other))
        room.take(.ended(.expired, reason: "was not sent before its expires", into: nil), of: other)
        let spans = try room.spans()
        #expect(spans.map(\.name) == ["queued", "process events", "queued", "process events"])
        #expect(spans[1].attributes["mailboat.into"] == "events/3/43")
        #expect(spans[1].links == [.init(traceID: spans[3].traceID, spanID: spans[3].spanID)])
        #expect(spans[1].status == 0 && spans[3].status == 2)
        #expect(spans[3].attributes["mailboat.reason"] == "was not sent before its expires")
    }

    @Test func aForwardedEventGoesOnBelowItsSpan() throws {
        let room = try Room()
        let carried = try #require(room.begin())
        room.take(.forwarded(partition: 5))
        room.after(millis: 9)
        // The owner of the other partition, perhaps this worker, takes the forwarded event.
        room.begin(carried, routed: true)
        room.take(.ended(.applied, reason: "", into: nil))
        let spans = try room.spans()
        #expect(spans.map(\.name) == ["process events", "process routed"])
        #expect(spans[1].parentSpanID == spans[0].spanID)
        #expect(spans[0].attributes["mailboat.forwarded.partition"] == "5")
        #expect(spans[0].attributes["mailboat.outcome"] == "forwarded")
        #expect(spans[1].attributes["mailboat.source"] == "events/3/42")
        #expect(spans[1].attributes["messaging.kafka.offset"] == "7")
    }

    // MARK: What is traced

    @Test func whoIsNotSampledIsLeftAlone() throws {
        let room = try Room()
        #expect(room.begin(Self.header.dropLast(2) + "00") == nil)
        #expect(room.begin("") == nil)
        #expect(room.traces.counters == TracingCounters())
        #expect(room.begin("00-nonsense") == nil)
        #expect(room.traces.counters == TracingCounters(traceparentsInvalid: 1))
        // Notices about an untraced event are ignored.
        #expect(room.take(.ended(.delivered, reason: "", into: nil)) == nil)
        #expect(try room.spans().isEmpty)
    }

    @Test func aSecondHasItsLimit() throws {
        let room = try Room { $0.samplesPerSecondMax = 2 }
        func begin(_ offset: Int64) -> Bool {
            room.begin(at: SourcePosition(topic: 0, partition: 0, offset: offset)) != nil
        }
        #expect((0..<4).map { begin($0) } == [true, true, false, false])
        #expect(room.traces.counters.eventsSkipped == 2)
        room.after(millis: 999)
        #expect(!begin(4))
        room.after(millis: 1)
        #expect(begin(5))
    }

    @Test func whatWaitsHasItsLimit() throws {
        let room = try Room { $0.samplesPerSecondMax = 10_000 }
        for offset in 0..<Int64(EventTraces.liveMax) {
            room.begin(at: SourcePosition(topic: 0, partition: Int32(offset % 2), offset: offset))
        }
        #expect(room.begin() == nil)
        #expect(room.traces.counters.eventsLive == EventTraces.liveMax)
        // When a partition leaves, the spans of its events end.
        room.traces.partitionsLeft([1, 9])
        #expect(room.traces.counters.eventsLive == EventTraces.liveMax / 2)
        let ends = Set(try room.spans().map { $0.attributes["mailboat.outcome"] })
        #expect(ends == ["handed over"])
        #expect(room.begin() != nil)
        // A span that never gets an end is closed after a time.
        room.after(millis: EventTraces.ageMillisMax + 60_001)
        #expect(room.traces.counters.eventsLive == 0)
        #expect(try room.spans().allSatisfy { $0.attributes["mailboat.outcome"] == "still pending" })
        room.begin()
        room.traces.close()
        #expect(room.traces.counters.eventsLive == 0)
    }

    @Test func aShareOfTheOthersBeginsATrace() throws {
        let room = try Room {
            $0.sampleRatio = 0.25
            $0.samplesPerSecondMax = 10_000
        }
        var carried: Set<String> = []
        for offset in 0..<Int64(1_000) {
            if let header = room.begin("", at: SourcePosition(topic: 0, partition: 0, offset: offset)) {
                carried.insert(header)
                room.take(
                    .ended(.applied, reason: "", into: nil),
                    of: SourcePosition(topic: 0, partition: 0, offset: offset))
            }
        }
        #expect((200...300).contains(carried.count), "\(carried.count) of 1000")
        let spans = try room.spans().filter { $0.kind == .consumer }
        #expect(spans.allSatisfy { $0.parentSpanID == nil })
        #expect(Set(spans.map { "00-\($0.traceID)-\($0.spanID)-01" }) == carried)
        // An event whose header says "not sampled" is not traced.
        #expect(room.begin(Self.header.dropLast(2) + "00") == nil)
    }

    /// A program that embeds a worker may use another tracer, which may not know W3C Trace Context. That tracer gets
    /// the same spans.
    @Test func anotherTracerDoesAsWell() throws {
        let tracer = InMemoryTracer()
        let traces = EventTraces(tracer: tracer, Self.configuration(.init()), randomSeed: 7)
        let now = EngineTime(steadyMillis: 1_000, wallMillis: 1_700_000_000_000)
        traces.turnBegan(now: now)
        var record = InputRecord(
            topic: 0, partition: 3, offset: 42, timestampMillis: now.wallMillis, hasKey: true, hasValue: true,
            origin: nil)
        let bytes = Array(Self.header.utf8)
        let carried = traces.begin(
            &record, traceparent: bytes.span, traceState: { "vendor=1" }, key: { Array("order-7".utf8) })
        // The event keeps the trace headers that it came with.
        #expect(carried == bytes + Array("vendor=1".utf8) && record.isTraced)
        _ = traces.take(TraceNotice(source: Self.source, happening: .sent(Self.push(1))))
        let accepted = traces.take(TraceNotice(source: Self.source, happening: Self.answer(1, .accepted, millis: 3)))
        #expect(accepted == nil)
        _ = traces.take(TraceNotice(source: Self.source, happening: .ended(.delivered, reason: "", into: nil)))
        traces.handOver()
        #expect(tracer.finishedSpans.map(\.operationName) == ["queued", "push", "process events"])
    }
}
