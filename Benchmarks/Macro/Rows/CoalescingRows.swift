/// Row 3: many events to each activity, and one push each.
struct CoalescingRows {
    let bench: Bench

    func run() throws {
        for eventsPerPush in [10, 100] { try self.run(eventsPerPush: eventsPerPush) }
    }

    /// Events of low priority, which wait a second for newer ones (the default): all of a round merge.
    private func run(eventsPerPush: Int) throws {
        let eventCount = self.bench.isQuick ? 200_000 : 400_000
        let activities = eventCount / eventsPerPush
        let roundCount = self.bench.isQuick ? 2 : 3
        let name = "worker, coalescing \(eventsPerPush):1"
        let partitionCount = Workload.partitionCount(activities: activities, updates: eventCount * (roundCount + 1))
        self.bench.say("coalescing \(eventsPerPush):1: \(eventCount) events to \(activities) activities")
        let stage = try Stage(self.bench, partitionCount: partitionCount)
        defer { stage.stop() }
        let (broker, worker) = (stage.broker, stage.worker)
        let prefiller = try stage.register(activities)

        var (rate, merged, cpu) = (Sample(), Sample(), Sample())
        for round in 0...roundCount {
            let accepted = worker.acceptedCount
            let work = try worker.work(consumed: activities + eventCount * (round + 1)) {
                try prefiller.produce(eventCount) { number, value in
                    Workload.appendUpdate(number, to: &value, priority: "5")
                    return number % activities
                }
            }
            guard round > 0 else { continue }
            merged.add(Double(eventCount) / Double(max(1, worker.acceptedCount - accepted)))
            cpu.add(work.workerMicros / Double(eventCount))
            // The worker waits for the window meanwhile: what counts is how many it takes in a second of its core.
            rate.add(Double(eventCount) / work.workerMicros * 1e6)
        }
        self.bench.add(ResultRow("\(name): events per second of one core", rate.median, "1/s"))
        self.bench.add(ResultRow("\(name): CPU per event", cpu.median, "us"))
        self.bench.add(ResultRow("\(name): events per push", merged.median, "events"))
        try broker.checkNothingWasDropped()
    }
}
