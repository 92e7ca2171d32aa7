import APNSProtocol

/// CPU of a broadcast, and memory of a channel.
extension ChannelRows {
    /// As many as Apple allows an app.
    private static let manyCount = ChannelRequest.countMax
    /// As often as the default distance lets a channel have one.
    private static let turnSeconds = 15.0
    /// The publisher goes on past the end of what is measured.
    private static let overlapSeconds = 0.5
    /// Channels that memory is divided by, in steps of `manyCount`: more than an app may have, so that it matters little how large the
    /// pieces are that memory is asked for in.
    private static let addedCount = 4 * Self.manyCount

    /// What a while with updates for `manyCount` cost.
    private struct Cost {
        var (worker, kafka, busy, pace) = (Sample(), Sample(), Sample(), Sample())
    }

    func measureCost() throws {
        let pushes = try self.costOfPushes()
        self.bench.say("channels: \(Self.manyCount), a broadcast every \(Self.turnSeconds.short) s on each")
        let stage = try Stage(
            self.bench, partitionCount: Self.partitionCount, options: .init(settings: Self.nothingStored))
        defer { stage.stop() }
        let (cost, consumed) = try self.cost(on: stage, isToChannels: true, settled: 0)
        let resident = stage.worker.process.meter.residentByteCount
        let byteCount = try self.bytesPerChannel(on: stage, settled: consumed)
        let name = "channels, \(Double(Self.manyCount).short)"
        self.bench.add(
            ResultRow(
                "\(name): CPU per broadcast", cost.worker.median, "us", baseline: pushes.worker.median,
                target: .broadcastCPU))
        self.bench.add(ResultRow("\(name): broadcasts per second", cost.pace.median, "1/s"))
        self.bench.add(ResultRow("\(name): worker busy", cost.busy.median * 100, "% of a core"))
        self.bench.add(
            ResultRow(
                "\(name): CPU of Kafka per broadcast", cost.kafka.median, "us", baseline: pushes.kafka.median))
        self.bench.add(ResultRow("\(name): memory", Double(resident) / 1_000_000, "MB"))
        self.bench.add(
            ResultRow(
                "\(name): memory per channel after a broadcast", byteCount, "B", target: .channelByteCount))
        try stage.broker.checkNothingWasDropped()
    }

    /// Cost of pushes to as many activities at that pace.
    private func costOfPushes() throws -> Cost {
        self.bench.say(
            "channels: beside them \(Self.manyCount) activities, a push every \(Self.turnSeconds.short) s to each")
        let stage = try Stage(self.bench, partitionCount: Self.partitionCount)
        defer { stage.stop() }
        try stage.register(Self.manyCount)
        let cost = try self.cost(on: stage, isToChannels: false, settled: Self.manyCount).cost
        try stage.broker.checkNothingWasDropped()
        return cost
    }

    /// The first turn is not measured: it makes the channels.
    /// - Parameter settled: events that the worker has taken before.
    /// - Returns: and how many it has taken after.
    private func cost(on stage: Stage, isToChannels: Bool, settled: Int) throws -> (cost: Cost, settled: Int) {
        let (windowCount, windowSeconds) = self.bench.isQuick ? (1, Self.turnSeconds / 2) : (3, Self.turnSeconds)
        let load = PacedLoad(
            broker: stage.broker, partitionCount: Self.partitionCount, targetCount: Self.manyCount,
            perSecond: Double(Self.manyCount) / Self.turnSeconds, isToChannels: isToChannels)
        let seconds = Self.turnSeconds + Double(windowCount) * windowSeconds + Self.overlapSeconds
        let count = Int(load.perSecond * seconds)
        let publisher = try load.start(count, self.bench)
        Clock.sleep(millis: Int(Self.turnSeconds * 1_000))
        var cost = Cost()
        for _ in 0..<windowCount {
            let window = try PacedWindow.measure(seconds: windowSeconds, stage.worker, stage.sink, stage.broker)
            cost.worker.add(window.workerMicrosPerPush)
            cost.kafka.add(window.kafkaMicrosPerPush)
            cost.busy.add(window.workerBusy)
            cost.pace.add(window.pushesPerSecond)
            self.bench.say("        \(window.workerMicrosPerPush.short) us each")
        }
        try publisher.waitForEnd(limitSeconds: 60)
        try stage.worker.settle(consumed: settled + count)
        guard stage.worker.acceptedCount == count else {
            throw BenchmarkFailure("\(stage.worker.acceptedCount) pushes for \(count) updates")
        }
        return (cost, settled + count)
    }

    /// What each further channel takes once something was broadcast on it.
    private func bytesPerChannel(on stage: Stage, settled: Int) throws -> Double {
        self.bench.say("channels: \(Self.addedCount) more")
        let prefiller = try Prefiller(stage.broker, partitionCount: Self.partitionCount)
        var consumed = settled
        func add(_ channels: Range<Int>) throws -> Int {
            for start in stride(from: channels.lowerBound, to: channels.upperBound, by: Self.manyCount) {
                try prefiller.broadcast(SampleChannel.ids(start..<start + Self.manyCount), round: 0)
                consumed += Self.manyCount
                try stage.worker.settle(consumed: consumed)
            }
            return stage.worker.process.meter.residentByteCount
        }
        // The process has what it needs for any such backlog after the first.
        let empty = try add(Self.manyCount..<2 * Self.manyCount)
        let full = try add(2 * Self.manyCount..<2 * Self.manyCount + Self.addedCount)
        guard stage.worker.acceptedCount == consumed else {
            throw BenchmarkFailure("\(stage.worker.acceptedCount) broadcasts for \(consumed) events")
        }
        return Double(full - empty) / Double(Self.addedCount)
    }
}
