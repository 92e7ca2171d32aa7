import PushModel

/// Decides what leaves next, and when a slot is looked at again: lanes with their ready queues and gates, deadlines,
/// budgets, retries.
///
/// `Dispatch` alone writes the slot's fields for these decisions (its row in the table of `Slot`). It only reads what
/// the slot will send.
struct Dispatch: ~Copyable {
    /// The lanes, by `LaneIndex(app:environment:errand:)`.
    var lanes = NumberedArray<LaneIndex, Lane>()
    /// The lanes of each route, and which one is next.
    private var routes: [RouteLanes] = []
    private var deadlines = DeadlineQueue<SlotID>()
    /// Lanes of audiences' slots, which have no route.
    private(set) var versionLanes: [LaneIndex] = []
    /// Number of ready slots in `versionLanes`.
    private(set) var readyVersionCount = 0
    /// Number of channels that have something to send, and whose keeper has not answered. They do not count towards the
    /// limit of pending slots. At that limit nothing is read, but the keepers' answers have to be read.
    private(set) var keeperQuestionsPending = 0
    var budgets = BudgetStore()
    var random: SplitMix64
    private var nextTicket: UInt32 = 1
    /// When a lane's gate has something to do (steady clock).
    var gateDeadlineMillis: Int64?
    private let addressOnly = AddressOnly()

    private struct RouteLanes {
        var lanes: [LaneIndex] = []
        var nextLaneIndex = 0
    }

    init(_ configuration: borrowing EngineConfiguration, random: SplitMix64) {
        self.random = random
        self.follow(configuration)
    }

    /// Makes the lanes of new apps, and assigns existing lanes to the routes configured now. Slots in lanes stay there.
    mutating func follow(_ configuration: borrowing EngineConfiguration) {
        self.routes = []
        self.versionLanes = []
        for (index, app) in configuration.apps.enumerated() {
            for environment in PushEnvironment.allCases {
                for errand in Errand.allCases {
                    let route = errand.requestKind.flatMap { app.route(environment, $0) }
                    let lane = LaneIndex(app: UInt16(index), environment: environment, errand: errand)
                    if lane.index < self.lanes.count {
                        self.lanes[lane].route = route
                    } else {
                        self.lanes.append(Lane(route: route))
                    }
                    if errand == .version { self.versionLanes.append(lane) }
                    guard let route else { continue }
                    while self.routes.count <= Int(route) { self.routes.append(RouteLanes()) }
                    self.routes[Int(route)].lanes.append(lane)
                }
            }
        }
    }

    // MARK: The next slot

    /// Whether something could be sent on this route.
    func hasReady(route: UInt16) -> Bool {
        guard Int(route) < self.routes.count else { return false }
        for lane in self.routes[Int(route)].lanes {
            if self.lanes[lane].readyCount > 0 || !self.lanes[lane].passes.isEmpty, !self.lanes[lane].gate.isClosed {
                return true
            }
        }
        return false
    }

    /// Whether a pass of the lane is next, because enough pushes of slots have left.
    @inline(__always) func isPassNext(lane: LaneIndex) -> Bool {
        self.lanes[lane].passes.singlesSinceMember >= PassQueue.singlesBetweenMembersMax && self.hasPass(lane: lane)
    }
    /// Whether a pass of the lane has members to serve, and the lane's gate is open.
    @inline(__always) func hasPass(lane: LaneIndex) -> Bool {
        !self.lanes[lane].passes.isEmpty && !self.lanes[lane].gate.isClosed
    }
    /// Counts a slot's push, if it left while passes of the lane had members to serve.
    @inline(__always) mutating func singleLeft(lane: LaneIndex) {
        if !self.lanes[lane].passes.isEmpty { self.lanes[lane].passes.singlesSinceMember += 1 }
    }
    /// Number of lanes of a route.
    func laneCount(route: UInt16) -> Int { Int(route) < self.routes.count ? self.routes[Int(route)].lanes.count : 0 }

    /// Takes the route's next lane. The following call takes the lane after it.
    @inline(__always) mutating func nextLane(route: UInt16) -> LaneIndex {
        let index = self.routes[Int(route)].nextLaneIndex
        self.routes[Int(route)].nextLaneIndex = index + 1 == self.routes[Int(route)].lanes.count ? 0 : index + 1
        return self.routes[Int(route)].lanes[index]
    }

