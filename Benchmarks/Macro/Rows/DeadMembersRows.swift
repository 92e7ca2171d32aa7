/// The first event to members that were never pushed to, one in a hundred of them dead: how long until the last one has it, beside none dead.
struct DeadMembersRows {
    let bench: Bench

    private static let deadPercent = 1.0

    func run() throws {
        let members = self.bench.isQuick ? 50_000 : 200_000
        var (alive, dead, gone) = (Sample(), Sample(), Sample())
        for round in 1...(self.bench.isQuick ? 1 : 3) {
            self.bench.say("members-dead: round \(round), \(members) members")
            alive.add(try self.measure(members, deadPercent: 0).millis)
            let other = try self.measure(members, deadPercent: Self.deadPercent)
            dead.add(other.millis)
            gone.add(Double(other.goneCount) / Double(members) * 100)
        }
        let name = "first event to \(Double(members).short) members"
        self.bench.add(
            ResultRow(
                "\(name), 1 % of them dead: time to the last, beside none dead", dead.median, "ms",
                baseline: alive.median, target: .deadMembers))
        self.bench.add(ResultRow("\(name), 1 % of them dead: removed", gone.median, "% of the members"))
    }

    private func measure(_ members: Int, deadPercent: Double) throws -> (millis: Double, goneCount: Int) {
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        let stage = try Stage(self.bench, partitionCount: partitionCount, mode: .full)
        defer { stage.stop() }
        try stage.join(members)
        // A token that died before its member joined would be tried again.
        Clock.sleep(millis: 1_500)
        if deadPercent > 0 {
            try stage.sink.refuse(
                percent: deadPercent, status: 410, reason: "Unregistered", timestampMillis: Clock.wallMicros / 1_000)
        }
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        let begin = Clock.nowMicros
        try publisher.updateAudience(0)
        try Waiting.until("the event", limitSeconds: 60, process: stage.worker.process, everyMillis: 2) {
            stage.worker.metric("mailboat_members_due_total") > 0
        }
        try stage.waitForMembers()
        return (Double(Clock.nowMicros - begin) / 1_000, members - stage.worker.metric("mailboat_members"))
    }
}
