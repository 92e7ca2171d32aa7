/// Rows of the transport alone, beside h2load with the same request on the same server.
struct TransportRows {
    let bench: Bench

    private static let connectionCounts = [1, 2, 8]
    /// Maximum number of streams per connection to APNs.
    static let streamsMax = 1_000
    /// Maximum share of a core that the server may use. If it uses more, the row shows the speed of the server, not of
    /// the client.
    static let serverBusyMax = 0.85

    private struct Samples {
        var cpu = Sample()
        var rate = Sample()
        var serverBusy = Sample()
        var peakBytes = Sample()
        var h2loadCPU = Sample()
        var h2loadRate = Sample()
    }

    func run() throws {
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        var h2load = try H2Load(self.bench, sink: sink)
        let roundCount = self.bench.isQuick ? 3 : 7
        let pushes = self.bench.isQuick ? 150_000 : 400_000
        var samples: [Int: Samples] = [:]
        for round in 1...roundCount {
            self.bench.say(
                "transport and h2load, round \(round) of \(roundCount): 1, 2 and 8 connections, \(pushes) requests each"
            )
            for connections in Self.connectionCounts {
                var sample = samples[connections] ?? Samples()
                // The order changes from round to round, so that neither of the two always comes first.
                if round % 2 == 1 {
                    try self.measureTransport(sink, connections, pushes, into: &sample)
                    try self.measureH2Load(&h2load, connections, pushes, into: &sample)
                } else {
                    try self.measureH2Load(&h2load, connections, pushes, into: &sample)
                    try self.measureTransport(sink, connections, pushes, into: &sample)
                }
                samples[connections] = sample
            }
        }
        for connections in Self.connectionCounts { self.report(connections, samples[connections] ?? Samples()) }
        try self.countAllocations(sink)
    }

    private func measureTransport(_ sink: Sink, _ connections: Int, _ pushes: Int, into sample: inout Samples) throws {
        let result = try self.launch(sink, connections, pushes, environment: [:])
        sample.cpu.add(result.cpuMicros / Double(result.pushes))
        sample.rate.add(Double(result.pushes) / result.wallMicros * 1e6)
        sample.serverBusy.add(result.serverCPUMicros / result.wallMicros)
        sample.peakBytes.add(Double(result.peakByteCount))
    }

    private func measureH2Load(_ h2load: inout H2Load, _ connections: Int, _ requests: Int, into sample: inout Samples)
        throws
    {
        let result = try h2load.run(connections: connections, requests: requests)
        sample.h2loadCPU.add(result.cpuMicrosPerRequest)
        sample.h2loadRate.add(result.requestsPerSecond)
    }

    /// Measures the transport alone, for rows that compare something with it.
    func measure(_ sink: Sink, connections: Int, pushes: Int) throws -> TransportMeasurement {
        try self.launch(sink, connections, pushes, environment: [:])
    }

    private func launch(_ sink: Sink, _ connections: Int, _ pushes: Int, environment: [String: String]) throws
        -> TransportMeasurement
    {
        let client = try ChildProcess(
            "transport client",
            [
                self.bench.own, "transport-client", "--port", "\(sink.port)", "--ca", sink.authorityFile, "--key",
                sink.keyFile, "--connections", "\(connections)", "--streams", "\(Self.streamsMax)", "--pushes",
                "\(pushes)", "--warm-up", "\(pushes / 5)", "--server-pid", "\(sink.process.pid)",
            ], core: self.bench.cores.client, logPath: self.bench.logPath("transport"), environment: environment)
        try client.waitForEnd(limitSeconds: 60)
        guard let result = TransportMeasurement(output: client.output) else {
            throw BenchmarkFailure("the transport client said nothing: \(client.lastLines)")
        }
        return result
    }

    private func report(_ connections: Int, _ sample: Samples) {
        let name = "transport, \(connections) connection\(connections == 1 ? "" : "s")"
        let isServerBound = sample.serverBusy.median > Self.serverBusyMax
        let cpu =
            connections == 2
            ? ResultRow("\(name): CPU per push", sample.cpu.median, "us", baseline: sample.h2loadCPU.median)
            : ResultRow(
                "\(name): CPU per push", sample.cpu.median, "us", baseline: sample.h2loadCPU.median,
                target: .transportCPU, isServerBound: isServerBound)
        self.bench.add(cpu)
        self.bench.add(
            ResultRow(
                "\(name): pushes per second\(isServerBound ? " (server-bound)" : "")", sample.rate.median, "1/s",
                baseline: sample.h2loadRate.median))
        self.bench.add(ResultRow("\(name): server busy", sample.serverBusy.median * 100, "% of a core"))
        if connections == 8 {
            self.bench.add(
                ResultRow(
                    "transport, 8 x 1,000 in flight: peak memory", sample.peakBytes.median / 1_000_000, "MB",
                    target: .transportPeakMegabytes))
        }
    }

    private func countAllocations(_ sink: Sink) throws {
        self.bench.say("transport: counting heap allocations")
        let counter = try AllocationCounter(self.bench)
        let result = try self.launch(sink, 1, 100_000, environment: counter.environment)
        try AllocationRows.add("transport", result.allocations, pushes: result.pushes, to: self.bench)
    }
}

/// Rows of heap allocations per push, by Swift and by each C library.
enum AllocationRows {
    /// Adds a row for each maker of allocations.
    /// - Throws: when nothing was counted. A program of this size always allocates, so a count of 0 means that the
    ///   counter was not preloaded.
    static func add(_ name: String, _ counts: AllocationCounts, pushes: Int, to bench: Bench) throws {
        guard counts.swift > 0 else { throw BenchmarkFailure("\(name): the allocation counter has counted nothing") }
        let perPush = { (count: Int) in Double(count) / Double(max(1, pushes)) }
        let unit = "allocations"
        bench.add(
            ResultRow(
                "\(name): allocations per push, Swift and wrappers", perPush(counts.swift), unit, target: .allocations))
        let libraries = [
            ("nghttp2", counts.nghttp2), ("OpenSSL", counts.openSSL), ("librdkafka", counts.librdkafka),
            ("other C", counts.other),
        ]
        for (library, count) in libraries {
            bench.add(ResultRow("\(name): allocations per push, \(library)", perPush(count), unit))
        }
    }
}
