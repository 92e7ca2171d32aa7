/// Rows of the first event for members that were never pushed to. One in a hundred of these members has a dead token.
/// The rows show the time until the last member has the event, compared with a run without dead tokens.
struct DeadMembersRows {
    let bench: Bench

    private static let deadPercent = 1.0
    /// Latency of an APNs that is as far away as Apple's.
    private static let latencyMillis = 50

    private enum Kind {
        /// Dead tokens are answered with 410, without delay.
        case gone
        /// Dead tokens are answered with 400, after the latency of a distant APNs. The connection then has one stream
        /// until the next accepted push.
        case collapsing
    }

    func run() throws {
        let members = self.bench.isQuick ? 50_000 : 200_000
        try self.run(.gone, members, "first event to \(Double(members).short) members")
        // A pass of a quick run takes a second, and is too short to show the effect. The last answers of such a pass,
        // over connections with one stream, take as long as the pass.
        guard !self.bench.isQuick else { return }
        try self.run(
            .collapsing, members,
            "first event to \(Double(members).short) members, \(Self.latencyMillis) ms away, refusals collapse a connection"
        )
    }

    private func run(_ kind: Kind, _ members: Int, _ name: String) throws {
        var (alive, dead, gone) = (Sample(), Sample(), Sample())
        for round in 1...(self.bench.isQuick ? 1 : 3) {
            self.bench.say("members-dead: \(kind), round \(round), \(members) members")
            alive.add(try self.measure(members, kind, deadPercent: 0).millis)
            let other = try self.measure(members, kind, deadPercent: Self.deadPercent)
            dead.add(other.millis)
            gone.add(Double(other.goneCount) / Double(members) * 100)
        }
        self.bench.add(
            ResultRow(
                "\(name), 1 % of them dead: time to the last, beside none dead", dead.median, "ms",
                baseline: alive.median, target: .deadMembers))
        self.bench.add(ResultRow("\(name), 1 % of them dead: removed", gone.median, "% of the members"))
    }

    private func measure(_ members: Int, _ kind: Kind, deadPercent: Double) throws -> (millis: Double, goneCount: Int) {
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        let stage = try Stage(
            self.bench, partitionCount: partitionCount, mode: kind == .gone ? .full : .collapsing)
        defer { stage.stop() }
        try stage.join(members)
        // Every dead token dies after this pause, and so after its member's join. A token that died before its member's
        // join would be tried again.
        Clock.sleep(millis: 1_500)
        if kind == .collapsing { try stage.sink.setLatency(millis: Self.latencyMillis) }
        if deadPercent > 0 {
            switch kind {
            case .gone:
                try stage.sink.refuse(
                    percent: deadPercent, status: 410, reason: "Unregistered",
                    timestampMillis: Clock.wallMicros / 1_000)
            case .collapsing: try stage.sink.refuse(percent: deadPercent, status: 400, reason: "BadDeviceToken")
            }
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
