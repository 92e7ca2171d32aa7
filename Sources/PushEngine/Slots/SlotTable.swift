import PushModel

/// All slots of a shard. They are found by their key, keep their address while they are live, and are listed by
/// partition.
///
/// All partitions of the shard share one table. Queues and acknowledgements can therefore name a slot of any partition
/// by one small number. One partition also reuses the room that another gives back. Work on a whole partition walks
/// only the slots of that partition.
@safe struct SlotTable: ~Copyable {
    private var store = ChunkedStore<SlotID, Slot>()
    private var free: [SlotID] = []
    private var index: SlotIndex
    /// The ids and tokens.
    var identities = ByteArena()
    /// Positions of the slots that took records of the topic `routed`.
    private var routedPositions: [SlotID: RoutedPositions] = [:]
    /// The slots of each partition, in no order.
    private var membersOfPartition = NumberedArray<PartitionIndex, [SlotID]>()

    /// Creates an empty table.
    /// - Parameter seed: key of the index; different in each engine, so that nobody can prepare colliding keys.
    init(seed: UInt64) { self.index = SlotIndex(seed: seed) }

    /// Whether the table has an element of this number, live or not.
    func contains(_ slot: SlotID) -> Bool { self.store.contains(slot) }

    /// Number of live slots.
    var count: Int { self.store.count - self.free.count }

    /// Number of slots in the index, for tests. All live slots are in the index.
    var indexedCount: Int { self.index.count }
    /// Number of slots with positions in `routed`, for tests. Few slots have them.
    var routedCount: Int { self.routedPositions.count }

    /// Number of elements, live or not.
    var indexCount: Int { self.store.count }

    /// The identifiers of all elements, live or not.
    var identifiers: IdentifierSequence<SlotID> { self.store.identifiers }

    subscript(_ slot: SlotID) -> Slot {
        unsafeAddress { unsafe self.store.address(of: slot) }
        unsafeMutableAddress { unsafe self.store.mutableAddress(of: slot) }
    }

    // MARK: Finding

    func hash(kind: SlotKind = .activity, id: Span<UInt8>) -> UInt32 {
        self.index.hash(kind: kind.rawValue, id: id)
    }

    func find(_ key: borrowing SlotKey, partition: PartitionIndex) -> SlotID? {
        self.find(key, hash: self.hash(kind: key.kind, id: key.id), partition: partition)
    }

    /// The slot with this key in this partition. One id on two partitions means two slots, as it would in two workers.
    /// Each of the two slots has its own state and offsets, and may leave without the other.
    /// - Parameter hash: hash of the key's kind and id.
    func find(_ key: borrowing SlotKey, hash: UInt32, partition: PartitionIndex) -> SlotID? {
        var candidate = self.index.first(hash: hash)
        while let found = candidate {
            let slot = self.index.slot(at: found)
            if self.store[slot].app == key.app, self.store[slot].kind == key.kind,
                self.store[slot].partition == partition, self.hasID(key.id, slot)
            {
                return slot
            }
            candidate = self.index.next(after: found, hash: hash)
        }
        return nil
    }

    /// The slot of an activity with this id in this partition, in any app. Besides `hint` only one slot is looked at,
    /// so `nil` does not mean that there is none.
    /// - Parameter hint: the slot that it probably is; `none`: not known.
    func findOfAnyApp(id: Span<UInt8>, hash: UInt32, hint: SlotID, partition: PartitionIndex) -> SlotID? {
        if hint.isSome, self.store[hint].identity != ByteArena.none, self.store[hint].partition == partition,
            self.store[hint].kind == .activity, self.hasID(id, hint)
        {
            return hint
        }
        guard let found = self.index.first(hash: hash) else { return nil }
        let slot = self.index.slot(at: found)
        return self.store[slot].partition == partition && self.store[slot].kind == .activity && self.hasID(id, slot)
            ? slot : nil
    }

    // MARK: Joining and leaving

    /// Makes a slot of the partition. The caller has checked that no slot has this key.
    /// - Parameter token: the raw token; empty: the slot has none.
    mutating func make(
        _ key: borrowing SlotKey, hash: UInt32, token: Span<UInt8> = Span(), partition: PartitionIndex
    ) -> SlotID {
        let slot = self.free.popLast() ?? self.store.append(Slot())
        var new = Slot()
        new.generation = self.store[slot].generation &+ 1
        new.kind = key.kind
        new.app = key.app
        new.partition = partition
        new.hash = hash
        new.memberIndex = Int32(self.membersOfPartition[partition].count)
        self.membersOfPartition[partition].append(slot)
        self.store[slot] = new
        self.index.insert(slot, hash: hash)
        self.setIdentity(id: key.id, token: token, slot)
        return slot
    }

