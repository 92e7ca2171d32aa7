/// One line of the results: a value, what it is compared with, and whether that is enough.
struct ResultRow: Codable, Equatable {
    var name: String
    var value: Double
    var unit: String
    /// What the value is divided by to give the ratio: a peer, or the same thing smaller. In the same unit.
    var baseline: Double?
    var ratio: Double?
    /// The bound of the ratio, or, without a baseline, of the value: what a rate must reach, or a cost must not exceed.
    var atLeast: Double?
    var aim: Double?
    /// `nil`: no target.
    var holds: Bool?

    private enum CodingKeys: String, CodingKey { case name, value, unit, baseline, ratio, atLeast, aim, holds }

    /// A number that has no target.
    init(_ name: String, _ value: Double, _ unit: String, baseline: Double? = nil) {
        self.name = name
        self.value = value
        self.unit = unit
        self.baseline = baseline
        self.ratio = baseline.flatMap { $0 > 0 ? value / $0 : nil }
    }

    /// A number with a target.
    /// - Parameter isServerBound: the server was so busy that the number says more about it than about us: never holds.
    init(
        _ name: String, _ value: Double, _ unit: String, baseline: Double? = nil, target: Target,
        isServerBound: Bool = false
    ) {
        self.init(name, value, unit, baseline: baseline)
        self.atLeast = target.atLeast
        self.aim = target.aim
        let judged = baseline == nil ? value : self.ratio
        self.holds = !isServerBound && (judged.map { target.isMet(by: $0) } ?? false)
    }

    /// Every key is written, `null` where there is nothing.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: CodingKeys.self)
        try container.encode(self.name, forKey: .name)
        try container.encode(self.value, forKey: .value)
        try container.encode(self.unit, forKey: .unit)
        try container.encode(self.baseline, forKey: .baseline)
        try container.encode(self.ratio, forKey: .ratio)
        try container.encode(self.atLeast, forKey: .atLeast)
        try container.encode(self.aim, forKey: .aim)
        try container.encode(self.holds, forKey: .holds)
    }
}

/// What a row has to reach, and what it would like to.
struct Target: Equatable {
    enum Side { case atMost, atLeast }

    var side: Side
    /// The bound that has to be kept.
    var atLeast: Double
    var aim: Double?

    static func atMost(_ bound: Double, aim: Double? = nil) -> Target {
        Target(side: .atMost, atLeast: bound, aim: aim)
    }

    static func atLeast(_ bound: Double, aim: Double? = nil) -> Target {
        Target(side: .atLeast, atLeast: bound, aim: aim)
    }

    func isMet(by value: Double) -> Bool {
        guard value.isFinite else { return false }
        return self.side == .atMost ? value <= self.atLeast : value >= self.atLeast
    }

    static let transportCPU = Target.atMost(0.85, aim: 0.65)
    static let workerCPU = Target.atMost(2.0, aim: 1.3)
    static let ingest = Target.atLeast(0.4, aim: 0.7)
    static let takenToAcceptedMillis = Target.atMost(20, aim: 5)
    static let intendedToAcceptedMillis = Target.atMost(50)
    static let allocations = Target.atMost(4, aim: 0)
    static let idleByteCount = Target.atMost(400, aim: 200)
    static let growthCPU = Target.atMost(1.5, aim: 1.1)
    /// Slowest of a backlog's rates by partitions, beside the fastest. One partition is read by one fetch after the other, and the broker
    /// answers each with less than many partitions give.
    static let backlogShapes = Target.atLeast(0.2, aim: 0.5)
    static let burstMillis = Target.atMost(1_500, aim: 300)
    /// A few percent above what was measured in November 2026 (17,480 and 17,070): two runs differ by a tenth of a percent.
    static let loopInstructions = Target.atMost(18_000)
    static let transportInstructions = Target.atMost(17_900)
    /// A page of metrics beside an answer of three bytes, in CPU of the process.
    static let scrape = Target.atMost(3, aim: 1.5)
    static let longIdleByteCount = Target.atMost(420, aim: 250)
    static let pushedByteCount = Target.atMost(620, aim: 300)
    /// Few broadcasts on a calm worker: nothing waits but a record for its batch and for the next fetch.
    static let channelTakenToAcceptedMillis = Target.atMost(5, aim: 1)
    static let channelIntendedToAcceptedMillis = Target.atMost(40)
    /// A broadcast beside a push to an activity, at the same pace.
    static let broadcastCPU = Target.atMost(1.6, aim: 1)
    static let channelByteCount = Target.atMost(420, aim: 250)
    /// A first broadcast with the question before it, beside one without.
    static let askingFirst = Target.atMost(1.6)
    /// A push to a member beside the transport alone.
    static let memberPushCPU = Target.atMost(1.5, aim: 1.2)
    /// Beyond the raw token.
    static let memberByteCount = Target.atMost(24, aim: 12)
    static let joins = Target.atLeast(200_000, aim: 400_000)
    static let memberRestore = Target.atLeast(400_000, aim: 1_000_000)
    static let freshness = Target.atMost(1)
    static let singlesDuringPass = Target.atMost(1)
    static let deadMembers = Target.atMost(1.5, aim: 1.1)
    /// Records of `routed` for an event of an audience whose members lie in one partition: the version to it, and its reports of the pass.
    static let routedRecords = Target.atMost(4)
    static let latePushes = Target.atMost(0)
    static let twoWorkersRate = Target.atLeast(1.95)
    static let twoWorkersCPU = Target.atMost(1.1)
    static let transportPeakMegabytes = Target.atMost(60, aim: 40)
}
