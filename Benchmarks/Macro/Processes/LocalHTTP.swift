import Foundation
import Glibc

/// Requests to the control ports of the measured processes, in plain HTTP/1.1. Each request has its own connection, and
/// blocks its thread.
enum LocalHTTP {
    /// The body of the answer. `nil` when nothing listens, or the status is not 200.
    static func get(port: Int, _ path: String) -> String? { self.request("GET", port: port, path, body: "") }

    static func post(port: Int, _ path: String, _ body: String) -> String? {
        self.request("POST", port: port, path, body: body)
    }

    static func delete(port: Int, _ path: String) -> String? { self.request("DELETE", port: port, path, body: "") }

    static func put(port: Int, _ path: String, _ body: String) -> String? {
        self.request("PUT", port: port, path, body: body)
    }

    /// A port that nothing uses right now.
    static func freePort() throws -> Int {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        defer { close(descriptor) }
        var address = self.loopback(port: 0)
        var byteCount = socklen_t(MemoryLayout<sockaddr_in>.size)
        let isBound = withUnsafeMutablePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                bind(descriptor, $0, byteCount) == 0 && getsockname(descriptor, $0, &byteCount) == 0
            }
        }
        guard isBound else { throw BenchmarkFailure("no free TCP port on 127.0.0.1") }
        return Int(UInt16(bigEndian: address.sin_port))
    }

    private static func request(_ method: String, port: Int, _ path: String, body: String) -> String? {
        let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        var address = self.loopback(port: port)
        let isConnected = withUnsafePointer(to: &address) { address in
            address.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size)) == 0
            }
        }
        guard isConnected else { return nil }
        let head =
            "\(method) \(path) HTTP/1.1\r\nhost: 127.0.0.1:\(port)\r\nconnection: close\r\n"
            + "content-type: application/json\r\ncontent-length: \(body.utf8.count)\r\n\r\n"
        let request = Array((head + body).utf8)
        guard write(descriptor, request, request.count) == request.count else { return nil }
        var answer: [UInt8] = []
        var chunk = [UInt8](repeating: 0, count: 65_536)
        while true {
            let count = read(descriptor, &chunk, chunk.count)
            guard count > 0 else { break }
            answer += chunk[..<count]
        }
        let text = String(decoding: answer, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1.1 200") else { return nil }
        return String(text[end.upperBound...])
    }

    private static func loopback(port: Int) -> sockaddr_in {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = UInt16(port).bigEndian
        address.sin_addr.s_addr = UInt32(INADDR_LOOPBACK).bigEndian
        return address
    }
}
