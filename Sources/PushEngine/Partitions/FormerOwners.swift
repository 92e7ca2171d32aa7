/// The earlier owners of a partition, as a restore of its `state` learns from markers and epochs (contract: One owner).
struct FormerOwners {
    /// What the discovery of an owner changes about what was read before.
    struct News: Equatable {
        /// Whether it may have sent what earlier owners handed over in order.
        var doubtsHandOvers = false
        /// Whether it is another owner than the last one found. It may then have sent one more push of each slot.
        var isAnother = false
    }
    /// Number of owners that are told apart. If they died one after the other over the same slot, each may have sent
    /// one push unrecorded, which is counted.
    static var countMax: UInt8 { 64 }
    /// Number of owners that are told apart by their takeovers, one after the other within the compaction lag.
    static var takeoversMax: Int64 { 600 }
    /// How far the clocks of two owners may differ while stamps still grow from one to the next, milliseconds.
    static var clockDifferenceMillisMax: Int64 { 300_000 }

    /// Number of owners whose first marker was read, this one included. At least one more than the previous owner has
    /// counted, if its marker has its count.
    private(set) var takeoversRead: Int64 = 0
    /// Offset of the newest first marker, except this owner's; -1: none.
    private(set) var newestTakeoverRead: Int64 = -1
    /// A time later than the takeover of every owner, milliseconds since 1970.
    private(set) var stampBaseMillis: Int64 = 0
    /// Epoch of the newest owner found at work. Records of an older epoch behind it are ignored.
    private(set) var newestEpochRead: Int64 = -1
    /// Offset of each first marker, and its owner's clock at takeover. Only the last ones are kept.
    private(set) var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When the owners found at work took over, by their clocks, oldest first. Only the last ones are kept.
    private(set) var wallMillis: [Int64] = []

    /// Whether another owner has written something.
    var isAny: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }

    /// Notes that an owner of this epoch has run: what older owners wrote behind this is not believed. A first marker
    /// alone does not prove that. The marker of a worker that died over it may be written behind its successor's.
    mutating func met(epoch: Int64) -> News {
        guard epoch > self.newestEpochRead else { return News() }
        self.newestEpochRead = epoch
        // Compaction may have removed the first marker. A later marker of the same owner has the time as well.
        let begun = self.takeovers.last { $0.epoch == epoch }?.wallMillis ?? 0
        // The previous owner goes on with another Kafka client: no two owners record the same takeover time
        // (`stampBaseMillis`).
        if begun != 0, begun == self.wallMillis.last { return News(doubtsHandOvers: true) }
        if self.wallMillis.count >= Self.countMax { self.wallMillis.removeFirst() }
        self.wallMillis.append(begun)
        return News(doubtsHandOvers: true, isAnother: true)
    }
    /// Notes a later marker of an owner that was at work.
    /// - Parameter takeovers: the number it has counted; `nil`: the marker does not have it.
    mutating func met(epoch: Int64, takenOverWallMillis: Int64, takeovers: Int64?) -> News {
        let news = self.met(epoch: epoch)
        if let takeovers { self.takeoversRead = min(max(self.takeoversRead, takeovers), Self.takeoversMax) }
        if self.wallMillis.last == 0, epoch == self.newestEpochRead {
            self.wallMillis[self.wallMillis.count - 1] = takenOverWallMillis
        }
        return news
    }
    /// Notes an owner's first marker.
    /// - Parameter isOwn: whether it is that of the owner who reads.
    mutating func metTakeover(at offset: Int64, takenOverWallMillis: Int64, isOwn: Bool) -> News {
        self.takeoversRead = min(self.takeoversRead + 1, Self.takeoversMax)
        guard !isOwn else { return News() }
        if self.takeovers.count >= Self.countMax { self.takeovers.removeFirst() }
        self.takeovers.append((offset, takenOverWallMillis))
        self.newestTakeoverRead = offset
        return News(doubtsHandOvers: true)
    }
    /// Lets stamps begin later than every earlier owner's, whatever their clocks showed, unless one was wrong by more
    /// than can be mended.
    /// - Parameter wallMillis: when this owner took over, by its own clock.
    mutating func stampBehind(takenOverWallMillis: Int64, wallMillis: Int64) {
        let after = min(takenOverWallMillis, wallMillis + Self.clockDifferenceMillisMax) + 1_000
        self.stampBaseMillis = max(self.stampBaseMillis, after)
    }
}
