/// Who has owned a partition before, as a restore of its `state` tells by markers and epochs (contract: One owner).
struct FormerOwners {
    /// What meeting an owner changes about what was read before it.
    struct News: Equatable {
        /// It may have sent what those before it handed over in order.
        var doubtsHandOvers = false
        /// It is another than the one met last: it may have sent once more of each slot.
        var isAnother = false
    }
    /// Owners that are told apart. When they have died one after the other over the same slot, one push of each may have gone unrecorded, and is counted.
    static var countMax: UInt8 { 64 }
    /// More owners than this, one after the other within the compaction lag, are not told apart.
    static var takeoversMax: Int64 { 600 }
    /// How much the clocks of two owners may differ and stamps still grow from the one to the other.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// Owners whose first marker was met, this one included; at least one more than the owner before has counted, if it says so.
    private(set) var takeoversRead: Int64 = 0
    /// Offset of the newest first marker, this owner's not counted; -1: none.
    private(set) var newestTakeoverRead: Int64 = -1
    /// Later than the takeover of every owner, milliseconds since 1970.
    private(set) var stampBaseMillis: Int64 = 0
    /// The newest owner that was met at work; records of an older epoch behind that are ignored.
    private(set) var newestEpochRead: Int64 = -1
    /// First markers: their offsets, and their owners' clocks when they took over. The last of many.
    private(set) var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When the owners that were met at work took over, by their clocks, oldest first. The last of many.
    private(set) var wallMillis: [Int64] = []

    /// Another owner has written something.
    var isAny: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }

    /// An owner of this epoch has run: what older ones wrote behind this is not believed. Its first marker alone does not say so: that of
    /// a worker that died over it may come to lie behind its successor's.
    mutating func met(epoch: Int64) -> News {
        guard epoch > self.newestEpochRead else { return News() }
        self.newestEpochRead = epoch
        // Compaction may have taken the first marker; a later one of the same owner tells the time as well.
        let begun = self.takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        // The owner before goes on, with another Kafka client: no two take over at one moment by what they write (`stampBaseMillis`).
        if begun != 0, begun == self.wallMillis.last { return News(doubtsHandOvers: true) }
        if self.wallMillis.count >= Self.countMax { self.wallMillis.removeFirst() }
        self.wallMillis.append(begun)
        return News(doubtsHandOvers: true, isAnother: true)
    }
    /// A later marker of an owner that was at work.
    /// - Parameter takeovers: how many it has counted; `nil`: it does not say.
    mutating func met(epoch: Int64, takenOverWallMillis: Int64, takeovers: Int64?) -> News {
        let news = self.met(epoch: epoch)
        if let takeovers { self.takeoversRead = min(max(self.takeoversRead, takeovers), Self.takeoversMax) }
        if self.wallMillis.last == 0, epoch == self.newestEpochRead {
            self.wallMillis[self.wallMillis.count - 1] = takenOverWallMillis
        }
        return news
    }
    /// An owner's first marker.
    /// - Parameter isOwn: it is that of the owner who reads.
    mutating func metTakeover(at offset: Int64, takenOverWallMillis: Int64, isOwn: Bool) -> News {
        self.takeoversRead = min(self.takeoversRead + 1, Self.takeoversMax)
        guard !isOwn else { return News() }
        if self.takeovers.count >= Self.countMax { self.takeovers.removeFirst() }
        self.takeovers.append((offset, takenOverWallMillis))
        self.newestTakeoverRead = offset
        return News(doubtsHandOvers: true)
    }
    /// Stamps begin later than every owner before, however their clocks went, unless one was wrong by more than may be mended.
    /// - Parameter wallMillis: when this owner took over, by its own clock.
    mutating func stampBehind(takenOverWallMillis: Int64, wallMillis: Int64) {
        let after = min(takenOverWallMillis, wallMillis + Self.clockDifferenceMillisMax) + 1_000
        self.stampBaseMillis = max(self.stampBaseMillis, after)
    }
}
