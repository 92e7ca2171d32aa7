import APNSSimulator
import Foundation
import Logging
import NIOCore
import TLSSession
import Testing
import TraceCollecting
import Tracing

@testable import PushWorker

/// Tests of spans on their way to a collector, over sockets.
@Suite(.timeLimit(.minutes(3)))
struct OTLPExporterTests {
    private static func settings(_ endpoint: String) -> WorkerConfiguration.Tracing {
        var settings = WorkerConfiguration.Tracing()
        settings.otlpEndpoint = endpoint
        return settings
    }

    private static func span(_ name: String, of tracer: OTLPTracer) {
        let moment = TraceMoment(nanosecondsSinceEpoch: 1_700_000_000_000_000_000)
        tracer.startAnySpanAt(name, context: .topLevel, ofKind: .internal, at: moment).end(at: moment)
    }

    /// Runs the tracer around `body`, and then ends it as a worker that stops does.
    private static func running(_ tracer: OTLPTracer, _ body: () async throws -> Void) async throws {
        let task = Task { try await tracer.run() }
        do {
            try await body()
        } catch {
            task.cancel()
            throw error
        }
        task.cancel()
        try await task.value
    }

    @Test func whatIsPutBackTakesTheRoomOfWhatCameLast() throws {
        let tracer = try #require(OTLPTracer(Self.settings("http://localhost:4318"), logger: Logger(label: "test")))
        for number in 0..<SpanQueue.spanCountMax { Self.span("\(number)", of: tracer) }
        let batch = tracer.spans.take(max: 2)
        for name in ["last but one", "last"] { Self.span(name, of: tracer) }
        tracer.spans.putBack(batch)
        let waiting = tracer.spans.take(max: .max)
        #expect(waiting.count == SpanQueue.spanCountMax)
        #expect(waiting.first?.name == "0" && waiting.last?.name == "\(SpanQueue.spanCountMax - 1)")
        #expect(tracer.spans.counters.spansDropped == 2)
    }

    /// A file names the authorities for an HTTPS collector that the system does not trust. The first export fails
    /// because the file lacks the authority. The export is repeated later.
    @Test func aCollectorIsBelievedByTheAuthoritiesOfAFile() async throws {
        let made = try SimulatorCredentials.generate(
            names: ["localhost"], nowSeconds: Int64(Date().timeIntervalSince1970))
        let server = try TLSContext.server(
            certificateChainPEM: made.certificate.chainPEM, privateKeyPEM: made.certificate.privateKeyPEM,
            applicationProtocols: [])
        let collector = try await TraceCollector.start { channel in
            try channel.pipeline.syncOperations.addHandler(TLSChannelHandler(try TLSSession(server: server)))
        }
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("roots-\(UUID().uuidString)").path
        let stranger = try SimulatorCredentials.generate(
            names: ["localhost"], nowSeconds: Int64(Date().timeIntervalSince1970))
        try Data(stranger.authorityPEM).write(to: URL(fileURLWithPath: path))
        defer { try? FileManager.default.removeItem(atPath: path) }
        var settings = Self.settings("https://localhost:\(collector.port)")
        settings.caFile = path
        let tracer = try #require(OTLPTracer(settings, logger: Logger(label: "test") { _ in SwiftLogNoOpLogHandler() }))
        try await Self.running(tracer) {
            Self.span("first", of: tracer)
            while tracer.spans.counters.exportsFailed == 0, !Task.isCancelled { await Task.yield() }
            #expect(collector.requests.isEmpty)
            try Data(made.authorityPEM).write(to: URL(fileURLWithPath: path))
            await collector.waitForRequests(1)
        }
        #expect(try collector.spans().map(\.name) == ["first"])
        await collector.stop()
    }

