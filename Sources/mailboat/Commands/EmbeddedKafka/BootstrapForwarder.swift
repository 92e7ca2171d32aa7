import CommandSupport
import KafkaLog
import NIOCore
import NIOPosix

/// Passes connections on to the brokers of an embedded cluster, whose own ports cannot be chosen. A client asks here
/// where the brokers are and then talks to them directly.
final class BootstrapForwarder: Sendable {
    /// Connections being passed on; more are closed at once.
    static let connectionCountMax = 1_024

    let port: Int
    private let server: any Channel
    private let group: MultiThreadedEventLoopGroup

    private init(port: Int, server: any Channel, group: MultiThreadedEventLoopGroup) {
        self.port = port
        self.server = server
        self.group = group
    }

    /// - Parameter brokers: `host:port,…`; the first is the one connected to.
    static func start(host: String, port: Int, brokers: String) async throws -> BootstrapForwarder {
        let target = try Self.address(of: brokers)
        // One loop: connections and their counterparts share it, and nothing here needs a lock.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let limit = ConnectionLimit()
            let server = try await ServerBootstrap(group: group)
                .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
                .childChannelOption(.autoRead, value: false)
                .childChannelInitializer { channel in Self.connect(channel, to: target, limit: limit) }
                .bind(host: host, port: port).get()
            return BootstrapForwarder(port: server.localAddress?.port ?? port, server: server, group: group)
        } catch {
            try? await group.shutdownGracefully()
            throw CommandFailure("cannot listen on \(host):\(port): \(error)")
        }
    }

    func stop() async {
        try? await self.server.close()
        try? await self.group.shutdownGracefully()
    }

    private static func address(of brokers: String) throws -> SocketAddress {
        let first = brokers.split(separator: ",").first ?? ""
        guard let colon = first.lastIndex(of: ":"), let port = Int(first[first.index(after: colon)...]) else {
            throw CommandFailure("the embedded cluster named no broker, but '\(brokers)'")
        }
        return try SocketAddress(ipAddress: String(first[..<colon]), port: port)
    }

    /// Opens the other side, then lets both read.
    private static func connect(_ channel: any Channel, to target: SocketAddress, limit: ConnectionLimit)
        -> EventLoopFuture<Void>
    {
        guard limit.enter() else { return channel.eventLoop.makeFailedFuture(ChannelError.inputClosed) }
        channel.closeFuture.whenComplete { _ in limit.leave() }
        let near = NIOLoopBound(Relay(), eventLoop: channel.eventLoop)
        let far = NIOLoopBound(Relay(), eventLoop: channel.eventLoop)
        return ClientBootstrap(group: channel.eventLoop)
            .channelOption(.autoRead, value: false)
            .channelInitializer { other in
                other.eventLoop.makeCompletedFuture { try other.pipeline.syncOperations.addHandler(far.value) }
            }
            .connect(to: target)
            .flatMap { other in
                channel.eventLoop.makeCompletedFuture {
                    near.value.partner = other
                    far.value.partner = channel
                    try channel.pipeline.syncOperations.addHandler(near.value)
                }.flatMap {
                    channel.setOption(.autoRead, value: true).and(other.setOption(.autoRead, value: true)).map { _ in }
                }
            }
    }
}

/// How many connections there are.
///
/// `@unchecked Sendable`: only ever touched on the forwarder's one loop, by the initializer and by the close future.
private final class ConnectionLimit: @unchecked Sendable {
    private var count = 0

    func enter() -> Bool {
        guard self.count < BootstrapForwarder.connectionCountMax else { return false }
        self.count += 1
        return true
    }

    func leave() { self.count -= 1 }
}

/// Writes what one side sends to the other, and reads no faster than the other takes.
private final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer

    var partner: (any Channel)?

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.partner?.write(self.unwrapInboundIn(data), promise: nil)
    }

    func channelReadComplete(context: ChannelHandlerContext) { self.partner?.flush() }

    func channelWritabilityChanged(context: ChannelHandlerContext) {
        self.partner?.setOption(.autoRead, value: context.channel.isWritable).whenFailure { _ in }
        context.fireChannelWritabilityChanged()
    }

    func channelInactive(context: ChannelHandlerContext) {
        let partner = self.partner
        self.partner = nil
        partner?.close(promise: nil)
        context.fireChannelInactive()
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }
}
