/// Row 6: what more activities cost: memory for each that is idle, and CPU for a push to one among many.
struct GrowthRows {
    let bench: Bench
    let plots: String?

    /// Pushed at once, in every size alike: no more than the smallest has activities, since each gets a push a second.
    private static let burst = 1_000

    /// Registered at once. Activities come over hours, not in one backlog: what a backlog takes while it lasts is not memory per activity.
    private static let registrationsAtOnce = 25_000

    private struct Level {
        var activities: Int
        var residentByteCount = 0
        var cpuPerPush = Sample()
    }

    func run() throws {
        let sizes = self.bench.isQuick ? [1_000, 10_000, 100_000, 400_000] : [1_000, 10_000, 100_000, 1_000_000]
        let bursts = self.bench.isQuick ? 6 : 15
        let largest = sizes.last ?? 0
        let partitionCount = Workload.partitionCount(activities: largest, updates: Self.burst * bursts * sizes.count)
        self.bench.say("growth: up to \(largest) activities, \(partitionCount) partitions")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try Prefiller(broker, partitionCount: partitionCount)
        var (registered, consumed) = (0, 0)
        var levels: [Level] = []
        for size in sizes {
            self.bench.say("growth: \(size) activities")
            while registered < size {
                let next = min(size, registered + Self.registrationsAtOnce)
                consumed += next - registered
                try prefiller.register(registered..<next)
                registered = next
                try worker.settle(consumed: consumed)
            }
            var level = Level(activities: size, residentByteCount: worker.process.meter.residentByteCount)
            for burst in 0..<bursts {
                consumed += Self.burst
                let work = try worker.work(consumed: consumed) {
                    // Others each time, spread over all.
                    try prefiller.produce(Self.burst) { number, value in
                        Workload.appendUpdate(burst, to: &value)
                        return (number * (size / Self.burst) + burst) % size
                    }
                }
                // The first burst after the registrations warms up.
                if burst > 0 { level.cpuPerPush.add(work.workerMicros / Double(Self.burst)) }
                // Past the least distance between pushes of an activity.
                Clock.sleep(millis: 1_050)
            }
            levels.append(level)
        }
        self.report(levels)
        try broker.checkNothingWasDropped()
        if let plots { try self.plot(levels, to: plots) }
    }

    /// Bytes for each further activity, from one size to the next: what the process needs anyway falls out.
    private func bytesPerActivity(_ levels: [Level], at index: Int) -> Double {
        let (small, large) = (levels[index - 1], levels[index])
        return Double(large.residentByteCount - small.residentByteCount) / Double(large.activities - small.activities)
    }

    private func report(_ levels: [Level]) {
        for level in levels {
            let name = "growth, \(Double(level.activities).short) activities"
            self.bench.add(ResultRow("\(name): CPU per push", level.cpuPerPush.median, "us"))
            self.bench.add(ResultRow("\(name): memory", Double(level.residentByteCount) / 1_000_000, "MB"))
        }
        guard let first = levels.first, let last = levels.last else { return }
        self.bench.add(
            ResultRow(
                "growth: CPU per push, most activities beside fewest", last.cpuPerPush.median, "us",
                baseline: first.cpuPerPush.median, target: .growthCPU))
        self.bench.add(
            ResultRow(
                "growth: memory per idle activity", self.bytesPerActivity(levels, at: levels.count - 1), "B",
                target: .idleByteCount))
    }

    private func plot(_ levels: [Level], to directory: String) throws {
        var cpu = LinePlot(
            title: "CPU per push by activities in memory", xTitle: "activities", yTitle: "us per push",
            isXLogarithmic: true)
        cpu.add("worker, pushes in bursts of 1,000", levels.map { (Double($0.activities), $0.cpuPerPush.median) })
        try cpu.write(to: directory + "/growth-cpu.svg")
        var memory = LinePlot(
            title: "Memory of the worker by activities in memory", xTitle: "activities", yTitle: "MB resident",
            isXLogarithmic: true)
        memory.add("worker", levels.map { (Double($0.activities), Double($0.residentByteCount) / 1_000_000) })
        try memory.write(to: directory + "/growth-memory.svg")
    }
}
