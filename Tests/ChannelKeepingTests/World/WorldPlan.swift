import APNSProtocol
import ChannelKeeping
import PushModel

/// The part of a world that its seed draws: the keeper's settings, and how often faults occur.
struct WorldPlan {
    var settings = KeeperSettings()
    var audienceCount = 0
    /// Chance of each fault, in thousandths.
    var crashPerMille: UInt64 = 0
    var lostPerMille: UInt64 = 0
    var refusedPerMille: UInt64 = 0
    var slowPerMille: UInt64 = 0
    /// Chance that a creation is carried out twice, in thousandths.
    var twicePerMille: UInt64 = 0
    /// Chance that the answer to a creation has a wrong id, in thousandths.
    var foreignPerMille: UInt64 = 0
    /// Whether there is a period in which APNs refuses every request with an answer that no retry changes.
    var hasRefusalPeriod = false
    var clockSteps = false
    var othersAtFirst = 0
    var othersCome = false
    var othersDelete = false
    /// When faults and the acts of audiences and others end, milliseconds after the start.
    var quietMillis: Int64 = 0
    /// When the run ends, milliseconds after the start.
    var endMillis: Int64 = 0

    /// Whether requests can fail.
    var hasFaults: Bool {
        self.hasRefusalPeriod || self.lostPerMille + self.refusedPerMille + self.slowPerMille + self.foreignPerMille > 0
    }

    init(isExclusive: Bool, using random: inout SplitMix64) {
        self.settings.isExclusive = isExclusive
        self.settings.quota = ChannelQuota(countMax: [20, 40, 1_000, 1_000].randomElement(using: &random)!)
        self.settings.poolSize = [0, 0, 1, 3].randomElement(using: &random)!
        self.settings.poolPolicy = Bool.random(using: &random) ? .none : .mostRecent
        self.settings.lingerMillis = [2, 3, 8].randomElement(using: &random)! * 3_600_000
        self.settings.listIntervalMillis = [600_000, 1_800_000].randomElement(using: &random)!
        self.settings.holdMillis = [60_000, 300_000].randomElement(using: &random)!
        self.settings.beaconsInFlightMax = [1, 16].randomElement(using: &random)!
        self.audienceCount = Int.random(in: 1...8, using: &random)
        let isCalm = UInt64.random(in: 0..<8, using: &random) == 0
        if !isCalm {
            self.crashPerMille = [0, 5, 20, 60].randomElement(using: &random)!
            self.lostPerMille = [0, 100, 300].randomElement(using: &random)!
            self.refusedPerMille = [0, 50, 250].randomElement(using: &random)!
            self.slowPerMille = [0, 100, 500].randomElement(using: &random)!
            self.hasRefusalPeriod = UInt64.random(in: 0..<6, using: &random) == 0
            self.clockSteps = UInt64.random(in: 0..<4, using: &random) == 0
        }
        let countMax = self.settings.quota.countMax
        self.othersAtFirst = [0, 3, countMax * 70 / 100, countMax * 92 / 100].randomElement(using: &random)!
        if countMax == 1_000 { self.othersAtFirst = min(self.othersAtFirst, 12) }
        self.othersCome = !isExclusive && Bool.random(using: &random)
        self.othersDelete = UInt64.random(in: 0..<4, using: &random) == 0
        self.quietMillis = Int64.random(in: 2...6, using: &random) * 3_600_000
        self.endMillis = self.quietMillis + self.settings.lingerMillis + 6 * 3_600_000
        guard !isCalm else { return }
        self.twicePerMille = [0, 0, 100].randomElement(using: &random)!
        self.foreignPerMille = [0, 0, 100].randomElement(using: &random)!
    }
}
