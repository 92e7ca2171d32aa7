/// The partitions of this shard, by index and by Kafka's number. The index of a partition that has left is used again.
struct PartitionTable {
    private var states = NumberedArray<PartitionIndex, PartitionState>()
    /// The index for each partition number; `none`: not owned.
    private var indexOfNumber: [PartitionIndex] = []

    /// Partitions whose `state` has lost its end or was made anew (`StateOffsetOrder.wentBack`), until they are reported.
    private(set) var wentBack: [PartitionIndex] = []
    /// Whether a partition may have a gap in its `state` that has not been taken. Every turn reads this value, so that
    /// it need not look at all partitions.
    private var hasGaps = false

    var identifiers: IdentifierSequence<PartitionIndex> { self.states.identifiers }

    @inline(__always) subscript(_ partition: PartitionIndex) -> PartitionState {
        _read { yield self.states[partition] }
        _modify { yield &self.states[partition] }
    }

    /// The index of a partition; `nil`: this shard does not have it.
    func index(of number: Int32) -> PartitionIndex? {
        guard number >= 0, Int(number) < self.indexOfNumber.count else { return nil }
        let index = self.indexOfNumber[Int(number)]
        return index.isNone ? nil : index
    }

    /// Adds a partition that this shard does not have. It waits for its marker.
    mutating func add(number: Int32) -> PartitionIndex {
        precondition(self.index(of: number) == nil, "partition \(number) assigned twice")
        let index: PartitionIndex
        if let free = self.states.firstIdentifier(where: { $0.phase == .gone }) {
            index = free
            self.states[free] = PartitionState(number: number, generation: self.states[free].generation &+ 1)
        } else {
            index = self.states.append(PartitionState(number: number, generation: 0))
        }
        while self.indexOfNumber.count <= Int(number) { self.indexOfNumber.append(.none) }
        self.indexOfNumber[Int(number)] = index
        return index
    }

    /// Removes a partition that leaves.
    mutating func remove(_ partition: PartitionIndex) {
        self.indexOfNumber[Int(self.states[partition].number)] = .none
        self.states[partition].left()
        self.wentBack.removeAll { $0 == partition }
    }

    // MARK: Gaps

    /// Takes Kafka's acknowledgement of a record of this owner in the partition's `state`. Returns whether the offset
    /// shows a new gap.
    @inline(__always) mutating func takeStateOffset(_ offset: Int64, of partition: PartitionIndex) -> Bool {
        !self.states[partition].takeFollowing(offset) && self.takeOtherStateOffset(offset, of: partition)
    }
    @inline(never) private mutating func takeOtherStateOffset(_ offset: Int64, of partition: PartitionIndex) -> Bool {
        switch self.states[partition].takeStateOffset(offset) {
        case .inOrder: return false
        case .wentBack:
            if !self.wentBack.contains(partition) { self.wentBack.append(partition) }
            return false
        case .gap:
            self.hasGaps = true
            return true
        }
    }

    /// Takes the partitions whose `state` has lost its end, or was made anew, since the last call.
    mutating func takeWentBack() -> [PartitionIndex] {
        defer { self.wentBack = [] }
        return self.wentBack
    }

    /// Takes the next stretch of some partition's `state` that another writer wrote, to be repaired now. A partition
    /// has one repair at a time, and none before the partition runs.
    mutating func takeGap() -> StateGap? {
        guard self.hasGaps else { return nil }
        var isAnyLeft = false
        for partition in self.states.identifiers where !self.states[partition].gaps.isEmpty {
            guard let offsets = self.states[partition].takeGap() else {
                isAnyLeft = true
                continue
            }
            return StateGap(partition: self.states[partition].number, offsets: offsets)
        }
        self.hasGaps = isAnyLeft
        return nil
    }
}