    /// Takes the next slot out of a lane's ready queue, in the order of `ReadyQueue`; `nil`: none may leave.
    @inline(__always) mutating func popReady(lane: LaneIndex, in memory: inout ShardMemory) -> SlotID? {
        guard self.lanes[lane].readyCount > 0, !self.lanes[lane].gate.isClosed,
            let entry = self.lanes[lane].ready.popFirst(
                agingMillis: memory.configuration.settings.agingMillis, slots: memory.slots)
        else { return nil }
        self.leaveReadyQueue(entry.slot, in: &memory)
        return entry.slot
    }

    @inline(__always) private mutating func enterReadyQueue(
        _ slot: SlotID, priority: PushPriority, in memory: inout ShardMemory, now: EngineTime
    ) {
        if memory.slots[slot].queuedTicket != 0 {
            guard memory.slots[slot].queuedPriority != priority else { return }
            self.leaveReadyQueue(slot, in: &memory)
        }
        let lane = memory.slots[slot].lane
        let ticket = self.nextTicket
        self.nextTicket = ticket == .max ? 1 : ticket + 1
        memory.slots[slot].queuedTicket = ticket
        memory.slots[slot].queuedPriority = priority
        self.lanes[lane].readyCount += 1
        if memory.slots[slot].errand == .version { self.readyVersionCount += 1 }
        self.lanes[lane].ready.append(
            ReadyQueue.Entry(slot: slot, ticket: ticket, readyMillis: now.steadyMillis), priority: priority)
        let standing = self.lanes[lane].readyCount
        self.lanes[lane].ready.compact(standing: standing, slots: memory.slots)
    }

    @inline(__always) mutating func leaveReadyQueue(_ slot: SlotID, in memory: inout ShardMemory) {
        guard memory.slots[slot].queuedTicket != 0 else { return }
        memory.slots[slot].queuedTicket = 0
        self.lanes[memory.slots[slot].lane].readyCount -= 1
        if memory.slots[slot].errand == .version { self.readyVersionCount -= 1 }
    }

    // MARK: What is counted

    /// Counts the slot as one with work if it has some, and takes it out of the count if not.
    @inline(__always) mutating func countWork(_ slot: SlotID, in memory: inout ShardMemory) {
        let hasWork = memory.slots[slot].hasWork
        guard hasWork != memory.slots[slot].isCountedPending else { return }
        memory.slots[slot].isCountedPending = hasWork
        let step = hasWork ? 1 : -1
        memory.counters.slotsPending += step
        self.countPending(slot, step, in: memory)
    }

    @inline(__always) private mutating func countPending(
        _ slot: SlotID, _ step: Int, in memory: borrowing ShardMemory
    ) {
        self.lanes[memory.slots[slot].lane].pendingSlots += step
        if memory.slots[slot].errand == .keeperQuestion { self.keeperQuestionsPending += step }
    }

    /// Number of further slots that may have something to send, for the app with the least room left
    /// (`AppConfiguration.pendingShare`). `Int.max`: no app has a share.
    func pendingRoom(in memory: borrowing ShardMemory) -> Int {
        var room = Int.max
        for app in memory.configuration.apps.indices where memory.configuration.apps[app].pendingShare < 1 {
            room = min(room, self.pendingRoom(of: UInt16(app), in: memory))
        }
        return room
    }

    /// Number of further slots of one app that may have something to send. Negative: the app has more than its share.
    func pendingRoom(of app: UInt16, in memory: borrowing ShardMemory) -> Int {
        let share = memory.configuration.apps[Int(app)].pendingShare * Double(memory.configuration.settings.pendingMax)
        var pending = 0
        for environment in PushEnvironment.allCases {
            for errand in Errand.allCases where errand != .keeperQuestion {
                pending += self.lanes[LaneIndex(app: app, environment: environment, errand: errand)].pendingSlots
            }
        }
        // The share is rounded up: an app that is below its share, no matter by how little, may have one more slot.
        return Int(share.rounded(.up)) - pending
    }

