import PushModel

/// One owned partition, from assignment to leaving: where it stands, what its restore has met, what lies in its `state`, and whether it may push.
///
/// It decides; the engine writes the markers, reads the logs and tells the loop.
struct PartitionState {
    enum Phase {
        /// The place is free. To `awaitingMarker` when a partition comes that uses it.
        case gone
        /// The ownership marker has been handed to Kafka. To `restoring` when Kafka has it, to `released` when the partition leaves before; an inlet,
        /// which has no marker, goes to `running` at once.
        case awaitingMarker
        /// `state` is being read up to the marker. To `running` with the marker, to `released` when the partition leaves before.
        case restoring
        /// To `releasing` when the partition leaves.
        case running
        /// No new records and no new pushes; answers are awaited. To `released` with the last of them, or when they are not waited for.
        case releasing
        /// What was left is written down. To `gone` when Kafka has it. A partition that is lost goes there from everywhere.
        case released
    }
    /// Whether pushes may leave. A worker that died over one before would leave `state` to what a former owner wrote late.
    enum Pushing {
        /// The marker that says this owner runs is on its way. To `held` when it lies in `state`: what former owners wrote behind it is not believed.
        case unmarked
        /// Something is to be repaired, or to be read first. To `open` with the last of it (`opensForPushes`).
        case held
        /// Pushes leave. It stays so.
        case open
    }
    /// What Kafka's having a marker leads to.
    enum MarkerEffect: Equatable {
        case nothing
        /// Another marker tells what this one does not.
        case writeMarker
        /// Another one is to begin the epoch.
        case writeClaim
        /// An epoch has begun. The first marker alone does not end the one before: that of a worker that died over it may come to lie behind its successor's.
        case confirmEpoch
        /// Pushes may perhaps leave.
        case lookAtPushing
    }

    private(set) var number: Int32
    private(set) var phase = Phase.awaitingMarker
    private(set) var pushing = Pushing.unmarked
    /// Differs from assignment to assignment: late acknowledgements of an earlier one change nothing.
    let generation: UInt32
    /// Wall clock when the partition came, milliseconds since 1970.
    private(set) var assignedWallMillis: Int64 = 0
    /// Since when the owner before has sent nothing, as far as is known; steady.
    private(set) var formerOwnerQuietSinceMillis: Int64 = 0
    /// Offset of this owner's marker in `state`: its epoch (contract: One owner).
    private(set) var epoch: Int64 = -1
    /// The acknowledgement of the marker that is to begin this owner's next epoch; `nil`: none is under way.
    private(set) var claim: UInt64?
    /// The number of the last such marker, counted from 1.
    private(set) var claimNumber: UInt32 = 0
    /// When the marker is written again, steady.
    private(set) var markerDueMillis: Int64 = .max

    /// What the restore has met of owners before.
    private(set) var former = FormerOwners()
    /// Where the record lies that the restore reads.
    private(set) var readingOffset: Int64 = .max
    /// Keys under which the restore has met a record that an owner wrote after it had lost the partition. Compaction would keep that one alone: what is
    /// known of them is written again.
    private(set) var outdatedKeys: [[UInt8]] = []
    /// More are not kept.
    static var outdatedKeysMax: Int { 100_000 }
    /// How far `state` had been acknowledged when a person accepted its loss (`RecordHeader.acceptedEnd`); `nil`: the restore has met no such
    /// word.
    private(set) var acceptedStateEnd: Int64?
    /// The restore has met audiences of an app that is not configured here: members whose audience nobody names may be theirs.
    private(set) var hasCrowdsOfOtherApps = false
    /// Which positions that `state` knows are of other logs.
    private(set) var voids = VoidPositions()

    /// The offset that the next record of this owner must get in `state`; -1: not known.
    private(set) var nextStateOffset: Int64 = -1
    /// Kafka has taken a record of this owner below one that it had acknowledged: where; -1: none.
    private(set) var wentBackTo: Int64 = -1
    /// Stretches of `state` that others wrote, to be read by the loop.
    private(set) var gaps: [Range<Int64>] = []
    /// Gaps of one partition that wait to be read. More than these are read as one long stretch.
    static var gapsMax: Int { 16 }
    /// The loop reads one.
    private(set) var isUnderRepair = false

    /// Until then pushes wait for what lay in the log at assignment to be read, steady; `nil`: it has been, or need not be.
    private(set) var catchUpEndsMillis: Int64?
    /// It holds something that this release cannot take: nothing more is read of it. Why.
    private(set) var stopReason: String?
    /// Ledger log by input topic index.
    private(set) var logs: [LogID] = []
    /// Log end by input topic index, as seen at assignment: what lies below may be a replay.
    private(set) var replayEnds: [Int64] = []
    private(set) var inFlightCount = 0
    /// Records handed to Kafka that it has not acknowledged.
    private(set) var unacknowledged = 0

