/// Updates at a fixed rate, written by another process (`PacedPublisherCommand`).
struct PacedLoad {
    var broker: Broker
    var partitionCount: Int
    /// Number of activities that get updates in turn.
    var activityCount: Int
    var perSecond: Double

    /// Begins to publish `count` updates, from the first activity on.
    func start(_ count: Int, _ bench: Bench) throws -> ChildProcess {
        try ChildProcess(
            "the publisher",
            [
                bench.own, "paced-publisher", "--bootstrap", self.broker.bootstrap, "--topic",
                self.broker.topic(Workload.topic), "--partitions", "\(self.partitionCount)",
                "--activities", "\(self.activityCount)", "--per-second", "\(self.perSecond)", "--count", "\(count)",
            ], core: bench.cores.kafka, logPath: bench.logPath("publisher"))
    }

    /// Publishes `count` updates and waits until Kafka has the last one.
    func publish(_ count: Int, _ bench: Bench) throws {
        let publisher = try self.start(count, bench)
        try publisher.waitForEnd(limitSeconds: 120)
        bench.say("        " + publisher.lastLines)
    }
}
