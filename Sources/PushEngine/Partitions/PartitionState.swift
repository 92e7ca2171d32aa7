import PushModel

/// One owned partition, from assignment to leaving: its phase, what its restore has found, what is in its `state`, and
/// whether it may push.
///
/// The type only decides; the engine writes the markers, reads the logs and reports to the loop.
struct PartitionState {
    enum Phase {
        /// The element of the table is free. Becomes `awaitingMarker` when the element is used for a partition that is
        /// assigned.
        case gone
        /// The ownership marker has been handed to Kafka. Becomes `restoring` when Kafka has it, or `released` if the
        /// partition leaves before. An inlet, which has no marker, goes to `running` at once.
        case awaitingMarker
        /// `state` is being read up to the marker. Becomes `running` when the marker is reached, or `released` if the
        /// partition leaves before.
        case restoring
        /// Records are taken and pushes may leave. Becomes `releasing` when the partition leaves.
        case running
        /// Nothing new is taken or pushed, and answers are awaited. Becomes `released` with the last answer, or when
        /// answers are no longer awaited.
        case releasing
        /// The partition's last records have been handed to Kafka, except for the release marker, which follows when
        /// Kafka has the others. Becomes `gone` when Kafka has all of them. A lost partition goes to `gone` from every
        /// phase.
        case released
    }
    /// Whether pushes may leave. They wait for a marker. If a worker pushed and died before its marker was in `state`,
    /// delayed writes of a former owner would be believed.
    enum Pushing {
        /// The second marker, by which this owner says that it runs, is not in `state` yet. Becomes `held` when it is.
        /// Records that former owners write behind that marker are not believed.
        case unmarked
        /// Something still has to be repaired or read. Becomes `open` when all of it is done (`opensForPushes`).
        case held
        /// Pushes may leave, until the partition leaves.
        case open
    }
    /// What follows from Kafka's acknowledgement of a marker.
    enum MarkerEffect: Equatable {
        case nothing
        /// Another marker has to be written, because the offset of this one is not known.
        case writeMarker
        /// Another marker has to be written to begin the epoch.
        case writeClaim
        /// An epoch has begun, and another marker has to confirm it. A first marker alone does not end the previous
        /// epoch. A worker may die after sending its marker, which may then be stored behind its successor's.
        case confirmEpoch
        /// The check whether pushes may leave has to be made again.
        case lookAtPushing
    }

    private(set) var number: Int32
    private(set) var phase = Phase.awaitingMarker
    private(set) var pushing = Pushing.unmarked
    /// Number of the assignment. Overdue acknowledgements of an earlier assignment change nothing.
    let generation: UInt32
    /// Wall clock at the assignment, milliseconds since 1970.
    private(set) var assignedWallMillis: Int64 = 0
    /// Time since which the previous owner has sent nothing, as far as is known (steady clock).
    private(set) var formerOwnerQuietSinceMillis: Int64 = 0
    /// This owner's epoch: the offset of the marker that began it (contract: One owner). -1: none yet.
    private(set) var epoch: Int64 = -1
    /// The acknowledgement of the marker that begins this owner's next epoch; `nil`: no such marker is on its way.
    private(set) var claim: UInt64?
    /// Number of the last marker that began, or will begin, an epoch, counted from 1.
    private(set) var claimNumber: UInt32 = 0
    /// When the marker is written again (steady clock); `Int64.max`: never.
    private(set) var markerDueMillis: Int64 = .max

    /// What the restore has found of earlier owners.
    private(set) var former = FormerOwners()
    /// Offset of the record that the restore is reading.
    private(set) var readingOffset: Int64 = .max
    /// Keys for which the restore has found a record that does not count, usually because its writer had already lost
    /// the partition. Compaction would keep only that record, so what is known of these keys is written again.
    private(set) var outdatedKeys: [[UInt8]] = []
    /// Maximum number of outdated keys that are kept. Further ones are not written again.
    static var outdatedKeysMax: Int { 100_000 }
    /// How far `state` had been acknowledged when a person accepted its loss (`RecordHeader.acceptedEnd`); `nil`: the
    /// restore has found no such acceptance.
    private(set) var acceptedStateEnd: Int64?
    /// Whether the restore has found audiences of an app that is not configured here. If so, members whose audience's
    /// name is not known are kept, because they may belong to that app.
    private(set) var hasCrowdsOfOtherApps = false
    /// Which positions in `state` belong to other logs.
    private(set) var voids = VoidPositions()

