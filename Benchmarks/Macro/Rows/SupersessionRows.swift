/// An event a second to members that cannot all be served in one: whether anybody is pushed a version after its partition took the newer one. APNs'
/// own journal says it.
struct SupersessionRows {
    let bench: Bench
    /// Directory for the plot; `nil`: none.
    let plots: String?

    private static let apnsMillis = 50
    /// A push of the older version that comes no later than this after its partition's first of the newer was on its way already. There is one
    /// connection: with several, one that is slow brings what it was given a second ago.
    private static let inFlightMillis: Int64 = 100

    func run() throws {
        let members = self.bench.isQuick ? 50_000 : 200_000
        let eventCount = self.bench.isQuick ? 5 : 12
        let partitionCount = AudienceWorkload.partitionCount(members: members)
        self.bench.say("supersession: \(members) members")
        let path = self.bench.scratch + "/journal"
        let stage = try Stage(
            self.bench, partitionCount: partitionCount, mode: .journal(path: path), options: .init(connectionsMax: 1))
        defer { stage.stop() }
        try stage.join(members)
        try stage.sink.setLatency(millis: Self.apnsMillis)
        let publisher = try Prefiller(stage.broker, partitionCount: partitionCount, lingerMillis: 0)
        var publishedMillis: [Int64] = []
        let begin = Clock.nowMicros
        for number in 0..<eventCount {
            while Clock.nowMicros - begin < Int64(number) * 1_000_000 { Clock.sleep(millis: 1) }
            publishedMillis.append(Clock.wallMicros / 1_000)
            try publisher.updateAudience(number)
        }
        Clock.sleep(millis: 500)
        try stage.waitForMembers(everyMillis: 200)
        var versions = VersionArrivals(partitionCount: partitionCount)
        try versions.read(path)
        let name = "an event a second to \(Double(members).short) members"
        self.bench.add(
            ResultRow("\(name): pushes a member", Double(versions.pushCount) / Double(members), "pushes"))
        self.bench.add(
            ResultRow(
                "\(name): of an older version, \(Self.inFlightMillis) ms after its partition's first of the newer",
                Double(versions.lateMillis.count { $0 > Self.inFlightMillis }), "pushes", target: .latePushes))
        self.bench.add(
            ResultRow("\(name): latest of an older version", Double(versions.lateMillis.max() ?? 0), "ms"))
        guard versions.stamps.count == eventCount, let plots else { return }
        try self.plot(versions, publishedMillis, to: plots + "/freshness.svg")
    }

    private func plot(_ versions: VersionArrivals, _ publishedMillis: [Int64], to path: String) throws {
        var plot = LinePlot(
            title: "Age of the state that members get", xTitle: "time, seconds", yTitle: "age at arrival, ms")
        let ages = versions.ages(publishedMillis: publishedMillis, everyMillis: 500)
        plot.add("oldest", ages.map { ($0.seconds, $0.oldestMillis) })
        plot.add("mean", ages.map { ($0.seconds, $0.meanMillis) })
        try plot.write(to: path)
    }
}
