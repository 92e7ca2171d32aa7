import HTTP2Session
import NIOCore
import NIOPosix
import TLSSession

/// Result of one request.
struct TestResponse: Equatable, Sendable {
    /// Status of the answer. 0 means no answer.
    var status = 0
    var body = ""
    var retryAfterSeconds: Int64 = -1
    var failure: HTTP2StreamFailure?
    /// `apns-channel-id` of the answer to a creation. Empty means that the answer had none.
    var channelID = ""

    /// Status and reason, as tables compare them.
    var summary: String { self.body.isEmpty ? "\(self.status)" : "\(self.status) \(self.body)" }
}

/// An HTTP/2 client over a real TLS socket, driven by the project's own client session.
final class TestClient: Sendable {
    private let handler: NIOLoopBound<TestClientHandler>
    private let channel: any Channel

    private init(handler: NIOLoopBound<TestClientHandler>, channel: any Channel) {
        self.handler = handler
        self.channel = channel
    }

    /// Connects and waits for the server's SETTINGS.
    static func connect(port: Int, authorityPEM: [UInt8], settings: HTTP2ClientSettings = HTTP2ClientSettings())
        async throws -> TestClient
    {
        let context = try TLSContext.client(roots: .pem(authorityPEM))
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton).connectTimeout(.seconds(10))
        let (client, ready) = try await bootstrap.connect(host: "127.0.0.1", port: port) { channel in
            channel.eventLoop.makeCompletedFuture {
                let handler = try TestClientHandler(context: context, settings: settings, eventLoop: channel.eventLoop)
                try channel.pipeline.syncOperations.addHandler(handler)
                let bound = NIOLoopBound(handler, eventLoop: channel.eventLoop)
                return (TestClient(handler: bound, channel: channel), handler.ready.futureResult)
            }
        }
        try await ready.get()
        return client
    }

    /// Sends requests together, and returns the answers in the order of the requests.
    func send(_ requests: [TestRequest]) async throws -> [TestResponse] {
        let handler = self.handler
        return try await self.channel.eventLoop.flatSubmit { () -> EventLoopFuture<[TestResponse]> in
            let futures = requests.map { handler.value.submit($0) }
            handler.value.flush()
            return EventLoopFuture.whenAllSucceed(futures, on: handler.value.eventLoop)
        }.get()
    }

    func send(_ request: TestRequest) async throws -> TestResponse { try await self.send([request])[0] }

    /// Writes one request to the socket, and returns the future answer. An `async let` of `send` would not do, because
    /// it may write the request later than the test expects.
    func begin(_ request: TestRequest) async throws -> EventLoopFuture<TestResponse> {
        let handler = self.handler
        return try await self.channel.eventLoop.submit {
            let answer = handler.value.submit(request)
            handler.value.flush()
            return answer
        }.get()
    }

    /// Waits until `body` returns a value for what the client has seen. Throws after a minute.
    func first<Value: Sendable>(_ body: @escaping @Sendable (TestClientSeen) -> Value?) async throws -> Value {
        let handler = self.handler
        return try await self.channel.eventLoop.flatSubmit { handler.value.wait(body) }.get()
    }

    func ping(_ payload: UInt64) async throws {
        let handler = self.handler
        try await self.channel.eventLoop.submit {
            handler.value.session.ping(payload: payload)
            handler.value.flush()
        }.get()
    }

    /// Sends bytes without the HTTP/2 session, as a client that breaks the protocol does.
    func sendRaw(_ bytes: [UInt8]) async throws {
        let handler = self.handler
        try await self.channel.eventLoop.submit {
            handler.value.flush()
            handler.value.sendRaw(bytes)
        }.get()
    }

    /// Waits until the connection has ended.
    func closed() async throws {
        _ = try await self.first { $0.isClosed ? true : nil }
        try await self.channel.closeFuture.get()
    }

    func close() async { try? await self.channel.close().get() }
}

/// The error of a wait that took longer than a minute.
struct TestClientTimeout: Error, CustomStringConvertible {
    var seen: TestClientSeen

    var description: String { "waited a minute in vain; seen of the connection: \(self.seen)" }
}

/// What a client has seen of its connection so far.
struct TestClientSeen: Sendable {
    var streamsMax: UInt32 = .max
    var settingsCount = 0
    var goAway: (lastStreamID: Int32, errorCode: HTTP2ErrorCode, debug: String)?
    var pingAnswers: [UInt64] = []
    var tlsFailure: TLSError?
    var isClosed = false
}

struct TestRequest: Sendable {
    var fields: [(String, String)]
    var body: [UInt8]
}

