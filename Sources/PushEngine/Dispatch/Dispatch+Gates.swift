import PushModel

/// Stops apps while APNs refuses their topic.
extension Dispatch {
    /// What an answer says about an app's topic in an environment.
    enum APNSTopicAnswer { case taken, refused, nothing }

    /// Takes what an answer says about the APNs topic. Usually the lane's gate is open and not watching, and the call
    /// only checks that.
    mutating func apnsTopicAnswered(
        _ answer: APNSTopicAnswer, lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime
    ) {
        guard answer == .refused || self.lanes[lane].gate.isWatching else { return }
        switch answer {
        case .taken: self.lanes[lane].gate.accepted()
        case .nothing: self.lanes[lane].gate.answeredOtherwise()
        case .refused:
            if self.lanes[lane].gate.refused(now: now, using: &self.random) { memory.counters.appsRefused += 1 }
        }
        self.refreshGateDeadline(in: &memory)
    }

    /// Reports to the lane's gate that a request left, if the gate watches the lane.
    @inline(__always) mutating func topicProbeLeft(lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        guard self.lanes[lane].gate.isWatching else { return }
        self.lanes[lane].gate.left(now: now)
        self.refreshGateDeadline(in: &memory)
    }

    /// Opens the gates whose wait is over.
    mutating func advanceGates(in memory: inout ShardMemory, now: EngineTime) {
        guard let due = self.gateDeadlineMillis, due <= now.steadyMillis else { return }
        for lane in self.lanes.identifiers where self.lanes[lane].gate.isWatching {
            _ = self.lanes[lane].gate.advance(now: now)
        }
        self.refreshGateDeadline(in: &memory)
    }

    private mutating func refreshGateDeadline(in memory: inout ShardMemory) {
        var next: Int64?
        var closedCount = 0
        for lane in self.lanes.identifiers where self.lanes[lane].gate.isWatching {
            if self.lanes[lane].gate.isClosed { closedCount += 1 }
            if let due = self.lanes[lane].gate.nextDeadlineMillis { next = min(next ?? due, due) }
        }
        self.gateDeadlineMillis = next
        memory.counters.appsHeldBack = closedCount
    }

    /// The apps and environments that are stopped.
    func appsHeldBack(in memory: borrowing ShardMemory) -> [(app: UInt16, environment: PushEnvironment)] {
        var held: [(app: UInt16, environment: PushEnvironment)] = []
        for app in memory.configuration.apps.indices {
            for environment in PushEnvironment.allCases
            // A refused question is ignored here, because it delays broadcasts only for a short time.
            where [Errand.push, .broadcast].contains(where: {
                self.lanes[LaneIndex(app: UInt16(app), environment: environment, errand: $0)].gate.isClosed
            }) {
                held.append((UInt16(app), environment))
            }
        }
        return held
    }
}
