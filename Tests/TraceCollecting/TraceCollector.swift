package import NIOCore
import NIOHTTP1
import NIOPosix
import Synchronization

/// A collector of spans. It takes OTLP in JSON over HTTP on a socket of this machine, and keeps all requests.
package final class TraceCollector: Sendable {
    /// An answer of the collector to a request.
    package struct Answer: Sendable {
        package var status: Int
        package var headers: [(name: String, value: String)] = []
        package var body = "{}"
        /// Whether the connection is closed after the answer, without a header that announces it.
        package var closes = false

        package init(
            status: Int, headers: [(name: String, value: String)] = [], body: String = "{}", closes: Bool = false
        ) {
            self.status = status
            self.headers = headers
            self.body = body
            self.closes = closes
        }
    }

    /// A request that the collector has got.
    package struct Request: Sendable {
        package var method: String
        package var path: String
        /// Header fields by name, in lower case.
        package var headers: [String: String]
        package var body: [UInt8]
        /// The client's port. It differs from connection to connection.
        package var remotePort: Int?
    }

    private struct State {
        var requests: [Request] = []
        var answers: [Answer]
        /// Tasks that wait for a number of requests, by the number of the wait.
        var waiters: [Int: (count: Int, continuation: CheckedContinuation<Void, Never>)] = [:]
        var waitCount = 0
    }

    package let port: Int
    private let channel: any Channel
    private let state: Mutex<State>

    /// Starts a collector that listens on a free port.
    /// - Parameters:
    ///   - answers: answers to the first requests. Later requests get status 200.
    ///   - prepare: adds handlers to each connection before HTTP, for example for TLS.
    package static func start(
        answers: [Answer] = [], prepare: @escaping @Sendable (any Channel) throws -> Void = { _ in }
    ) async throws -> TraceCollector {
        let box = Box()
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(ChannelOptions.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try prepare(channel)
                    try channel.pipeline.syncOperations.configureHTTPServerPipeline()
                    try channel.pipeline.syncOperations.addHandler(RequestHandler { box.collector?.take($0) })
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let collector = TraceCollector(channel, answers: answers)
        box.use(collector)
        return collector
    }

    private init(_ channel: any Channel, answers: [Answer]) {
        self.channel = channel
        self.port = channel.localAddress?.port ?? 0
        self.state = Mutex(State(answers: answers))
    }

    package func stop() async { try? await self.channel.close() }

    /// The collector's address for `tracing.otlp-endpoint`.
    package var endpoint: String { "http://127.0.0.1:\(self.port)" }

    /// All requests that the collector has got, in order.
    package var requests: [Request] { self.state.withLock { $0.requests } }

    /// Waits until the collector has got this number of requests in total. Also returns if this task is cancelled.
    package func waitForRequests(_ count: Int) async {
        let number = self.state.withLock { state in
            state.waitCount += 1
            return state.waitCount
        }
        await withTaskCancellationHandler {
            await withCheckedContinuation { continuation in
                let waits = self.state.withLock { state in
                    guard state.requests.count < count, !Task.isCancelled else { return false }
                    state.waiters[number] = (count, continuation)
                    return true
                }
                if !waits { continuation.resume() }
            }
        } onCancel: {
            self.state.withLock { $0.waiters.removeValue(forKey: number) }?.continuation.resume()
        }
    }

    /// The spans of all requests.
    /// - Throws: if a request violates the specification.
    package func spans() throws -> [CollectedSpan] { try self.requests.flatMap { try CollectedSpan.read($0.body) } }

    private func take(_ request: Request) -> Answer {
        let (answer, ready) = self.state.withLock { state in
            state.requests.append(request)
            let count = state.requests.count
            let ready = state.waiters.filter { $0.value.count <= count }
            for number in ready.keys { state.waiters[number] = nil }
            return (state.answers.isEmpty ? Answer(status: 200) : state.answers.removeFirst(), ready)
        }
        for waiter in ready.values { waiter.continuation.resume() }
        return answer
    }

    /// Holds the collector for the handlers, because the channel is created before the collector.
    private final class Box: Sendable {
        private let held = Mutex<TraceCollector?>(nil)

        var collector: TraceCollector? { self.held.withLock { $0 } }

        func use(_ collector: TraceCollector) { self.held.withLock { $0 = collector } }
    }
}

/// Takes the requests of one connection. It is used only on the connection's event loop.
private final class RequestHandler: ChannelInboundHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundOut = HTTPServerResponsePart

    private let take: @Sendable (TraceCollector.Request) -> TraceCollector.Answer?
    private var request: TraceCollector.Request?

    init(_ take: @escaping @Sendable (TraceCollector.Request) -> TraceCollector.Answer?) { self.take = take }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch self.unwrapInboundIn(data) {
        case .head(let head):
            var headers: [String: String] = [:]
            for header in head.headers { headers[header.name.lowercased()] = header.value }
            self.request = .init(
                method: head.method.rawValue, path: head.uri, headers: headers, body: [],
                remotePort: context.remoteAddress?.port)
        case .body(let bytes): self.request?.body += bytes.readableBytesView
        case .end:
            guard let request = self.request, let answer = self.take(request) else {
                context.close(promise: nil)
                return
            }
            var headers = HTTPHeaders([("content-type", "application/json")])
            for header in answer.headers { headers.add(name: header.name, value: header.value) }
            headers.add(name: "content-length", value: "\(answer.body.utf8.count)")
            let head = HTTPResponseHead(version: .http1_1, status: .init(statusCode: answer.status), headers: headers)
            context.write(self.wrapOutboundOut(.head(head)), promise: nil)
            let body = context.channel.allocator.buffer(string: answer.body)
            context.write(self.wrapOutboundOut(.body(.byteBuffer(body))), promise: nil)
            context.writeAndFlush(self.wrapOutboundOut(.end(nil)), promise: nil)
            if answer.closes { context.close(promise: nil) }
        }
    }
}
