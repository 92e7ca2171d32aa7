import HTTP2Session
import PushModel

/// The header fields of a push, as the transport sends them.
let pushTemplate = HTTP2HeaderTemplate([
    .fixed(":method", "POST"), .fixed(":scheme", "https"), .variable(":path"),
    .fixed(":authority", "api.push.apple.com"),
    .fixed("authorization", "bearer " + String(repeating: "t", count: 180)),
    .fixed("apns-topic", "com.example.pizza.push-type.liveactivity"),
    .fixed("apns-push-type", "liveactivity"), .variable("apns-priority", indexing: .allowed), .variable("apns-id"),
    .variable("apns-expiration"),
])

/// The header fields of the answer to an accepted push.
let acceptedTemplate = HTTP2HeaderTemplate([.fixed(":status", "200"), .variable("apns-id")])

func statusTemplate(_ status: Int, _ fields: [HTTP2Field] = []) -> HTTP2HeaderTemplate {
    HTTP2HeaderTemplate([.fixed(":status", "\(status)")] + fields)
}

func pushValues(_ number: Int) -> HTTP2HeaderValues {
    var values = HTTP2HeaderValues()
    values.appendPart("/3/device/")
    values.appendPart(Array(String(number, radix: 16).utf8).span)
    values.endValue()
    values.append(decimal: number % 2 == 0 ? 10 : 5)
    values.append(uuid: (UInt64(truncatingIfNeeded: number), 0x8000_0000_0000_0001))
    values.append(decimal: 1_700_000_000 + Int64(number))
    return values
}

/// A request as the server saw it. It is a copy, which stays valid without the server's events.
struct SeenRequest: Equatable {
    var streamID: Int32
    var fields: [[String]]
    var fieldsTruncated: Bool
    var body: [UInt8]
    var bodyByteCount: Int

    func value(_ name: String) -> String? { self.fields.first { $0[0] == name }?[1] }
}

/// A client's and a server's session, connected by two byte pipes that cut the bytes at random positions. The methods
/// of this class move the bytes.
final class HTTP2Pipe {
    let client: HTTP2ClientSession
    let server: HTTP2ServerSession
    /// All events of the client so far. Their ranges are no longer valid: `clientBodies` has the bodies.
    var clientEvents: [HTTP2ClientEvent] = []
    var clientBodies: [UInt32: [UInt8]] = [:]
    var clientDebugData: [[UInt8]] = []
    var serverEvents: [HTTP2ServerEvent] = []
    /// Why requests were malformed, in words.
    var malformations: [String] = []
    var serverDebugData: [[UInt8]] = []
    var requests: [SeenRequest] = []
    /// Handles a request. The default answers it with 200.
    var onRequest: (HTTP2ServerSession, SeenRequest) -> Void = { server, request in
        server.respond(streamID: request.streamID, statusTemplate(200), values: HTTP2HeaderValues())
    }
    /// Changes bytes on their way.
    var tamper: (inout [UInt8], _ toServer: Bool) -> Void = { _, _ in }
    var byteCountToServer = 0

    private var clientBatch = HTTP2ClientEvents()
    private var serverBatch = HTTP2ServerEvents()
    private var random: SplitMix64
    private let chunkMax: Int

    init(
        client: HTTP2ClientSettings = HTTP2ClientSettings(), server: HTTP2ServerSettings = HTTP2ServerSettings(),
        seed: UInt64 = 1,
        chunkMax: Int = 20_000
    ) {
        self.client = HTTP2ClientSession(settings: client)
        self.server = HTTP2ServerSession(settings: server)
        self.random = SplitMix64(seed: seed)
        self.chunkMax = chunkMax
    }

    /// Moves bytes in both directions until neither side has output.
    func run() { while self.clientToServer() || self.serverToClient() {} }

    /// Moves the client's output once. Returns `false` if there was none.
    @discardableResult
    func clientToServer() -> Bool {
        var bytes: [UInt8] = []
        self.client.drain(appendingTo: &bytes)
        self.takeClientEvents()
        guard !bytes.isEmpty else { return false }
        self.byteCountToServer += bytes.count
        self.tamper(&bytes, true)
        for chunk in self.chunks(bytes) {
            self.server.receive(chunk.span.bytes)
            self.takeServerEvents()
        }
        return true
    }

