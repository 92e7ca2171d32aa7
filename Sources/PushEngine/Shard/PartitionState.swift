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
    /// Offset of this owner's marker in `state`: its epoch (contract §6).
    var epoch: Int64 = -1
    /// Owners whose first marker the restore has met, this one included.
    var takeoversRead: Int64 = 0
    /// Offset of the newest first marker that the restore has met, this owner's not counted; -1: none.
    var newestTakeoverRead: Int64 = -1
    /// Later than the takeover of every owner that the restore has met, milliseconds since 1970.
    var stampBaseMillis: Int64 = 0
    /// The newest owner that the restore has met at work; records of an older epoch behind that are ignored.
    var newestEpochRead: Int64 = -1
    /// First markers that the restore has met: their offsets, and their owners' clocks when they took over. The last of many.
    var takeovers: [(epoch: Int64, wallMillis: Int64)] = []
    /// When the owners that the restore has met at work took over, by their clocks, oldest first. The last of many.
    var ownersWallMillis: [Int64] = []
    /// The offset that the next record of this owner must get in `state`; -1: not known.
    var nextStateOffset: Int64 = -1
    /// Stretches of `state` that others wrote, to be read by the runner.
    var gaps: [Range<Int64>] = []
    /// The runner reads one.
    var isUnderRepair = false
    /// The marker that says this owner runs lies in `state`: what former owners wrote behind it is not believed.
    var isMarked = false
    /// Pushes may leave. A worker that died over one before would leave `state` to what a former owner wrote late.
    var mayPush = false
    /// Until then pushes wait for what lay in the log at assignment to be read, steady; `nil`: it has been, or need not be.
    var catchUpEndsMillis: Int64?
    /// When the marker is written again, steady.
    var markerDueMillis: Int64 = .max
    /// The state was written for another cluster, this one.
    var voidingClusterID: String?
    /// Ledger log by input topic index.
    var logs: [LogID] = []
    /// Log end by input topic index, as seen at assignment: what lies below may be a replay.
    var replayEnds: [Int64] = []
    var inFlightCount = 0
    var unacknowledged = 0
    /// Its slots, in no order: what concerns them all is done without a look at those of other partitions.
    var members: [SlotID] = []

    var sends: Bool { self.phase == .running }
    /// The restore has met what another owner wrote.
    var hadOwner: Bool { self.newestTakeoverRead >= 0 || self.newestEpochRead >= 0 }
}

/// What the engine waits for from Kafka: one element per record handed over.
struct PendingAcknowledgement {
    enum Kind { case marker, state, outcome, deadLetter, routed }
    var kind: Kind
    var sequence: UInt32
    var isOpen: Bool
    var partition: PartitionIndex
    var partitionGeneration: UInt32
    /// For `state` and `outcome`; none otherwise.
    var slot: SlotID
    var slotGeneration: UInt32
    var stateVersion: UInt32
    /// The outcome's event is guarded by the slot rather than by an entry.
    var isUnguarded: Bool
    /// Ledger entries: settled by a state record, acknowledged by the others.
    var entry: EntryID
    var routedEntry: EntryID
}

/// Acknowledgements by number. The number handed out carries a sequence, so that one given back twice is noticed, and of two records it can
/// be told which was made first.
struct AcknowledgementStore {
    private var elements: [PendingAcknowledgement] = []
    private var lastSequence: UInt32 = 0
    private var free: [Int32] = []
    private(set) var openCount = 0

    mutating func open(_ element: PendingAcknowledgement) -> UInt64 {
        var element = element
        element.isOpen = true
        self.lastSequence &+= 1
        element.sequence = self.lastSequence
        self.openCount += 1
        let id: Int
        if let reused = self.free.popLast() {
            id = Int(reused)
            self.elements[id] = element
        } else {
            id = self.elements.count
            self.elements.append(element)
        }
        return UInt64(id) | UInt64(element.sequence) << 32
    }

    /// The element will be looked at soon.
    func prefetch(_ rawValue: UInt64) {
        let id = Int(rawValue & 0xffff_ffff)
        guard id < self.elements.count else { return }
        unsafe self.elements.withUnsafeBufferPointer { elements in
            // There is such an element.
            unsafe Prefetch.lines(
                from: elements.baseAddress! + id, byteCount: MemoryLayout<PendingAcknowledgement>.size)
        }
    }

    /// The slot the element is about, if there is such an element: for looking ahead, it decides nothing.
    func slot(of rawValue: UInt64) -> SlotID {
        let id = Int(rawValue & 0xffff_ffff)
        return id < self.elements.count ? self.elements[id].slot : .none
    }

    /// `nil` when it is not open.
    func element(_ rawValue: UInt64) -> PendingAcknowledgement? {
        let id = Int(rawValue & 0xffff_ffff)
        guard id < self.elements.count, self.elements[id].isOpen, self.elements[id].sequence == UInt32(rawValue >> 32)
        else { return nil }
        return self.elements[id]
    }

    /// The element, closed from here on; `nil` when it is not open.
    mutating func close(_ rawValue: UInt64) -> PendingAcknowledgement? {
        guard let element = self.element(rawValue) else { return nil }
        let id = Int(rawValue & 0xffff_ffff)
        self.elements[id].isOpen = false
        self.free.append(Int32(id))
        self.openCount -= 1
        return element
    }
}
