import PushModel

/// Which kind of thing a slot is about; part of its identity. Audiences and channels get their own.
enum SlotKind: UInt8 { case activity = 1 }

extension ShardEngine {
    // MARK: The table

    func findSlot(app: UInt16, id: Span<UInt8>, partition: PartitionIndex) -> SlotID? {
        self.findSlot(
            app: app, id: id, hash: self.index.hash(kind: SlotKind.activity.rawValue, id: id), partition: partition)
    }

    /// The activity as this partition knows it. One id on two partitions is two slots, as it would be in two workers: each has its own
    /// state, its own offsets, and may leave without the other.
    /// - Parameters:
    ///   - hash: of the id.
    ///   - partition: index into `partitions`.
    func findSlot(app: UInt16, id: Span<UInt8>, hash: UInt32, partition: PartitionIndex) -> SlotID? {
        var candidate = self.index.first(hash: hash)
        while let found = candidate {
            let slot = self.index.slot(at: found)
            if self.slots[slot].app == app, self.slots[slot].partition == partition, self.idEquals(id, slot: slot) {
                return slot
            }
            candidate = self.index.next(after: found, hash: hash)
        }
        return nil
    }

    /// A slot with this id, of whatever app, in this partition.
    /// - Parameter hint: where it probably lies; none: not known.
    func findKnown(id: Span<UInt8>, hash: UInt32, hint: SlotID, partition: PartitionIndex) -> SlotID? {
        if hint.isSome, self.slots[hint].identity != ByteArena.none, self.slots[hint].partition == partition,
            self.idEquals(id, slot: hint)
        {
            return hint
        }
        guard let found = self.index.first(hash: hash) else { return nil }
        let slot = self.index.slot(at: found)
        return self.slots[slot].partition == partition && self.idEquals(id, slot: slot) ? slot : nil
    }

    mutating func makeSlot(app: UInt16, id: Span<UInt8>, partition: PartitionIndex, now: EngineTime) -> SlotID {
        let hash = self.index.hash(kind: SlotKind.activity.rawValue, id: id)
        let slot = self.makeSlot(app: app, hash: hash, partition: partition)
        self.setID(id, slot: slot)
        self.touch(slot, now: now)
        return slot
    }

    /// One that has no bytes yet: `setID` comes next.
    mutating func makeSlot(app: UInt16, hash: UInt32, partition: PartitionIndex) -> SlotID {
        let number = self.freeSlots.popLast() ?? self.slots.append(Slot())
        let generation = self.slots[number].generation
        var slot = Slot()
        slot.generation = generation &+ 1
        slot.isLive = true
        slot.app = app
        slot.partition = partition
        slot.hash = hash
        // Without a record of its own, any owner may have sent of it.
        slot.ownersSinceRecord = Self.ownersReadMax
        slot.memberIndex = Int32(self.partitions[partition].members.count)
        self.partitions[partition].members.append(number)
        self.slots[number] = slot
        self.index.insert(number, hash: hash)
        self.counters.activities += 1
        return number
    }

    /// The slot and what it holds leave memory. The caller has settled events and records.
    mutating func removeSlot(_ slot: SlotID) {
        self.leaveReadyQueue(slot)
        self.deadlines.remove(slot)
        for update in [
            self.slots[slot].pending, self.slots[slot].behind, self.slots[slot].inFlight,
        ]
        where update.isSome {
            self.updates.release(update)
        }
        if self.slots[slot].hasWork {
            self.counters.activitiesPending -= 1
            self.lanes[self.lane(of: slot)].pendingSlots -= 1
        }
        self.index.remove(slot, hash: self.slots[slot].hash)
        self.leavePartition(slot)
        self.counters.activities -= 1
        self.releaseIdentity(slot: slot)
        self.budgets.release(&self.slots[slot].budget)
        if self.slots[slot].hasRoutedPositions { self.routedPositions[slot] = nil }
        let generation = self.slots[slot].generation
        self.slots[slot] = Slot()
        self.slots[slot].generation = generation
        self.freeSlots.append(slot)
    }