    /// - Parameter epoch: of an owner that has one already.
    init(number: Int32, generation: UInt32, epoch: Int64 = -1) {
        self.number = number
        self.generation = generation
        self.epoch = epoch
    }

    /// Pushes may leave as far as its phase goes.
    @inline(__always) var sends: Bool { self.phase == .running }
    /// Pushes may leave as far as `state` goes.
    @inline(__always) var mayPush: Bool { self.pushing == .open }

    // MARK: Coming and leaving

    /// It is assigned; its marker is to be written.
    mutating func assigned(wallMillis: Int64, formerOwnerQuietSinceMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.formerOwnerQuietSinceMillis = formerOwnerQuietSinceMillis
    }
    /// It is an inlet: it has no `state`, and records may be consumed at once.
    mutating func inletOpened(logs: [LogID], wallMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.begin(logs: logs, replayEnds: logs.map { _ in 0 })
    }
    /// The restore has reached the marker; records may be consumed.
    mutating func restored(logs: [LogID], replayEnds: [Int64], isOfNewLog: Bool) {
        self.begin(logs: logs, replayEnds: replayEnds)
        self.voids.settle(isOfNewLog: isOfNewLog, epoch: self.epoch)
    }
    private mutating func begin(logs: [LogID], replayEnds: [Int64]) {
        self.logs = logs
        self.replayEnds = replayEnds
        self.phase = .running
    }
    /// It holds something that this release cannot take.
    /// - Returns: whether that is new.
    mutating func stopped(_ reason: String) -> Bool {
        guard self.stopReason == nil else { return false }
        self.stopReason = reason
        return true
    }
    /// It leaves. One that never ran has nothing to write down: what was read of it so far may be older than what `state` holds.
    mutating func beginRelease() { self.phase = self.phase == .running ? .releasing : .released }
    /// Its answers are in, or are not waited for.
    /// - Returns: whether what is left is to be written down.
    mutating func finishRelease() -> Bool {
        guard self.phase == .releasing else { return false }
        self.phase = .released
        return true
    }
    /// It has left, or is lost. What was counted for it stays readable until its place is used again.
    mutating func left() {
        self.phase = .gone
        self.number = -1
        self.logs = []
        self.gaps = []
        self.outdatedKeys = []
    }

    // MARK: Markers

    /// A marker was handed to Kafka; the next is due then, steady.
    mutating func markerWritten(nextDueMillis: Int64) { self.markerDueMillis = nextDueMillis }
    /// A marker is about to be written that begins another epoch of this owner. Records that Kafka has not acknowledged by then are of the one that ends.
    mutating func claimBegins() { self.claimNumber &+= 1 }
    /// It was handed to Kafka.
    mutating func claimWritten(_ acknowledgement: UInt64) { self.claim = acknowledgement }
    /// Kafka has a marker.
    /// - Parameters:
    ///   - claimNumber: which claim it was; 0: none.
    ///   - offset: its offset; negative: Kafka has it and does not say where, as after a batch that was sent twice.
    mutating func markerAcknowledged(claimNumber: UInt32, offset: Int64) -> MarkerEffect {
        if self.claim != nil {
            // Any other is of the epoch that ends.
            guard claimNumber == self.claimNumber else { return .nothing }
            guard offset >= 0 else { return .writeClaim }
            self.claim = nil
            self.epoch = offset
            return .confirmEpoch
        }
        if self.epoch < 0 {
            guard offset >= 0 else { return self.phase == .awaitingMarker ? .writeMarker : .nothing }
            self.epoch = offset
        } else if self.pushing == .unmarked {
            // Later ones of the same owner change nothing.
            self.pushing = .held
        } else {
            return .nothing
        }
        if self.phase == .awaitingMarker { self.phase = .restoring }
        return self.pushing == .held ? .lookAtPushing : .nothing
    }

    // MARK: Restoring

