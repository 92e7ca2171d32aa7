import NIOCore
import NIOPosix
import Synchronization

/// An HTTP proxy on the loopback interface. A script decides what the proxy does with each CONNECT.
final class ScriptedProxy: Sendable {
    /// What the proxy does with one CONNECT.
    enum Reaction: Sendable {
        /// Sends this answer, and opens a tunnel to the requested port on this machine.
        case tunnel(answer: String = "HTTP/1.1 200 Connection established\r\n\r\n")
        /// Sends these bytes, and keeps the connection open.
        case say(String)
        /// Sends these bytes, and closes the connection.
        case sayAndClose(String)
        /// Never sends anything.
        case silence
    }
    /// Chooses the reaction to a request, from the request's number (counted from 1) and its head.
    typealias Script = @Sendable (Int, String) -> Reaction

    fileprivate struct State {
        var heads: [String] = []
        var channels: [any Channel] = []
    }

    let port: Int
    private let server: any Channel
    private let state: Shared
    fileprivate final class Shared: Sendable {
        fileprivate let state = Mutex(State())
    }

    static func start(port: Int = 0, _ script: @escaping Script) async throws -> ScriptedProxy {
        let shared = Shared()
        let server = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelInitializer { channel in
                shared.state.withLock { $0.channels.append(channel) }
                return channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(ProxySide(shared, script))
                }
            }
            .bind(host: "127.0.0.1", port: port).get()
        return ScriptedProxy(server, shared)
    }

    private init(_ server: any Channel, _ state: Shared) {
        self.server = server
        self.state = state
        self.port = server.localAddress?.port ?? 0
    }

    /// The heads of all requests so far.
    var heads: [String] { self.state.state.withLock { $0.heads } }

    /// Ends every connection.
    func cut() { for channel in self.state.state.withLock({ $0.channels }) { channel.close(promise: nil) } }

    func stop() async throws {
        try await self.server.close().get()
        self.cut()
    }

    /// The connection of a client.
    private final class ProxySide: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        typealias OutboundOut = ByteBuffer

        private let shared: Shared
        private let script: Script
        private var head = ""
        private var hasReacted = false
        private var target: (any Channel)?

        init(_ shared: Shared, _ script: @escaping Script) {
            self.shared = shared
            self.script = script
        }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            let bytes = self.unwrapInboundIn(data)
            if let target = self.target { return target.writeAndFlush(bytes, promise: nil) }
            self.head += String(buffer: bytes)
            guard !self.hasReacted, self.head.hasSuffix("\r\n\r\n") else { return }
            self.hasReacted = true
            let head = self.head
            let number = self.shared.state.withLock { state in
                state.heads.append(head)
                return state.heads.count
            }
            self.react(self.script(number, head), context)
        }

        private func react(_ reaction: Reaction, _ context: ChannelHandlerContext) {
            func say(_ text: String) -> EventLoopFuture<Void> {
                context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: text)))
            }
            switch reaction {
            case .silence: break
            case .say(let text): _ = say(text)
            case .sayAndClose(let text):
                let channel = context.channel
                say(text).whenComplete { _ in channel.close(promise: nil) }
            case .tunnel(let answer):
                let client = context.channel
                ClientBootstrap(group: context.eventLoop)
                    .channelInitializer { channel in
                        channel.eventLoop.makeCompletedFuture {
                            try channel.pipeline.syncOperations.addHandler(TargetSide(client))
                        }
                    }
                    .connect(host: "127.0.0.1", port: Self.port(self.head)).assumeIsolated().whenComplete { result in
                        switch result {
                        case .success(let channel):
                            self.target = channel
                            client.writeAndFlush(ByteBuffer(string: answer), promise: nil)
                        case .failure:
                            client.writeAndFlush(
                                ByteBuffer(string: "HTTP/1.1 503 Service Unavailable\r\n\r\n"), promise: nil)
                        }
                    }
            }
        }

        private static func port(_ head: String) -> Int {
            let target = head.split(separator: " ").dropFirst().first ?? ""
            return Int(target.split(separator: ":").last ?? "") ?? 0
        }

        func channelInactive(context: ChannelHandlerContext) { self.target?.close(promise: nil) }
    }

    /// The connection to the client's target.
    private final class TargetSide: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer

        private let client: any Channel

        init(_ client: any Channel) { self.client = client }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.client.writeAndFlush(self.unwrapInboundIn(data), promise: nil)
        }

        func channelInactive(context: ChannelHandlerContext) { self.client.close(promise: nil) }
    }
}