    /// The offset in `state` that the next record of this owner gets if nobody else writes; -1: not known.
    private(set) var nextStateOffset: Int64 = -1
    /// An offset at which Kafka stored a record of this owner after it had acknowledged records at higher offsets; -1:
    /// none.
    private(set) var wentBackTo: Int64 = -1
    /// Stretches of `state` that others wrote, to be read by the loop.
    private(set) var gaps: [Range<Int64>] = []
    /// Maximum number of gaps of one partition that wait to be read. If there are more, the last gap is extended to
    /// include them.
    static var gapsMax: Int { 16 }
    /// Whether the loop is reading a gap.
    private(set) var isUnderRepair = false

    /// When pushes stop waiting for the backlog of the assignment (steady clock); `nil`: the backlog has been read, or
    /// need not be.
    private(set) var catchUpEndsMillis: Int64?
    /// Why nothing more is read of the partition, in words; `nil`: it is read. The partition holds something that this
    /// release cannot process, or Kafka refuses a record for good.
    private(set) var stopReason: String?
    /// The ledger's log of each input topic, by index.
    private(set) var logs: [LogID] = []
    /// The end of each input topic's log as seen at assignment, by index. Records below it may be replays.
    private(set) var replayEnds: [Int64] = []
    /// Whether the release marker still has to be written.
    private var owesReleaseMarker = false
    private(set) var inFlightCount = 0
    /// Number of records handed to Kafka and not acknowledged.
    private(set) var unacknowledged = 0

    /// Creates a partition that waits for its marker.
    /// - Parameter epoch: the owner's epoch, if it has one already.
    init(number: Int32, generation: UInt32, epoch: Int64 = -1) {
        self.number = number
        self.generation = generation
        self.epoch = epoch
    }

    /// Whether the phase lets pushes leave.
    @inline(__always) var sends: Bool { self.phase == .running }
    /// Whether pushes may leave as far as `state` and the backlog are concerned.
    @inline(__always) var mayPush: Bool { self.pushing == .open }

    // MARK: Assignment and release

    /// Begins the assignment. The marker has to be written.
    mutating func assigned(wallMillis: Int64, formerOwnerQuietSinceMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.formerOwnerQuietSinceMillis = formerOwnerQuietSinceMillis
    }
    /// Opens an inlet (`ShardEngine.inletAssigned`). It has no `state`, and records may be consumed at once.
    mutating func inletOpened(logs: [LogID], wallMillis: Int64) {
        self.assignedWallMillis = wallMillis
        self.begin(logs: logs, replayEnds: logs.map { _ in 0 })
    }
    /// Ends the restore, which has reached the marker. Records may be consumed from here on.
    mutating func restored(logs: [LogID], replayEnds: [Int64], isOfNewLog: Bool) {
        self.begin(logs: logs, replayEnds: replayEnds)
        self.voids.settle(isOfNewLog: isOfNewLog, epoch: self.epoch)
    }
    private mutating func begin(logs: [LogID], replayEnds: [Int64]) {
        self.logs = logs
        self.replayEnds = replayEnds
        self.phase = .running
    }
    /// Stops reading the partition, until a person has looked at it.
    /// - Returns: whether the partition was not stopped before.
    mutating func stopped(_ reason: String) -> Bool {
        guard self.stopReason == nil else { return false }
        self.stopReason = reason
        return true
    }
    /// Begins the release. A partition that never ran writes nothing down, because what was read so far may be older
    /// than what `state` has.
    mutating func beginRelease() { self.phase = self.phase == .running ? .releasing : .released }
    /// Ends the wait for answers: all have arrived, or are no longer awaited.
    /// - Returns: whether what is left has to be written down.
    mutating func finishRelease() -> Bool {
        guard self.phase == .releasing else { return false }
        self.phase = .released
        self.owesReleaseMarker = self.epoch >= 0
        return true
    }
    /// Whether the release marker has to be written now. Only one call returns `true`. An inlet has no markers.
    mutating func takeReleaseMarker() -> Bool {
        defer { self.owesReleaseMarker = false }
        return self.owesReleaseMarker
    }
    /// Ends the partition, which has left or is lost. Its counts remain readable until its index is used again.
    mutating func left() {
        self.phase = .gone
        self.number = -1
        self.logs = []
        self.gaps = []
        self.outdatedKeys = []
    }

