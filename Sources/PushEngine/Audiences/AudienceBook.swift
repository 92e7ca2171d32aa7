import PushModel

/// What the owner of an audience keeps beside what any slot has: who brings its versions to members, which versions are on their way there, and
/// two ledgers of priority 10 (fan-out contract: Owner and versions, Audience budget).
struct AudienceBook {
    /// A version that has been given its stamp.
    struct Publication {
        var version = Version()
        /// Older content that outlives it: partitions keep it for those that it leaves unserved.
        var fallbacks: [Version] = []
        /// `state` has it: it may leave, and whoever takes over writes the very same again.
        var isDurable = false
        /// Records of `routed` that Kafka has not acknowledged.
        var outstanding = 0
        /// Its event has no outcome yet.
        var isOpen = true
        /// Events merged into it.
        var mergedCount: UInt32 = 1

        mutating func enterLife(_ life: Int64) {
            self.version.enterLife(life)
            for index in self.fallbacks.indices { self.fallbacks[index].enterLife(life) }
        }
    }
    /// Versions whose event has no outcome because a partition of `routed` is slow. With so many the next waits.
    static let publicationsMax = 4
    /// Ends that may become versions beyond that, because a start came behind each.
    static let endsBeforeStartsMax = 4

    /// Which life of the audience this is: seconds since 1970 when it began, or later; only grows.
    var life: Int64 = 0
    /// Partitions that have asked, in ascending order.
    var asked: [Int32] = []
    /// The oldest first; the newest version stays, to answer who asks.
    var publications: [Publication] = []
    /// For members without `frequent-updates`, and for those with.
    var ledger = VersionLedger()
    var frequentLedger = VersionLedger()
    /// By partition that has asked: the newest stamp up to which nobody there will get priority 10 any more.
    var reported: [Int32: Int64] = [:]

    /// Until when some partition keeps start members, seconds since 1970; 0: none does.
    var startsUntilSeconds: Int64 = 0
    /// A start that the next version brings: one element, or none.
    var waitingStarts: [StartOrder] = []
    /// Its channels. Written at the end of the record, where there are any.
    var channels = AudienceChannels()

    /// Events in publications that have no outcome.
    var openCount: Int { self.publications.count { $0.isOpen } }
    /// The newest version that may be told.
    var newest: Publication? { self.publications.last { $0.isDurable } }

    /// The audience's first version, or its first channel, names its life. Whoever reads of a channel and of a version finds the same.
    mutating func beginLife(now: EngineTime) {
        guard self.life == 0 else { return }
        self.life = self.channels.life == 0 ? max(1, now.wallSeconds) : self.channels.life
    }
    mutating func ask(_ partition: Int32) {
        guard !self.asked.contains(partition) else { return }
        self.asked.append(partition)
        self.asked.sort()
    }
    /// Publications that nobody needs any more: their event has its outcome, and a newer one is there.
    mutating func dropDone() {
        while self.publications.count > 1, let first = self.publications.first, !first.isOpen,
            self.publications.dropFirst().contains(where: { $0.isDurable })
        {
            self.publications.removeFirst()
        }
    }
    /// A partition has told how far it is.
    mutating func note(report partition: Int32, doneStampSeconds: Int64, nowMillis: Int64) {
        guard self.asked.contains(partition) else { return }
        self.reported[partition] = max(self.reported[partition] ?? 0, doneStampSeconds)
        self.returnUnits(nowMillis: nowMillis)
    }
}

/// Versions that left with priority 10 in a rolling hour (fan-out contract: Audience budget). A unit comes back an hour after the last partition has
/// reported that nobody gets priority 10 by it any more.
struct VersionLedger: Equatable {
    /// Stamps of versions that are not reported yet, oldest first.
    private(set) var open: [Int64] = []
    /// When those reported were, steady, oldest first.
    private(set) var returning: [Int64] = []

    mutating func spent(nowMillis: Int64) -> Int {
        while let first = self.returning.first, first + RollingBudget.windowMillis <= nowMillis {
            self.returning.removeFirst()
        }
        return self.open.count + self.returning.count
    }
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
