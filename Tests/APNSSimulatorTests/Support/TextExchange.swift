import NIOCore
import NIOPosix

/// One HTTP/1.1 exchange over a plain socket, as text.
enum TextExchange {
    /// Sends a request, and returns the answer's status and body.
    static func request(
        port: Int, _ method: String, _ path: String, body: String = "", host: String = "localhost",
        fields: [String] = []
    ) async throws -> (
        status: Int, body: String
    ) {
        let text =
            "\(method) \(path) HTTP/1.1\r\nhost: \(host)\r\nconnection: close\r\ncontent-length: \(body.utf8.count)\r\n"
            + fields.map { $0 + "\r\n" }.joined() + "\r\n\(body)"
        let (channel, received) = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .connect(host: "127.0.0.1", port: port) { channel in
                channel.eventLoop.makeCompletedFuture {
                    let collector = Collector(promise: channel.eventLoop.makePromise())
                    try channel.pipeline.syncOperations.addHandler(collector)
                    return (channel, collector.promise.futureResult)
                }
            }
        // The limit ends an exchange that hangs, which would hold up all later tests. No answer takes a minute.
        let limit = channel.eventLoop.scheduleTask(in: .seconds(60)) { channel.close(promise: nil) }
        defer { limit.cancel() }
        try await channel.writeAndFlush(ByteBuffer(string: text)).get()
        let answer = try await received.get()
        let parts = answer.split(separator: "\r\n\r\n", maxSplits: 1, omittingEmptySubsequences: false)
        let status = answer.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0
        return (status, parts.count == 2 ? String(parts[1]) : "")
    }

    private final class Collector: ChannelInboundHandler {
        typealias InboundIn = ByteBuffer
        let promise: EventLoopPromise<String>
        private var text = ""

        init(promise: EventLoopPromise<String>) { self.promise = promise }

        func channelRead(context: ChannelHandlerContext, data: NIOAny) {
            self.text += String(buffer: self.unwrapInboundIn(data))
        }

        func channelInactive(context: ChannelHandlerContext) { self.promise.succeed(self.text) }
    }
}
