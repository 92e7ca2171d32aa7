import PushModel

@testable import PushEngine

/// Runs `Dispatch` alone. Tests put the waiting updates into slots by hand.
final class DispatchBench: PartBench {
    var dispatch: Dispatch

    init(partitionCount: Int32 = 1, _ configure: (inout EngineConfiguration) -> Void = { _ in }) {
        let configuration = Self.configuration(partitionCount: partitionCount, configure)
        self.dispatch = Dispatch(configuration, random: SplitMix64(seed: 1))
        super.init(configuration)
    }

    /// Makes a pending update in the slot. `Dispatch` is not told.
    @discardableResult
    func wait(
        _ slot: SlotID, _ priority: PushPriority = .high, alert: Bool = false, isEnd: Bool = false,
        isStart: Bool = false
    ) -> UpdateID {
        let update = self.memory.updates.make(slot: slot)
        self[update].priority = priority
        self[update].firstUnsentMillis = self.now.steadyMillis
        if alert { self[update].top.alert = self[update].top.append([0x31].span) }
        self[update].top.isEnd = isEnd
        if isStart {
            self[update].start = [
                StartPart(
                    token: [0x57], environment: .production, blob: [], content: PayloadContent(), expiresSeconds: .max)
            ]
        }
        self[slot].pending = update
        return update
    }

    /// Makes a slot with an update to send, and schedules the slot.
    func ready(_ id: String, _ priority: PushPriority = .high, app: UInt16 = 0, partition: PartitionIndex = 0) -> SlotID
    {
        let slot = self.makeSlot(id, app: app, partition: partition)
        self.wait(slot, priority)
        self.reschedule(slot)
        return slot
    }

    func reschedule(_ slot: SlotID) { self.dispatch.reschedule(slot, in: &self.memory, now: self.now) }

    /// Sends the pending update. Returns the priority with which it leaves.
    func depart(_ slot: SlotID) -> PushPriority {
        let update = self[slot].pending
        self.dispatch.departed(update, in: &self.memory, now: self.now)
        self[slot].inFlight = update
        self[slot].pending = .none
        return self[update].sentPriority
    }

    /// Ends the attempt. Its unit returns in an hour, or at once if it is refunded.
    func arrive(_ slot: SlotID, refunds: Bool = false) {
        let update = self[slot].inFlight
        self.memory.requestAnswered(self.memory.slots[self.memory.updates[update].slot].partition)
        if refunds {
            self.dispatch.refundBudget(update, in: &self.memory)
        } else {
            self.dispatch.spendBudget(update, in: self.memory, now: self.now)
        }
        self[slot].inFlight = .none
        self.memory.updates.release(update)
    }

    func readiness(_ slot: SlotID) -> Dispatch.Readiness {
        self.dispatch.readiness(slot, in: &self.memory, now: self.now)
    }

    /// Takes the next slot of a route, lane by lane, as `ShardEngine.nextPush` does.
    func next(route: UInt16 = 0) -> SlotID? {
        for _ in 0..<self.dispatch.laneCount(route: route) {
            let lane = self.dispatch.nextLane(route: route)
            if let slot = self.dispatch.popReady(lane: lane, in: &self.memory) { return slot }
        }
        return nil
    }

    func hasReady(route: UInt16 = 0) -> Bool { self.dispatch.hasReady(route: route) }
    /// Takes the slots that are due now, in the order of the queue.
    func takeDue() -> [SlotID] {
        var due: [SlotID] = []
        while let slot = self.dispatch.popDue(now: self.now) { due.append(slot) }
        return due
    }
    /// Milliseconds from now until the next deadline; `nil` if there is no deadline.
    var nextDeadlineAfterMillis: Int64? {
        let deadline = self.dispatch.nextDeadlineMillis
        return deadline == .max ? nil : deadline - self.now.steadyMillis
    }
    var pendingRoom: Int { self.dispatch.pendingRoom(in: self.memory) }
    func readyCount(_ lane: LaneIndex) -> Int { self.dispatch.lanes[lane].readyCount }
    func pendingSlots(_ lane: LaneIndex) -> Int { self.dispatch.lanes[lane].pendingSlots }
    func unitsOut(_ slot: SlotID) -> Int {
        self.dispatch.budgets.unitsOut(self[slot].budget, nowMillis: self.now.steadyMillis)
    }
    /// Number of activities with units that have not returned.
    var budgetCount: Int { self.dispatch.budgets.count }
    func backOff(_ slot: SlotID, retryAfterSeconds: Int64? = nil, millisMax: Int64 = .max) -> Int64 {
        self.dispatch.backOff(
            slot, retryAfterSeconds: retryAfterSeconds, millisMax: millisMax, in: &self.memory, now: self.now)
        return self[slot].backoffUntilMillis - self.now.steadyMillis
    }
    func answerTopic(_ answer: Dispatch.APNSTopicAnswer, lane: LaneIndex) {
        self.dispatch.apnsTopicAnswered(answer, lane: lane, in: &self.memory, now: self.now)
    }
    func advanceGates() { self.dispatch.advanceGates(in: &self.memory, now: self.now) }
    var appsHeldBack: [UInt16] { self.dispatch.appsHeldBack(in: self.memory).map(\.app) }

    static let production = LaneIndex(app: 0, environment: .production)
    static let development = LaneIndex(app: 0, environment: .development)
    static let otherApp = LaneIndex(app: 1, environment: .production)

    /// A bench with two apps that share route 0. The first app also has an environment on route 1.
    static func withTwoApps() -> DispatchBench {
        DispatchBench {
            $0.apps[0].developmentRoute = 1
            var other = AppConfiguration(bundleID: "com.example.taxi")
            other.productionRoute = 0
            $0.apps.append(other)
        }
    }
}