    @Test func whatIsRefusedForNowIsSentAgain() async throws {
        // The headers are in a file, so that they can change while the worker runs.
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("headers-\(UUID().uuidString)").path
        try "authorization: Bearer s3cret\n".write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let collector = try await TraceCollector.start(answers: [
            .init(status: 503, headers: [("retry-after", "1")]), .init(status: 200),
            .init(status: 200, body: #"{"partialSuccess":{"rejectedSpans":"1"}}"#),
        ])
        let lines = LogLines()
        let logger = Logger(label: "test") { _ in lines.handler }
        var settings = Self.settings(collector.endpoint)
        settings.headersFile = path
        let tracer = try #require(OTLPTracer(settings, logger: logger))
        try await Self.running(tracer) {
            Self.span("first", of: tracer)
            await collector.waitForRequests(2)
            try "authorization: Bearer other\n".write(toFile: path, atomically: true, encoding: .utf8)
            Self.span("second", of: tracer)
            await collector.waitForRequests(3)
        }
        let requests = collector.requests
        #expect(requests.count == 3)
        #expect(requests.allSatisfy { $0.method == "POST" && $0.path == "/v1/traces" })
        #expect(requests.allSatisfy { $0.headers["content-type"] == "application/json" })
        #expect(requests.map { $0.headers["authorization"] } == ["Bearer s3cret", "Bearer s3cret", "Bearer other"])
        #expect(requests.first?.headers["host"] == "127.0.0.1:\(collector.port)")
        #expect(requests[0].body == requests[1].body)
        #expect(try collector.spans().map(\.name) == ["first", "first", "second"])
        #expect(tracer.spans.counters == ExportCounters(spansExported: 1, spansDropped: 1, exportsFailed: 1))
        // The failure and the recovery are logged, without a secret.
        let written = lines.all
        #expect(written.contains { $0.contains("cannot be exported") && $0.contains("503") })
        #expect(written.contains { $0.contains("exported again") })
        #expect(!written.contains { $0.contains("s3cret") })
        await collector.stop()
    }

    @Test func whatIsRefusedForGoodIsDropped() async throws {
        let collector = try await TraceCollector.start(answers: [.init(status: 400), .init(status: 413)])
        let tracer = try #require(OTLPTracer(Self.settings(collector.endpoint), logger: Logger(label: "test")))
        try await Self.running(tracer) {
            Self.span("first", of: tracer)
            await collector.waitForRequests(1)
            Self.span("second", of: tracer)
            await collector.waitForRequests(2)
            Self.span("third", of: tracer)
            await collector.waitForRequests(3)
        }
        #expect(try collector.spans().map(\.name) == ["first", "second", "third"])
        #expect(tracer.spans.counters == ExportCounters(spansExported: 1, spansDropped: 2, exportsFailed: 2))
        await collector.stop()
    }

    /// The setting is used unchanged as the address. Here it lacks the path for traces, and the log explains the 404.
    @Test func aPathThatIsNotThereIsExplained() async throws {
        let collector = try await TraceCollector.start(answers: [.init(status: 404)])
        let lines = LogLines()
        let settings = Self.settings(collector.endpoint + "/otlp")
        let tracer = try #require(OTLPTracer(settings, logger: Logger(label: "test") { _ in lines.handler }))
        try await Self.running(tracer) {
            Self.span("first", of: tracer)
            await collector.waitForRequests(1)
            while tracer.spans.counters.spansDropped == 0, !Task.isCancelled { await Task.yield() }
        }
        #expect(collector.requests.map(\.path) == ["/otlp"])
        #expect(lines.all.contains { $0.contains("404") && $0.contains("\(collector.endpoint)/otlp/v1/traces meant?") })
        await collector.stop()
    }

    @Test func aProbeSendsNoSpan() async throws {
        let collector = try await TraceCollector.start(answers: [.init(status: 200), .init(status: 404)])
        let probe = try #require(OTLPProbe(Self.settings(collector.endpoint)))
        #expect(await probe.run().status == 200)
        #expect(await probe.run().status == 404)
        #expect(try collector.spans().isEmpty && collector.requests.count == 2)
        await collector.stop()
        let report = await probe.run()
        #expect(report.status == nil && report.failure.contains("Connection refused"), "\(report)")
        #expect(OTLPProbe(WorkerConfiguration.Tracing()) == nil)
    }

    /// When a worker stops, all spans that are left are sent, even if they are more than one batch.
    @Test func theEndSendsWhatIsLeft() async throws {
        let collector = try await TraceCollector.start()
        let tracer = try #require(OTLPTracer(Self.settings(collector.endpoint), logger: Logger(label: "test")))
        try await Self.running(tracer) {
            for number in 0..<(OTLPExporter.batchSpanCountMax + 1) { Self.span("\(number)", of: tracer) }
        }
        #expect(try collector.spans().count == OTLPExporter.batchSpanCountMax + 1)
        #expect(collector.requests.count == 2)
        await collector.stop()
    }

    @Test func batchesComeByOneConnection() async throws {
        let collector = try await TraceCollector.start(answers: [.init(status: 200), .init(status: 503)])
        let tracer = try #require(OTLPTracer(Self.settings(collector.endpoint), logger: Logger(label: "test")))
        try await Self.running(tracer) {
            for number in 1...2 {
                Self.span("\(number)", of: tracer)
                await collector.waitForRequests(number)
            }
            // The second batch is sent again.
            await collector.waitForRequests(3)
        }
        #expect(try collector.spans().map(\.name) == ["1", "2", "2"])
        #expect(Set(collector.requests.compactMap(\.remotePort)).count == 1)
        #expect(tracer.spans.counters.spansExported == 2)
        await collector.stop()
    }

    /// A collector may announce that it will close the connection, or close it unannounced. The next batch uses another
    /// connection at once, and no failure is counted.
    @Test(arguments: [false, true]) func aCollectorThatClosesEachConnectionGetsEverything(saysSo: Bool) async throws {
        let answer = TraceCollector.Answer(
            status: 200, headers: saysSo ? [("connection", "close")] : [], closes: !saysSo)
        let collector = try await TraceCollector.start(answers: Array(repeating: answer, count: 4))
        let tracer = try #require(OTLPTracer(Self.settings(collector.endpoint), logger: Logger(label: "test")))
        try await Self.running(tracer) {
            // The spans fill more than one batch, so the next request follows the answer at once.
            for number in 0..<(2 * OTLPExporter.batchSpanCountMax) { Self.span("\(number)", of: tracer) }
            await collector.waitForRequests(2)
            Self.span("after a while", of: tracer)
            await collector.waitForRequests(3)
        }
        #expect(try collector.spans().count == 2 * OTLPExporter.batchSpanCountMax + 1)
        #expect(Set(collector.requests.compactMap(\.remotePort)).count == 3)
        #expect(tracer.spans.counters.exportsFailed == 0 && tracer.spans.counters.spansDropped == 0)
        await collector.stop()
    }

    @Test func aCollectorThatIsNotThereCostsSpansAlone() async throws {
        let collector = try await TraceCollector.start()
        await collector.stop()
        let tracer = try #require(OTLPTracer(Self.settings(collector.endpoint), logger: Logger(label: "test")))
        try await Self.running(tracer) { Self.span("lost", of: tracer) }
        #expect(tracer.spans.counters.spansDropped == 1)
        #expect(tracer.spans.counters.exportsFailed >= 1)
    }

    @Test func withoutAnEndpointThereIsNoTracer() {
        #expect(OTLPTracer(WorkerConfiguration.Tracing(), logger: Logger(label: "test")) == nil)
        #expect(OTLPTracer(Self.settings("nonsense"), logger: Logger(label: "test")) == nil)
    }
}
