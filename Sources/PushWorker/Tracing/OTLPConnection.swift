import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization
import TLSSession

/// The way to a collector: one connection, which is kept as long as both sides like, and made anew when it is needed and gone. One request at a time;
/// any thread.
final class OTLPConnection: Sendable {
    /// From the lookup of the name to the end of the TCP handshake.
    static let connectMillisMax: Int64 = 3_000
    /// Of the whole request.
    static let requestMillisMax: Int64 = 5_000
    /// A connection that nothing has used for so long is closed: while nothing is traced there is none.
    static let idleMillisMax: Int64 = 60_000

    private let endpoint: OTLPEndpoint
    /// `nil`: there is none, or it is in use. At most one: the exporter asks one thing after the other.
    private let kept = Mutex<(any Channel)?>(nil)

    init(to endpoint: OTLPEndpoint) { self.endpoint = endpoint }

    /// Sends a request and waits for the answer, for `requestMillisMax` at most, or until the task is cancelled.
    /// - Parameter tls: of a client, for a new connection; `nil`: plain HTTP.
    func send(_ request: OTLPRequest, tls: TLSContext?) async throws -> OTLPRequest.Answer {
        let deadline = NIODeadline.now() + .milliseconds(Self.requestMillisMax)
        if let channel = self.takeKept() {
            do {
                return try await self.exchange(request, by: channel, until: deadline)
            } catch let failure as OTLPRequest.Failure where failure.isBeforeAnswer {
                // The collector has closed what nobody used, perhaps just now.
            }
        }
        return try await self.exchange(request, by: self.connect(tls: tls, until: deadline), until: deadline)
    }

    /// Closes what is kept.
    func close() { self.takeKept()?.close(promise: nil) }

    private func takeKept() -> (any Channel)? {
        self.kept.withLock { kept in
            defer { kept = nil }
            return kept.flatMap { $0.isActive ? $0 : nil }
        }
    }

    private func connect(tls: TLSContext?, until deadline: NIODeadline) async throws -> any Channel {
        let millisLeft = (deadline - .now()).nanoseconds / 1_000_000
        let host = self.endpoint.host
        let bootstrap = ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connectTimeout(.milliseconds(max(1, min(Self.connectMillisMax, millisLeft))))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(TLSChannelHandler(TLSSession(client: tls, serverName: host)))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(OTLPExchangeHandler())
                }
            }
        return try await bootstrap.connect(host: host, port: self.endpoint.port).get()
    }

    private func exchange(
        _ request: OTLPRequest, by channel: any Channel, until deadline: NIODeadline
    ) async throws -> OTLPRequest.Answer {
        let promise = channel.eventLoop.makePromise(of: OTLPRequest.Answer.self)
        let limit = channel.eventLoop.scheduleTask(deadline: deadline) {
            promise.fail(
                OTLPRequest.Failure(description: "no answer within \(Self.requestMillisMax / 1_000) s"))
        }
        defer { limit.cancel() }
        let written = channel.eventLoop.makePromise(of: Void.self)
        written.futureResult.whenFailure { error in
            promise.fail(OTLPRequest.Failure(description: "\(error)", isBeforeAnswer: true))
        }
        channel.writeAndFlush(OTLPExchange(request: request, promise: promise), promise: written)
        do {
            let answer = try await withTaskCancellationHandler {
                try await promise.futureResult.get()
            } onCancel: {
                promise.fail(CancellationError())
            }
            self.kept.withLock { $0 = channel }
            return answer
        } catch {
            // Its answer may come yet, and would be taken for another's.
            channel.close(promise: nil)
            throw error
        }
    }
}

/// A request on its way, and who waits for its answer.
private struct OTLPExchange: Sendable {
    var request: OTLPRequest
    /// Its first result counts.
    var promise: EventLoopPromise<OTLPRequest.Answer>
}

/// Writes one request after the other, and reads their answers. Confined to its event loop.
private final class OTLPExchangeHandler: ChannelDuplexHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundIn = OTLPExchange
    typealias OutboundOut = HTTPClientRequestPart

    /// What waits for its answer.
    private var exchange: OTLPExchange?
    private var answer: OTLPRequest.Answer?
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
            // Something before the answer proper.
            guard head.status.code >= 200 else { return }
            self.isKept = head.isKeepAlive
            self.answer = OTLPRequest.Answer(
                status: Int(head.status.code),
                retryAfterSeconds: head.headers.first(name: "retry-after").flatMap { Int64($0) })
        case .body(let bytes):
            let room = OTLPRequest.answerByteCountMax - (self.answer?.body.count ?? 0)
            self.answer?.body += bytes.readableBytesView.prefix(room)
        case .end:
            // Nobody has asked for it: who speaks first is no collector.
            guard let exchange = self.exchange, let answer = self.answer else { return context.close(promise: nil) }
            (self.exchange, self.answer) = (nil, nil)
            if self.isKept { self.limitIdleTime(context) } else { context.close(promise: nil) }
            exchange.promise.succeed(answer)
        }
    }

    private func limitIdleTime(_ context: ChannelHandlerContext) {
        let channel = context.channel
        self.idleLimit = context.eventLoop.scheduleTask(in: .milliseconds(OTLPConnection.idleMillisMax)) {
            channel.close(promise: nil)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.exchange?.promise.fail(
            OTLPRequest.Failure(description: "\(error)", isBeforeAnswer: self.answer == nil))
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.idleLimit?.cancel()
        self.exchange?.promise.fail(
            OTLPRequest.Failure(
                description: "the connection ended before the answer", isBeforeAnswer: self.answer == nil))
        context.fireChannelInactive()
    }
}
