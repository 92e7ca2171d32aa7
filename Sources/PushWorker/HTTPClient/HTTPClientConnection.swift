import NIOCore
import NIOHTTP1
import NIOPosix
import PushTransport
import Synchronization
import TLSSession

/// A connection to an HTTP server. It is kept until one of the two sides closes it, and made again when it is needed.
/// It carries one request at a time, and may be used from any thread.
final class HTTPClientConnection: Sendable {
    /// Time limit for connecting, from the lookup of the name to the end of the TCP handshake.
    static let connectMillisMax: Int64 = 3_000
    /// Time limit for a whole request.
    static let requestMillisMax: Int64 = 5_000
    /// Idle time after which the connection is closed.
    static let idleMillisMax: Int64 = 60_000

    private let endpoint: HTTPEndpoint
    /// The kept connection; `nil` when there is none, or it is in use. One connection is enough, because callers send
    /// one request after the other.
    private let kept = Mutex<(any Channel)?>(nil)

    init(to endpoint: HTTPEndpoint) { self.endpoint = endpoint }

    /// Sends a request and waits for the answer, for `requestMillisMax` at most, or until the task is cancelled.
    /// - Parameter tls: the client's context for a new connection; `nil`: plain HTTP.
    func send(_ request: HTTPClientRequest, tls: TLSContext?) async throws -> HTTPClientRequest.Answer {
        let deadline = NIODeadline.now() + .milliseconds(Self.requestMillisMax)
        if let channel = self.takeKept() {
            do {
                return try await self.exchange(request, by: channel, until: deadline)
            } catch let failure as HTTPClientRequest.Failure where failure.isBeforeAnswer {
                // The server has closed the kept connection, so the request is sent on a new one.
            }
        }
        let channel = try await Self.connect(to: self.endpoint, tls: tls, until: deadline).get()
        return try await self.exchange(request, by: channel, until: deadline)
    }

    /// Sends a request over a connection of its own, which is closed afterwards, and waits for the answer, for
    /// `requestMillisMax` at most. Blocks the calling thread, which must not be an event loop's.
    static func ask(_ request: HTTPClientRequest, tls: TLSContext?) throws -> HTTPClientRequest.Answer {
        let deadline = NIODeadline.now() + .milliseconds(Self.requestMillisMax)
        let channel = try Self.connect(to: request.endpoint, tls: tls, until: deadline).wait()
        defer { channel.close(promise: nil) }
        let promise = channel.eventLoop.makePromise(of: HTTPClientRequest.Answer.self)
        let limit = Self.begin(request, by: channel, until: deadline, promise)
        defer { limit.cancel() }
        return try promise.futureResult.wait()
    }

    /// Closes the kept connection.
    func close() { self.takeKept()?.close(promise: nil) }

    private func takeKept() -> (any Channel)? {
        self.kept.withLock { kept in
            defer { kept = nil }
            return kept.flatMap { $0.isActive ? $0 : nil }
        }
    }

    private static func connect(
        to endpoint: HTTPEndpoint, tls: TLSContext?, until deadline: NIODeadline
    ) -> EventLoopFuture<any Channel> {
        let millisLeft = (deadline - .now()).nanoseconds / 1_000_000
        let host = endpoint.host
        return ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(max(1, min(Self.connectMillisMax, millisLeft))))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(
                            TLSChannelHandler(TLSSession(client: tls, serverName: host), reportsFailure: true))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(HTTPExchangeHandler())
                }
            }
            .connect(host: host, port: endpoint.port)
    }

    /// Sends the request. Only the first result of `promise` counts.
    /// - Returns: the task that makes the request fail at the deadline. The caller cancels it after the answer.
    private static func begin(
        _ request: HTTPClientRequest, by channel: any Channel, until deadline: NIODeadline,
        _ promise: EventLoopPromise<HTTPClientRequest.Answer>
    ) -> Scheduled<Void> {
        let written = channel.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { error in
            promise.fail(HTTPClientRequest.Failure(description: ConnectError.text(error), isBeforeAnswer: true))
        }
        channel.writeAndFlush(HTTPExchange(request: request, promise: promise), promise: written)
        return channel.eventLoop.scheduleTask(deadline: deadline) {
            promise.fail(
                HTTPClientRequest.Failure(description: "no answer within \(Self.requestMillisMax / 1_000) s"))
        }
    }

    private func exchange(
        _ request: HTTPClientRequest, by channel: any Channel, until deadline: NIODeadline
    ) async throws -> HTTPClientRequest.Answer {
        let promise = channel.eventLoop.makePromise(of: HTTPClientRequest.Answer.self)
        let limit = Self.begin(request, by: channel, until: deadline, promise)
        defer { limit.cancel() }
        do {
            let answer = try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                promise.fail(CancellationError())
            }
            self.kept.withLock { $0 = channel }
            return answer
        } catch {
            // The answer may still arrive, and would be mistaken for another request's.
            channel.close(promise: nil)
            throw error
        }
    }
}

/// A request on its way, with the promise of its answer.
private struct HTTPExchange: Sendable {
    var request: HTTPClientRequest
    /// The promise of the answer; its first result counts.
    var promise: EventLoopPromise<HTTPClientRequest.Answer>
}

/// Writes one request after the other, and reads their answers. Confined to its event loop.
private final class HTTPExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = HTTPExchange
    typealias OutboundOut = HTTPClientRequestPart

    /// The request that waits for its answer.
    private var exchange: HTTPExchange?
    private var answer: HTTPClientRequest.Answer?
    private var isKept = false
    private var idleLimit: Scheduled<Void>?

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        let exchange = self.unwrapOutboundIn(data)
        self.idleLimit?.cancel()
        self.exchange = exchange
        context.write(self.wrapOutboundOut(.head(exchange.request.head)), promise: nil)
        let body = context.channel.allocator.buffer(bytes: exchange.request.body)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.write(self.wrapOutboundOut(.end(nil)), promise: promise)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            // This is an interim response before the final one.
            guard head.status.code >= 200 else { return }
            self.isKept = head.isKeepAlive
            self.answer = HTTPClientRequest.Answer(
                status: Int(head.status.code),
                retryAfterSeconds: head.headers.first(name: "retry-after").flatMap { Int64($0) })
        case .body(let bytes):
            let room = HTTPClientRequest.answerByteCountMax - (self.answer?.body.count ?? 0)
            self.answer?.body += bytes.readableBytesView.prefix(room)
            guard bytes.readableBytes > room else { return }
            // The rest of the body is not awaited, because the body may never end.
            self.answer?.isBodyCut = true
            self.isKept = false
            self.finish(context)
        case .end: self.finish(context)
        }
    }

    private func finish(_ context: ChannelHandlerContext) {
        // Nobody has asked for this answer.
        guard let exchange = self.exchange, let answer = self.answer else { return context.close(promise: nil) }
        (self.exchange, self.answer) = (nil, nil)
        if self.isKept { self.limitIdleTime(context) } else { context.close(promise: nil) }
        exchange.promise.succeed(answer)
    }

    private func limitIdleTime(_ context: ChannelHandlerContext) {
        let channel = context.channel
        self.idleLimit = context.eventLoop.scheduleTask(in: .milliseconds(HTTPClientConnection.idleMillisMax)) {
            channel.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.exchange?.promise.fail(
            HTTPClientRequest.Failure(description: ConnectError.text(error), isBeforeAnswer: self.answer == nil))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.idleLimit?.cancel()
        self.exchange?.promise.fail(
            HTTPClientRequest.Failure(
                description: "the connection ended before the answer", isBeforeAnswer: self.answer == nil))
        context.fireChannelInactive()
    }
}
