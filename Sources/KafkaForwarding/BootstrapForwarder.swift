import Listening
import NIOCore
import NIOPosix
import Synchronization

/// Why the forwarder cannot work.
package struct ForwardingFailure: Error, CustomStringConvertible {
    /// The reason for a person.
    package let description: String

    fileprivate init(_ description: String) { self.description = description }
}

/// Gives an embedded cluster a port that the caller chooses, because librdkafka chooses the brokers' own ports.
/// Connections are forwarded to the brokers. Most clients ask at this port for the brokers' addresses and then connect
/// to the brokers directly. Java's client makes all its connections through the forwarder (`JavaConversation`).
package final class BootstrapForwarder: Sendable {
    /// Maximum number of connections that are forwarded at a time; further ones are closed at once.
    package static let connectionCountMax = 1_024

    /// The port that clients connect to.
    package let port: Int
    /// The listening sockets: one in front of each broker, then the one at `port`.
    private let servers: [any Channel]
    private let group: MultiThreadedEventLoopGroup

    private init(port: Int, servers: [any Channel], group: MultiThreadedEventLoopGroup) {
        self.port = port
        self.servers = servers
        self.group = group
    }

    /// Starts to listen.
    /// - Parameters:
    ///   - host: an address of this machine.
    ///   - port: the port; 0: any free one.
    ///   - setting: the option or setting that gave host and port.
    ///   - brokers: the brokers as `host:port,…`. Connections to `port` are forwarded to the first of them.
    /// - Throws: `ForwardingFailure`.
    package static func start(
        host: String, port: Int, setting: String = "host and port", brokers: String
    ) async throws -> BootstrapForwarder {
        let targets = try Self.addresses(of: brokers)
        // Both sides of a connection use one loop, so that relays need no lock.
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        do {
            let (limit, table) = (ConnectionLimit(), PortTable())
            var servers: [any Channel] = []
            for target in targets {
                // Brokers report 127.0.0.1 as their address, and `JavaConversation` only replaces ports. So these
                // sockets listen on 127.0.0.1.
                let server = try await Self.listen(
                    ("127.0.0.1", 0), to: target, table: table, limit: limit, group: group)
                servers.append(server)
                table.map(broker: target.port, ours: server.localAddress?.port)
            }
            let server = try await Self.listen((host, port), to: targets[0], table: table, limit: limit, group: group)
            servers.append(server)
            return BootstrapForwarder(port: server.localAddress?.port ?? port, servers: servers, group: group)
        } catch {
            try? await group.shutdownGracefully()
            let fault = ListenFault(error, setting, host: host, port: port)
            throw ForwardingFailure(fault?.description ?? "cannot listen on \(host):\(port): \(error)")
        }
    }

    /// Stops listening and closes every connection. Returns when all are closed.
    package func stop() async {
        for server in self.servers { try? await server.close() }
        try? await self.group.shutdownGracefully()
    }

    private static func listen(
        _ address: (host: String, port: Int), to target: SocketAddress, table: PortTable, limit: ConnectionLimit,
        group: MultiThreadedEventLoopGroup
    ) async throws -> any Channel {
        try await ServerBootstrap(group: group)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(.autoRead, value: false)
            .childChannelInitializer { channel in Self.connect(channel, to: target, table: table, limit: limit) }
            .bind(host: address.host, port: address.port).get()
    }

    /// Reads the brokers' addresses.
    /// - Returns: at least one address.
    private static func addresses(of brokers: String) throws -> [SocketAddress] {
        try brokers.split(separator: ",", omittingEmptySubsequences: false).map { broker in
            guard let colon = broker.lastIndex(of: ":"), let port = Int(broker[broker.index(after: colon)...]) else {
                throw ForwardingFailure("the embedded cluster named no broker, but '\(brokers)'")
            }
            return try SocketAddress(ipAddress: String(broker[..<colon]), port: port)
        }
    }

    /// Connects a client's new connection to the broker, then starts reading on both sides.
    private static func connect(
        _ channel: any Channel, to target: SocketAddress, table: PortTable, limit: ConnectionLimit
    ) -> EventLoopFuture<Void> {
        guard limit.enter() else { return channel.eventLoop.makeFailedFuture(ChannelError.inputClosed) }
        channel.closeFuture.whenComplete { _ in limit.leave() }
        let conversation = Conversation(table.ports)
        let near = NIOLoopBound(Relay(of: .client, in: conversation), eventLoop: channel.eventLoop)
        let far = NIOLoopBound(Relay(of: .broker, in: conversation), eventLoop: channel.eventLoop)
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

/// Counts the open connections of clients, and refuses more than `connectionCountMax`.
///
/// `@unchecked Sendable`: only used on the forwarder's one loop, when a connection begins and when it has closed.
private final class ConnectionLimit: @unchecked Sendable {
    private var count = 0

    func enter() -> Bool {
        guard self.count < BootstrapForwarder.connectionCountMax else { return false }
        self.count += 1
        return true
    }

    func leave() { self.count -= 1 }
}

/// The forwarder's port for each broker's port.
private final class PortTable: Sendable {
    private let table = Mutex<[Int32: Int32]>([:])

    var ports: [Int32: Int32] { self.table.withLock { $0 } }

    func map(broker: Int?, ours: Int?) {
        guard let broker, let ours else { return }
        self.table.withLock { $0[Int32(broker)] = Int32(ours) }
    }
}

/// Holds the state of one client's conversation, which both relays of the connection share.
private final class Conversation {
    var words: JavaConversation

    init(_ ports: [Int32: Int32]) { self.words = JavaConversation(ports: ports) }
}

/// Reads from one side of a connection and writes to the other. It reads no faster than the other side takes the bytes.
private final class Relay: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    enum Side { case client, broker }

    var partner: (any Channel)?
    private let side: Side
    private let conversation: Conversation

    init(of side: Side, in conversation: Conversation) {
        self.side = side
        self.conversation = conversation
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        let bytes = self.unwrapInboundIn(data)
        do throws(JavaConversation.Failure) {
            switch self.side {
            case .broker: self.partner?.write(try self.conversation.words.brokerSaid(bytes), promise: nil)
            case .client:
                let passage = try self.conversation.words.clientSaid(bytes)
                if passage.toBroker.readableBytes > 0 { self.partner?.write(passage.toBroker, promise: nil) }
                if passage.toClient.readableBytes > 0 {
                    context.writeAndFlush(NIOAny(passage.toClient), promise: nil)
                }
            }
        } catch {
            context.close(promise: nil)
        }
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