    /// Moves the server's output once. Returns `false` if there was none.
    @discardableResult
    func serverToClient() -> Bool {
        var bytes: [UInt8] = []
        self.server.drain(appendingTo: &bytes)
        self.takeServerEvents()
        guard !bytes.isEmpty else { return false }
        self.tamper(&bytes, false)
        for chunk in self.chunks(bytes) {
            self.client.receive(chunk.span.bytes)
            self.takeClientEvents()
        }
        return true
    }

    private func chunks(_ bytes: [UInt8]) -> [[UInt8]] {
        var chunks: [[UInt8]] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            chunks.append(Array(rest.prefix(Int.random(in: 1...self.chunkMax, using: &self.random))))
            rest = rest.dropFirst(chunks[chunks.count - 1].count)
        }
        return chunks
    }

    func takeClientEvents() {
        self.client.takeEvents(into: &self.clientBatch)
        for event in self.clientBatch.events {
            switch event {
            case .responseFinished(let tag, _, _, let body, _, _):
                self.clientBodies[tag] = Array(self.clientBatch.bytes[body])
            case .goAwayReceived(_, _, let data), .goAwaySent(_, let data):
                self.clientDebugData.append(Array(self.clientBatch.bytes[data]))
            case .streamFailed, .settingsChanged, .pingAcknowledged: break
            }
            self.clientEvents.append(event)
        }
    }

    private func takeServerEvents() {
        self.server.takeEvents(into: &self.serverBatch)
        let batch = self.serverBatch
        for event in batch.events {
            self.serverEvents.append(event)
            switch event {
            case .request(let request):
                let seen = SeenRequest(
                    streamID: request.streamID,
                    fields: batch.fields[request.fields].map { field in
                        [field.name, field.value].map { String(decoding: batch.bytes[$0], as: UTF8.self) }
                    },
                    fieldsTruncated: request.fieldsTruncated, body: Array(batch.bytes[request.body]),
                    bodyByteCount: request.bodyByteCount)
                self.requests.append(seen)
                self.onRequest(self.server, seen)
            case .goAwayReceived(_, _, let data), .goAwaySent(_, _, let data):
                self.serverDebugData.append(Array(batch.bytes[data]))
            case .requestMalformed(_, let detail):
                self.malformations.append(String(decoding: batch.bytes[detail], as: UTF8.self))
            case .requestHeaders, .streamClosed, .settingsAcknowledged, .pingAcknowledged: break
            }
        }
    }

    @discardableResult
    func submit(_ number: Int, bodyByteCount: Int = 266) -> HTTP2SubmitResult {
        let body = [UInt8](repeating: UInt8(truncatingIfNeeded: number), count: bodyByteCount)
        return self.client.submit(pushTemplate, values: pushValues(number), body: body, tag: UInt32(number))
    }

    /// The statuses of complete answers, by tag.
    var statuses: [UInt32: UInt16] {
        self.clientEvents.reduce(into: [:]) { result, event in
            if case .responseFinished(let tag, _, let status, _, _, _) = event { result[tag] = status }
        }
    }

    /// The failures of streams, by tag.
    var failures: [UInt32: HTTP2StreamFailure] {
        self.clientEvents.reduce(into: [:]) { result, event in
            if case .streamFailed(let tag, _, let failure) = event { result[tag] = failure }
        }
    }

    /// Number of final events by tag.
    var finalEventCounts: [UInt32: Int] {
        self.clientEvents.reduce(into: [:]) { result, event in
            switch event {
            case .responseFinished(let tag, _, _, _, _, _), .streamFailed(let tag, _, _): result[tag, default: 0] += 1
            case .settingsChanged, .goAwayReceived, .pingAcknowledged, .goAwaySent: break
            }
        }
    }
}

extension HTTP2SubmitResult {
    var streamID: Int32? {
        if case .submitted(let streamID) = self { streamID } else { nil }
    }
}
