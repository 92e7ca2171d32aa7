/// One line of the results: a value, what it is compared with, and whether the value is good enough.
struct ResultRow: Codable, Equatable {
    var name: String
    var value: Double
    var unit: String
    /// The value of a peer, or of the same thing at a smaller size, in the same unit. `value` divided by it is `ratio`.
    var baseline: Double?
    var ratio: Double?
    /// The bound of `ratio`, or of `value` if there is no `baseline`. A rate must reach it, and a cost must not exceed
    /// it.
    var atLeast: Double?
    var aim: Double?
    /// Whether the target is reached. `nil` means no target.
    var holds: Bool?

    private enum CodingKeys: String, CodingKey { case name, value, unit, baseline, ratio, atLeast, aim, holds }

    /// A row without a target.
    init(_ name: String, _ value: Double, _ unit: String, baseline: Double? = nil) {
        self.name = name
        self.value = value
        self.unit = unit
        self.baseline = baseline
        self.ratio = baseline.flatMap { $0 > 0 ? value / $0 : nil }
    }

    /// A row with a target.
    /// - Parameter isServerBound: whether the server was so busy that the number describes the server. Such a row never
    ///   holds.
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

    /// Writes every key, with `null` where there is no value.
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

/// The bound that a row must keep, and the better value that is the aim.
struct Target: Equatable {
    enum Side { case atMost, atLeast }

    var side: Side
    /// The bound that the row must keep: a minimum or a maximum, by `side`.
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
    /// Pushes per second from a backlog: the lowest rate of all partition counts, divided by the highest. Fetches of
    /// one partition follow each other, and each brings less than a fetch of many partitions.
    static let backlogShapes = Target.atLeast(0.2, aim: 0.5)
    static let burstMillis = Target.atMost(1_500, aim: 300)
    /// The bounds of both rows of instructions are a few percent above the values of November 2026 (17,480 and 17,070).
    /// Two runs differ by a tenth of a percent.
    static let loopInstructions = Target.atMost(18_000)
    static let transportInstructions = Target.atMost(17_900)
    static let longIdleByteCount = Target.atMost(420, aim: 250)
    static let pushedByteCount = Target.atMost(620, aim: 300)
    /// CPU of a push to a member, compared with the transport alone.
    static let memberPushCPU = Target.atMost(1.5, aim: 1.2)
    /// Memory of a member beyond its raw token.
    static let memberByteCount = Target.atMost(24, aim: 12)
    static let joins = Target.atLeast(200_000, aim: 400_000)
    static let memberRestore = Target.atLeast(400_000, aim: 1_000_000)
    static let freshness = Target.atMost(1)
    static let singlesDuringPass = Target.atMost(1)
    static let deadMembers = Target.atMost(1.5, aim: 1.1)
    static let transportPeakMegabytes = Target.atMost(60, aim: 40)
}
