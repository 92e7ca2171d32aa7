/// What waits for Kafka to have a record, and which record of it that is.
enum Waiter {
    /// A partition, for a marker. The number is not 0 if the marker is to begin an epoch
    /// (`PartitionState.claimNumber`).
    case partition(claimNumber: UInt32)
    /// Only the log of the event behind it: a record of `state` covers that.
    case logState(EntryID)
    /// Only that log, for a record about the event that is for another topic than `state`.
    case logRecord(EventRecord, EntryID)
    /// A slot, for its record of `state` with this number, which covers what the entries guard.
    case slotState(SlotReference, version: UInt32, LedgerEntries)
    /// A slot, for a record about an event of its own. `isUnguarded`: the event is guarded by the slot rather than by an entry.
    case slotRecord(EventRecord, SlotReference, isUnguarded: Bool, LedgerEntries)
    /// The owner of an audience, for a version that is sent to a partition. `stampLow`: the lower half of its stamp.
    case owner(SlotReference, stampLow: UInt32)
    /// A crowd, for one of its records of `state`.
    case crowd(CrowdWait)
    /// A keeper of channels.
    case keeper(KeeperWait)

    /// Whether it is a record of `state`.
    var isState: Bool {
        switch self {
        case .partition, .logState, .slotState, .crowd: true
        case .logRecord, .slotRecord, .owner: false
        case .keeper(let wait): wait.record == .state
        }
    }
    /// The slot that it concerns; none: it concerns no slot.
    var slot: SlotID {
        switch self {
        case .slotState(let reference, _, _), .slotRecord(_, let reference, _, _), .owner(let reference, _):
            reference.slot
        case .partition, .logState, .logRecord, .crowd, .keeper: .none
        }
    }
    /// The kind of the record if it is about one event; otherwise `nil`.
    var eventRecord: EventRecord? {
        switch self {
        case .logRecord(let record, _), .slotRecord(let record, _, _, _): record
        case .partition, .logState, .slotState, .owner, .crowd, .keeper: nil
        }
    }
}

/// A record about one event that is for another topic than `state`.
enum EventRecord {
    case outcome, deadLetter, routed
    /// A dead letter of a valid event that could not be forwarded.
    case strandedEvent
}

/// A slot as it was when a record about it was made. Another slot may be in its place since.
struct SlotReference: Equatable {
    var slot: SlotID
    var generation: UInt32
}

/// Ledger entries of a slot's events: settled by a record of `state`, acknowledged by others.
struct LedgerEntries {
    var entry = EntryID.none
    var routedEntry = EntryID.none
}

/// What a crowd waits for. It means the crowd of that generation, or none.
struct CrowdWait {
    enum Record: Equatable {
        /// Records of its versions, of its progress, or of the end of its audience.
        case versions, progress, voided
        /// A join that was late for a pass.
        case lateJoin(pass: UInt8)
        /// Records of a start's progress, and of a membership in one of its rounds.
        case startProgress
        case startMember(round: UInt8)

        /// Whether its entry waits for a record of `state` that is still to come. Otherwise the record covers the event
        /// itself.
        var isBeforeState: Bool {
            switch self {
            case .progress, .startMember: true
            case .versions, .voided, .lateJoin, .startProgress: false
            }
        }
    }
    var crowd: CrowdID
    var generation: UInt32
    var record: Record
    /// The record's number, counted per crowd.
    var number: UInt32 = 0
    /// The entry of the event behind it; none: there is no event.
    var entry = EntryID.none
}

/// What a keeper of channels waits for. It means the keeper of that generation, or none.
struct KeeperWait {
    enum Record {
        /// A record of `state`.
        case state
        /// A record that announces something.
        case news
    }
    var keeper: KeeperID
    var generation: UInt32
    var record: Record
    /// The lower half of the number by which the keeper knows the record. No keeper lives for 2^32 of them.
    var token: UInt32
}

extension ShardMemory {
    /// The slot as it is now.
    @inline(__always) func reference(to slot: SlotID) -> SlotReference {
        SlotReference(slot: slot, generation: self.slots[slot].generation)
    }
    /// Whether the slot still exists.
    @inline(__always) func holds(_ reference: SlotReference) -> Bool {
        self.slots[reference.slot].generation == reference.generation && self.slots[reference.slot].isLive
    }
}
