/// The partitions this shard has, by index and by Kafka's number. Places of those that left are used again.
struct PartitionTable {
    private var states = NumberedArray<PartitionIndex, PartitionState>()
    /// By partition number; none: not owned.
    private var indexOfNumber: [PartitionIndex] = []

    /// Partitions whose `state` went back, until somebody is told.
    private(set) var wentBack: [PartitionIndex] = []
    /// A partition may have a gap in its `state` that nobody has taken. Asked every turn.
    private var hasGaps = false

    var identifiers: IdentifierSequence<PartitionIndex> { self.states.identifiers }

    @inline(__always) subscript(_ partition: PartitionIndex) -> PartitionState {
        _read { yield self.states[partition] }
        _modify { yield &self.states[partition] }
    }

    /// `nil`: this shard does not have it.
    func index(of number: Int32) -> PartitionIndex? {
        guard number >= 0, Int(number) < self.indexOfNumber.count else { return nil }
        let index = self.indexOfNumber[Int(number)]
        return index.isNone ? nil : index
    }

    /// A partition that this shard does not have comes, waiting for its marker.
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

    /// It leaves.
    mutating func remove(_ partition: PartitionIndex) {
        self.indexOfNumber[Int(self.states[partition].number)] = .none
        self.states[partition].left()
        self.wentBack.removeAll { $0 == partition }
    }

    // MARK: Gaps

    /// Kafka has a record of this owner's in the partition's `state`. See `PartitionState.noteStateOffset`.
    @inline(__always) mutating func noteStateOffset(_ offset: Int64, of partition: PartitionIndex) -> Bool {
        !self.states[partition].noteFollowing(offset) && self.noteOtherStateOffset(offset, of: partition)
    }
    @inline(never) private mutating func noteOtherStateOffset(_ offset: Int64, of partition: PartitionIndex) -> Bool {
        switch self.states[partition].noteStateOffset(offset) {
        case .inOrder: return false
        case .wentBack:
            if !self.wentBack.contains(partition) { self.wentBack.append(partition) }
            return false
        case .gap:
            self.hasGaps = true
            return true
        }
    }

    /// Partitions whose `state` went back since this was last asked.
    mutating func takeWentBack() -> [PartitionIndex] {
        defer { self.wentBack = [] }
        return self.wentBack
    }

    /// The next stretch of some partition's `state` that another wrote, to be repaired now. One of a partition at a time, none before it runs.
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