    /// The last of the partition's members takes its place among them.
    private mutating func leavePartition(_ slot: SlotID) {
        let partition = self.slots[slot].partition
        guard let last = self.partitions[partition].members.popLast(), last != slot else { return }
        let memberIndex = self.slots[slot].memberIndex
        self.partitions[partition].members[Int(memberIndex)] = last
        self.slots[last].memberIndex = memberIndex
    }

    /// Calls `body` for each slot of a partition. It makes no slot, and removes none.
    mutating func forEachMember(place: PartitionIndex, _ body: (inout ShardEngine, SlotID) -> Void) {
        for index in self.partitions[place].members.indices { body(&self, self.partitions[place].members[index]) }
    }

    func lane(of slot: SlotID) -> LaneIndex {
        self.lane(app: self.slots[slot].app, environment: self.slots[slot].environment)
    }

    func app(of slot: SlotID) -> AppConfiguration { self.configuration.apps[Int(self.slots[slot].app)] }

    /// A start, update, end or registration came: the 12 hours begin again.
    mutating func touch(_ slot: SlotID, now: EngineTime) {
        self.slots[slot].lastTouchedWallMillis = now.wallMillis
        self.slots[slot].lifeEndsMillis = now.steadyMillis + self.configuration.lifetimeMillis
    }

    /// The environment is part of the lane; what the slot counts for moves with it.
    mutating func setEnvironment(_ environment: PushEnvironment, of slot: SlotID) {
        guard self.slots[slot].environment != environment else { return }
        self.leaveReadyQueue(slot)
        let hasWork = self.slots[slot].hasWork
        if hasWork { self.lanes[self.lane(of: slot)].pendingSlots -= 1 }
        self.slots[slot].environment = environment
        if hasWork { self.lanes[self.lane(of: slot)].pendingSlots += 1 }
    }

    // MARK: Work

    /// Call around every change of `pending` and `inFlight`: keeps the counts of slots with work.
    mutating func changeWork(_ slot: SlotID, _ change: (inout Slot) -> Void) {
        let had = self.slots[slot].hasWork
        change(&self.slots[slot])
        let has = self.slots[slot].hasWork
        guard had != has else { return }
        let step = has ? 1 : -1
        self.counters.activitiesPending += step
        self.lanes[self.lane(of: slot)].pendingSlots += step
    }

    mutating func leaveReadyQueue(_ slot: SlotID) {
        guard self.slots[slot].queuedTicket != 0 else { return }
        self.slots[slot].queuedTicket = 0
        self.lanes[self.lane(of: slot)].readyCount -= 1
    }

    mutating func enterReadyQueue(_ slot: SlotID, priority: PushPriority, now: EngineTime) {
        if self.slots[slot].queuedTicket != 0 {
            guard self.slots[slot].queuedPriority != priority else { return }
            self.leaveReadyQueue(slot)
        }
        let lane = self.lane(of: slot)
        let ticket = self.nextTicket
        self.nextTicket = ticket == .max ? 1 : ticket + 1
        self.slots[slot].queuedTicket = ticket
        self.slots[slot].queuedPriority = priority
        self.lanes[lane].readyCount += 1
        self.lanes[lane].ready.append(
            ReadyQueue.Entry(slot: slot, ticket: ticket, readyMillis: now.steadyMillis), priority: priority)
        let standing = self.lanes[lane].readyCount
        self.lanes[lane].ready.compact(standing: standing, slots: self.slots)
    }

    // MARK: When

    /// Whether the slot's pending update could leave now, and if not, when time alone might change that.
    enum Readiness: Equatable {
        case ready
        case at(millis: Int64)
        /// Only an event from outside helps: an answer, a token, an acknowledgement.
        case blocked
    }

