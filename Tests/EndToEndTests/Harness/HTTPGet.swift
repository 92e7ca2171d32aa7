import Foundation
import NIOCore
import NIOPosix

/// The smallest HTTP client: one GET over one connection to this machine, HTTP/1.1 with `connection: close`.
enum HTTPGet {
    /// - Returns: `nil` when nobody listens on the port or the answer is cut short.
    static func get(_ path: String, port: Int) async throws -> (status: Int, body: String)? {
        do {
            let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
                .connectTimeout(.seconds(2))
                .connect(host: "127.0.0.1", port: port) { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
                    }
                }
            let answer = try await channel.executeThenClose { inbound, outbound in
                try await outbound.write(
                    ByteBuffer(string: "GET \(path) HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n\r\n"))
                var answer = ""
                for try await part in inbound { answer += String(buffer: part) }
                return answer
            }
            guard let head = answer.range(of: "\r\n\r\n"),
                let status = Int(answer.split(separator: " ").dropFirst().first ?? "")
            else {
                return nil
            }
            return (status, String(answer[head.upperBound...]))
        } catch is NIOConnectionError {
            return nil
        } catch is IOError {
            return nil
        }
    }
}
