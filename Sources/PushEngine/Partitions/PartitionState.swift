import PushModel

/// One owned partition, from assignment to leaving: its phase, what its restore has found, what is in its `state`, and
/// whether it may push.
///
/// It decides; the engine writes the markers, reads the logs and reports to the loop.
struct PartitionState {
    enum Phase {
        /// The place is free. To `awaitingMarker` when a partition that uses it is assigned.
        case gone
        /// The ownership marker has been handed to Kafka. To `restoring` when Kafka has it, to `released` when the
        /// partition leaves before. An inlet, which has no marker, goes to `running` at once.
        case awaitingMarker
        /// `state` is being read up to the marker. To `running` with the marker, to `released` when the partition leaves before.
        case restoring
        /// Records are taken and pushes may leave. To `releasing` when the partition leaves.
        case running
        /// No new records and no new pushes; answers are awaited. To `released` with the last answer, or when they are
        /// no longer awaited.
        case releasing
        /// What was left is written down. To `gone` when Kafka has it. A lost partition goes to `gone` from every
        /// phase.
        case released
    }
    /// Whether pushes may leave. If a worker pushed and died before its marker was there, late writes of a former owner
    /// would count in `state`.
    enum Pushing {
        /// The marker that says that this owner runs is on its way. To `held` when it is in `state`: what former owners
        /// wrote behind it is not believed.
        case unmarked
        /// Something has to be repaired or read first. To `open` when all of it is done (`opensForPushes`).
        case held
        /// Pushes leave, until the end.
        case open
    }
    /// What follows from Kafka's acknowledgement of a marker.
    enum MarkerEffect: Equatable {
        case nothing
        /// Another marker has to be written with what this one does not have.
        case writeMarker
        /// Another marker has to begin the epoch.
        case writeClaim
        /// An epoch has begun. The first marker alone does not end the epoch before: the marker of a worker that died
        /// over it may be written behind its successor's.
        case confirmEpoch
        /// Pushes may be able to leave now.
        case lookAtPushing
    }

    private(set) var number: Int32
    private(set) var phase = Phase.awaitingMarker
    private(set) var pushing = Pushing.unmarked
    /// Number of the assignment. Late acknowledgements of an earlier one change nothing.
    let generation: UInt32
    /// Wall clock at the assignment, milliseconds since 1970.
    private(set) var assignedWallMillis: Int64 = 0
    /// Since when the previous owner has sent nothing, as far as is known; steady.
    private(set) var formerOwnerQuietSinceMillis: Int64 = 0
    /// Offset of this owner's marker in `state`: its epoch (contract: One owner).
    private(set) var epoch: Int64 = -1
    /// The acknowledgement of the marker that begins this owner's next epoch; `nil`: no such marker is on its way.
    private(set) var claim: UInt64?
    /// Number of the last such marker, counted from 1.
    private(set) var claimNumber: UInt32 = 0
    /// When the marker is written again, steady.
    private(set) var markerDueMillis: Int64 = .max

    /// What the restore has found of earlier owners.
    private(set) var former = FormerOwners()
    /// Offset of the record that the restore reads.
    private(set) var readingOffset: Int64 = .max
    /// Keys under which the restore has found a record written by an owner after it had lost the partition. Compaction
    /// would keep only that record, so what is known of these keys is written again.
    private(set) var outdatedKeys: [[UInt8]] = []
    /// The largest number of keys that are kept.
    static var outdatedKeysMax: Int { 100_000 }
    /// How far `state` had been acknowledged when a person accepted its loss (`RecordHeader.acceptedEnd`); `nil`: the
    /// restore has found no such acceptance.
    private(set) var acceptedStateEnd: Int64?
    /// Whether the restore has found audiences of an app that is not configured here. Members of an unnamed audience
    /// may be theirs.
    private(set) var hasCrowdsOfOtherApps = false
    /// Which positions in `state` are of other logs.
    private(set) var voids = VoidPositions()

    /// The offset that the next record of this owner must get in `state`; -1: not known.
    private(set) var nextStateOffset: Int64 = -1
    /// The offset below acknowledged ones at which Kafka has taken a record of this owner; -1: none.
    private(set) var wentBackTo: Int64 = -1
    /// Stretches of `state` that others wrote, to be read by the loop.
    private(set) var gaps: [Range<Int64>] = []
    /// Number of gaps of one partition that wait to be read. More gaps are read as one long stretch.
    static var gapsMax: Int { 16 }
    /// Whether the loop reads a gap.
    private(set) var isUnderRepair = false

