public import PushModel

/// What a shard knows of one activity, for an operator. It has neither tokens nor content.
public struct ActivityReport: Sendable, Equatable, Encodable {
    /// Budget of its high-priority pushes in the last hour.
    public struct Budget: Sendable, Equatable, Encodable {
        /// Number of pushes allowed in any rolling hour.
        public var perHour: Int
        /// Units of the budget that are kept for alerts and `end`.
        public var reserve: Int
        /// Units sent and not returned, including the one in flight.
        public var out: Int
        /// Units that may be sent now, with alerts and `end`.
        public var left: Int
        /// Seconds until each answered unit returns, the next first. The unit in flight is not included.
        public var returnsInSeconds: [Int64]
        /// What happens when the budget is spent.
        public var policy: String
    }
    /// What a push says, or is going to say.
    public struct Push: Sendable, Equatable, Encodable {
        /// `start`, `update` or `end`.
        public var event: String
        /// `high` or `low`. For a push in flight, the priority with which it left.
        public var priority: String
        /// Whether it has an alert.
        public var hasAlert: Bool
        /// Number of events that it merges.
        public var merged: Int
        /// `aps.timestamp`; `nil`: not given yet.
        public var stampSeconds: Int64?
        /// Milliseconds since its first event was taken, or since it left.
        public var ageMillis: Int64
    }

    /// The app's bundle identifier.
    public var app: String
    /// Number of its partition.
    public var partition: Int32
    /// `awaiting` (no token, no start), `alive`, `starting`, `started`, `ending` or `ended`.
    public var life: String
    /// Whether an `end` was accepted.
    public var hasEnded: Bool
    /// `none`, `usable`, `former` (usable; it is the one before the newest, which APNs has refused), `doubted`
    /// (refused, perhaps through our own fault) or `dead`.
    public var token: String
    /// Environment of its token.
    public var environment: String
    /// Whether its registration asks for frequent updates.
    public var frequentUpdates: Bool
    /// Budget of its high-priority pushes.
    public var budget: Budget
    /// Number of events without an outcome.
    public var eventsPending: Int
    /// What is sent next; `nil`: nothing.
    public var pending: Push?
    /// The push that waits for an answer of APNs; `nil`: none does.
    public var inFlight: Push?
    /// The last `aps.timestamp` given; `nil`: none was.
    public var lastStampSeconds: Int64?
    /// Event time of the newest event accepted; `nil`: none was.
    public var lastAcceptedSeconds: Int64?
    /// Milliseconds until something may leave: the distance between two pushes, or the rest after a failure.
    public var restMillis: Int64
    /// Number of failed attempts in a row.
    public var attempts: Int
    /// Whether the record of its last push is still unacknowledged. Nothing leaves before it is.
    public var awaitsRecord: Bool
}

extension ShardEngine {
    /// What is known of an activity in the partitions that run here; `nil`: it is not in memory.
    /// - Parameters:
    ///   - app: index into `EngineConfiguration.apps`.
    ///   - id: as the record's key names it.
    ///   - now: time for which the rest of its budget and its rest are computed.
    public func activityReport(app: UInt16, id: Span<UInt8>, now: EngineTime) -> ActivityReport? {
        let key = SlotKey(app: app, id: id)
        for partition in self.memory.partitions.identifiers
        where self.memory.partitions[partition].phase != .gone {
            guard let slot = self.memory.slots.find(key, partition: partition) else { continue }
            return self.report(of: slot, now: now)
        }
        return nil
    }

    /// The token that pushes to an activity go to; `nil`: it is not in memory, or has no token. A secret, meant for a
    /// simulator of phones beside a worker.
    /// - Parameters:
    ///   - app: index into `EngineConfiguration.apps`.
    ///   - id: as the record's key names it.
    public func activityToken(app: UInt16, id: Span<UInt8>) -> [UInt8]? {
        let key = SlotKey(app: app, id: id)
        for partition in self.memory.partitions.identifiers
        where self.memory.partitions[partition].phase != .gone {
            guard let slot = self.memory.slots.find(key, partition: partition), self.memory.slots[slot].hasToken else {
                continue
            }
            // Copied while the slot lives.
            return unsafe Array(self.memory.slots.tokenBytes(slot))
        }
        return nil
    }

    private func report(of slot: SlotID, now: EngineTime) -> ActivityReport {
        let app = self.memory.app(of: slot)
        let isFrequent = self.memory.slots[slot].frequentUpdates
        let limit = isFrequent ? app.budgetFrequentPerHour : app.budgetPerHour
        let returns = self.dispatch.budgets.returnsMillis(
            self.memory.slots[slot].budget, nowMillis: now.steadyMillis)
        let out = returns.count + (self.dispatch.budgets.isInFlight(self.memory.slots[slot].budget) ? 1 : 0)
        let accepted = self.memory.slots[slot].lastAcceptedSeconds
        let stamp = self.memory.slots[slot].lastStampSeconds
        let rests = max(self.memory.slots[slot].notBeforeMillis, self.memory.slots[slot].backoffUntilMillis)
        return ActivityReport(
            app: app.bundleID,
            partition: self.memory.partitions[self.memory.slots[slot].partition].number,
            life: self.memory.slots[slot].life.name, hasEnded: self.memory.slots[slot].life == .ended,
            token: self.memory.slots[slot].hasToken ? self.memory.slots[slot].tokenStanding.name : "none",
            environment: "\(self.memory.slots[slot].environment)", frequentUpdates: isFrequent,
            budget: ActivityReport.Budget(
                perHour: limit, reserve: app.budgetReserve, out: out, left: max(0, limit - out),
                returnsInSeconds: returns.map { ($0 + 999) / 1_000 }, policy: app.budgetPolicy.rawValue),
            eventsPending: self.memory.eventCount(of: slot),
            pending: self.push(self.memory.slots[slot].pending, isInFlight: false, now: now),
            inFlight: self.push(self.memory.slots[slot].inFlight, isInFlight: true, now: now),
            lastStampSeconds: stamp == 0 ? nil : stamp, lastAcceptedSeconds: accepted <= 0 ? nil : accepted,
            restMillis: rests == .min ? 0 : max(0, rests - now.steadyMillis),
            attempts: Int(self.memory.slots[slot].attempt), awaitsRecord: self.memory.slots[slot].awaitsStateRecord)
    }

    private func push(_ update: UpdateID, isInFlight: Bool, now: EngineTime) -> ActivityReport.Push? {
        guard update.isSome else { return nil }
        let since = isInFlight ? self.memory.updates[update].sentMillis : self.memory.updates[update].firstUnsentMillis
        let priority = isInFlight ? self.memory.updates[update].sentPriority : self.memory.updates[update].priority
        let event = self.memory.updates[update].isStart ? "start" : self.memory.updates[update].isEnd ? "end" : "update"
        return ActivityReport.Push(
            event: event, priority: priority == .high ? "high" : "low",
            hasAlert: self.memory.updates[update].hasAlert, merged: Int(self.memory.updates[update].mergedCount),
            stampSeconds: self.memory.updates[update].stampSeconds, ageMillis: max(0, now.steadyMillis - since))
    }
}

extension SlotLife {
    fileprivate var name: String {
        switch self {
        case .awaiting: "awaiting"
        case .alive: "alive"
        case .starting: "starting"
        case .started: "started"
        case .ending: "ending"
        case .ended: "ended"
        }
    }
}

extension TokenStanding {
    fileprivate var name: String {
        switch self {
        case .usable, .proven: "usable"
        case .former: "former"
        case .doubted: "doubted"
        case .dead, .kept: "dead"
        }
    }
}
