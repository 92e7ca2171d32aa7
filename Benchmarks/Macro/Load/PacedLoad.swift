/// Updates that come at their own pace, written by a process of its own (`PacedPublisherCommand`).
struct PacedLoad {
    var broker: Broker
    var partitionCount: Int
    /// How many activities or channels get updates in turn.
    var targetCount: Int
    var perSecond: Double
    /// The targets are channels: those that `SampleChannel` names.
    var isToChannels = false

    /// Begins to publish `count` updates, from the first target on.
    func start(_ count: Int, _ bench: Bench) throws -> ChildProcess {
        try ChildProcess(
            "the publisher",
            [
                bench.own, "paced-publisher", "--bootstrap", self.broker.bootstrap, "--topic",
                self.broker.topic(Workload.topic), "--partitions", "\(self.partitionCount)",
                self.isToChannels ? "--channels" : "--activities", "\(self.targetCount)",
                "--per-second", "\(self.perSecond)", "--count", "\(count)",
            ], core: bench.cores.kafka, logPath: bench.logPath("publisher"))
    }

    /// Publishes `count` updates and waits until Kafka has the last one.
    func publish(_ count: Int, _ bench: Bench) throws {
        let publisher = try self.start(count, bench)
        try publisher.waitForEnd(limitSeconds: 120)
        bench.say("        " + publisher.lastLines)
    }
}
