/// Broadcast channels: how long a broadcast takes where few events come, what one costs where an app has all the channels it may have, and what
/// a channel takes in memory.
struct ChannelRows {
    let bench: Bench

    static let partitionCount = 64
    /// Nobody is asked what a channel keeps.
    static let nothingStored = ["channel.storage: none"]

    func run() throws {
        try self.measureLatency()
        try self.measureCost()
        try self.measureQuestions()
    }

    // MARK: Latency

    private static let fewCount = 100
    private static let fewPerSecond = 50.0
    /// Half of what passes between two events of a channel: nothing is held back.
    private static let fewDistance = "channel.minimum-distance: 1s"
    private static let percentiles = [50.0, 99.0]

    private func measureLatency() throws {
        let (roundCount, roundSeconds) = self.bench.isQuick ? (1, 10.0) : (5, 20.0)
        let name = "channels, \(Int(Self.fewPerSecond)) events a second"
        self.bench.say("channels: \(Self.fewCount), \(Int(Self.fewPerSecond)) events a second")
        let path = self.bench.scratch + "/channel-latencies.json"
        let stage = try Stage(
            self.bench, partitionCount: Self.partitionCount,
            options: .init(distributionPath: path, settings: Self.nothingStored + [Self.fewDistance]))
        defer { stage.stop() }
        let load = PacedLoad(
            broker: stage.broker, partitionCount: Self.partitionCount, targetCount: Self.fewCount,
            perSecond: Self.fewPerSecond, isToChannels: true)
        // The first event of each makes the channel.
        try load.publish(Self.fewCount, self.bench)
        var consumed = Self.fewCount
        try stage.worker.settle(consumed: consumed)
        var (taken, intended) = ([Double: Sample](), [Double: Sample]())
        for _ in 0..<roundCount {
            let before = try stage.worker.latencies(path)
            let count = Int(Self.fewPerSecond * roundSeconds)
            try load.publish(count, self.bench)
            consumed += count
            try stage.worker.settle(consumed: consumed)
            let histograms = try (stage.worker.latencies(path) - before).histograms(ofEvents: count)
            for percentile in Self.percentiles {
                taken[percentile, default: Sample()].add(LatencyReport.millis(histograms.taken, percentile))
                intended[percentile, default: Sample()].add(LatencyReport.millis(histograms.intended, percentile))
            }
        }
        self.report("\(name), taken -> accepted", taken, target: .channelTakenToAcceptedMillis)
        self.report("\(name), intended send -> accepted", intended, target: .channelIntendedToAcceptedMillis)
        try stage.broker.checkNothingWasDropped()
    }

    private func report(_ name: String, _ samples: [Double: Sample], target: Target) {
        for percentile in Self.percentiles {
            let (name, millis) = ("\(name), p\(Int(percentile))", samples[percentile]?.median ?? 0)
            self.bench.add(
                percentile == 99 ? ResultRow(name, millis, "ms", target: target) : ResultRow(name, millis, "ms"))
        }
    }

    // MARK: Questions

    /// First broadcasts in a round.
    private static let firstCount = 1_000

    /// First broadcasts from a backlog, with a question before each, and without.
    private func measureQuestions() throws {
        let roundCount = self.bench.isQuick ? 3 : 5
        self.bench.say("channels: what asking costs")
        let without = try self.firstBroadcastMicros(roundCount: roundCount, asks: false)
        let with = try self.firstBroadcastMicros(roundCount: roundCount, asks: true)
        self.bench.add(
            ResultRow(
                "channels, asking first: CPU per first broadcast", with, "us", baseline: without, target: .askingFirst))
    }

    private func firstBroadcastMicros(roundCount: Int, asks: Bool) throws -> Double {
        let stage = try Stage(
            self.bench, partitionCount: Self.partitionCount,
            options: .init(settings: asks ? [] : Self.nothingStored, asksAboutChannels: asks))
        defer { stage.stop() }
        let count = Self.firstCount * (roundCount + 1)
        let channels = asks ? try stage.sink.makeChannels(count) : SampleChannel.ids(0..<count)
        let prefiller = try Prefiller(stage.broker, partitionCount: Self.partitionCount)
        var cpu = Sample()
        // Round 0 warms up.
        for round in 0...roundCount {
            let first = round * Self.firstCount
            let work = try stage.worker.work(consumed: first + Self.firstCount) {
                try prefiller.broadcast(Array(channels[first..<first + Self.firstCount]), round: round)
            }
            if round > 0 { cpu.add(work.workerMicros / Double(Self.firstCount)) }
        }
        let questions = stage.worker.metric("mailboat_channel_questions_total")
        guard questions == (asks ? count : 0) else {
            throw BenchmarkFailure("\(questions) questions about \(count) channels")
        }
        try stage.broker.checkNothingWasDropped()
        return cpu.median
    }
}