final class TestClientHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    let session: HTTP2ClientSession
    let eventLoop: any EventLoop
    let ready: EventLoopPromise<Void>
    private let tls: TLSSession
    private var context: ChannelHandlerContext?
    private var events = HTTP2ClientEvents()
    private var pending: [UInt32: EventLoopPromise<TestResponse>] = [:]
    private var nextTag: UInt32 = 1
    private var seen = TestClientSeen()
    private var waiters: [() -> Bool] = []
    private var isReady = false

    init(context: TLSContext, settings: HTTP2ClientSettings, eventLoop: any EventLoop) throws {
        self.session = HTTP2ClientSession(settings: settings)
        self.tls = try TLSSession(client: context, serverName: "localhost")
        self.eventLoop = eventLoop
        self.ready = eventLoop.makePromise()
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.context = context
        self.limit(self.ready)
    }

    func channelActive(context: ChannelHandlerContext) {
        self.tls.start()
        self.flush()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let buffer = self.unwrapInboundIn(data)
        let state = self.tls.receive(buffer.readableBytesSpan) { _ = self.session.receive($0) }
        if case .failed(let error) = state { self.seen.tlsFailure = error }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.flush()
        self.takeEvents()
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.seen.isClosed = true
        if case .failed(let error) = self.tls.transportClosed() { self.seen.tlsFailure = error }
        self.session.connectionLost()
        self.takeEvents()
        if !self.isReady { self.ready.fail(ChannelError.eof) }
        self.context = nil
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    func submit(_ request: TestRequest) -> EventLoopFuture<TestResponse> {
        let promise = self.eventLoop.makePromise(of: TestResponse.self)
        let template = HTTP2HeaderTemplate(request.fields.map { .fixed($0.0, $0.1) })
        let tag = self.nextTag
        self.nextTag += 1
        let isCreation =
            request.fields.contains { $0 == (":method", "POST") }
            && request.fields.contains { $0.0 == ":path" && $0.1.hasSuffix("/channels") }
        let result =
            isCreation
            ? self.session.submit(
                template, values: HTTP2HeaderValues(), body: request.body.span, tag: tag,
                keeping: HTTP2AnswerKeeping(fieldName: Array("apns-channel-id".utf8), bodyByteCountMax: 1_024))
            : self.session.submit(template, values: HTTP2HeaderValues(), body: request.body.span, tag: tag)
        switch result {
        case .submitted:
            self.pending[tag] = promise
            self.limit(promise)
        case let other: promise.succeed(TestResponse(body: "not submitted: \(other)"))
        }
        return promise.futureResult
    }

    func wait<Value: Sendable>(_ body: @escaping (TestClientSeen) -> Value?) -> EventLoopFuture<Value> {
        let promise = self.eventLoop.makePromise(of: Value.self)
        self.waiters.append { [unowned self] in
            guard let value = body(self.seen) else { return false }
            promise.succeed(value)
            return true
        }
        self.waiters.removeAll { $0() }
        self.limit(promise)
        return promise.futureResult
    }

    /// Limits a wait to a minute. A wait without an end would hold up all later tests.
    private func limit<Value: Sendable>(_ promise: EventLoopPromise<Value>) {
        let limit = self.eventLoop.assumeIsolated().scheduleTask(in: .seconds(60)) {
            promise.fail(TestClientTimeout(seen: self.seen))
        }
        promise.futureResult.assumeIsolated().whenComplete { _ in limit.cancel() }
    }

    func flush() {
        guard let context = self.context else { return }
        if case .established = self.tls.state {
            var output: [UInt8] = []
            self.session.drain(appendingTo: &output)
            if !output.isEmpty { self.tls.write(output.span.bytes) }
        }
        var buffer = ByteBuffer()
        self.tls.takeCiphertext { _ = buffer.writeBytes($0) }
        if buffer.readableBytes > 0 { context.writeAndFlush(self.wrapOutboundOut(buffer), promise: nil) }
    }

    func sendRaw(_ bytes: [UInt8]) {
        self.tls.write(bytes.span.bytes)
        self.flush()
    }

    private func takeEvents() {
        self.session.takeEvents(into: &self.events)
        for event in self.events.events {
            switch event {
            case .responseFinished(let tag, _, let status, let body, _, let retryAfterSeconds):
                let kept = self.events.keptFields.first { $0.tag == tag }.map { self.events.bytes[$0.value] } ?? []
                self.finish(
                    tag,
                    TestResponse(
                        status: Int(status), body: String(decoding: self.events.bytes[body], as: UTF8.self),
                        retryAfterSeconds: retryAfterSeconds, channelID: String(decoding: kept, as: UTF8.self)))
            case .streamFailed(let tag, _, let failure):
                self.finish(tag, TestResponse(failure: failure))
            case .settingsChanged(let streamsMax):
                self.seen.streamsMax = streamsMax
                self.seen.settingsCount += 1
                if !self.isReady {
                    self.isReady = true
                    self.ready.succeed(())
                }
            case .goAwayReceived(let lastStreamID, let errorCode, let debug):
                self.seen.goAway = (lastStreamID, errorCode, String(decoding: self.events.bytes[debug], as: UTF8.self))
            case .pingAcknowledged(let payload):
                self.seen.pingAnswers.append(payload)
            case .goAwaySent:
                break
            }
        }
        self.waiters.removeAll { $0() }
    }

    private func finish(_ tag: UInt32, _ response: TestResponse) {
        self.pending.removeValue(forKey: tag)?.succeed(response)
    }
}