    /// Removes the slot from memory. The caller has removed everything about it elsewhere.
    mutating func remove(_ slot: SlotID) {
        self.index.remove(slot, hash: self.store[slot].hash)
        self.leavePartition(slot)
        self.releaseIdentity(slot)
        self.forgetRoutedPositions(slot)
        let generation = self.store[slot].generation
        self.store[slot] = Slot()
        self.store[slot].generation = generation
        self.free.append(slot)
    }

    /// Fills a slot from a record of `state`. The slot has its id and token already. The fields by which the table
    /// finds the slot do not change.
    /// - Parameter recordOffset: the record's offset.
    mutating func overwrite(_ slot: SlotID, with read: consuming Slot, recordOffset: Int64) {
        var new = read
        let old = self.store[slot]
        new.generation = old.generation
        new.kind = old.kind
        new.app = old.app
        new.partition = old.partition
        new.memberIndex = old.memberIndex
        new.hash = old.hash
        new.identity = old.identity
        new.idLastIndex = old.idLastIndex
        new.tokenByteCount = old.tokenByteCount
        new.tokenGeneration = 1
        new.isCountedPending = old.isCountedPending
        new.hasRoutedPositions = false
        new.rememberRecord(at: recordOffset)
        self.store[slot] = new
    }

    /// Takes the slot out of its partition's list. The last slot of the list moves to the index that becomes free.
    private mutating func leavePartition(_ slot: SlotID) {
        let partition = self.store[slot].partition
        guard let last = self.membersOfPartition[partition].popLast(), last != slot else { return }
        let memberIndex = self.store[slot].memberIndex
        self.membersOfPartition[partition][Int(memberIndex)] = last
        self.store[last].memberIndex = memberIndex
    }

    // MARK: Partitions

    /// The slots of a partition, in no order.
    func members(of partition: PartitionIndex) -> [SlotID] { self.membersOfPartition[partition] }

    /// The last slot of the partition's list, whose removal moves no other; `nil`: the partition has no slot.
    func lastMember(of partition: PartitionIndex) -> SlotID? { self.membersOfPartition[partition].last }

    /// Makes room for the slots of this partition.
    mutating func addPartition(_ partition: PartitionIndex) {
        while self.membersOfPartition.count <= partition.index { self.membersOfPartition.append([]) }
    }

    // MARK: Positions

    /// Sets the last record that the slot has taken, of any topic but `routed`.
    @inline(__always) mutating func setApplied(_ position: AppliedPosition, of slot: SlotID) {
        self.store[slot].applied = position
    }

    func routedPositions(of slot: SlotID) -> RoutedPositions {
        guard self.store[slot].hasRoutedPositions else { return RoutedPositions() }
        return self.routedPositions[slot] ?? RoutedPositions()
    }

    mutating func setRoutedPositions(_ positions: RoutedPositions, of slot: SlotID) {
        self.store[slot].hasRoutedPositions = true
        self.routedPositions[slot] = positions
    }

    mutating func forgetRoutedPositions(_ slot: SlotID) {
        guard self.store[slot].hasRoutedPositions else { return }
        self.store[slot].hasRoutedPositions = false
        self.routedPositions[slot] = nil
    }

    /// Forgets the slot's positions, because they are of another log.
    mutating func voidPositions(of slot: SlotID) {
        self.store[slot].applied = AppliedPosition()
        self.forgetRoutedPositions(slot)
    }

    // MARK: Prefetching

    /// Prefetches the part of the index where a search for this hash will soon begin.
    @inline(__always) func prefetchIndex(hash: UInt32) { self.index.prefetchHome(of: hash) }

    /// A slot that has this hash, and probably the id. It may only be used for prefetching.
    @inline(__always) func probable(hash: UInt32) -> SlotID {
        self.index.first(hash: hash).map { self.index.slot(at: $0) } ?? SlotID.none
    }

    /// Prefetches the slot's first `byteCount` bytes, or all of it, which will be read soon.
    @inline(__always) func prefetch(_ slot: SlotID, byteCount: Int = MemoryLayout<Slot>.size) {
        self.store.prefetch(slot, byteCount: byteCount)
    }

    /// Prefetches the slot's id, or id and token, which will be read soon.
    @inline(__always) func prefetchIdentity(_ slot: SlotID, idOnly: Bool) {
        let byteCount = idOnly ? self.store[slot].idByteCount : self.store[slot].identityByteCount
        self.identities.prefetch(self.store[slot].identity, byteCount: byteCount)
    }
}