    /// When pushes no longer wait for the backlog of the assignment to be read, steady; `nil`: it has been, or need not
    /// be.
    private(set) var catchUpEndsMillis: Int64?
    /// Why nothing more is read of the partition: it holds something that this release cannot take.
    private(set) var stopReason: String?
    /// The ledger's log of each input topic, by index.
    private(set) var logs: [LogID] = []
    /// The end of each input topic's log as seen at assignment, by index. Records below it may be replays.
    private(set) var replayEnds: [Int64] = []
    private(set) var inFlightCount = 0
    /// Number of records handed to Kafka that it has not acknowledged.
    private(set) var unacknowledged = 0

    /// Creates a partition that waits for its marker.
    /// - Parameter epoch: for an owner that has an epoch already.
    init(number: Int32, generation: UInt32, epoch: Int64 = -1) {
        self.number = number
        self.generation = generation
        self.epoch = epoch
    }

    /// Whether the phase lets pushes leave.
    @inline(__always) var sends: Bool { self.phase == .running }
    /// Whether `state` lets pushes leave.
    @inline(__always) var mayPush: Bool { self.pushing == .open }

    // MARK: Coming and leaving

    /// Begins the assignment. The marker has to be written.
    mutating func assigned(wallMillis: Int64, formerOwnerQuietSinceMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.formerOwnerQuietSinceMillis = formerOwnerQuietSinceMillis
    }
    /// Opens an inlet: it has no `state`, and records may be consumed at once.
    mutating func inletOpened(logs: [LogID], wallMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.begin(logs: logs, replayEnds: logs.map { _ in 0 })
    }
    /// Ends the restore, which has reached the marker. Records may be consumed.
    mutating func restored(logs: [LogID], replayEnds: [Int64], isOfNewLog: Bool) {
        self.begin(logs: logs, replayEnds: replayEnds)
        self.voids.settle(isOfNewLog: isOfNewLog, epoch: self.epoch)
    }
    private mutating func begin(logs: [LogID], replayEnds: [Int64]) {
        self.logs = logs
        self.replayEnds = replayEnds
        self.phase = .running
    }
    /// Notes that the partition holds something that this release cannot take.
    /// - Returns: whether that is new.
    mutating func stopped(_ reason: String) -> Bool {
        guard self.stopReason == nil else { return false }
        self.stopReason = reason
        return true
    }
    /// Begins the release. A partition that never ran has nothing to write down: what was read so far may be older than
    /// what `state` holds.
    mutating func beginRelease() { self.phase = self.phase == .running ? .releasing : .released }
    /// Ends the wait for answers: all have arrived, or are no longer awaited.
    /// - Returns: whether what is left has to be written down.
    mutating func finishRelease() -> Bool {
        guard self.phase == .releasing else { return false }
        self.phase = .released
        return true
    }
    /// Ends the partition, which has left or is lost. Its counts stay readable until its place is used again.
    mutating func left() {
        self.phase = .gone
        self.number = -1
        self.logs = []
        self.gaps = []
        self.outdatedKeys = []
    }

    // MARK: Markers

    /// Notes that a marker was handed to Kafka, and when the next is due, steady.
    mutating func markerWritten(nextDueMillis: Int64) { self.markerDueMillis = nextDueMillis }
    /// Begins a claim: a marker is about to be written that begins another epoch of this owner. Records that Kafka has
    /// not acknowledged by then belong to the epoch that ends.
    mutating func claimBegins() { self.claimNumber &+= 1 }
    /// Notes the acknowledgement that the claim's marker was handed to Kafka with.
    mutating func claimWritten(_ acknowledgement: UInt64) { self.claim = acknowledgement }
    /// Takes Kafka's acknowledgement of a marker.
    /// - Parameters:
    ///   - claimNumber: number of the claim; 0: none.
    ///   - offset: its offset; negative: not known, as after a batch that was sent twice.
    mutating func markerAcknowledged(claimNumber: UInt32, offset: Int64) -> MarkerEffect {
        if self.claim != nil {
            // Any other marker belongs to the epoch that ends.
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
            // Later markers of the same owner change nothing.
            self.pushing = .held
        } else {
            return .nothing
        }
        if self.phase == .awaitingMarker { self.phase = .restoring }
        return self.pushing == .held ? .lookAtPushing : .nothing
    }

    // MARK: Restoring

