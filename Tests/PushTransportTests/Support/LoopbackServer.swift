import HTTP2Session
import NIOCore
import NIOPosix
import TLSSession

/// What a scripted server does with one request.
enum Reaction: Sendable {
    case ok
    case refuse(status: UInt16, reason: String)
    /// Answers with this status, these fields and this body. Each field is a name and a value.
    case answer(status: UInt16, fields: [[String]] = [], body: [UInt8] = [])
    case reset(HTTP2ErrorCode)
    /// Never answers.
    case hold
    /// Changes the stream limit, and answers with 200 once the client has acknowledged a PING. By then the server has
    /// all that the client sent before the PING arrived.
    case limitAfterPing(UInt32)
    /// Sends GOAWAY with this request's stream as the last one, and answers the request with 200.
    case goAway(reason: String)
    /// Sends GOAWAY with these bytes as debug data.
    case goAwaySaying([UInt8])
    /// Sends GOAWAY with a last stream below this request's stream, so the request is not processed.
    case goAwayBefore(reason: String)
    /// Changes the stream limit, then answers with 200.
    case limit(UInt32)
    /// Closes the socket without GOAWAY or close_notify.
    case drop
    /// Keeps the TCP connection open, but no longer reads or writes.
    case freeze
    /// Begins the answer, but cuts the connection in the middle of a TLS record.
    case cutMidFrame
    /// Sends bytes that are not HTTP/2.
    case garbage
}

/// One request as the script sees it. Its numbers begin at 1.
struct SeenRequest: Sendable {
    var connection: Int
    var numberOnConnection: Int
    var number: Int
    var fields: [String: String]
    var body: [UInt8]
}

/// What a client sent before it ended a connection.
struct Farewell: Equatable, Sendable {
    var goAway: Bool
    var closeNotify: Bool
}

/// An HTTP/2 server over TLS on the loopback interface. A script decides what the server does with each request. The
/// server's certificate comes from an authority that was made for the test.
final class LoopbackServer: Sendable {
    typealias Script = @Sendable (SeenRequest) -> Reaction

    let port: Int
    let authorityPEM: [UInt8]
    private let channel: any Channel
    private let log: ServerLog

    static func start(
        on eventLoop: any EventLoop, port: Int = 0, settings: HTTP2ServerSettings = HTTP2ServerSettings(),
        authority: CertificateAuthority? = nil,
        speaksHTTP2: Bool = true, script: @escaping Script
    ) async throws -> LoopbackServer {
        let authority =
            try authority ?? CertificateAuthority(notBeforeSeconds: 1_600_000_000, notAfterSeconds: 4_000_000_000)
        let certificate = try authority.issue(notBeforeSeconds: 1_600_000_000, notAfterSeconds: 4_000_000_000)
        let context = try TLSContext.server(
            certificateChainPEM: certificate.chainPEM, privateKeyPEM: certificate.privateKeyPEM,
            applicationProtocols: speaksHTTP2 ? ["h2"] : [])
        let log = ServerLog(eventLoop: eventLoop)
        let channel = try await ServerBootstrap(group: eventLoop)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let handler = ServerConnection(
                        tls: try TLSSession(server: context), session: HTTP2ServerSession(settings: settings), log: log,
                        script: script)
                    try channel.pipeline.syncOperations.addHandler(handler)
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return LoopbackServer(channel: channel, authorityPEM: authority.certificatePEM, log: log)
    }

    private init(channel: any Channel, authorityPEM: [UInt8], log: ServerLog) {
        self.channel = channel
        self.port = channel.localAddress!.port!
        self.authorityPEM = authorityPEM
        self.log = log
    }

    func requests() async throws -> [SeenRequest] {
        try await self.channel.eventLoop.submit { self.log.requests }.get()
    }
    func connectionCount() async throws -> Int {
        try await self.channel.eventLoop.submit { self.log.connections }.get()
    }
    /// The highest number of requests that were open on one connection at a time.
    func openMax() async throws -> Int { try await self.channel.eventLoop.submit { self.log.openMax }.get() }

    /// Number of requests that had come when each PING was acknowledged.
    func countsAtPings() async throws -> [Int] {
        try await self.channel.eventLoop.submit { self.log.countsAtPings }.get()
    }