    /// The restore reads the record at this offset of `state`.
    @inline(__always) mutating func reads(at offset: Int64) { self.readingOffset = offset }
    /// An owner of this epoch has run.
    mutating func met(epoch: Int64) -> FormerOwners.News { self.former.met(epoch: epoch) }
    /// A marker.
    /// - Parameters:
    ///   - takeovers: what its header `RecordHeader.takeovers` says, or, of a first marker, `RecordHeader.acceptedEnd`; `nil` without one.
    ///   - offset: where it lies in `state`.
    mutating func met(_ marker: borrowing MarkerRecord, takeovers: Int64?, at offset: Int64) -> FormerOwners.News {
        var news = FormerOwners.News()
        if marker.epoch >= offset {
            // The marker is of another log.
        } else if marker.epoch >= 0 {
            news = self.former.met(
                epoch: marker.epoch, takenOverWallMillis: marker.takenOverWallMillis, takeovers: takeovers)
        } else if let acceptedEnd = takeovers {
            // Nobody's claim: a person has accepted that `state` is lost.
            self.acceptedStateEnd = acceptedEnd
            self.voids.begin(.accepted, at: offset)
        } else {
            news = self.former.metTakeover(
                at: offset, takenOverWallMillis: marker.takenOverWallMillis, isOwn: offset >= self.epoch)
        }
        if offset < self.epoch {
            self.former.stampBehind(
                takenOverWallMillis: marker.takenOverWallMillis, wallMillis: self.assignedWallMillis)
        }
        return news
    }
    /// A marker says by its cluster, and by what it calls void, which positions mean something here.
    /// - Parameter clusterID: Kafka's name of this cluster; empty: not known.
    mutating func notePositions(of marker: borrowing MarkerRecord, at offset: Int64, clusterID: [UInt8]) {
        // One without a name knows nothing about the other.
        guard !marker.clusterID.isEmpty, !clusterID.isEmpty, marker.clusterID != clusterID else {
            return self.voids.note(marker, at: offset)
        }
        self.voids.begin(.cluster(String(decoding: marker.clusterID, as: UTF8.self)), at: offset)
    }
    /// A record was met that an owner wrote after it had lost the partition.
    mutating func metOutdated(_ key: Span<UInt8>) {
        guard self.outdatedKeys.count < Self.outdatedKeysMax else { return }
        var copy: [UInt8] = []
        copy.append(copying: key)
        self.outdatedKeys.append(copy)
    }
    /// What is known of these keys is written again.
    mutating func takeOutdatedKeys() -> [[UInt8]] {
        defer { self.outdatedKeys = [] }
        return self.outdatedKeys
    }
    /// An audience of an app that is not configured here.
    mutating func metOtherApp() { self.hasCrowdsOfOtherApps = true }

    // MARK: Pushing

    /// What an owner before may have read has not been read again: pushes wait until then, steady.
    mutating func beginCatchUp(endsMillis: Int64) { self.catchUpEndsMillis = endsMillis }
    /// It has been read, or is not waited for.
    mutating func caughtUp() { self.catchUpEndsMillis = nil }
    /// Pushes leave from here on if nothing keeps them. The marker has to lie in `state`, what others wrote before it to be repaired, and what lay in the log to be read.
    /// - Returns: whether they did not before, and do now.
    mutating func opensForPushes() -> Bool {
        guard self.phase == .running, self.pushing == .held, self.gaps.isEmpty, !self.isUnderRepair,
            self.catchUpEndsMillis == nil
        else { return false }
        self.pushing = .open
        return true
    }
    /// A request leaves: `ShardMemory.requestLeft` counts it everywhere.
    @inline(__always) mutating func requestLeft() { self.inFlightCount += 1 }
    /// A request has its answer.
    @inline(__always) mutating func requestAnswered() { self.inFlightCount -= 1 }

    // MARK: Records

    /// A record is handed to Kafka.
    @inline(__always) mutating func recordLeft() { self.unacknowledged += 1 }
    /// Kafka has it.
    @inline(__always) mutating func recordAcknowledged() { self.unacknowledged -= 1 }
    /// Whether a record of this owner's follows the one before in `state`, as nearly all do. Others are noted by `noteStateOffset`.
    @inline(__always) mutating func noteFollowing(_ offset: Int64) -> Bool {
        guard offset != self.nextStateOffset || offset < 0 else {
            self.nextStateOffset = offset + 1
            return true
        }
        return false
    }
    /// Kafka has a record of this owner's at `offset`; negative: it was given up, and no offset is known.
    mutating func noteStateOffset(_ offset: Int64) -> StateOffsetNote {
        guard offset >= 0 else { return .inOrder }
        let next = self.nextStateOffset
        // Everything of this owner's lies behind its marker. What lies lower is in another log, or in one that has lost its end.
        guard offset >= next else {
            guard self.epoch >= 0, offset <= self.epoch else { return .inOrder }
            if self.wentBackTo < 0 { self.wentBackTo = offset }
            return .wentBack
        }
        self.nextStateOffset = offset + 1
        guard next >= 0, offset > next else { return .inOrder }
        let gap = next..<offset
        if self.gaps.count < Self.gapsMax {
            self.gaps.append(gap)
        } else {
            let last = self.gaps.count - 1
            self.gaps[last] = self.gaps[last].lowerBound..<gap.upperBound
        }
        return .gap
    }
    /// The next stretch to be repaired, one at a time, none before the partition runs.
    mutating func takeGap() -> Range<Int64>? {
        guard self.phase == .running, !self.gaps.isEmpty, !self.isUnderRepair else { return nil }
        self.isUnderRepair = true
        return self.gaps.removeFirst()
    }
    /// The whole stretch that was taken last has been repaired.
    mutating func gapRepaired() { self.isUnderRepair = false }
}

/// What an acknowledged offset of a partition's `state` tells.
enum StateOffsetNote {
    /// Nothing: it follows the one before, or stands for another record.
    case inOrder
    /// Others wrote between it and the one before.
    case gap
    /// It lies below what this owner had written: the log is another one, or has lost its end.
    case wentBack
}
