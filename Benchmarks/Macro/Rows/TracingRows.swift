/// Rows of the instructions that tracing adds to a push. Callgrind counts the loop as in `InstructionRows`, with a
/// share of the events traced. Writing spans for a collector is counted separately, because a worker does it on another
/// thread.
struct TracingRows {
    let bench: Bench

    private var pushCount: Int { self.bench.isQuick ? 2_000 : 10_000 }
    /// Number of partitions. An event for an audience makes one pass in each partition, no matter how many members the
    /// audience has.
    private static let partitionCount = 4

    func run() throws {
        self.bench.say("tracing: the loop under callgrind, with a share of its events traced")
        let callgrind = try Callgrind(self.bench)
        let pushes = { (words: [String]) in
            try self.instructions(
                callgrind, ["counted-pushes", "--activities", "\(self.pushCount)"], events: "--passes", words)
        }
        let off = try pushes([])
        func add(_ name: String, _ words: [String]) throws {
            let traced = try pushes(words)
            self.bench.say("        \(name) \(traced.short)")
            self.bench.add(ResultRow("instructions per push, loop, \(name)", traced, "instructions", baseline: off))
        }
        try add("tracing on, none traced", ["--traced-share", "0"])
        try add("1 % traced", ["--traced-share", "0.01"])
        try add("all traced", ["--traced-share", "1"])
        try add("all traced, spans written", ["--traced-share", "1", "--writes-spans"])
        try self.addPasses(callgrind)
    }

    /// Adds rows of pushes to the members of an audience, made by passes.
    private func addPasses(_ callgrind: Callgrind) throws {
        let passes = { (words: [String]) in
            try self.instructions(
                callgrind,
                [
                    "counted-passes", "--members", "\(self.pushCount)", "--partitions", "\(Self.partitionCount)",
                ], events: "--events", words)
        }
        let off = try passes([])
        for (name, words) in [
            ("tracing on, none traced", ["--traced-share", "0"]), ("all traced", ["--traced-share", "1"]),
            ("all traced, spans written", ["--traced-share", "1", "--writes-spans"]),
        ] {
            let traced = try passes(words)
            self.bench.say("        to a member, \(name) \(traced.short)")
            self.bench.add(
                ResultRow("instructions per push to a member, loop, \(name)", traced, "instructions", baseline: off))
        }
    }

    /// Instructions of a push: the difference between a run with two events and a run with one, divided by the number
    /// of pushes.
    private func instructions(
        _ callgrind: Callgrind, _ command: [String], events option: String, _ words: [String]
    ) throws -> Double {
        func count(_ events: Int) throws -> Int { try callgrind.count(command + [option, "\(events)"] + words) }
        let (once, twice) = (try count(1), try count(2))
        return Double(twice - once) / Double(self.pushCount)
    }
}
