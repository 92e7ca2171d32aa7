import PushModel

/// Stops apps while APNs refuses their topic.
extension Dispatch {
    /// What an answer says about the topic of an app in an environment.
    enum TopicAnswer { case taken, refused, nothing }

    /// Takes note of each answer. A lane without doubts, the usual case, costs one look.
    mutating func topicAnswered(_ answer: TopicAnswer, lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        guard answer == .refused || self.lanes[lane].gate.isWatching else { return }
        switch answer {
        case .taken: self.lanes[lane].gate.accepted()
        case .nothing: self.lanes[lane].gate.answeredOtherwise()
        case .refused:
            if self.lanes[lane].gate.refused(now: now, using: &self.random) { memory.counters.topicsRefused += 1 }
        }
        self.refreshGateDeadline(in: &memory)
    }

    /// Notes that a push of the lane left.
    @inline(__always) mutating func topicProbeLeft(lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        guard self.lanes[lane].gate.isWatching else { return }
        self.lanes[lane].gate.left(now: now)
        self.refreshGateDeadline(in: &memory)
    }

    /// Opens the gates whose rest is over.
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
        memory.counters.topicsClosed = closedCount
    }

    /// The apps and environments that are stopped.
    func appsHeldBack(in memory: borrowing ShardMemory) -> [(app: UInt16, environment: PushEnvironment)] {
        var held: [(app: UInt16, environment: PushEnvironment)] = []
        for app in memory.configuration.apps.indices {
            for environment in PushEnvironment.allCases
            // A refused question delays no broadcast for long.
            where [Errand.push, .broadcast].contains(where: {
                self.lanes[LaneIndex(app: UInt16(app), environment: environment, errand: $0)].gate.isClosed
            }) {
                held.append((UInt16(app), environment))
            }
        }
        return held
    }
}
