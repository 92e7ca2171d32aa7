import PushModel

/// Counts what an attempt costs: units of the budget, the distance to the next push, and the wait after a failure.
extension Dispatch {
    /// Maximum number of units that may be out, the pending update's own included. The reserve is for pushes with an
    /// alert, for starts and for ends.
    func budgetLimit(_ slot: SlotID, update: UpdateID, in memory: borrowing ShardMemory) -> Int {
        let app = Int(memory.slots[slot].app)
        // A budget that is configured for channels has no reserve.
        if memory.slots[slot].kind == .channel {
            let limit = memory.configuration.apps[app].channelBudgetPerHour
            return limit > 0 ? limit : .max
        }
        let limit =
            memory.slots[slot].frequentUpdates
            ? memory.configuration.apps[app].budgetFrequentPerHour : memory.configuration.apps[app].budgetPerHour
        let isReserved =
            memory.updates[update].hasAlert || memory.updates[update].isEnd || memory.updates[update].isStart
        return isReserved ? limit : max(0, limit - memory.configuration.apps[app].budgetReserve)
    }

    /// Takes a unit if the update has high priority and the budget has room. An unlimited budget takes no unit.
    /// - Returns: the priority with which the push leaves. If the budget has no room, the priority is low.
    @inline(__always) private mutating func takeBudget(
        _ slot: SlotID, update: UpdateID, in memory: inout ShardMemory, now: EngineTime
    )
        -> PushPriority
    {
        guard memory.updates[update].priority == .high else { return memory.updates[update].priority }
        let limit = self.budgetLimit(slot, update: update, in: memory)
        guard self.budgets.spent(&memory.slots[slot].budget, nowMillis: now.steadyMillis) < limit else {
            memory.counters.pushesDowngraded += 1
            return .low
        }
        if limit != .max { self.budgets.take(&memory.slots[slot].budget) }
        memory.counters.pushesHighPriority += 1
        return .high
    }

    /// Forgets units that have returned.
    @inline(__always) mutating func releaseReturnedBudget(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime)
    {
        _ = self.budgets.spent(&memory.slots[slot].budget, nowMillis: now.steadyMillis)
    }

    /// Adds a unit found in `state`.
    mutating func restoreBudget(_ slot: SlotID, ageMillis: Int64, in memory: inout ShardMemory, now: EngineTime) {
        self.budgets.restore(&memory.slots[slot].budget, ageMillis: ageMillis, nowMillis: now.steadyMillis)
    }

    /// Returns all units, because a later record of the same slot states its units again.
    mutating func forgetBudget(_ slot: SlotID, in memory: inout ShardMemory) {
        self.budgets.release(&memory.slots[slot].budget)
    }

    /// Starts the hour after which the push's unit returns. The push was answered, or its result is unknown.
    @inline(__always) mutating func spendBudget(_ update: UpdateID, in memory: borrowing ShardMemory, now: EngineTime) {
        let budget = memory.slots[memory.updates[update].slot].budget
        guard memory.updates[update].sentPriority == .high, self.budgets.isInFlight(budget) else { return }
        self.budgets.startReturn(budget, nowMillis: now.steadyMillis)
    }

    /// Returns the push's unit at once: APNs refused the push, or never processed it.
    mutating func refundBudget(_ update: UpdateID, in memory: inout ShardMemory) {
        let slot = memory.updates[update].slot
        guard memory.updates[update].sentPriority == .high, self.budgets.isInFlight(memory.slots[slot].budget)
        else { return }
        self.budgets.refunded(&memory.slots[slot].budget)
    }

    /// Counts a unit for the push that a former owner may have sent without a record in `state` (contract: The budget).
    /// Several owners may have died one after the other without recording the push. Each of these owners counts for one
    /// unit, dated when its successor took over. Units are counted at most once per slot and assignment.
    /// - Parameter recordMillis: when the first event that may have been sent was written.
    mutating func countUnrecordedPush(
        _ slot: SlotID, recordMillis: Int64, in memory: inout ShardMemory, now: EngineTime
    ) {
        guard !memory.slots[slot].countedUnrecordedPush, memory.couldHaveUnrecordedPush(slot),
            memory.slots[slot].kind == .activity || memory.app(of: slot).channelBudgetPerHour > 0
        else { return }
        memory.slots[slot].countedUnrecordedPush = true
        let owners = memory.partitions[memory.slots[slot].partition].former.wallMillis
        for begun in owners.suffix(Int(memory.slots[slot].ownersSinceRecord))
        where begun > recordMillis {
            let age = max(0, now.wallMillis - begun)
            self.budgets.restore(&memory.slots[slot].budget, ageMillis: age, nowMillis: now.steadyMillis)
        }
        self.budgets.restore(&memory.slots[slot].budget, ageMillis: 0, nowMillis: now.steadyMillis)
    }

