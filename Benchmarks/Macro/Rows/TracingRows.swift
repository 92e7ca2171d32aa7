/// What tracing adds to the instructions of a push, by callgrind: of the loop as in `InstructionRows`, with a share of the events traced. What writing
/// spans for a collector takes is told apart: a worker does it on another thread.
struct TracingRows {
    let bench: Bench

    private var pushCount: Int { self.bench.isQuick ? 2_000 : 10_000 }

    func run() throws {
        self.bench.say("tracing: the loop under callgrind, with a share of its events traced")
        let callgrind = try Callgrind(self.bench)
        let off = try self.instructions(callgrind, [])
        func add(_ name: String, _ words: [String]) throws {
            let traced = try self.instructions(callgrind, words)
            self.bench.say("        \(name) \(traced.short)")
            self.bench.add(ResultRow("instructions per push, loop, \(name)", traced, "instructions", baseline: off))
        }
        try add("tracing on, none traced", ["--traced-share", "0"])
        try add("1 % traced", ["--traced-share", "0.01"])
        try add("all traced", ["--traced-share", "1"])
        try add("all traced, spans written", ["--traced-share", "1", "--writes-spans"])
    }

    private func instructions(_ callgrind: Callgrind, _ words: [String]) throws -> Double {
        func count(_ passes: Int) throws -> Int {
            try callgrind.count(
                ["counted-pushes", "--activities", "\(self.pushCount)", "--passes", "\(passes)"] + words)
        }
        let (once, twice) = (try count(1), try count(2))
        return Double(twice - once) / Double(self.pushCount)
    }
}