    /// Waits until a client has ended a connection. Returns what the client sent before the first such end.
    func firstFarewell() async throws -> Farewell {
        try await self.channel.eventLoop.flatSubmit { self.log.whenLeft() }.get()
    }

    /// Stops listening and drops every connection.
    func stop() async throws {
        try await self.channel.close().get()
        try await self.channel.eventLoop.submit { self.log.closeAll() }.get()
    }
}

/// What a server has seen. It is confined to the server's loop.
final class ServerLog: @unchecked Sendable {
    // `@unchecked`: every access is on `eventLoop`, and `precondition`s check that.
    private let eventLoop: any EventLoop
    private var seen: [SeenRequest] = []
    private var live: [ObjectIdentifier: any Channel] = [:]
    private(set) var connections = 0
    private var firstFarewell: Farewell?
    private var waiting: [EventLoopPromise<Farewell>] = []
    var openMax = 0
    /// Number of requests that had come when each PING was acknowledged.
    var countsAtPings: [Int] = []

    init(eventLoop: any EventLoop) { self.eventLoop = eventLoop }

    var requests: [SeenRequest] {
        self.eventLoop.preconditionInEventLoop()
        return self.seen
    }

    func connected(_ channel: any Channel) -> Int {
        self.eventLoop.preconditionInEventLoop()
        self.live[ObjectIdentifier(channel)] = channel
        self.connections += 1
        return self.connections
    }

    func disconnected(_ channel: any Channel, _ farewell: Farewell) {
        self.live[ObjectIdentifier(channel)] = nil
        self.firstFarewell = self.firstFarewell ?? farewell
        for promise in self.waiting { promise.succeed(farewell) }
        self.waiting.removeAll()
    }

    func whenLeft() -> EventLoopFuture<Farewell> {
        let promise = self.eventLoop.makePromise(of: Farewell.self)
        if let farewell = self.firstFarewell {
            promise.succeed(farewell)
        } else {
            self.waiting.append(promise)
            promise.expect(on: self.eventLoop) { "waited in vain for the end of a connection" }
        }
        return promise.futureResult
    }

    func add(_ request: SeenRequest) { self.seen.append(request) }

    var count: Int { self.seen.count }

    func closeAll() {
        for channel in self.live.values { channel.close(promise: nil) }
    }
}