    /// Sets the wait after a failed attempt. The wait doubles from attempt to attempt. Half of it is random, so that
    /// failed pushes are not all sent again at the same moment.
    mutating func backOff(
        _ slot: SlotID, retryAfterSeconds: Int64?, millisMax: Int64 = .max, in memory: inout ShardMemory,
        now: EngineTime
    ) {
        let attempt = memory.slots[slot].attempt
        memory.slots[slot].attempt = attempt < 20 ? attempt + 1 : attempt
        memory.slots[slot].backoffUntilMillis =
            now.steadyMillis
            + self.backOffMillis(
                attempt: attempt, retryAfterSeconds: retryAfterSeconds, millisMax: millisMax,
                settings: memory.configuration.settings)
    }
    /// Milliseconds to wait after a failed attempt. `attempt` is the number of failed attempts before it.
    mutating func backOffMillis(
        attempt: UInt8, retryAfterSeconds: Int64?, millisMax: Int64, settings: EngineSettings
    ) -> Int64 {
        let full = min(millisMax, settings.retryBackoffMaxMillis, settings.retryBackoffMinMillis << Int64(attempt))
        let drawn = full / 2 + Int64.random(in: 0...max(1, full / 2), using: &self.random)
        // A `retry-after` of the server counts for at most an hour.
        let asked = min(max(retryAfterSeconds ?? 0, 0), 3_600) * 1_000
        return max(drawn, asked)
    }

    /// Forgets earlier failures, so that the next attempt need not wait.
    @inline(__always) mutating func forgetFailures(_ slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].attempt = 0
        memory.slots[slot].backoffUntilMillis = .min
    }

    // MARK: Departures

    /// Delays the next version of an audience by the minimum distance, because a version leaves now.
    mutating func versionLeft(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].notBeforeMillis =
            now.steadyMillis + memory.configuration.apps[Int(memory.slots[slot].app)].minimumDistanceMillis
    }

    /// Prepares an update that leaves now: takes a unit of the budget if its priority is high, and delays the next
    /// update by the minimum distance.
    @inline(__always) mutating func departed(_ update: UpdateID, in memory: inout ShardMemory, now: EngineTime) {
        let slot = memory.updates[update].slot
        memory.updates[update].sentPriority = self.takeBudget(slot, update: update, in: &memory, now: now)
        memory.updates[update].sequence &+= 1
        memory.updates[update].sentMillis = now.steadyMillis
        memory.updates[update].tokenGeneration = memory.slots[slot].tokenGeneration
        memory.updates[update].apnsID = self.makeUUID()
        memory.updates[update].notBeforeOfPrevious = memory.slots[slot].notBeforeMillis
        memory.slots[slot].notBeforeMillis =
            now.steadyMillis + memory.configuration.apps[Int(memory.slots[slot].app)].minimumDistanceMillis
        memory.requestLeft(memory.slots[slot].partition)
        memory.counters.pushesSent += 1
    }

    /// Cancels the minimum distance after this update, because the device never got the update.
    mutating func takeDistanceBack(_ update: UpdateID, in memory: inout ShardMemory) {
        memory.slots[memory.updates[update].slot].notBeforeMillis = memory.updates[update].notBeforeOfPrevious
    }

    // MARK: Device tokens

    /// Whether suspicious answers about tokens are doubted. If many tokens have seemed bad lately, the fault is
    /// probably ours. Such answers are also doubted until enough tokens have been found good.
    func doubtsVerdicts(lane: LaneIndex) -> Bool { self.lanes[lane].tokenGuard.isStopped }

    /// A random UUID (RFC 9562 §5.4, version 4).
    mutating func makeUUID() -> (UInt64, UInt64) {
        let high = (self.random.next() & 0xffff_ffff_ffff_0fff) | 0x0000_0000_0000_4000
        let low = (self.random.next() & 0x3fff_ffff_ffff_ffff) | 0x8000_0000_0000_0000
        return (high, low)
    }
}
