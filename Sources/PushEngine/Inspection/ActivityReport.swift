public import PushModel

/// What a shard knows of one activity, for an operator. The report contains neither tokens nor content.
public struct ActivityReport: Sendable, Equatable, Encodable {
    /// The activity's budget of high-priority pushes in the last hour.
    public struct Budget: Sendable, Equatable, Encodable {
        /// Number of pushes allowed in any rolling hour.
        public var perHour: Int
        /// Units of the budget that are kept for alerts and `end`.
        public var reserve: Int
        /// Number of units that are out, including the one in flight.
        public var out: Int
        /// Number of units that may be used now by pushes with an alert and by `end`.
        public var left: Int
        /// Seconds until each unit returns, in ascending order. The unit in flight is not included.
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
        /// Whether the push has an alert.
        public var hasAlert: Bool
        /// Number of events merged into the push.
        public var merged: Int
        /// The push's `aps.timestamp`; `nil`: not given yet.
        public var stampSeconds: Int64?
        /// Milliseconds since the push's first event was taken. For a push in flight, since it left.
        public var ageMillis: Int64
    }

    /// The app's bundle identifier.
    public var app: String
    /// Number of the activity's partition.
    public var partition: Int32
    /// `awaiting` (no token, no start), `alive`, `starting`, `started`, `ending` or `ended`.
    public var life: String
    /// Whether APNs has accepted an `end`.
    public var hasEnded: Bool
    /// `none`, `usable`, `former` (usable: the previous token, because APNs has refused the newest one), `doubted`
    /// (refused, perhaps through our own fault) or `dead`.
    public var token: String
    /// Environment of the activity's token.
    public var environment: String
    /// Whether the activity's registration asks for frequent updates.
    public var frequentUpdates: Bool
    /// Budget of the activity's high-priority pushes.
    public var budget: Budget
    /// Number of events without an outcome.
    public var eventsPending: Int
    /// The push that is sent next; `nil`: there is none.
    public var pending: Push?
    /// The push that waits for an answer of APNs; `nil`: there is none.
    public var inFlight: Push?
    /// The last `aps.timestamp` that was given; `nil`: none was.
    public var lastStampSeconds: Int64?
    /// Event time of the newest event that APNs has accepted; `nil`: none was.
    public var lastAcceptedSeconds: Int64?
    /// Milliseconds until a push may leave, because of the minimum distance between two pushes, or the wait after a
    /// failure.
    public var restMillis: Int64
    /// Milliseconds until the pending push is given up, because it has no usable token; `nil`: there is no pending
    /// push, or it needs no token, or has one.
    public var tokenWaitMillis: Int64?
    /// Number of failed attempts in a row.
    public var attempts: Int
    /// How often in a row APNs has said that the token died before it was registered. The first such answers are not
    /// believed (`TokenRefusalNotice.earlierDeathsIgnoredMax`): the token is kept, and tried again.
    public var earlierDeaths = 0
    /// Whether nothing leaves before Kafka has acknowledged a `state` record, usually that of the activity's last push.
    public var awaitsRecord: Bool
}

extension ShardEngine {
    /// What is known of an activity in the partitions of this shard; `nil`: the activity is not in memory.
    /// - Parameters:
    ///   - app: index into `EngineConfiguration.apps`.
    ///   - id: the activity, as the record's key names it.
    ///   - now: the time for which waits and returning units are computed.
    public func activityReport(app: UInt16, id: Span<UInt8>, now: EngineTime) -> ActivityReport? {
        let key = SlotKey(app: app, id: id)
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase != .gone {
            guard let slot = self.core.memory.slots.find(key, partition: partition) else { continue }
            return self.report(of: slot, now: now)
        }
        return nil
    }

    /// The token to which pushes of an activity go; `nil`: the activity is not in memory, or has no token. The token is
    /// a secret, meant for a simulator of phones beside a worker.
    /// - Parameters:
    ///   - app: index into `EngineConfiguration.apps`.
    ///   - id: the activity, as the record's key names it.
    public func activityToken(app: UInt16, id: Span<UInt8>) -> [UInt8]? {
        let key = SlotKey(app: app, id: id)
        for partition in self.core.memory.partitions.identifiers
        where self.core.memory.partitions[partition].phase != .gone {
            guard let slot = self.core.memory.slots.find(key, partition: partition),
                self.core.memory.slots[slot].hasToken
            else {
                continue
            }
            // The token is copied while the slot is live.
            return unsafe Array(self.core.memory.slots.tokenBytes(slot))
        }
        return nil
    }