    // MARK: Markers

    /// Sets when the next marker is due, because one was handed to Kafka.
    mutating func markerWritten(nextDueMillis: Int64) { self.markerDueMillis = nextDueMillis }
    /// Begins a claim: a marker is about to be written that begins another epoch of this owner. Records that Kafka has
    /// not acknowledged by then belong to the old epoch.
    mutating func claimBegins() { self.claimNumber &+= 1 }
    /// Sets the number of the acknowledgement of the claim's marker.
    mutating func claimWritten(_ acknowledgement: UInt64) { self.claim = acknowledgement }
    /// Takes Kafka's acknowledgement of a marker.
    /// - Parameters:
    ///   - claimNumber: number of the claim; 0: the marker is not a claim.
    ///   - offset: the marker's offset; negative: not known, as after a batch that was sent twice.
    mutating func markerAcknowledged(claimNumber: UInt32, offset: Int64) -> MarkerEffect {
        if self.claim != nil {
            // Any other marker belongs to the old epoch.
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
            // The owner's second marker is in `state`. Later markers change nothing.
            self.pushing = .held
        } else {
            return .nothing
        }
        if self.phase == .awaitingMarker { self.phase = .restoring }
        return self.pushing == .held ? .lookAtPushing : .nothing
    }

    // MARK: Restoring

    /// Sets the offset of the record of `state` that the restore reads.
    @inline(__always) mutating func reads(at offset: Int64) { self.readingOffset = offset }
    /// Notes that an owner of this epoch has worked.
    /// - Returns: whether the owner differs from the last one found.
    mutating func met(epoch: Int64) -> Bool { self.former.met(epoch: epoch) }
    /// Takes a marker that the restore has read.
    /// - Parameters:
    ///   - header: the marker's header; `nil`: it has none.
    ///   - offset: the marker's offset in `state`.
    /// - Returns: whether the marker shows that another owner than the last one found has worked.
    mutating func met(_ marker: borrowing MarkerRecord, header: StateHeader?, at offset: Int64) -> Bool {
        var isAnother = false
        if marker.epoch >= offset {
            // The marker belongs to another log.
        } else if marker.epoch >= 0 {
            isAnother = self.former.met(
                epoch: marker.epoch, takenOverWallMillis: marker.takenOverWallMillis, header: header)
        } else if case .acceptedEnd(let acceptedEnd)? = header {
            // The marker is not a claim: with it a person has accepted that `state` is lost.
            self.acceptedStateEnd = acceptedEnd
            self.former.lostRecords()
            self.voids.begin(.accepted, at: offset)
        } else {
            self.former.metTakeover(
                at: offset, takenOverWallMillis: marker.takenOverWallMillis, isOwn: offset >= self.epoch)
        }
        if offset < self.epoch {
            self.former.stampBehind(
                takenOverWallMillis: marker.takenOverWallMillis, wallMillis: self.assignedWallMillis)
        }
        return isAnother
    }
    /// Decides which positions in `state` have a meaning here, by the marker's cluster and by what the marker calls
    /// void.
    /// - Parameter clusterID: Kafka's name of this cluster; empty: not known.
    mutating func takePositions(of marker: borrowing MarkerRecord, at offset: Int64, clusterID: [UInt8]) {
        // Without both names, the clusters cannot be compared.
        guard !marker.clusterID.isEmpty, !clusterID.isEmpty, marker.clusterID != clusterID else {
            return self.voids.take(marker, at: offset)
        }
        self.voids.begin(.cluster(String(decoding: marker.clusterID, as: UTF8.self)), at: offset)
    }
    /// Remembers a forwarded event that was taken although its first position may be of another log.
    mutating func took(_ copy: ForwardedCopy) { self.voids.took(copy) }
    /// Remembers the key of a record that does not count: see `outdatedKeys`.
    mutating func metOutdated(_ key: Span<UInt8>) {
        guard self.outdatedKeys.count < Self.outdatedKeysMax else { return }
        var copy: [UInt8] = []
        copy.append(copying: key)
        self.outdatedKeys.append(copy)
    }
    /// Takes out the outdated keys, so that what is known of them can be written again.
    mutating func takeOutdatedKeys() -> [[UInt8]] {
        defer { self.outdatedKeys = [] }
        return self.outdatedKeys
    }
    /// Remembers that there is an audience of an app that is not configured here.
    mutating func metOtherApp() { self.hasCrowdsOfOtherApps = true }

