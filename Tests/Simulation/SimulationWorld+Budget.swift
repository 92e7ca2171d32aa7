import APNSProtocol
import PushEngine
import PushModel
import ShardLoop

/// Checks the budget (contract: The budget). No more units than the limit may be spent at a time. A worker may hold
/// pushes back only for units that it may count as spent.
extension SimulationWorld {
    /// A unit of the budget that is spent, or that a worker may count as spent.
    struct BudgetUnit {
        var worker: Int
        var id: PushID?
        /// When the unit returns, by the world's steady clock. It is `Int64.max` while the push has no answer.
        var returns: Int64
        var departed: Int64
        /// Total time by which all clocks had been set ahead when the unit was spent, in milliseconds. If clocks are
        /// set ahead later, the unit returns earlier.
        var aheadMillis: Int64
    }

    private static let hourMillis: Int64 = 3_600_000

    /// Greatest difference between the wall clocks of two machines. An hour that one machine begins and another ends
    /// may be shorter or longer by this time.
    private var differenceOfClocksMillis: Int64 { 2 * self.plan.clockSkewMillisMax + self.differenceMillis }

    // MARK: When a push leaves

    func checkBudget(
        _ request: PushRequest, body: String, activity: Int, worker: SimulatedWorker
    ) {
        let isChannel = self.phones[activity].channel != nil
        if isChannel, self.plan.app.channelBudgetPerHour == 0 {
            let event = self.event(in: body)
            if event?.kind == .update, event?.isHighPriority == true, request.priority != .high {
                self.fail("channel \(activity): downgraded, and no budget is set")
            }
            return
        }
        guard request.priority == .high else { return self.checkDowngrade(request, body: body, activity: activity) }
        let limit =
            isChannel
            ? self.plan.app.channelBudgetPerHour
            : self.phones[activity].hasFrequentUpdates
                ? self.plan.app.budgetFrequentPerHour : self.plan.app.budgetPerHour
        let spent = self.budgetUnits[activity].count {
            $0.returns - (self.aheadMillis - $0.aheadMillis) - self.differenceOfClocksMillis > self.steadyMillis
        }
        if spent + 1 > limit {
            self.traceUnits(self.budgetUnits[activity])
            self.fail("activity \(activity): push \(spent + 1) of \(limit) at high priority")
        }
        let unit = BudgetUnit(
            worker: worker.number, id: request.id, returns: .max, departed: self.steadyMillis,
            aheadMillis: self.aheadMillis)
        self.budgetUnits[activity].append(unit)
        self.possibleUnits[activity].append(unit)
    }

    /// Checks that an update with high priority leaves with priority 5 only if the budget is spent.
    private func checkDowngrade(_ request: PushRequest, body: String, activity: Int) {
        guard let event = self.event(in: body), event.kind == .update, event.isHighPriority,
            !self.recordTimes.untimed.contains(activity)
        else { return }
        let token = String(decoding: request.target, as: UTF8.self)
        guard token != self.phones[activity].startToken else { return }
        let isReserved = body.contains("\"alert\":") || body.hasPrefix("{\"aps\":{\"event\":\"end\"")
        let limit =
            self.phones[activity].channel != nil
            ? self.plan.app.channelBudgetPerHour
            : (self.phones[activity].hasFrequentUpdates
                ? self.plan.app.budgetFrequentPerHour : self.plan.app.budgetPerHour)
                - (isReserved ? 0 : self.plan.app.budgetReserve)
        let spent = self.possiblySpent(activity)
        if spent < limit {
            self.traceUnits(self.possibleUnits[activity])
            self.fail("activity \(activity): held back at \(spent) of \(limit)")
        }
    }

    // MARK: After every step

    /// Checks that the worker counts no more units as spent than may be spent.
    func checkUnits(_ worker: SimulatedWorker) {
        self.renewUnrecorded(worker)
        let now = self.now(of: worker)
        // Several former owners may each have sent an event without a time. A worker then counts a unit for each of
        // these pushes, whenever the event was written. So activities with such events are not checked.
        for activity in self.phones.indices where !self.recordTimes.untimed.contains(activity) {
            let key = self.phones[activity].keyBytes
            guard worker.partitions[self.home(of: activity)]?.isRunning == true,
                let counted = worker.loop.engine.budgetUnitsOut(
                    isChannel: self.phones[activity].channel != nil, app: 0, id: key.span, now: now), counted > 0
            else { continue }
            let spent = self.possiblySpent(activity)
            if counted > spent {
                self.traceUnits(self.possibleUnits[activity])
                self.fail(
                    "activity \(activity): worker \(worker.number) counts \(counted) units, at most \(spent) are out")
            }
        }
    }

    /// Number of units that a worker may count as spent. A push with an unknown answer counts. Each takeover adds one
    /// unit for a push that may not be recorded. A unit counts for longer if clocks were set back or differ.
    private func possiblySpent(_ activity: Int) -> Int {
        let slack = self.behindMillis + self.differenceOfClocksMillis
        return self.possibleUnits[activity].count { $0.returns == .max || $0.returns + slack > self.steadyMillis }
    }