    mutating func readiness(_ slot: SlotID, now: EngineTime) -> Readiness {
        let update = self.slots[slot].pending
        let partition = self.slots[slot].partition
        guard update.isSome, self.slots[slot].inFlight.isNone, !self.slots[slot].awaitsStateRecord,
            self.partitions[partition].sends, self.partitions[partition].mayPush
        else {
            return .blocked
        }
        let isStart = self.updates[update].isStart
        guard isStart || self.slots[slot].hasUsableToken else { return .blocked }
        guard self.lanes[self.lane(of: slot)].route != nil else { return .blocked }
        var at = max(self.slots[slot].notBeforeMillis, self.slots[slot].backoffUntilMillis)
        let app = Int(self.slots[slot].app)
        if self.updates[update].priority == .low {
            at = max(
                at, self.updates[update].firstUnsentMillis + self.configuration.apps[app].lowPriorityWindowMillis)
        } else if self.configuration.apps[app].budgetPolicy == .defer, !isStart, !self.updates[update].isEnd {
            let limit = self.budgetLimit(slot, update: update)
            if self.budgets.spent(&self.slots[slot].budget, nowMillis: now.steadyMillis) >= limit {
                at = max(at, self.budgets.returnMillis(self.slots[slot].budget, limit: limit) ?? .max)
            }
        }
        return at <= now.steadyMillis ? .ready : .at(millis: at)
    }

    /// Units the pending update may use: the reserve is for pushes with an alert, for starts and for ends.
    func budgetLimit(_ slot: SlotID, update: UpdateID) -> Int {
        let app = Int(self.slots[slot].app)
        let limit =
            self.slots[slot].frequentUpdates
            ? self.configuration.apps[app].budgetFrequentPerHour : self.configuration.apps[app].budgetPerHour
        let isReserved = self.updates[update].hasAlert || self.updates[update].isEnd || self.updates[update].isStart
        return isReserved ? limit : max(0, limit - self.configuration.apps[app].budgetReserve)
    }

    /// Puts the slot where it belongs after any change: into the ready queue, or under the earliest time at which something is due.
    mutating func reschedule(_ slot: SlotID, now: EngineTime) {
        var deadline = self.slots[slot].lifeEndsMillis
        switch self.readiness(slot, now: now) {
        case .ready:
            self.enterReadyQueue(slot, priority: self.updates[self.slots[slot].pending].priority, now: now)
        case .at(let millis):
            self.leaveReadyQueue(slot)
            deadline = min(deadline, millis)
        case .blocked:
            self.leaveReadyQueue(slot)
        }
        let update = self.slots[slot].pending
        if update.isSome, self.partitions[self.slots[slot].partition].sends {
            let expires = self.updates[update].firstExpirySeconds
            if expires != .max { deadline = min(deadline, now.steadyMillis + max(0, expires * 1_000 - now.wallMillis)) }
            if !self.updates[update].isStart, !self.slots[slot].hasUsableToken, self.slots[slot].inFlight.isNone {
                deadline = min(deadline, self.tokenWaitEndsMillis(slot))
            }
            if self.slots[slot].openEntry.isSome || self.slots[slot].openRoutedEntry.isSome, !self.slots[slot].isDirty {
                deadline = min(deadline, self.durableDueMillis(slot))
            }
        }
        if self.slots[slot].budget.isSome {
            // An idle activity's budget is forgotten when its last unit has returned.
            deadline = min(deadline, self.budgets.allReturnedMillis(self.slots[slot].budget))
        }
        self.deadlines.set(deadline, for: slot)
    }

    /// When a pending update that found no usable token is given up.
    func tokenWaitEndsMillis(_ slot: SlotID) -> Int64 {
        let hasToken = self.slots[slot].hasToken
        // After an accepted start the token may come as long as the activity lives.
        if self.slots[slot].awaitsTokenOfStart, !hasToken { return self.slots[slot].lifeEndsMillis }
        let since = max(
            self.slots[slot].tokenMissingSinceMillis,
            hasToken ? 0 : self.updates[self.slots[slot].pending].firstUnsentMillis)
        return since + self.configuration.apps[Int(self.slots[slot].app)].registrationWaitMillis
    }

    /// When a pending update has been held long enough to be written down, not more than once a second per slot.
    func durableDueMillis(_ slot: SlotID) -> Int64 {
        let pending = self.slots[slot].pending
        let held = self.updates[pending].firstUnsentMillis + self.configuration.pendingDurableAfterMillis
        let lastWrite = self.slots[slot].lastStateWriteMillis
        guard lastWrite != .min else { return held }
        return max(held, lastWrite + self.configuration.pendingDurableAfterMillis)
    }
}
