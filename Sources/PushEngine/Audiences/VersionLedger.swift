import PushModel

/// Versions that left with priority 10 in a rolling hour (fan-out contract: Audience budget). A version's unit returns
/// an hour after the owner has learned that no partition and no channel sends the version with priority 10 any longer.
struct VersionLedger: Equatable {
    /// Stamps of versions that may still be sent with priority 10, oldest first.
    private(set) var open: [Int64] = []
    /// Times at which the versions that are no longer `open` were reported as done (steady clock), oldest first.
    private(set) var returning: [Int64] = []

    mutating func spent(nowMillis: Int64) -> Int {
        while let first = self.returning.first, first + RollingBudget.windowMillis <= nowMillis {
            self.returning.removeFirst()
        }
        return self.open.count + self.returning.count
    }
    /// Whether one of the hour's units is left.
    mutating func hasUnit(of limit: Int, nowMillis: Int64) -> Bool { self.spent(nowMillis: nowMillis) < max(0, limit) }
    mutating func take(stampSeconds: Int64) { self.open.append(stampSeconds) }
    mutating func startReturn(upTo stampSeconds: Int64, nowMillis: Int64) {
        while let first = self.open.first, first <= stampSeconds {
            self.open.removeFirst()
            self.returning.append(nowMillis)
        }
    }
    mutating func restore(open: [Int64], ages: [Int64], nowMillis: Int64) {
        self.open = open
        self.returning = ages.map { nowMillis - max(0, $0) }.sorted()
    }
}

/// The two ledgers of one audience: for members without `frequent-updates`, and for members with it.
struct AudienceBudget {
    private(set) var ledger = VersionLedger()
    private(set) var frequentLedger = VersionLedger()

    init() {}
    init(ledger: VersionLedger, frequentLedger: VersionLedger) {
        self.ledger = ledger
        self.frequentLedger = frequentLedger
    }

    /// Gives the version priority 10 for each kind of members whose ledger has a unit.
    mutating func takeUnits(for version: inout Version, by rules: OwnerRules, now: EngineTime) {
        let reserve = rules.reserve(for: version)
        version.isHigh = self.ledger.hasUnit(
            of: rules.app.budgetAudiencePerHour - reserve, nowMillis: now.steadyMillis)
        version.isFrequentHigh = self.frequentLedger.hasUnit(
            of: rules.app.budgetAudienceFrequentPerHour - reserve, nowMillis: now.steadyMillis)
        if version.isHigh { self.ledger.take(stampSeconds: version.stampSeconds) }
        if version.isFrequentHigh { self.frequentLedger.take(stampSeconds: version.stampSeconds) }
    }
    /// Takes a second unit of each ledger for a version that goes both by token and by broadcast. If one of the ledgers
    /// has no unit, none is taken.
    /// - Returns: whether the units were taken.
    mutating func takeSecondUnits(for version: Version, by rules: OwnerRules, now: EngineTime) -> Bool {
        let reserve = rules.reserve(for: version)
        guard self.ledger.hasUnit(of: rules.app.budgetAudiencePerHour - reserve, nowMillis: now.steadyMillis),
            self.frequentLedger.hasUnit(
                of: rules.app.budgetAudienceFrequentPerHour - reserve, nowMillis: now.steadyMillis)
        else { return false }
        self.ledger.take(stampSeconds: version.stampSeconds)
        self.frequentLedger.take(stampSeconds: version.stampSeconds)
        return true
    }
    /// Begins the hour after which the units of versions up to this stamp return. These versions are no longer sent
    /// with priority 10.
    mutating func startReturn(upTo stampSeconds: Int64, nowMillis: Int64) {
        self.ledger.startReturn(upTo: stampSeconds, nowMillis: nowMillis)
        self.frequentLedger.startReturn(upTo: stampSeconds, nowMillis: nowMillis)
    }
}