    private func traceUnits(_ units: [BudgetUnit]) {
        for unit in units {
            self.log(
                "a unit of worker \(unit.worker), taken at \(unit.departed - Self.beginMillis) ms, returns at \(unit.returns &- Self.beginMillis) ms"
            )
        }
    }

    // MARK: What becomes of units

    private func unit(of flight: Flight, in units: [[BudgetUnit]]) -> Int? {
        units[flight.activity].firstIndex {
            $0.worker == flight.worker && $0.id == flight.id && $0.returns == .max
        }
    }

    func settleBudget(_ flight: Flight, result: PushAnswer.Result) {
        // The partition's next owner does not learn of the answer.
        guard self.group.owner(of: flight.partition) == flight.worker else {
            self.settleBudgetOfTheDead(flight)
            return self.abandonBudget(flight.activity, worker: flight.worker)
        }
        let isSpent =
            switch result {
            case .accepted, .unknown: true
            case .response, .notProcessed, .channel: false
            }
        if let unit = self.unit(of: flight, in: self.budgetUnits) {
            if isSpent {
                self.budgetUnits[flight.activity][unit].returns = self.steadyMillis + Self.hourMillis
            } else {
                self.budgetUnits[flight.activity].remove(at: unit)
            }
        }
        if let unit = self.unit(of: flight, in: self.possibleUnits) {
            if isSpent {
                self.possibleUnits[flight.activity][unit].returns = self.steadyMillis + Self.hourMillis
            } else {
                self.possibleUnits[flight.activity].remove(at: unit)
                self.refunds[flight.activity] = flight.worker
            }
        }
    }

    /// Settles a push whose answer no worker will get. If APNs took the push, its unit counts from its departure.
    func settleBudgetOfTheDead(_ flight: Flight) {
        guard flight.member == nil else { return self.settleMemberOfTheDead(flight) }
        guard let unit = self.unit(of: flight, in: self.budgetUnits) else { return }
        switch flight.result {
        case .accepted, .unknown, nil:
            if case .accepted = flight.result, flight.isApplied, !flight.hasArrived {
                self.budgetUnits[flight.activity].remove(at: unit)
            } else {
                self.budgetUnits[flight.activity][unit].returns =
                    self.budgetUnits[flight.activity][unit].departed + Self.hourMillis
            }
        case .response, .notProcessed, .channel: self.budgetUnits[flight.activity].remove(at: unit)
        }
    }

    /// Settles the units of an activity that the worker has lost. `state` may count a push as spent that is still in
    /// flight or was just refused.
    func abandonBudget(_ activity: Int, worker: Int) {
        let returns = self.steadyMillis + Self.hourMillis
        for index in self.possibleUnits[activity].indices
        where self.possibleUnits[activity][index].worker == worker
            && self.possibleUnits[activity][index].returns == .max
        {
            self.possibleUnits[activity][index].returns = returns
        }
        if self.refunds[activity] == worker {
            self.possibleUnits[activity].append(self.unrecordedUnit(worker: worker))
            self.refunds[activity] = nil
        }
    }

    /// Adds or renews a unit for a push that an earlier worker may have sent without a record of it. This worker has
    /// taken the activity over, or reads events that the earlier worker may have read.
    func rememberUnrecordedPush(_ activity: Int, worker: Int, isTakeover: Bool) {
        self.possibleUnits[activity].removeAll {
            $0.returns != .max && $0.returns + Self.hourMillis < self.steadyMillis
        }
        if isTakeover, let refunder = self.refunds[activity], refunder != worker {
            // The refusal may not have been recorded in `state`.
            self.possibleUnits[activity].append(self.unrecordedUnit(worker: refunder))
            self.refunds[activity] = nil
        }
        let last = self.possibleUnits[activity].lastIndex { $0.worker == worker && $0.id == nil }
        if !isTakeover, let last {
            self.possibleUnits[activity][last].returns = self.steadyMillis + Self.hourMillis
        } else {
            self.possibleUnits[activity].append(self.unrecordedUnit(worker: worker))
        }
    }

    /// Renews the units for unrecorded pushes of replayed events. The engine counts such a unit when it processes the
    /// event, perhaps seconds after it was read. The contract (contract: The budget) allows one such unit. The engine
    /// pushes nothing of the event before it processes it.
    private func renewUnrecorded(_ worker: SimulatedWorker) {
        for activity in worker.replayed where worker.partitions[self.home(of: activity)]?.isRunning == true {
            self.rememberUnrecordedPush(activity, worker: worker.number, isTakeover: false)
        }
        if worker.loop.engine.wantsRecords { worker.replayed = [] }
    }

    private func unrecordedUnit(worker: Int) -> BudgetUnit {
        BudgetUnit(
            worker: worker, id: nil, returns: self.steadyMillis + Self.hourMillis, departed: self.steadyMillis,
            aheadMillis: self.aheadMillis)
    }
}
