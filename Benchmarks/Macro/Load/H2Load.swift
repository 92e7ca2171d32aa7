import Foundation

/// nghttp2's own load generator, which sends the same request as Mailboat. Mailboat's values are compared with those of
/// h2load.
struct H2Load {
    struct Measured {
        var cpuMicrosPerRequest: Double
        var requestsPerSecond: Double
        /// Share of a core that the server used during the load.
        var serverBusy: Double
    }

    let bench: Bench
    let sink: Sink
    private let headers: [String]
    private let bodyPath: String
    /// CPU of start, connections and TLS handshakes, microseconds, by number of connections.
    private var setUpMicros: [Int: Double] = [:]

    init(_ bench: Bench, sink: Sink) throws {
        self.bench = bench
        self.sink = sink
        self.bodyPath = bench.scratch + "/body.json"
        try Data(SampleRequest.body.utf8).write(to: URL(fileURLWithPath: self.bodyPath))
        self.headers = [
            "authorization: bearer \(try sink.providerToken())", "apns-topic: \(SampleRequest.topic)",
            "apns-push-type: liveactivity", "apns-priority: 10", "apns-expiration: \(SampleRequest.expirationSeconds)",
            "apns-id: \(SampleRequest.apnsID)",
        ]
    }

    /// The version that h2load reports.
    static var version: String {
        let log = NSTemporaryDirectory() + "h2load-version-\(ProcessInfo.processInfo.processIdentifier)"
        defer { try? FileManager.default.removeItem(atPath: log) }
        guard let process = try? ChildProcess("h2load", ["h2load", "--version"], core: nil, logPath: log),
            (try? process.waitForEnd(limitSeconds: 10)) != nil
        else { return "" }
        return process.output.trimmingCharacters(in: .whitespacesAndNewlines)
    }

    /// Runs once. The CPU of starting and connecting is measured separately and subtracted.
    mutating func run(connections: Int, requests: Int) throws -> Measured {
        if self.setUpMicros[connections] == nil {
            var sample = Sample()
            for _ in 0..<3 { sample.add(try self.launch(connections: connections, requests: connections).cpuMicros) }
            self.setUpMicros[connections] = sample.median
        }
        let run = try self.launch(connections: connections, requests: requests)
        let cpu = max(0, run.cpuMicros - (self.setUpMicros[connections] ?? 0))
        return Measured(
            cpuMicrosPerRequest: cpu / Double(requests), requestsPerSecond: run.requestsPerSecond,
            serverBusy: run.serverBusy)
    }

    private func launch(connections: Int, requests: Int) throws
        -> (cpuMicros: Double, requestsPerSecond: Double, serverBusy: Double)
    {
        var token: [UInt8] = []
        SampleRequest.appendToken(1, to: &token)
        let path = "/3/device/" + String(decoding: token, as: UTF8.self)
        var words = [
            "h2load", "--threads", "1", "--clients", "\(connections)", "--requests", "\(requests)",
            "--max-concurrent-streams", "\(min(1_000, max(1, requests / connections)))", "--data", self.bodyPath,
        ]
        for header in self.headers { words += ["--header", header] }
        words.append("https://127.0.0.1:\(self.sink.port)\(path)")
        let (serverBefore, before) = (self.sink.process.meter.cpuMicros, Clock.nowMicros)
        let process = try ChildProcess(
            "h2load", words, core: self.bench.cores.client, logPath: self.bench.logPath("h2load"))
        let ending = try process.waitForEnd(limitSeconds: 120)
        let (serverAfter, after) = (self.sink.process.meter.cpuMicros, Clock.nowMicros)
        let output = process.output
        guard output.contains(" \(requests) succeeded") else {
            throw BenchmarkFailure("h2load: not every request succeeded: \(process.lastLines)")
        }
        return (
            Double(ending.cpuMicros), Self.requestsPerSecond(output) ?? 0,
            Double(serverAfter - serverBefore) / Double(max(1, after - before))
        )
    }

    /// Reads the rate from the line "finished in 1.23s, 287000.12 req/s, 13.10MB/s".
    static func requestsPerSecond(_ output: String) -> Double? {
        for line in output.split(separator: "\n") where line.hasPrefix("finished in ") {
            for part in line.split(separator: ",") where part.hasSuffix(" req/s") {
                return Double(part.dropLast(" req/s".count).trimmingCharacters(in: .whitespaces))
            }
        }
        return nil
    }
}
