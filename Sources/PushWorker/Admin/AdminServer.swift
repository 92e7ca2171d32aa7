import HTTPTypes
import Hummingbird
import HummingbirdCore
import Listening
import Logging
import NIOCore
import PageStyle
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The admin port. It answers `/healthz`, `/readyz` and `/metrics` for everybody who can reach it, so by default it
/// listens on loopback. `/channels` requires a token. The pages about the worker's knowledge require what `AdminAccess`
/// says.
final class AdminServer: Sendable {
    /// The contents of the pages. Each closure is called per request.
    struct Pages: Sendable {
        /// Why the worker is not healthy; `nil` when it is.
        var unhealthy: @Sendable () -> String?
        var readiness: @Sendable () -> Readiness
        /// The page of metrics, UTF-8.
        var metrics: @Sendable (MetricsFormat) -> [UInt8]
        var channels = ChannelPages.off
        /// The pages about the worker's knowledge; `nil`: none.
        var state: StatePages?
    }

    let port: Int
    let pages: Pages
    private let group: ServiceGroup
    private let task: Task<Void, any Error>

    private init(port: Int, pages: Pages, group: ServiceGroup, task: Task<Void, any Error>) {
        self.port = port
        self.pages = pages
        self.group = group
        self.task = task
    }

    /// Opens the port. Returns when requests are accepted; throws when the address is not available.
    /// - Parameter tls: the port's certificate; `nil`: plain HTTP.
    static func start(
        host: String, port: Int, pages: Pages, tls: AdminTLS? = nil, limits: AdminLimits = AdminLimits(), logger: Logger
    ) async throws -> AdminServer {
        // Hummingbird logs each request below `warning`, which nobody needs.
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let running = AsyncThrowingStream<Int, any Error>.makeStream()
        // All connections are on one event loop, so that `AdminConnections` needs no lock.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let application = Application(
            router: Self.router(pages), server: Self.builder(Self.connections(limits, on: loop), tls: tls),
            configuration: ApplicationConfiguration(address: .hostname(host, port: port), serverName: "mailboat"),
            onServerRunning: { channel in running.continuation.yield(channel.localAddress?.port ?? port) },
            eventLoopGroupProvider: .shared(loop), logger: quiet)
        var options = ServiceGroupConfiguration(services: [application], logger: quiet)
        options.maximumGracefulShutdownDuration = .seconds(1)
        let group = ServiceGroup(configuration: options)
        let task = Task.detached {
            do {
                try await group.run()
                running.continuation.finish()
            } catch {
                running.continuation.finish(throwing: error)
                throw error
            }
        }
        for try await bound in running.stream {
            return AdminServer(port: bound, pages: pages, group: group, task: task)
        }
        throw CancellationError()
    }

    /// Closes the port. Requests that have begun are answered first, within a second.
    func stop() async {
        await self.group.triggerGracefulShutdown()
        // The result of the task no longer matters.
        _ = await self.task.result
    }

    private static func builder(_ configuration: HTTP1Channel.Configuration, tls: AdminTLS?) -> HTTPServerBuilder {
        guard let tls else { return .http1(configuration: configuration) }
        return HTTPServerBuilder { responder in
            AdminTLSChannel(base: HTTP1Channel(responder: responder, configuration: configuration), tls: tls)
        }
    }

    private static func connections(_ limits: AdminLimits, on loop: any EventLoop) -> HTTP1Channel.Configuration {
        let connections = NIOLoopBoundBox.makeBoxSendingValue(AdminConnections(), eventLoop: loop)
        return HTTP1Channel.Configuration(
            additionalChannelHandlers: [AdminConnectionGuard(limits: limits, connections: connections)],
            httpDecoderConfiguration: .init(
                maxHeaderFieldSize: limits.headByteCountMax, maxHeaderListSize: limits.headByteCountMax))
    }

    private static let index = """
        mailboat
        /healthz  200 while loops take turns and partitions with records make progress
        /readyz   200 when every partition is restored and nothing is wrong; says what is not
        /metrics  for Prometheus, as OpenMetrics when asked for
        /channels the channels of an app; requires the token of admin.channels-token-file
        /status   the worker's state, and its configuration
        /activities/KEY  what is known of an activity whose partition is here
        /audiences/ID    what is known of an audience: by its owner, and by partitions that are here
        /audiences/ID/pause  POST: nothing more is pushed to its members, until /audiences/ID/resume
        /drain    POST: the worker stops, as by SIGTERM
        /page     the worker's state, for a browser
        /openapi.json    all of this for programs

        """

    /// Method and path of every route; HEAD is left out.
    static func routeNames(_ pages: Pages) -> [String] {
        Self.router(pages).routes.filter { $0.method != .head }.map { "\($0.method.rawValue) \($0.path)" }
    }

    private static func router(_ pages: Pages) -> Router<BasicRequestContext> {
        let router = Router(options: .autoGenerateHeadEndpoints)
        router.get("/healthz") { _, _ in
            guard let text = pages.unhealthy() else { return Self.response(.ok, "text/plain; charset=utf-8", "ok\n") }
            return Self.response(.serviceUnavailable, "text/plain; charset=utf-8", text + "\n")
        }
        router.get("/readyz") { _, _ in
            let readiness = pages.readiness()
            return Self.response(
                readiness.ready ? .ok : .serviceUnavailable, "application/json", readiness.json() + "\n")
        }
        router.get("/metrics") { request, _ in
            let format = MetricsFormat.preferred(accept: request.headers[values: .accept].joined(separator: ","))
            var response = Response(
                status: .ok, headers: [.contentType: format.contentType],
                body: ResponseBody(byteBuffer: ByteBuffer(bytes: pages.metrics(format))))
            response.headers[.vary] = "accept"
            return response
        }
        router.get("/") { _, _ in
            Self.response(.ok, "text/plain; charset=utf-8", Self.index)
        }
        for file in WorkerPageFiles.all {
            router.get(RouterPath(file.path)) { request, _ in
                if let refusal = pages.state?.refusalOfPage(Self.asked(request)) { return Self.response(refusal) }
                return Self.response(file)
            }
        }
        router.get("/openapi.json") { _, _ in Self.response(.ok, "application/json", OpenAPIDocument.text) }
        for path: RouterPath in ["/channels", "/channels/**"] {
            for method: HTTPRequest.Method in [.get, .post, .delete] {
                router.on(path, method: method) { request, _ in try await Self.answer(request, pages.channels) }
            }
        }
        guard let state = pages.state else { return router }
        router.get("/status") { request, _ in Self.response(await state.status(Self.asked(request))) }
        router.get("/activities/**") { request, _ in Self.response(await state.activity(Self.asked(request))) }
        router.post("/drain") { request, _ in Self.response(await state.drain(Self.asked(request))) }
        router.post("/audiences/**") { request, _ in Self.response(await state.order(Self.asked(request))) }
        router.get("/audiences/**") { request, _ in Self.response(await state.audience(Self.asked(request))) }
        return router
    }

    private static func asked(_ request: Request) -> StatePages.Request {
        let sender = RequestGuard.Sender(request)
        return StatePages.Request(
            path: request.uri.path, query: request.uri.query ?? "", authorization: request.headers[.authorization],
            authority: sender.authority, origin: sender.origin, fetchSite: sender.fetchSite,
            isNavigation: sender.isNavigation)
    }

    private static func response(_ answer: StatePages.Answer) -> Response {
        var response = Self.response(.init(code: answer.status), "application/json", answer.body)
        response.headers[.cacheControl] = "no-store"
        if answer.asksForToken { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }

    private static func answer(_ request: Request, _ pages: ChannelPages) async throws -> Response {
        let asked = ChannelPages.Request(
            method: request.method.rawValue, path: request.uri.path, query: request.uri.query ?? "",
            authorization: request.headers[.authorization])
        let answer = try await pages.answer(asked) {
            Array(try await request.body.collect(upTo: ChannelCall.bodyByteCountMax).readableBytesView)
        }
        var response = Self.response(.init(code: answer.status), "application/json", answer.body)
        response.headers[.cacheControl] = "no-store"
        if answer.asksForToken { response.headers[.wwwAuthenticate] = "Bearer" }
        return response
    }

    private static func response(_ file: PageFile) -> Response {
        var response = Self.response(.ok, file.type.rawValue, file.text)
        response.headers[.cacheControl] = "no-cache"
        response.headers[.xContentTypeOptions] = "nosniff"
        response.headers[.contentSecurityPolicy] = PageFile.contentSecurityPolicy
        return response
    }

    private static func response(_ status: HTTPResponse.Status, _ type: String, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}

/// An HTTP/1 connection inside TLS.
private struct AdminTLSChannel: ServerChildChannel, HTTPChannelHandler {
    typealias Value = HTTP1Channel.Value

    let base: HTTP1Channel
    let tls: AdminTLS

    var responder: HTTPChannelHandler.Responder { self.base.responder }

    func setup(channel: any Channel, logger: Logger) -> EventLoopFuture<Value> {
        channel.eventLoop.makeCompletedFuture {
            try channel.pipeline.syncOperations.addHandler(TLSChannelHandler(self.tls.session()))
        }.flatMap { self.base.setup(channel: channel, logger: logger) }
    }

    func handle(value: Value, logger: Logger) async { await self.base.handle(value: value, logger: logger) }
}
