import Foundation
import NIOCore
import NIOPosix

/// A minimal HTTP client for control APIs and admin ports of processes on this machine. It speaks HTTP/1.1 with
/// `connection: close`.
package enum LocalHTTP {
    /// Time limit of a whole exchange. The other process may be stopped and never answer.
    private static let durationMax = Duration.seconds(5)

    /// Answer to a request: the status, and the body as text.
    package struct Answer: Equatable, Sendable {
        /// Status code of the answer (RFC 9110 §15).
        package var status: Int
        /// Body of the answer without its header, decoded as UTF-8.
        package var body: String
    }

    /// Gets a page.
    /// - Parameter accept: value of the `accept` header.
    /// - Returns: `nil` when nobody listens on the port, or when the answer is cut short or takes too long.
    package static func get(_ path: String, port: Int, accept: String = "*/*") async throws -> Answer? {
        try await self.exchange(
            "GET \(path) HTTP/1.1\r\nhost: localhost\r\naccept: \(accept)\r\nconnection: close\r\n\r\n", port: port)
    }

    /// Sends a body of JSON, which may be empty. Returns `nil` in the same cases as `get`.
    package static func post(_ path: String, body: String = "", port: Int) async throws -> Answer? {
        try await self.send("POST", path, body: body, port: port)
    }

    /// Deletes a resource. Returns `nil` in the same cases as `get`.
    package static func delete(_ path: String, body: String = "", port: Int) async throws -> Answer? {
        try await self.send("DELETE", path, body: body, port: port)
    }

    /// Sends a body of JSON, which may be empty. Returns `nil` in the same cases as `get`.
    /// - Parameter method: the HTTP method, such as `PUT`.
    package static func send(_ method: String, _ path: String, body: String = "", port: Int) async throws -> Answer? {
        try await self.exchange(
            "\(method) \(path) HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                + "content-length: \(body.utf8.count)\r\nconnection: close\r\n\r\n\(body)",
            port: port)
    }

    private static func exchange(_ request: String, port: Int) async throws -> Answer? {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(2))
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let limit = channel.channel.eventLoop.scheduleTask(
                in: .nanoseconds(Self.durationMax.components.seconds * 1_000_000_000)
            ) { channel.channel.close(promise: nil) }
            defer { limit.cancel() }
            let answer = try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(ByteBuffer(string: request))
                var answer = ""
                for try await part in inbound { answer += String(buffer: part) }
                return answer
            }
            guard let head = answer.range(of: "\r\n\r\n"),
                let status = Int(answer.split(separator: " ").dropFirst().first ?? "")
            else { return nil }
            return Answer(status: status, body: String(answer[head.upperBound...]))
        } catch is NIOConnectionError {
            return nil
        } catch is IOError {
            return nil
        } catch is ChannelError {
            return nil
        }
    }

    /// Finds a free port, which the system chooses. Nothing listens on the port when this function returns.
    package static func freePort() async throws -> Int {
        let channel = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .bind(host: "127.0.0.1", port: 0).get()
        let port = channel.localAddress?.port ?? 0
        try await channel.close()
        return port
    }
}
