import APNSProtocol
import NIOCore
import NIOPosix

/// Asks a proxy for a tunnel, on a channel connected to the proxy. It removes itself from the channel when the tunnel
/// is open. It is confined to its loop.
private final class ProxyTunnelHandler: ChannelInboundHandler, RemovableChannelHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let request: [UInt8]
    private let limitMillis: Int64
    /// Completed once: with the channel, or with the reason why there is no tunnel.
    private let promise: EventLoopPromise<any Channel>
    private let failure: (ProxyFailure.Cause) -> ProxyFailure
    private var tunnel = ProxyTunnel()
    private var limit: Scheduled<Void>?
    private var isDone = false

    init(
        request: [UInt8], limitMillis: Int64, promise: EventLoopPromise<any Channel>,
        failure: @escaping (ProxyFailure.Cause) -> ProxyFailure
    ) {
        self.request = request
        self.limitMillis = limitMillis
        self.promise = promise
        self.failure = failure
    }

    func handlerAdded(context: ChannelHandlerContext) {
        self.limit = context.eventLoop.assumeIsolated().scheduleTask(in: .milliseconds(self.limitMillis)) {
            self.end(.silent(limitMillis: self.limitMillis), context)
        }
        context.writeAndFlush(
            self.wrapOutboundOut(context.channel.allocator.buffer(bytes: self.request)), promise: nil)
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard !self.isDone else { return }
        let buffer = self.unwrapInboundIn(data)
        switch self.tunnel.received(buffer.readableBytesUInt8Span) {
        case .waiting: break
        case .open: self.leave(context)
        case .refused(let refusal): self.end(.refused(refusal), context)
        }
    }

    func channelInactive(context: ChannelHandlerContext) {
        if case .refused(let refusal) = self.tunnel.closed() { self.end(.refused(refusal), context) }
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) {
        self.end(.unreachable(ConnectError.text(error)), context)
    }

    private func leave(_ context: ChannelHandlerContext) {
        self.isDone = true
        self.limit?.cancel()
        let (promise, channel) = (self.promise, context.channel)
        context.pipeline.syncOperations.removeHandler(context: context).assumeIsolated().whenComplete { result in
            switch result {
            case .success: promise.succeed(channel)
            case .failure(let error):
                promise.fail(error)
                channel.close(promise: nil)
            }
        }
    }

    private func end(_ cause: ProxyFailure.Cause, _ context: ChannelHandlerContext) {
        guard !self.isDone else { return }
        self.isDone = true
        self.limit?.cancel()
        self.promise.fail(self.failure(cause))
        context.close(promise: nil)
    }
}

/// Connects to a host, directly or through a proxy.
enum ProxiedConnect {
    /// - Parameters:
    ///   - bootstrap: makes channels on `loop`. Its resolver is used for this connection only.
    ///   - limitMillis: the time limit for the proxy's answer, counted from the TCP connection to the proxy.
    /// - Returns: a channel to the target, perhaps through a tunnel. The future fails with a `ProxyFailure` if the
    ///   proxy is the reason.
    static func connect(
        _ bootstrap: ClientBootstrap, to target: (host: String, port: Int), by proxy: ProxyAccess?,
        on loop: any EventLoop, limitMillis: Int64
    ) -> EventLoopFuture<any Channel>.Isolated {
        guard let proxy else { return bootstrap.connect(host: target.host, port: target.port).assumeIsolated() }
        func failure(_ cause: ProxyFailure.Cause) -> ProxyFailure { ProxyFailure(cause, proxy, to: target) }
        // The credentials' file may change at any time, so it is read for each connection. Reading blocks, so the loop
        // does not do it.
        return NIOThreadPool.singleton.runIfActive(eventLoop: loop) {
            Result { () throws(ProxyCredentials.Fault) in try proxy.authorization() }
        }.assumeIsolated().flatMap { result -> EventLoopFuture<any Channel> in
            let request: [UInt8]
            switch result {
            case .success(let authorization):
                request = ProxyTunnel.request(host: target.host, port: target.port, authorization: authorization)
            case .failure(let fault): return loop.makeFailedFuture(failure(.credentials(fault.description)))
            }
            return bootstrap.connect(host: proxy.host, port: proxy.port).assumeIsolated().flatMapErrorThrowing {
                error in throw failure(.unreachable(ConnectError.text(error)))
            }.flatMap { channel -> EventLoopFuture<any Channel> in
                let promise = loop.makePromise(of: (any Channel).self)
                let handler = ProxyTunnelHandler(
                    request: request, limitMillis: limitMillis, promise: promise, failure: failure)
                do { try channel.pipeline.syncOperations.addHandler(handler) } catch { promise.fail(error) }
                return promise.futureResult
            }.nonisolated()
        }
    }
}