private final class ServerConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private static let accepted = HTTP2HeaderTemplate([.fixed(":status", "200"), .variable("apns-id")])
    private static let refused = HTTP2HeaderTemplate([.variable(":status"), .fixed("content-type", "application/json")])

    private let tls: TLSSession
    private let session: HTTP2ServerSession
    private let log: ServerLog
    private let script: LoopbackServer.Script
    private var events = HTTP2ServerEvents()
    private var number = 0
    private var requestCount = 0
    private var isFrozen = false
    private var sawGoAway = false
    private var open = 0
    private var awaitsPing: (request: HTTP2ServerRequest, seen: SeenRequest)?

    init(tls: TLSSession, session: HTTP2ServerSession, log: ServerLog, script: @escaping LoopbackServer.Script) {
        self.tls = tls
        self.session = session
        self.log = log
        self.script = script
    }

    func channelActive(context: ChannelHandlerContext) { self.number = self.log.connected(context.channel) }
    func channelInactive(context: ChannelHandlerContext) {
        self.log.disconnected(
            context.channel, Farewell(goAway: self.sawGoAway, closeNotify: self.tls.state == .peerClosed))
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isFrozen else { return }
        let buffer = self.unwrapInboundIn(data)
        let session = self.session
        self.tls.receive(buffer.readableBytesSpan) { _ = session.receive($0) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        guard !self.isFrozen else { return }
        self.session.takeEvents(into: &self.events)
        for event in self.events.events {
            switch event {
            case .request(let request):
                self.open += 1
                self.log.openMax = max(self.log.openMax, self.open)
                self.react(to: request, context)
            case .streamClosed: self.open -= 1
            case .goAwayReceived: self.sawGoAway = true
            case .pingAcknowledged:
                self.log.countsAtPings.append(self.log.count)
                if let (request, seen) = self.awaitsPing { self.accept(request, seen) }
                self.awaitsPing = nil
            case .requestHeaders, .requestMalformed, .settingsAcknowledged, .goAwaySent: break
            }
        }
        self.write(context)
    }

    private func react(to request: HTTP2ServerRequest, _ context: ChannelHandlerContext) {
        guard !self.isFrozen else { return }
        self.requestCount += 1
        var fields: [String: String] = [:]
        for field in self.events.fields[request.fields] {
            fields[String(decoding: self.events.bytes[field.name], as: UTF8.self)] =
                String(decoding: self.events.bytes[field.value], as: UTF8.self)
        }
        let seen = SeenRequest(
            connection: self.number, numberOnConnection: self.requestCount, number: self.log.count + 1, fields: fields,
            body: Array(self.events.bytes[request.body]))
        self.log.add(seen)
        switch self.script(seen) {
        case .ok: self.accept(request, seen)
        case .refuse(let status, let reason):
            var values = HTTP2HeaderValues()
            values.append(decimal: Int64(status))
            self.session.respond(
                streamID: request.streamID, Self.refused, values: values,
                body: Array("{\"reason\":\"\(reason)\"}".utf8).span)
        case .answer(let status, let fields, let body):
            let template = HTTP2HeaderTemplate(
                [.fixed(":status", "\(status)")] + fields.map { .fixed($0[0], $0[1], indexing: .never) })
            self.session.respond(streamID: request.streamID, template, values: HTTP2HeaderValues(), body: body.span)
        case .reset(let code): self.session.reset(streamID: request.streamID, errorCode: code)
        case .hold: break
        case .limitAfterPing(let streams):
            self.session.change(HTTP2SettingsChange(concurrentStreamsMax: streams))
            self.session.ping(payload: 1)
            self.awaitsPing = (request, seen)
        case .goAway(let reason):
            self.accept(request, seen)
            self.session.goAway(lastStreamID: request.streamID, debugData: Array("{\"reason\":\"\(reason)\"}".utf8))
        case .goAwaySaying(let debugData):
            self.accept(request, seen)
            self.session.goAway(lastStreamID: request.streamID, debugData: debugData)
        case .goAwayBefore(let reason):
            self.session.goAway(lastStreamID: request.streamID - 2, debugData: Array("{\"reason\":\"\(reason)\"}".utf8))
        case .limit(let streams):
            self.session.change(HTTP2SettingsChange(concurrentStreamsMax: streams))
            self.accept(request, seen)
        case .drop:
            self.isFrozen = true
            context.close(promise: nil)
        case .freeze:
            self.isFrozen = true
            _ = context.channel.setOption(.autoRead, value: false)
        case .cutMidFrame:
            self.accept(request, seen)
            var output: [UInt8] = []
            self.session.drain(appendingTo: &output)
            self.tls.write(output.span.bytes)
            self.tls.takeCiphertext { bytes in
                var buffer = context.channel.allocator.buffer(capacity: bytes.byteCount)
                buffer.writeBytes(bytes)
                context.writeAndFlush(
                    self.wrapOutboundOut(buffer.readSlice(length: bytes.byteCount / 2)!), promise: nil)
            }
            self.isFrozen = true
            context.close(promise: nil)
        case .garbage:
            self.tls.write([UInt8](repeating: 0xff, count: 100).span.bytes)
        }
    }

    private func accept(_ request: HTTP2ServerRequest, _ seen: SeenRequest) {
        var values = HTTP2HeaderValues()
        values.append(Array((seen.fields["apns-id"] ?? "").utf8))
        self.session.respond(streamID: request.streamID, Self.accepted, values: values, body: [UInt8]().span)
    }

    private func write(_ context: ChannelHandlerContext) {
        guard !self.isFrozen else { return }
        if self.tls.state == .established {
            var output: [UInt8] = []
            self.session.drain(appendingTo: &output)
            if !output.isEmpty { self.tls.write(output.span.bytes) }
            // Draining the output may close streams.
            self.session.takeEvents(into: &self.events)
            for case .streamClosed in self.events.events { self.open -= 1 }
        }
        if self.tls.ciphertextByteCount > 0 {
            var buffer = context.channel.allocator.buffer(capacity: self.tls.ciphertextByteCount)
            self.tls.takeCiphertext { _ = buffer.writeBytes($0) }
            context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil)
        }
        // A client that has sent GOAWAY closes the connection itself. Its close_notify has not arrived yet.
        if self.session.isFinished, !self.sawGoAway { context.close(promise: nil) }
    }
}
