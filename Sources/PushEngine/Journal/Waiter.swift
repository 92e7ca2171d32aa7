/// What waits until Kafka has a record, and which kind of record that is.
enum Waiter {
    /// A partition waits for a marker. `claimNumber` is not 0 if the marker begins an epoch
    /// (`PartitionState.claimNumber`).
    case partition(claimNumber: UInt32)
    /// An event's log waits for a record of `state` that covers the event. If there is no entry, nothing waits.
    case logState(EntryID)
    /// An event's log waits for a record about the event, in another topic than `state`.
    case logRecord(EventRecord, EntryID)
    /// A slot waits for its record of `state` with this number. The record covers the events that the entries guard.
    case slotState(SlotReference, version: UInt32, LedgerEntries)
    /// A slot waits for a record about one of its events. `isUnguarded`: the slot's next state record waits for this
    /// record. The entries, if there are any, wait for it in both cases.
    case slotRecord(EventRecord, SlotReference, isUnguarded: Bool, LedgerEntries)
    /// The owner of an audience waits for a version that is sent to a partition. `stampLow`: the lower half of the
    /// version's stamp.
    case owner(SlotReference, stampLow: UInt32)
    /// A crowd waits for one of its records.
    case crowd(CrowdWait)
    /// A keeper of channels waits for one of its records.
    case keeper(KeeperWait)

    /// Whether the awaited record is one of `state`.
    var isState: Bool {
        switch self {
        case .partition, .logState, .slotState, .crowd: true
        case .logRecord, .slotRecord, .owner: false
        case .keeper(let wait): wait.record == .state
        }
    }
    /// The slot that the record concerns; `none`: it concerns no slot.
    var slot: SlotID {
        switch self {
        case .slotState(let reference, _, _), .slotRecord(_, let reference, _, _), .owner(let reference, _):
            reference.slot
        case .partition, .logState, .logRecord, .crowd, .keeper: .none
        }
    }
    /// The kind of the record if it is about one event; `nil`: it is not.
    var eventRecord: EventRecord? {
        switch self {
        case .logRecord(let record, _), .slotRecord(let record, _, _, _): record
        case .partition, .logState, .slotState, .owner, .crowd, .keeper: nil
        }
    }
}

/// A record about one event, in another topic than `state`.
enum EventRecord {
    case outcome, deadLetter, routed
    /// A dead letter of a valid event that could not be forwarded.
    case strandedEvent
}

/// A slot as it was when a record about it was made. Its number may belong to another slot by now.
struct SlotReference: Equatable {
    var slot: SlotID
    var generation: UInt32
}

/// Ledger entries of a slot's events. An acknowledged record of `state` settles the entries. Acknowledgements of other
/// records are only counted in them.
struct LedgerEntries {
    var entry = EntryID.none
    var routedEntry = EntryID.none
}

/// What a crowd waits for. If the crowd's number belongs to a later crowd by now, no crowd is meant.
struct CrowdWait {
    enum Record: Equatable {
        /// Records of the crowd's versions, of its progress, or of the end of its audience.
        case versions, progress, voided
        /// The record of a member that joined too late for a pass.
        case lateJoin(pass: UInt8)
        /// The record of a start's progress.
        case startProgress
        /// The record, or the tombstone, of a start member whose ring belongs to this round.
        case startMember(round: UInt8)

        /// Whether the event's entry needs a later record of `state` besides this one. If not, this record itself
        /// covers the event.
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
    /// The entry of the event that led to the record; `none`: there is no event.
    var entry = EntryID.none
}

/// What a keeper of channels waits for. If the keeper's number belongs to a later keeper by now, no keeper is meant.
struct KeeperWait {
    enum Record {
        /// A record of `state`.
        case state
        /// A record of what the keeper reports to an audience's owner: in `routed`, or in `outcomes`.
        case news
    }
    var keeper: KeeperID
    var generation: UInt32
    var record: Record
    /// The lower half of the number that the keeper gave the record. A keeper does not write 2^32 records in its life.
    var token: UInt32
}

extension ShardMemory {
    /// A reference to the slot as it is now.
    @inline(__always) func reference(to slot: SlotID) -> SlotReference {
        SlotReference(slot: slot, generation: self.slots[slot].generation)
    }
    /// Whether the slot that was referred to still exists.
    @inline(__always) func holds(_ reference: SlotReference) -> Bool {
        self.slots[reference.slot].generation == reference.generation && self.slots[reference.slot].isLive
    }
}
