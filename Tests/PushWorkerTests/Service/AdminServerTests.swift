import Foundation
import KafkaLog
import Logging
import NIOCore
import Testing

@testable import PushWorker

/// Tests of the admin port against hostile clients, over real sockets.
@Suite(.serialized, .timeLimit(.minutes(5)))
struct AdminServerTests {
    private static let get = "GET /healthz HTTP/1.1\r\nhost: a\r\n\r\n"
    private static let last = "GET /healthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n"

    private static func with(
        _ limits: AdminLimits = AdminLimits(), _ body: @escaping @Sendable (_ port: Int) throws -> Void
    ) async throws {
        let pages = AdminServer.Pages(
            unhealthy: { nil }, readiness: { Readiness(WorkerSnapshot()) },
            metrics: { format in
                WorkerMetrics.page(WorkerSnapshot(), WorkerMetrics.Surroundings(), libraries: nil, format)
            })
        let server = try await AdminServer.start(
            host: "127.0.0.1", port: 0, pages: pages, limits: limits, logger: Logger(label: "test"))
        let port = server.port
        // The sockets block, so they must not occupy the few threads that the server's tasks need.
        let result = await NamedThread.run("admin-client") { Result { try body(port) } }
        await server.stop()
        try result.get()
    }

    private static func exchange(_ port: Int, _ request: String) throws -> String {
        let socket = try LoopbackSocket(port: port)
        try socket.send(request)
        return try socket.receiveAll()
    }

    @Test func headIsGetWithoutTheBody() async throws {
        try await Self.with { port in
            for path in ["/healthz", "/readyz", "/metrics", "/"] {
                let whole = try Self.exchange(port, "GET \(path) HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                let head = try Self.exchange(port, "HEAD \(path) HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
                let end = try #require(whole.range(of: "\r\n\r\n")).upperBound
                #expect(head.hasSuffix("\r\n\r\n"))
                #expect(head.prefix(12) == whole.prefix(12))
                #expect(head.lowercased().contains("content-length: \(whole[end...].utf8.count)\r\n"))
            }
        }
    }

    @Test(arguments: [
        "", "G", "GET /healthz HTTP/1.1\r\nhost: a\r\n",
        "POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 9\r\n\r\nabc",
        get + "GET /hea",
    ])
    func whoNeverFinishesARequestIsClosed(start: String) async throws {
        var limits = AdminLimits()
        limits.requestDurationMax = .milliseconds(100)
        limits.idleDurationMax = .milliseconds(150)
        try await Self.with(limits) { port in
            let socket = try LoopbackSocket(port: port)
            if !start.isEmpty { try socket.send(start) }
            // The answer ends when the server closes the connection. The client's socket would give up only after a
            // minute.
            let answer = try socket.receiveAll()
            #expect(answer.isEmpty || answer.hasPrefix("HTTP/1.1 "))
        }
    }

    @Test func aPipelineIsCutAtTheLimit() async throws {
        var limits = AdminLimits()
        limits.requestsPerConnectionMax = 10
        try await Self.with(limits) { port in
            let answer = try Self.exchange(port, String(repeating: Self.get, count: 500))
            #expect(answer.components(separatedBy: "HTTP/1.1 200 OK").count - 1 == 10)
            #expect(answer.lowercased().components(separatedBy: "connection: close").count - 1 == 1)
        }
    }

    /// When all connections are taken, a new client replaces the connection that has been silent for longest.
    @Test func oneMoreConnectionEndsTheOneThatWaitedLongest() async throws {
        var limits = AdminLimits()
        limits.connectionsMax = 3
        try await Self.with(limits) { port in
            let idle = [try Held(port), try Held(port), try Held(port)]
            try idle[1].socket.send("GET /hea")
            #expect(try Self.exchange(port, Self.last).hasPrefix("HTTP/1.1 200"))
            #expect(try idle[0].socket.receiveAll().isEmpty)
            // The new client is gone, and the other two silent connections still work.
            try idle[2].socket.send(Self.last)
            #expect(try idle[2].socket.receiveAll().hasPrefix("HTTP/1.1 200"))
            try idle[1].socket.send("lthz HTTP/1.1\r\nhost: a\r\nconnection: close\r\n\r\n")
            #expect(try idle[1].socket.receiveAll().hasPrefix("HTTP/1.1 200"))
        }
    }

    private final class Held {
        let socket: LoopbackSocket
        init(_ port: Int) throws { self.socket = try LoopbackSocket(port: port) }
    }

    @Test func aConnectionIsKeptBetweenRequests() async throws {
        try await Self.with { port in
            let answer = try Self.exchange(port, Self.get + Self.get + Self.last)
            #expect(answer.components(separatedBy: "HTTP/1.1 200 OK").count - 1 == 3)
        }
    }

    @Test func aHeadThatIsTooLargeIsRefused() async throws {
        try await Self.with { port in
            let answer = try Self.exchange(
                port, "GET /healthz HTTP/1.1\r\nhost: a\r\nx: \(String(repeating: "x", count: 40_000))\r\n\r\n")
            #expect(!answer.hasPrefix("HTTP/1.1 200"))
        }
    }

    @Test func aLongBodyEndsTheConnection() async throws {
        try await Self.with { port in
            let socket = try LoopbackSocket(port: port)
            try socket.send("POST /healthz HTTP/1.1\r\nhost: a\r\ncontent-length: 9000000\r\n\r\n")
            // The server refuses the rest at some point, which is the expected answer.
            for _ in 0..<900 { if (try? socket.send(String(repeating: "x", count: 10_000))) == nil { return } }
            Issue.record("nine megabytes were taken")
        }
    }

    @Test(arguments: [
        ("", "text/plain; version=0.0.4; charset=utf-8"),
        ("application/openmetrics-text; version=1.0.0", "application/openmetrics-text; version=1.0.0; charset=utf-8"),
    ])
    func metricsComeAsTheyAreAskedFor(accept: String, type: String) async throws {
        try await Self.with { port in
            let header = accept.isEmpty ? "" : "accept: \(accept)\r\n"
            let answer = try Self.exchange(
                port, "GET /metrics HTTP/1.1\r\nhost: a\r\n\(header)connection: close\r\n\r\n")
            #expect(answer.lowercased().contains("content-type: \(type)\r\n"))
            #expect(answer.hasSuffix("\n# EOF\n") == !accept.isEmpty)
            #expect(answer.contains("\n# TYPE mailboat_events_consumed\(accept.isEmpty ? "_total" : "") counter\n"))
            #expect(answer.contains("\nmailboat_events_consumed_total 0\n"))
        }
    }
}
