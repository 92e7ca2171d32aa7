/// The former owners of a partition, as a restore finds them in markers and epochs of `state` (contract: One owner). An
/// owner is known to have worked if a record other than its first marker has its epoch.
struct FormerOwners {
    /// Maximum number of owners that are distinguished. Several owners may have died one after the other while the same
    /// slot had events. Each may have sent one push without a record, so each is counted.
    static var countMax: UInt8 { 64 }
    /// Maximum number of takeovers that are counted. Further takeovers do not raise the count.
    static var takeoversMax: Int64 { 600 }
    /// Maximum difference between the clocks of two owners at which stamps still grow from one owner to the next,
    /// milliseconds.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// Number of takeovers found, this owner's included. A former owner's marker may state how many takeovers that
    /// owner had found. The number here is then at least one more.
    private(set) var takeoversRead: Int64 = 0
    /// Offset of the newest first marker, except this owner's; -1: none.
    private(set) var newestTakeoverRead: Int64 = -1
    /// A time later than every former owner's takeover, unless that owner's clock was too far ahead (`stampBehind`).
    /// Milliseconds since 1970; 0: no former owner was found.
    private(set) var stampBaseMillis: Int64 = 0
    /// Epoch of the newest owner that is known to have worked. Records of an older epoch behind that owner's records
    /// are ignored.
    private(set) var newestEpochRead: Int64 = -1
    /// Offset of each first marker, and its owner's clock at takeover. Only the last ones are kept.
    private(set) var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When each owner that is known to have worked took over, by its own clock, oldest first. Only the last ones are
    /// kept.
    private(set) var wallMillis: [Int64] = []
    /// Whether the newest owner gave the partition back in good order. `state` then has everything that owners took or
    /// sent. The value is `false` again as soon as a record of a later owner is read, because that owner may have sent
    /// more.
    private(set) var hasReleased = false

    /// Whether another owner has written something.
    var isAny: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }
    /// Whether an owner may have sent a push that `state` does not know.
    var mayHavePushedUnrecorded: Bool { self.isAny && !self.hasReleased }

    /// Notes that the owner of this epoch has worked. Records of older owners that are read from now on are not
    /// believed. A first marker alone does not prove that an owner has worked. A worker may die after sending its
    /// marker, which may then be stored behind its successor's.
    /// - Returns: whether the owner differs from the last one found. If so, one more push of each slot may have been
    ///   sent.
    mutating func met(epoch: Int64) -> Bool {
        guard epoch > self.newestEpochRead else { return false }
        self.newestEpochRead = epoch
        self.hasReleased = false
        // Compaction may have removed the first marker. A later marker of the same owner has the time as well.
        let begun = self.takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        // An equal time means that the previous owner continues with another Kafka client. No two owners record the
        // same takeover time (`stampBaseMillis`).
        if begun != 0, begun == self.wallMillis.last { return false }
        if self.wallMillis.count >= Self.countMax { self.wallMillis.removeFirst() }
        self.wallMillis.append(begun)
        return true
    }
    /// Takes a marker that an owner wrote after its first one.
    /// - Parameter header: the marker's header; `nil`: it has none.
    /// - Returns: whether the owner differs from the last one found.
    mutating func met(epoch: Int64, takenOverWallMillis: Int64, header: StateHeader?) -> Bool {
        let isAnother = self.met(epoch: epoch)
        if case .takeovers(let count)? = header {
            self.takeoversRead = min(max(self.takeoversRead, count), Self.takeoversMax)
        }
        // A delayed marker of an owner whose successor has already begun says nothing about the successor.
        if header == .released, epoch == self.newestEpochRead, epoch >= self.newestTakeoverRead {
            self.hasReleased = true
        }
        if self.wallMillis.last == 0, epoch == self.newestEpochRead {
            self.wallMillis[self.wallMillis.count - 1] = takenOverWallMillis
        }
        return isAnother
    }
    /// Takes an owner's first marker.
    /// - Parameter isOwn: whether the marker is this owner's.
    mutating func metTakeover(at offset: Int64, takenOverWallMillis: Int64, isOwn: Bool) {
        self.takeoversRead = min(self.takeoversRead + 1, Self.takeoversMax)
        guard !isOwn else { return }
        if self.takeovers.count >= Self.countMax { self.takeovers.removeFirst() }
        self.takeovers.append((offset, takenOverWallMillis))
        self.newestTakeoverRead = offset
        self.hasReleased = false
    }
    /// Treats the newest owner found as one that left no release marker, because records of later owners may be lost.
    mutating func lostRecords() { self.hasReleased = false }
    /// Makes this owner's stamps begin after the stamps of a former owner. This fails only if the former owner's clock
    /// was ahead of this owner's by more than `clockDifferenceMillisMax`.
    /// - Parameter wallMillis: when this owner took over, by its own clock.
    mutating func stampBehind(takenOverWallMillis: Int64, wallMillis: Int64) {
        let after = min(takenOverWallMillis, wallMillis + Self.clockDifferenceMillisMax) + 1_000
        self.stampBaseMillis = max(self.stampBaseMillis, after)
    }
}