    private func report(of slot: SlotID, now: EngineTime) -> ActivityReport {
        let app = self.core.memory.app(of: slot)
        let isFrequent = self.core.memory.slots[slot].frequentUpdates
        let limit = isFrequent ? app.budgetFrequentPerHour : app.budgetPerHour
        let returns = self.core.dispatch.budgets.returnsMillis(
            self.core.memory.slots[slot].budget, nowMillis: now.steadyMillis)
        let out = returns.count + (self.core.dispatch.budgets.isInFlight(self.core.memory.slots[slot].budget) ? 1 : 0)
        let accepted = self.core.memory.slots[slot].lastAcceptedSeconds
        let stamp = self.core.memory.slots[slot].lastStampSeconds
        let rests = max(self.core.memory.slots[slot].notBeforeMillis, self.core.memory.slots[slot].backoffUntilMillis)
        return ActivityReport(
            app: app.bundleID,
            partition: self.core.memory.partitions[self.core.memory.slots[slot].partition].number,
            life: self.core.memory.slots[slot].life.name, hasEnded: self.core.memory.slots[slot].life == .ended,
            token: self.core.memory.slots[slot].hasToken ? self.core.memory.slots[slot].tokenStanding.name : "none",
            environment: "\(self.core.memory.slots[slot].environment)", frequentUpdates: isFrequent,
            budget: ActivityReport.Budget(
                perHour: limit, reserve: app.budgetReserve, out: out, left: max(0, limit - out),
                returnsInSeconds: returns.map { ($0 + 999) / 1_000 }, policy: app.budgetPolicy.rawValue),
            eventsPending: self.core.memory.eventCount(of: slot),
            pending: self.push(self.core.memory.slots[slot].pending, isInFlight: false, now: now),
            inFlight: self.push(self.core.memory.slots[slot].inFlight, isInFlight: true, now: now),
            lastStampSeconds: stamp == 0 ? nil : stamp, lastAcceptedSeconds: accepted <= 0 ? nil : accepted,
            restMillis: rests == .min ? 0 : max(0, rests - now.steadyMillis),
            tokenWaitMillis: self.tokenWaitMillis(slot, now: now),
            attempts: Int(self.core.memory.slots[slot].attempt),
            earlierDeaths: Int(self.core.memory.slots[slot].earlierDeaths),
            awaitsRecord: self.core.memory.slots[slot].awaitsStateRecord)
    }

    private func tokenWaitMillis(_ slot: SlotID, now: EngineTime) -> Int64? {
        let pending = self.core.memory.slots[slot].pending
        guard pending.isSome, !self.core.memory.updates[pending].isStart,
            !self.core.memory.slots[slot].hasUsableToken
        else { return nil }
        return max(0, self.core.dispatch.tokenWaitEndsMillis(slot, in: self.core.memory) - now.steadyMillis)
    }

    private func push(_ update: UpdateID, isInFlight: Bool, now: EngineTime) -> ActivityReport.Push? {
        guard update.isSome else { return nil }
        let since =
            isInFlight
            ? self.core.memory.updates[update].sentMillis : self.core.memory.updates[update].firstUnsentMillis
        let priority =
            isInFlight ? self.core.memory.updates[update].sentPriority : self.core.memory.updates[update].priority
        let event =
            self.core.memory.updates[update].isStart
            ? "start" : self.core.memory.updates[update].isEnd ? "end" : "update"
        return ActivityReport.Push(
            event: event, priority: priority == .high ? "high" : "low",
            hasAlert: self.core.memory.updates[update].hasAlert,
            merged: Int(self.core.memory.updates[update].mergedCount),
            stampSeconds: self.core.memory.updates[update].stampSeconds, ageMillis: max(0, now.steadyMillis - since))
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