    // MARK: Pushing

    /// Lets pushes wait until this time (steady clock), because what a former owner may have read has not been read
    /// again.
    mutating func beginCatchUp(endsMillis: Int64) { self.catchUpEndsMillis = endsMillis }
    /// Ends the wait for the backlog, which has been read or is no longer waited for.
    mutating func caughtUp() { self.catchUpEndsMillis = nil }
    /// Lets pushes leave from now on if nothing prevents it. The second marker must be in `state`, and all gaps must be
    /// repaired. The wait for the backlog of the assignment must be over.
    /// - Returns: whether pushes may leave now and could not before.
    mutating func opensForPushes() -> Bool {
        guard self.phase == .running, self.pushing == .held, self.gaps.isEmpty, !self.isUnderRepair,
            self.catchUpEndsMillis == nil
        else { return false }
        self.pushing = .open
        return true
    }
    /// Adds a leaving request to the count of requests in flight. Only `ShardMemory.requestLeft` calls this method, and
    /// also counts the request for the shard.
    @inline(__always) mutating func requestLeft() { self.inFlightCount += 1 }
    /// Takes an answered request out of the count of requests in flight.
    @inline(__always) mutating func requestAnswered() { self.inFlightCount -= 1 }

    // MARK: Records

    /// Counts a record that is handed to Kafka.
    @inline(__always) mutating func recordLeft() { self.unacknowledged += 1 }
    /// Counts a record as no longer awaited: Kafka has it, or it was given up.
    @inline(__always) mutating func recordAcknowledged() { self.unacknowledged -= 1 }
    /// Whether a record of this owner follows its previous one in `state`, as nearly all do. Other records are taken by
    /// `takeStateOffset`.
    @inline(__always) mutating func takeFollowing(_ offset: Int64) -> Bool {
        guard offset != self.nextStateOffset || offset < 0 else {
            self.nextStateOffset = offset + 1
            return true
        }
        return false
    }
    /// Takes Kafka's acknowledgement of a record that this owner wrote.
    /// - Parameter offset: see `ShardEngine.acknowledged`.
    mutating func takeStateOffset(_ offset: Int64) -> StateOffsetOrder {
        guard offset >= 0 else { return .inOrder }
        let next = self.nextStateOffset
        // All records of this owner are behind its marker. An offset at or below the marker's shows that the log is
        // another one, or has lost its end.
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
    /// Takes the next gap to be repaired. There is one repair at a time, and none before the partition runs.
    mutating func takeGap() -> Range<Int64>? {
        guard self.phase == .running, !self.gaps.isEmpty, !self.isUnderRepair else { return nil }
        self.isUnderRepair = true
        return self.gaps.removeFirst()
    }
    /// Ends the repair of the gap taken last.
    mutating func gapRepaired() { self.isUnderRepair = false }
}

/// What an acknowledged offset of a partition's `state` says.
enum StateOffsetOrder {
    /// Nothing is wrong: the record has no known offset, follows the previous one, or was acknowledged after a later
    /// one.
    case inOrder
    /// Others wrote between this record and the previous one.
    case gap
    /// The record is not behind this owner's marker: the log was replaced, or has lost its end.
    case wentBack
}
