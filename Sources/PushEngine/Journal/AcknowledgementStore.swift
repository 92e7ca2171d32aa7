/// What the engine waits for from Kafka: one element per record handed over.
struct PendingAcknowledgement {
    enum Kind {
        case marker, state, outcome, deadLetter, routed
        /// A dead letter of an event that could not be forwarded and that nothing is wrong with.
        case strandedEvent
        /// A version of an audience, told to one partition. `stateVersion` is the lower half of its stamp.
        case version
        /// Records of `state` about a crowd, which stands in `slot` by its number: its versions, its progress, a join that came late. `stateVersion` is
        /// the record's number, and the pass of a join stands in `routedEntry`.
        case versions, progress, lateJoin
        /// The same about start members: how far a start is, and a membership.
        case startProgress, startMember
        /// The same: its audience is over.
        case voided
        /// Records of a keeper of channels, which stands in `slot` by its number: of `state`, and those that announce something. `stateVersion` is
        /// the number of what has asked for them.
        case kept, keeperNews

        /// The record lies in `state`.
        var isState: Bool {
            switch self {
            case .marker, .state, .versions, .progress, .lateJoin, .startProgress, .startMember, .voided, .kept: true
            case .outcome, .deadLetter, .strandedEvent, .routed, .version, .keeperNews: false
            }
        }
        /// It is about a crowd or a keeper, and no slot.
        var isOfNoSlot: Bool {
            switch self {
            case .versions, .progress, .lateJoin, .startProgress, .startMember, .voided, .kept, .keeperNews: true
            case .marker, .state, .outcome, .deadLetter, .strandedEvent, .routed, .version: false
            }
        }
    }
    var kind: Kind
    var sequence: UInt32
    var isOpen: Bool
    var partition: PartitionIndex
    var partitionGeneration: UInt32
    /// For `state`, `outcome` and `deadLetter` of a slot; none otherwise.
    var slot: SlotID
    var slotGeneration: UInt32
    var stateVersion: UInt32
    /// The event is guarded by the slot rather than by an entry.
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
        return id < self.elements.count && !self.elements[id].kind.isOfNoSlot ? self.elements[id].slot : .none
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
