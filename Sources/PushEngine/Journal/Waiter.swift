/// Who waits for Kafka to have a record, and what of theirs it is.
enum Waiter {
    /// A partition, for a marker. Its number, if it is to begin an epoch (`PartitionState.claimNumber`); 0: it is another.
    case partition(claimNumber: UInt32)
    /// Only the log of the event behind it: a record of `state` covers that.
    case logState(EntryID)
    /// Only that log, for a record about the event that goes to another topic than `state`.
    case logRecord(EventRecord, EntryID)
    /// A slot, for its record of `state` with this number, which covers what the entries guard.
    case slotState(SlotReference, version: UInt32, LedgerEntries)
    /// A slot, for a record about an event of its own. `isUnguarded`: the event is guarded by the slot rather than by an entry.
    case slotRecord(EventRecord, SlotReference, isUnguarded: Bool, LedgerEntries)
    /// The owner of an audience, for a version that a partition is told of. `stampLow`: the lower half of its stamp.
    case owner(SlotReference, stampLow: UInt32)
    /// A crowd, for one of its records of `state`.
    case crowd(CrowdWait)
    /// A keeper of channels.
    case keeper(KeeperWait)

    /// The record lies in `state`.
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
    /// What the record is, where it is about one event; `nil`: it is another.
    var eventRecord: EventRecord? {
        switch self {
        case .logRecord(let record, _), .slotRecord(let record, _, _, _): record
        case .partition, .logState, .slotState, .owner, .crowd, .keeper: nil
        }
    }
}

/// A record about one event that goes to another topic than `state`.
enum EventRecord {
    case outcome, deadLetter, routed
    /// A dead letter of an event that could not be forwarded and that nothing is wrong with.
    case strandedEvent
}

/// A slot as it was when a record about it was made: another may have its place since.
struct SlotReference: Equatable {
    var slot: SlotID
    var generation: UInt32
}

/// Ledger entries of a slot's events: settled by a record of `state`, acknowledged by others.
struct LedgerEntries {
    var entry = EntryID.none
    var routedEntry = EntryID.none
}

/// What a crowd waits for. It is the crowd of that generation, or nobody.
struct CrowdWait {
    enum Record: Equatable {
        /// Its versions, how far it is, and that its audience is over.
        case versions, progress, voided
        /// A join that came late into a pass.
        case lateJoin(pass: UInt8)
        /// How far a start is, and a membership in one of its rounds.
        case startProgress
        case startMember(round: UInt8)

        /// Its entry waits for a record of `state` that is still to come; otherwise the record covers the event itself.
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
    /// The record's own, counted per crowd.
    var number: UInt32 = 0
    /// The entry of the event behind it; none: there is no event.
    var entry = EntryID.none
}

/// What a keeper of channels waits for. It is the keeper of that generation, or nobody.
struct KeeperWait {
    enum Record {
        /// One of `state`.
        case state
        /// One of those that announce something.
        case news
    }
    var keeper: KeeperID
    var generation: UInt32
    var record: Record
    /// The lower half of the number by which the keeper knows it: it does not live for 2^32 of them.
    var token: UInt32
}

extension ShardMemory {
    /// The slot as it is now.
    @inline(__always) func reference(to slot: SlotID) -> SlotReference {
        SlotReference(slot: slot, generation: self.slots[slot].generation)
    }
    /// It is still there.
    @inline(__always) func holds(_ reference: SlotReference) -> Bool {
        self.slots[reference.slot].generation == reference.generation && self.slots[reference.slot].isLive
    }
}
