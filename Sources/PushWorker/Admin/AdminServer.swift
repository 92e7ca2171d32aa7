import HTTPTypes
import Hummingbird
import HummingbirdCore
import Logging
import NIOCore
import NIOPosix
import ServiceLifecycle
import Synchronization

/// The admin port: `/healthz`, `/readyz`, `/metrics`. Plain HTTP without authentication, hence on loopback unless told
/// otherwise. `/channels` takes a token.
final class AdminServer: Sendable {
    /// What is served; each is asked per request.
    struct Pages: Sendable {
        /// `nil`: healthy; otherwise what is not.
        var unhealthy: @Sendable () -> String?
        var readiness: @Sendable () -> Readiness
        var metrics: @Sendable (MetricsFormat) -> String
        var channels = ChannelPages.off
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

    /// Listens. Returns once requests are taken; throws when the address cannot be had.
    static func start(
        host: String, port: Int, pages: Pages, limits: AdminLimits = AdminLimits(), logger: Logger
    ) async throws -> AdminServer {
        // Hummingbird's own lines are about each request and of no interest here.
        var quiet = logger
        quiet.logLevel = max(logger.logLevel, .warning)
        let running = AsyncThrowingStream<Int, any Error>.makeStream()
        // One loop carries them all, so that connections know of each other without a lock.
        let loop = MultiThreadedEventLoopGroup.singleton.next()
        let application = Application(
            router: Self.router(pages), server: .http1(configuration: Self.connections(limits, on: loop)),
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

    /// Closes the port; requests under way are answered first, within a second.
    func stop() async {
        await self.group.triggerGracefulShutdown()
        // How it ended is of no interest any more.
        _ = await self.task.result
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
        /healthz  200 while the loops turn and partitions with records get on
        /readyz   200 when every partition is restored and nothing is wrong; says what is not
        /metrics  for Prometheus, as OpenMetrics when asked for
        /channels the channels of an app: with the token of admin.channels-token-file alone

        """

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
            var response = Self.response(.ok, format.contentType, pages.metrics(format))
            response.headers[.vary] = "accept"
            return response
        }
        router.get("/") { _, _ in
            Self.response(.ok, "text/plain; charset=utf-8", Self.index)
        }
        for path: RouterPath in ["/channels", "/channels/**"] {
            for method: HTTPRequest.Method in [.get, .post, .delete] {
                router.on(path, method: method) { request, _ in try await Self.answer(request, pages.channels) }
            }
        }
        return router
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

    private static func response(_ status: HTTPResponse.Status, _ type: String, _ text: String) -> Response {
        Response(
            status: status, headers: [.contentType: type], body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }
}
