/// The former owners of a partition, as a restore finds them in markers and epochs of `state` (contract: One owner).
struct FormerOwners {
    /// What follows for records that the restore has already read, when it finds another owner.
    struct News: Equatable {
        /// Whether the owner may have sent events that earlier owners had handed over in good order.
        var doubtsHandOvers = false
        /// Whether the owner differs from the last one found. It may then have sent one more push of each slot.
        var isAnother = false
    }
    /// Maximum number of owners that are distinguished. Several owners may have died one after the other while the same
    /// slot had events. Each may have sent one push without a record, so each is counted.
    static var countMax: UInt8 { 64 }
    /// Maximum number of takeovers that are counted, if they follow each other within the compaction lag.
    static var takeoversMax: Int64 { 600 }
    /// Maximum difference between the clocks of two owners at which stamps still grow from one owner to the next,
    /// milliseconds.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// Number of owners whose first marker was read, this one included. If the previous owner's marker has a count, the
    /// number is at least one more.
    private(set) var takeoversRead: Int64 = 0
    /// Offset of the newest first marker, except this owner's; -1: none.
    private(set) var newestTakeoverRead: Int64 = -1
    /// A time later than every owner's takeover, milliseconds since 1970.
    private(set) var stampBaseMillis: Int64 = 0
    /// Epoch of the newest owner that was at work. Records of an older epoch behind its records are ignored.
    private(set) var newestEpochRead: Int64 = -1
    /// Offset of each first marker, and its owner's clock at takeover. Only the last ones are kept.
    private(set) var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When the owners that were at work took over, by their clocks, oldest first. Only the last ones are kept.
    private(set) var wallMillis: [Int64] = []

    /// Whether another owner has written something.
    var isAny: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }

    /// Counts an owner of this epoch as having been at work. Records that older owners wrote behind this one are not
    /// believed. A first marker alone does not prove that an owner was at work. A worker may die after sending its
    /// marker, which may then be stored behind its successor's.
    mutating func met(epoch: Int64) -> News {
        guard epoch > self.newestEpochRead else { return News() }
        self.newestEpochRead = epoch
        // Compaction may have removed the first marker. A later marker of the same owner has the time as well.
        let begun = self.takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        // The previous owner continues with another Kafka client: no two owners record the same takeover time
        // (`stampBaseMillis`).
        if begun != 0, begun == self.wallMillis.last { return News(doubtsHandOvers: true) }
        if self.wallMillis.count >= Self.countMax { self.wallMillis.removeFirst() }
        self.wallMillis.append(begun)
        return News(doubtsHandOvers: true, isAnother: true)
    }
    /// Takes a later marker of an owner that was at work.
    /// - Parameter takeovers: the number of takeovers that the owner has counted; `nil`: the marker does not have it.
    mutating func met(epoch: Int64, takenOverWallMillis: Int64, takeovers: Int64?) -> News {
        let news = self.met(epoch: epoch)
        if let takeovers { self.takeoversRead = min(max(self.takeoversRead, takeovers), Self.takeoversMax) }
        if self.wallMillis.last == 0, epoch == self.newestEpochRead {
            self.wallMillis[self.wallMillis.count - 1] = takenOverWallMillis
        }
        return news
    }
    /// Takes an owner's first marker.
    /// - Parameter isOwn: whether the marker is this owner's.
    mutating func metTakeover(at offset: Int64, takenOverWallMillis: Int64, isOwn: Bool) -> News {
        self.takeoversRead = min(self.takeoversRead + 1, Self.takeoversMax)
        guard !isOwn else { return News() }
        if self.takeovers.count >= Self.countMax { self.takeovers.removeFirst() }
        self.takeovers.append((offset, takenOverWallMillis))
        self.newestTakeoverRead = offset
        return News(doubtsHandOvers: true)
    }
    /// Makes stamps begin later than every earlier owner's, no matter what their clocks showed. This fails only if a
    /// clock was wrong by more than can be repaired.
    /// - Parameter wallMillis: when this owner took over, by its own clock.
    mutating func stampBehind(takenOverWallMillis: Int64, wallMillis: Int64) {
        let after = min(takenOverWallMillis, wallMillis + Self.clockDifferenceMillisMax) + 1_000
        self.stampBaseMillis = max(self.stampBaseMillis, after)
    }
}
