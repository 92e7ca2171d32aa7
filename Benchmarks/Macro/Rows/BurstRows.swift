/// Rows of a burst of updates for an idle worker with few partitions, on a real broker. They show the time from the
/// first produced record to the last accepted push.
struct BurstRows {
    let bench: Bench

    private static let updateCount = 20_000
    private static let partitionCount = 2
    /// A pause that is longer than the minimum distance between pushes of an activity.
    private static let restMillis = 1_500

    func run() throws {
        let roundCount = self.bench.isQuick ? 3 : 9
        self.bench.say("burst: \(Self.updateCount) updates in \(Self.partitionCount) partitions")
        let stage = try Stage(self.bench, partitionCount: Self.partitionCount)
        defer { stage.stop() }
        let (sink, worker) = (stage.sink, stage.worker)
        // A producer with librdkafka's defaults also waits 5 ms for more records.
        let prefiller = try stage.register(Self.updateCount, lingerMillis: 5)
        var consumed = Self.updateCount
        var (whole, written) = (Sample(), Sample())
        // Round 0 warms up.
        for round in 0...roundCount {
            Clock.sleep(millis: Self.restMillis)
            let wanted = sink.answeredCount + Self.updateCount
            let begin = Clock.nowMicros
            try prefiller.update(0..<Self.updateCount, round: round)
            let inKafka = Clock.nowMicros
            try Waiting.until("the burst's pushes", limitSeconds: 60, process: worker.process, everyMillis: 5) {
                sink.answeredCount >= wanted
            }
            let end = Clock.nowMicros
            consumed += Self.updateCount
            try worker.settle(consumed: consumed)
            guard round > 0 else { continue }
            whole.add(Double(end - begin) / 1_000)
            written.add(Double(inKafka - begin) / 1_000)
            self.bench.say("        \((Double(end - begin) / 1_000).short) ms")
        }
        let name =
            "burst of \(Double(Self.updateCount).short) in \(Self.partitionCount) partitions"
        self.bench.add(ResultRow("\(name): first sent until all accepted, median", whole.median, "ms"))
        self.bench.add(
            ResultRow("\(name): first sent until all accepted, worst", whole.max, "ms", target: .burstMillis))
        self.bench.add(ResultRow("\(name): of it, until Kafka had all, median", written.median, "ms"))
    }
}
