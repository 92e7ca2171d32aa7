import Foundation
import HTTPTypes
import Hummingbird
import KafkaLog
import Listening
import Logging
import NIOCore
import Redaction
import ServiceLifecycle

/// The HTTP control API of an embedded cluster: its contents, and faults. It has no authentication, and refuses
/// requests of pages in a browser.
struct EmbeddedKafkaControl: Service {
    let kafka: EmbeddedKafka
    let host: String
    /// Port to listen on. 0: any free port.
    let port: Int
    let logger: Logger
    /// Receives the port once requests are accepted.
    let onListening: @Sendable (_ port: Int) -> Void

    static let latencyMillisMax = 60_000

    static let help = """
        Control of an embedded Kafka.

          GET  /status                                  brokers, topics, contents of each partition
          POST /broker/down[?broker=1]                  drop connections and refuse new ones; without 'broker', all brokers
          POST /broker/up[?broker=1]
          POST /latency?ms=200[&broker=1]               delay every answer; 0 ends it
          POST /errors?api=Produce&code=7[&count=1][&broker=1]
                                                        answer the next requests with an error
          POST /errors/clear?api=Produce                forget the remaining ones, except those of one broker
          POST /leader?topic=test&broker=2              let a broker lead all partitions of a topic

        'api' is a name (Produce, Fetch, ListOffsets, Metadata, OffsetCommit, OffsetFetch, FindCoordinator, JoinGroup, Heartbeat, LeaveGroup,
        SyncGroup, ApiVersions, InitProducerId) or Kafka's number. 'code' is a name (REQUEST_TIMED_OUT, NOT_COORDINATOR …) or Kafka's number;
        _TRANSPORT (-195) drops the connection instead of answering.

        """

    func run() async throws {
        let router = Router()
        router.add(middleware: SiteGate(host: self.host))
        router.get("/") { _, _ in Self.plain(Self.help) }
        router.get("/healthz") { _, _ in Self.plain("ok\n") }
        router.get("/status") { [kafka] _, _ in
            try Self.json(EmbeddedKafkaStatus(bootstrap: kafka.bootstrap, fill: kafka.fill))
        }
        router.post("/broker/down") { [kafka] request, _ in
            try Self.answering { kafka.setDown(broker: try Self.broker(request)) }
        }
        router.post("/broker/up") { [kafka] request, _ in
            try Self.answering { kafka.setUp(broker: try Self.broker(request)) }
        }
        router.post("/latency") { [kafka] request, _ in
            try Self.answering {
                kafka.setRoundTrip(
                    millis: try Self.number(request, "ms", 0...Self.latencyMillisMax), broker: try Self.broker(request))
            }
        }
        router.post("/errors") { [kafka] request, _ in
            try Self.answering {
                let api = try Self.api(request)
                guard let text = request.uri.queryParameters.get("code"), let code = KafkaError.Code(text: text) else {
                    throw Refusal("'code' must be an error's name, such as REQUEST_TIMED_OUT, or its number")
                }
                let count = try Self.number(request, "count", 1...EmbeddedKafka.failureCountMax, otherwise: 1)
                kafka.failRequests(apiKey: api, code: code, count: count, broker: try Self.broker(request))
            }
        }
        router.post("/leader") { [kafka] request, _ in
            try Self.answering {
                let broker = Int32(try Self.number(request, "broker", 1...EmbeddedKafka.brokerCountMax))
                let topic = request.uri.queryParameters.get("topic").map { String($0) } ?? ""
                let partitions = kafka.fill.map(\.topicPartition).filter { $0.topic == topic }
                guard !partitions.isEmpty else { throw Refusal("'topic' must be one that was created at the start") }
                kafka.setLeader(of: partitions, broker: broker)
            }
        }
        router.post("/errors/clear") { [kafka] request, _ in
            try Self.answering { kafka.clearFailures(apiKey: try Self.api(request)) }
        }
        let onListening = self.onListening
        let application = Application(
            router: router,
            configuration: ApplicationConfiguration(address: .hostname(self.host, port: self.port), serverName: nil),
            onServerRunning: { channel in onListening(channel.localAddress?.port ?? 0) }, logger: self.logger)
        try await application.run()
    }

    // MARK: Parameters

    private struct Refusal: Error {
        let text: String
        init(_ text: String) { self.text = text }
    }

    private static func broker(_ request: Request) throws -> Int32? {
        guard request.uri.queryParameters.get("broker") != nil else { return nil }
        return Int32(try Self.number(request, "broker", 1...EmbeddedKafka.brokerCountMax))
    }

    private static func number(
        _ request: Request, _ name: String, _ range: ClosedRange<Int>, otherwise: Int? = nil
    ) throws -> Int {
        guard let text = request.uri.queryParameters.get(name) else {
            if let otherwise { return otherwise }
            throw Refusal("'\(name)' is missing: expected \(range.lowerBound) to \(range.upperBound)")
        }
        guard let number = Int(text), range.contains(number) else {
            throw Refusal("'\(name)' is '\(text.prefix(40))': expected \(range.lowerBound) to \(range.upperBound)")
        }
        return number
    }

    private static func api(_ request: Request) throws -> Int16 {
        let text = request.uri.queryParameters.get("api") ?? ""
        let named = KafkaAPI.numbers.first { $0.key.lowercased() == text.lowercased() }?.value
        guard let number = named ?? Int16(text), number >= 0 else {
            throw Refusal(
                "'api' is '\(text.prefix(40))': expected a number or one of \(KafkaAPI.numbers.keys.sorted().joined(separator: ", "))"
            )
        }
        return number
    }

    // MARK: Answers

    private static func answering(_ body: () throws -> Void) throws -> Response {
        do {
            try body()
            return try Self.json(["ok": true])
        } catch let refusal as Refusal {
            var response = try Self.json(["error": refusal.text])
            response.status = .badRequest
            return response
        }
    }

    private static func json(_ value: some Encodable) throws -> Response {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        let bytes = Array(try encoder.encode(value)) + [UInt8(ascii: "\n")]
        return Response(
            status: .ok, headers: [.contentType: "application/json"],
            body: ResponseBody(byteBuffer: ByteBuffer(bytes: bytes)))
    }

    private static func plain(_ text: String) -> Response {
        Response(
            status: .ok, headers: [.contentType: "text/plain; charset=utf-8"],
            body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// Kafka's request types by name (https://kafka.apache.org/protocol#protocol_api_keys), as far as the embedded cluster
/// answers them.
enum KafkaAPI {
    static let numbers: [String: Int16] = [
        "Produce": 0, "Fetch": 1, "ListOffsets": 2, "Metadata": 3, "OffsetCommit": 8, "OffsetFetch": 9,
        "FindCoordinator": 10, "JoinGroup": 11,
        "Heartbeat": 12, "LeaveGroup": 13, "SyncGroup": 14, "ApiVersions": 18, "InitProducerId": 22,
    ]
}

extension EmbeddedKafkaControl: Redacted {}
