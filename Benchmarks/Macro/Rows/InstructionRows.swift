/// Instructions of a push, by callgrind. The same work is run once in one process, and twice in another. The difference
/// is the cost of the pushes, without starting and registering.
///
/// The whole worker is not counted. Callgrind slows the worker down forty times, but not its clock. So the worker would
/// write to Kafka forty times as often for a push. Two parts that do not depend on a clock are counted instead. One is
/// the loop in virtual time, from a record's bytes to a committed offset. The other is the transport against the
/// simulated APNs.
struct InstructionRows {
    let bench: Bench

    private static let pushCount = 10_000

    func run() throws {
        self.bench.say("instructions: loop and transport under callgrind")
        let callgrind = try Callgrind(self.bench)
        let loop = try self.difference { passes in
            try callgrind.count([
                "counted-pushes", "--activities", "\(Self.pushCount)", "--passes", "\(passes)",
            ])
        }
        self.bench.say("        loop \(loop.short)")
        let sink = try Sink(self.bench)
        defer { sink.stop() }
        let transport = try self.difference { passes in
            try callgrind.count([
                "transport-client", "--port", "\(sink.port)", "--ca", sink.authorityFile, "--key", sink.keyFile,
                "--connections", "1", "--streams", "1000", "--pushes", "\(passes * Self.pushCount)", "--warm-up",
                "\(Self.pushCount)", "--server-pid", "\(sink.process.pid)",
            ])
        }
        self.bench.say("        transport \(transport.short)")
        self.bench.add(
            ResultRow("instructions per push, loop", loop, "instructions", target: .loopInstructions))
        self.bench.add(
            ResultRow("instructions per push, transport", transport, "instructions", target: .transportInstructions))
    }

    private func difference(_ count: (_ passes: Int) throws -> Int) throws -> Double {
        let (once, twice) = (try count(1), try count(2))
        return Double(twice - once) / Double(Self.pushCount)
    }
}