    /// Changes the slot's environment, which is part of its lane. The counts of both lanes follow.
    mutating func setEnvironment(_ environment: PushEnvironment, of slot: SlotID, in memory: inout ShardMemory) {
        guard memory.slots[slot].environment != environment else { return }
        self.leaveLane(slot, in: &memory)
        memory.slots[slot].environment = environment
        self.enterLane(slot, in: &memory)
    }

    /// Changes the slot's errand, which is part of its lane. The counts of both lanes follow.
    mutating func setErrand(_ errand: Errand, of slot: SlotID, in memory: inout ShardMemory) {
        guard memory.slots[slot].errand != errand else { return }
        self.leaveLane(slot, in: &memory)
        memory.slots[slot].errand = errand
        self.enterLane(slot, in: &memory)
    }

    private mutating func leaveLane(_ slot: SlotID, in memory: inout ShardMemory) {
        self.leaveReadyQueue(slot, in: &memory)
        if memory.slots[slot].isCountedPending { self.countPending(slot, -1, in: memory) }
    }

    private mutating func enterLane(_ slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].isCountedPending { self.countPending(slot, 1, in: memory) }
    }

    /// Removes the slot from every queue and count, because the slot is forgotten. Its entries in a ready queue may
    /// stay, because they are only hints.
    mutating func letGo(_ slot: SlotID, in memory: inout ShardMemory) {
        self.leaveReadyQueue(slot, in: &memory)
        self.deadlines.remove(slot)
        if memory.slots[slot].isCountedPending {
            memory.slots[slot].isCountedPending = false
            memory.counters.slotsPending -= 1
            self.countPending(slot, -1, in: memory)
        }
        self.budgets.release(&memory.slots[slot].budget)
    }

    // MARK: Deadlines

    /// When something is due (steady clock). `Int64.max`: nothing waits for a time.
    var nextDeadlineMillis: Int64 { min(self.deadlines.earliestMillis ?? .max, self.gateDeadlineMillis ?? .max) }

    /// Takes out the earliest slot that is due.
    mutating func popDue(now: EngineTime) -> SlotID? { self.deadlines.popDue(nowMillis: now.steadyMillis) }

    /// Reschedules the slot after any change. It goes into the ready queue, or waits for the earliest time at which
    /// something is due.
    mutating func reschedule(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        self.countWork(slot, in: &memory)
        var deadline = memory.slots[slot].lifeEndsMillis
        switch self.readiness(slot, in: &memory, now: now) {
        case .ready:
            self.enterReadyQueue(
                slot, priority: memory.updates[memory.slots[slot].pending].priority, in: &memory, now: now)
        case .at(let millis):
            self.leaveReadyQueue(slot, in: &memory)
            deadline = min(deadline, millis)
        case .blocked:
            self.leaveReadyQueue(slot, in: &memory)
        }
        let update = memory.slots[slot].pending
        if update.isSome, memory.partitions[memory.slots[slot].partition].sends {
            let expires = memory.updates[update].firstExpirySeconds
            if expires != .max { deadline = min(deadline, now.steadyMillis + max(0, expires * 1_000 - now.wallMillis)) }
            if !memory.updates[update].isStart, !memory.slots[slot].hasUsableToken, memory.slots[slot].inFlight.isNone {
                deadline = min(deadline, self.tokenWaitEndsMillis(slot, in: memory))
            }
            if memory.slots[slot].isOpen, !memory.slots[slot].isDirty {
                deadline = min(deadline, self.durableDueMillis(slot, in: memory))
            }
            if memory.slots[slot].errand == .keeperQuestion {
                deadline = min(
                    deadline, max(now.steadyMillis, self.keeperQuestionDueMillis(slot, in: memory)))
            }
            if memory.slots[slot].errand == .question {
                deadline = min(deadline, self.questionDeadlineMillis(slot, in: &memory, now: now))
            }
        }
        if memory.slots[slot].budget.isSome {
            // An idle activity is looked at when its last unit has returned, to free its budget.
            deadline = min(deadline, self.budgets.allReturnedMillis(memory.slots[slot].budget))
        }
        self.deadlines.set(deadline, for: slot)
    }

    /// Whether the slot's pending update may leave now, and if not, when time alone might change that.
    enum Readiness: Equatable {
        case ready
        case at(millis: Int64)
        /// Time alone changes nothing. There is no update, or it waits for something else, such as an answer, a token
        /// or an acknowledgement.
        case blocked
    }

    @inline(__always) mutating func readiness(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime)
        -> Readiness
    {
        let update = memory.slots[slot].pending
        let partition = memory.slots[slot].partition
        guard update.isSome, memory.slots[slot].inFlight.isNone, !memory.slots[slot].awaitsStateRecord,
            memory.partitions[partition].sends, memory.partitions[partition].mayPush
        else {
            return .blocked
        }
        let isStart = memory.updates[update].isStart
        guard isStart || memory.slots[slot].hasUsableToken else { return .blocked }
        if memory.slots[slot].kind == .audience {
            // A version needs no route. Only a few versions may wait until all partitions have them, so a slow
            // partition of `routed` blocks the next version.
            guard memory.owners[slot].openCount < AudienceOwner.publicationsMax else { return .blocked }
        } else {
            guard self.lanes[memory.slots[slot].lane].route != nil else { return .blocked }
        }
        // The slot waits until the question's answer arrives, or the question is given up.
        if memory.slots[slot].errand == .question, memory.slots[slot].isAsking { return .blocked }
        var at = max(memory.slots[slot].notBeforeMillis, memory.slots[slot].backoffUntilMillis)
        let app = Int(memory.slots[slot].app)
        if memory.updates[update].priority != .high {
            guard memory.slots[slot].kind != .audience || !memory.owners[slot].hasWaitingStart else {
                return at <= now.steadyMillis ? .ready : .at(millis: at)
            }
            at = max(
                at, memory.updates[update].firstUnsentMillis + memory.configuration.apps[app].lowPriorityWindowMillis)
        } else if memory.configuration.apps[app].budgetPolicy == .defer, memory.slots[slot].kind != .audience, !isStart,
            !memory.updates[update].isEnd
        {
            let limit = self.budgetLimit(slot, update: update, in: memory)
            if self.budgets.spent(&memory.slots[slot].budget, nowMillis: now.steadyMillis) >= limit {
                at = max(at, self.budgets.returnMillis(memory.slots[slot].budget, limit: limit) ?? .max)
            }
        }
        return at <= now.steadyMillis ? .ready : .at(millis: at)
    }

    /// When a pending update is given up because it has no usable token (steady clock).
    func tokenWaitEndsMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let hasToken = memory.slots[slot].hasToken
        // An update for a channel does not wait. The channel cannot get another id, and if it is kept, only its
        // audience sends on it.
        if memory.slots[slot].kind == .channel { return memory.slots[slot].tokenMissingSinceMillis }
        // After an accepted start the token may arrive until the end of the activity's life.
        if memory.slots[slot].awaitsTokenOfStart, !hasToken { return memory.slots[slot].lifeEndsMillis }
        let since = max(
            memory.slots[slot].tokenMissingSinceMillis,
            hasToken ? 0 : memory.updates[memory.slots[slot].pending].firstUnsentMillis)
        return since + memory.configuration.apps[Int(memory.slots[slot].app)].registrationWaitMillis
    }

    /// When a pending update has waited long enough to be written down (steady clock). A slot is written for this
    /// reason at most once in `pendingDurableAfterMillis`.
    private func durableDueMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let pending = memory.slots[slot].pending
        let held = memory.updates[pending].firstUnsentMillis + memory.configuration.settings.pendingDurableAfterMillis
        let lastWrite = memory.slots[slot].lastStateWriteMillis
        guard lastWrite != .min else { return held }
        return max(held, lastWrite + memory.configuration.settings.pendingDurableAfterMillis)
    }

    /// Whether a pending update has to be written down, because it has waited long enough and offsets wait for it.
    func mustBeDurable(_ slot: SlotID, in memory: borrowing ShardMemory, now: EngineTime) -> Bool {
        memory.slots[slot].pending.isSome && memory.slots[slot].isOpen
            && self.durableDueMillis(slot, in: memory) <= now.steadyMillis
    }
}
