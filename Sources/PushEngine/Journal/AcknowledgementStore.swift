/// What waits for Kafka to acknowledge one record, and the partition of the record.
struct PendingAcknowledgement {
    var waiter: Waiter
    var partition: PartitionIndex
    var partitionGeneration: UInt32
    fileprivate(set) var sequence: UInt32 = 0
    fileprivate(set) var isOpen = false

    init(_ waiter: Waiter, partition: PartitionIndex, generation: UInt32) {
        self.waiter = waiter
        self.partition = partition
        self.partitionGeneration = generation
    }
}

/// Acknowledgements by number. Each number includes a sequence, which shows whether a number is given back twice, and
/// which of two records was made first.
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

    /// Prefetches the element, which will be looked at soon.
    func prefetch(_ rawValue: UInt64) {
        let id = Int(rawValue & 0xffff_ffff)
        guard id < self.elements.count else { return }
        unsafe self.elements.withUnsafeBufferPointer { elements in
            // The element exists.
            unsafe Prefetch.lines(
                from: elements.baseAddress! + id, byteCount: MemoryLayout<PendingAcknowledgement>.size)
        }
    }

    /// The slot that the element is about; `none`: the element does not exist, or is not about a slot. The slot may
    /// only be used for prefetching.
    func slot(of rawValue: UInt64) -> SlotID {
        let id = Int(rawValue & 0xffff_ffff)
        return id < self.elements.count ? self.elements[id].waiter.slot : .none
    }

    /// The element; `nil`: it is not open.
    func element(_ rawValue: UInt64) -> PendingAcknowledgement? {
        let id = Int(rawValue & 0xffff_ffff)
        guard id < self.elements.count, self.elements[id].isOpen, self.elements[id].sequence == UInt32(rawValue >> 32)
        else { return nil }
        return self.elements[id]
    }

    /// Closes and returns the element; `nil`: it is not open.
    mutating func close(_ rawValue: UInt64) -> PendingAcknowledgement? {
        guard let element = self.element(rawValue) else { return nil }
        let id = Int(rawValue & 0xffff_ffff)
        self.elements[id].isOpen = false
        self.free.append(Int32(id))
        self.openCount -= 1
        return element
    }
}
