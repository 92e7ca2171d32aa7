/// Rows in which APNs answers 503 to everything for a while during a pass. They show how much the worker's memory and
/// writing grow, and how soon all members are served.
struct BrownOutRows {
    let bench: Bench

    func run() throws {
        let members = self.bench.isQuick ? 50_000 : 200_000
        let seconds = self.bench.isQuick ? 8 : 60
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        self.bench.say("brown-out: \(seconds) s in mid-pass, \(members) members")
        let stage = try Stage(self.bench, partitionCount: partitionCount, mode: .full)
        defer { stage.stop() }
        let worker = stage.worker
        try stage.join(members)
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        // A whole pass is done first, so that the worker has already allocated what a pass needs.
        let passBegin = Clock.nowMicros
        try publisher.updateAudience(0)
        try Waiting.until("a pass", limitSeconds: 120, process: worker.process, everyMillis: 5) {
            stage.sink.answeredCount >= members
        }
        let passMillis = Double(Clock.nowMicros - passBegin) / 1_000
        Clock.sleep(millis: 3_000)

        let before = worker.process.meter.residentByteCount
        try publisher.updateAudience(1)
        try Waiting.until("half a pass", limitSeconds: 120, process: worker.process, everyMillis: 2) {
            stage.sink.answeredCount >= members + members / 2
        }
        let sentBefore = worker.metric("mailboat_pushes_sent_total")
        try stage.sink.refuse(percent: 100, status: 503, reason: "ServiceUnavailable")
        let beginMillis = Clock.wallMicros / 1_000
        var most = before
        while Clock.wallMicros / 1_000 - beginMillis < Int64(seconds) * 1_000 {
            try worker.process.checkRunning()
            most = max(most, worker.process.meter.residentByteCount)
            Clock.sleep(millis: 100)
        }
        let endMillis = Clock.wallMicros / 1_000
        let sent = worker.metric("mailboat_pushes_sent_total") - sentBefore
        let recoveryBegin = Clock.nowMicros
        try stage.sink.clearFaults()
        try stage.waitForMembers()
        let recoveryMillis = Double(Clock.nowMicros - recoveryBegin) / 1_000
        guard worker.metric("mailboat_members") == members else {
            throw BenchmarkFailure("\(worker.metric("mailboat_members")) members of \(members) are left")
        }
        let written = try TopicMeter(stage.broker, topic: "liveactivity.state", partitionCount: partitionCount)
            .written(beginMillis..<endMillis)
        let name = "brown-out of \(seconds) s in mid-pass, \(Double(members).short) members"
        self.bench.add(ResultRow("\(name): growth of memory", Double(max(0, most - before)) / 1_000_000, "MB"))
        self.bench.add(
            ResultRow("\(name): written to state a second", Double(written.byteCount) / Double(seconds), "B"))
        self.bench.add(
            ResultRow("\(name): records of state a second", Double(written.records) / Double(seconds), "records"))
        self.bench.add(ResultRow("\(name): pushes meanwhile, a second", Double(sent) / Double(seconds), "1/s"))
        self.bench.add(
            ResultRow(
                "\(name): from its end until all are served, beside a whole pass", recoveryMillis, "ms",
                baseline: passMillis))
        try stage.broker.checkNothingWasDropped()
    }
}
