import NIOCore
import NIOHTTP1
import NIOPosix
import TLSSession

/// One request to a collector, over a connection of its own: there is one a second at most, and none while nothing is traced.
struct OTLPRequest: Sendable {
    var endpoint: OTLPEndpoint
    /// Beside those that every request has.
    var headers: OTLPHeaders?
    var body: [UInt8]

    /// What the collector said.
    struct Answer: Sendable, Equatable {
        var status: Int
        /// `retry-after` in seconds; `nil`: it was not said, or not in seconds.
        var retryAfterSeconds: Int64?
        var body: [UInt8] = []
    }

    /// Why there is no answer.
    struct Failure: Error, CustomStringConvertible {
        var description: String
    }

    /// From the lookup of the name to the end of the TCP handshake.
    static let connectMillisMax: Int64 = 3_000
    /// Of the whole request.
    static let requestMillisMax: Int64 = 5_000
    /// Of an answer's body no more is kept.
    static let answerByteCountMax = 65_536

    /// Sends it and waits for the answer, for `requestMillisMax` at most, or until the task is cancelled.
    /// - Parameter tls: of a client; `nil`: plain HTTP.
    func send(tls: TLSContext?) async throws -> Answer {
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let promise = loop.makePromise(of: Answer.self)
        let bootstrap = ClientBootstrap(group: loop)
            .connectTimeout(.milliseconds(Self.connectMillisMax))
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let pipeline = channel.pipeline.syncOperations
                    if let tls {
                        try pipeline.addHandler(
                            TLSChannelHandler(TLSSession(client: tls, serverName: self.endpoint.host)))
                    }
                    try pipeline.addHTTPClientHandlers()
                    try pipeline.addHandler(OTLPAnswerHandler(self, promise))
                }
            }
        let deadline = loop.scheduleTask(in: .milliseconds(Self.requestMillisMax)) {
            promise.fail(Failure(description: "no answer within \(Self.requestMillisMax / 1_000) s"))
        }
        let connected = bootstrap.connect(host: self.endpoint.host, port: self.endpoint.port)
        connected.whenFailure { promise.fail($0) }
        defer {
            deadline.cancel()
            connected.whenSuccess { $0.close(promise: nil) }
        }
        return try await withTaskCancellationHandler {
            try await promise.futureResult.get()
        } onCancel: {
            promise.fail(CancellationError())
        }
    }

    fileprivate var head: HTTPRequestHead {
        var fields = HTTPHeaders()
        fields.add(name: "host", value: self.endpoint.authority)
        fields.add(name: "content-type", value: "application/json")
        fields.add(name: "content-length", value: "\(self.body.count)")
        fields.add(name: "user-agent", value: "mailboat/\(MailboatVersion.current)")
        fields.add(name: "connection", value: "close")
        for field in self.headers?.fields ?? [] { fields.add(name: field.name, value: field.value) }
        return HTTPRequestHead(version: .http1_1, method: .POST, uri: self.endpoint.path, headers: fields)
    }
}

/// Writes the request when the connection stands, and reads the answer. Confined to its event loop.
private final class OTLPAnswerHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPClientResponsePart
    typealias OutboundOut = HTTPClientRequestPart

    private let request: OTLPRequest
    /// Its first result counts.
    private let promise: EventLoopPromise<OTLPRequest.Answer>
    private var answer: OTLPRequest.Answer?

    init(_ request: OTLPRequest, _ promise: EventLoopPromise<OTLPRequest.Answer>) {
        self.request = request
        self.promise = promise
    }

    func channelActive(context: ChannelHandlerContext) {
        context.write(self.wrapOutboundOut(.head(self.request.head)), promise: nil)
        let body = context.channel.allocator.buffer(bytes: self.request.body)
        context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
        context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            // Something before the answer proper.
            guard head.status.code >= 200 else { return }
            self.answer = OTLPRequest.Answer(
                status: Int(head.status.code),
                retryAfterSeconds: head.headers.first(name: "retry-after").flatMap { Int64($0) })
        case .body(let bytes):
            let room = OTLPRequest.answerByteCountMax - (self.answer?.body.count ?? 0)
            self.answer?.body += bytes.readableBytesView.prefix(room)
        case .end:
            guard let answer = self.answer else { return }
            self.promise.succeed(answer)
        }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.promise.fail(error)
        context.close(promise: nil)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.promise.fail(OTLPRequest.Failure(description: "the connection ended before the answer"))
        context.fireChannelInactive()
    }
}