    /// Notes the offset of the record of `state` that the restore reads.
    @inline(__always) mutating func reads(at offset: Int64) { self.readingOffset = offset }
    /// Notes that an owner of this epoch has run.
    mutating func met(epoch: Int64) -> FormerOwners.News { self.former.met(epoch: epoch) }
    /// Takes note of a marker.
    /// - Parameters:
    ///   - takeovers: the value of its header `RecordHeader.takeovers`, or `RecordHeader.acceptedEnd` of a first
    ///     marker; `nil` without one.
    ///   - offset: the marker's offset in `state`.
    mutating func met(_ marker: borrowing MarkerRecord, takeovers: Int64?, at offset: Int64) -> FormerOwners.News {
        var news = FormerOwners.News()
        if marker.epoch >= offset {
            // The marker belongs to another log.
        } else if marker.epoch >= 0 {
            news = self.former.met(
                epoch: marker.epoch, takenOverWallMillis: marker.takenOverWallMillis, takeovers: takeovers)
        } else if let acceptedEnd = takeovers {
            // The marker claims nothing: a person has accepted that `state` is lost.
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
    /// Notes which positions mean something here. The marker's cluster decides that, and what the marker calls void.
    /// - Parameter clusterID: Kafka's name of this cluster; empty: not known.
    mutating func notePositions(of marker: borrowing MarkerRecord, at offset: Int64, clusterID: [UInt8]) {
        // A marker without a name, or a worker without one, cannot be compared.
        guard !marker.clusterID.isEmpty, !clusterID.isEmpty, marker.clusterID != clusterID else {
            return self.voids.note(marker, at: offset)
        }
        self.voids.begin(.cluster(String(decoding: marker.clusterID, as: UTF8.self)), at: offset)
    }
    /// Notes a record that an owner wrote after it had lost the partition.
    mutating func metOutdated(_ key: Span<UInt8>) {
        guard self.outdatedKeys.count < Self.outdatedKeysMax else { return }
        var copy: [UInt8] = []
        copy.append(copying: key)
        self.outdatedKeys.append(copy)
    }
    /// Takes the keys of such records. What is known of them is written again.
    mutating func takeOutdatedKeys() -> [[UInt8]] {
        defer { self.outdatedKeys = [] }
        return self.outdatedKeys
    }
    /// Notes an audience of an app that is not configured here.
    mutating func metOtherApp() { self.hasCrowdsOfOtherApps = true }

    // MARK: Pushing

    /// Lets pushes wait until this time, steady. What an earlier owner may have read has not been read again.
    mutating func beginCatchUp(endsMillis: Int64) { self.catchUpEndsMillis = endsMillis }
    /// Ends that wait: the backlog has been read, or is no longer waited for.
    mutating func caughtUp() { self.catchUpEndsMillis = nil }
    /// Lets pushes leave from now on if nothing prevents it. The marker must be in `state`, earlier foreign records
    /// repaired, and the backlog of the assignment read.
    /// - Returns: whether pushes may leave now and could not before.
    mutating func opensForPushes() -> Bool {
        guard self.phase == .running, self.pushing == .held, self.gaps.isEmpty, !self.isUnderRepair,
            self.catchUpEndsMillis == nil
        else { return false }
        self.pushing = .open
        return true
    }
    /// Notes that a request leaves. `ShardMemory.requestLeft` counts it everywhere.
    @inline(__always) mutating func requestLeft() { self.inFlightCount += 1 }
    /// Notes that a request has its answer.
    @inline(__always) mutating func requestAnswered() { self.inFlightCount -= 1 }

    // MARK: Records

    /// Notes that a record is handed to Kafka.
    @inline(__always) mutating func recordLeft() { self.unacknowledged += 1 }
    /// Notes that Kafka has a record.
    @inline(__always) mutating func recordAcknowledged() { self.unacknowledged -= 1 }
    /// Whether a record of this owner follows its previous one in `state`, as nearly all do. Others are noted by
    /// `noteStateOffset`.
    @inline(__always) mutating func noteFollowing(_ offset: Int64) -> Bool {
        guard offset != self.nextStateOffset || offset < 0 else {
            self.nextStateOffset = offset + 1
            return true
        }
        return false
    }
    /// Notes that Kafka has a record of this owner at `offset`. Negative: the record was given up, and no offset is
    /// known.
    mutating func noteStateOffset(_ offset: Int64) -> StateOffsetNote {
        guard offset >= 0 else { return .inOrder }
        let next = self.nextStateOffset
        // All records of this owner are behind its marker. A lower offset is of another log, or of one that has lost
        // its end.
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
    /// Takes the next gap to be repaired: one at a time, none before the partition runs.
    mutating func takeGap() -> Range<Int64>? {
        guard self.phase == .running, !self.gaps.isEmpty, !self.isUnderRepair else { return nil }
        self.isUnderRepair = true
        return self.gaps.removeFirst()
    }
    /// Notes that the whole gap taken last has been repaired.
    mutating func gapRepaired() { self.isUnderRepair = false }
}

/// What an acknowledged offset of a partition's `state` says.
enum StateOffsetNote {
    /// Nothing: the record follows the previous one, or the offset belongs to another record.
    case inOrder
    /// Others wrote between this record and the previous one.
    case gap
    /// The record is below what this owner had written: the log is another one, or has lost its end.
    case wentBack
}
