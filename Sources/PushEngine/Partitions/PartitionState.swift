/// One owned partition: where it is between assignment and leaving.
struct PartitionState {
    enum Phase {
        /// The place is free.
        case gone
        /// The ownership marker has been handed to Kafka.
        case awaitingMarker
        /// `state` is being read up to the marker.
        case restoring
        case running
        /// No new records and no new pushes; answers are awaited.
        case releasing
        /// What was left is written down.
        case released
    }
    var number: Int32
    var phase: Phase
    /// Differs from assignment to assignment: late acknowledgements of an earlier one change nothing.
    var generation: UInt32
    /// Wall clock when the partition came, milliseconds since 1970.
    var assignedWallMillis: Int64 = 0
    /// Since when whoever had the partition has sent nothing, as far as is known; steady.
    var formerOwnerQuietSinceMillis: Int64 = 0
    /// Offset of this owner's marker in `state`: its epoch (contract: One owner).
    var epoch: Int64 = -1
    /// The acknowledgement of the marker that is to begin this owner's next epoch; `nil`: none is under way.
    var claim: UInt64?
    /// The number of the last such marker, counted from 1.
    var claimNumber: UInt32 = 0
    /// Owners whose first marker the restore has met, this one included; at least one more than the owner before has counted, if it says so.
    var takeoversRead: Int64 = 0
    /// Offset of the newest first marker that the restore has met, this owner's not counted; -1: none.
    var newestTakeoverRead: Int64 = -1
    /// Later than the takeover of every owner that the restore has met, milliseconds since 1970.
    var stampBaseMillis: Int64 = 0
    /// The newest owner that the restore has met at work; records of an older epoch behind that are ignored.
    var newestEpochRead: Int64 = -1
    /// Where the record lies that the restore reads.
    var readingOffset: Int64 = .max
    /// First markers that the restore has met: their offsets, and their owners' clocks when they took over. The last of many.
    var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When the owners that the restore has met at work took over, by their clocks, oldest first. The last of many.
    var ownersWallMillis: [Int64] = []
    /// The offset that the next record of this owner must get in `state`; -1: not known.
    var nextStateOffset: Int64 = -1
    /// Keys under which the restore has met a record of an owner that was not the owner any more. Compaction would keep that one alone: what is
    /// known of them is written again.
    var outdatedKeys: [[UInt8]] = []
    /// Kafka has taken a record of this owner below one that it had acknowledged: where; -1: none.
    var wentBackTo: Int64 = -1
    /// How far `state` had been acknowledged when a person accepted its loss (`RecordHeader.acceptedEnd`); `nil`: the restore has met no such
    /// word.
    var acceptedStateEnd: Int64?
    /// The restore has met audiences of an app that is not configured here: members whose audience nobody names may be theirs.
    var hasCrowdsOfOtherApps = false
    /// More are not kept.
    static var outdatedKeysMax: Int { 100_000 }
    /// Stretches of `state` that others wrote, to be read by the loop.
    var gaps: [Range<Int64>] = []
    /// The loop reads one.
    var isUnderRepair = false
    /// The marker that says this owner runs lies in `state`: what former owners wrote behind it is not believed.
    var isMarked = false
    /// Pushes may leave. A worker that died over one before would leave `state` to what a former owner wrote late.
    var mayPush = false
    /// Until then pushes wait for what lay in the log at assignment to be read, steady; `nil`: it has been, or need not be.
    var catchUpEndsMillis: Int64?
    /// When the marker is written again, steady.
    var markerDueMillis: Int64 = .max
    /// Which positions that `state` knows are of other logs.
    var voids = VoidPositions()
    /// It holds something that this release cannot take: nothing more is read of it. Why.
    var stopReason: String?
    /// Ledger log by input topic index.
    var logs: [LogID] = []
    /// Log end by input topic index, as seen at assignment: what lies below may be a replay.
    var replayEnds: [Int64] = []
    private(set) var inFlightCount = 0
    var unacknowledged = 0
    /// Its marker lies in `state`, what others wrote before that is repaired, and what lay in the log has been read.
    var isReadyToPush: Bool {
        self.phase == .running && self.isMarked && self.gaps.isEmpty && !self.isUnderRepair
            && self.catchUpEndsMillis == nil
    }
    /// Pushes may leave as far as its phase goes.
    var sends: Bool { self.phase == .running }
    /// The restore has met what another owner wrote.
    var hadOwner: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }

    /// Gaps of one partition that wait to be read. More than these are read as one long stretch.
    static var gapsMax: Int { 16 }

    /// A request leaves: `ShardMemory.requestLeft` counts it everywhere.
    @inline(__always) mutating func requestLeft() { self.inFlightCount += 1 }
    /// A request has its answer.
    @inline(__always) mutating func requestAnswered() { self.inFlightCount -= 1 }

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
