import DeviceModel

/// The judge's counts as plain integers. `SimulatorStatistics` is made from them on demand.
struct Counters {
    var connectionsAccepted = 0
    var connectionsRefused = 0
    var requests = 0
    var accepted = 0
    var unanswered = 0
    var unansweredApplied = 0
    var highPriority = 0
    var undecodable = 0
    var faultsFired = 0
    var broadcasts = 0
    var channelRequestsAccepted = 0
    var channelsCreated = 0
    var channelsDeleted = 0
    /// Reactions of listening phones.
    var heard = Reactions()
    /// Number of answers that wait for their time, on all connections.
    var delayed = 0
    /// Number of times that a token found no room, because `devicesMax` was reached.
    var devicesFull = 0
    /// Number of reactions by `Device.Reaction.rawValue`.
    var reactions = Array(repeating: 0, count: Device.Reaction.allCases.count)
    var violations: [Violation.Kind: Int] = [:]
    /// Live connections and the newest closed ones, by number.
    var connections: [Int: SimulatorStatistics.Connection] = [:]
    private var refused: [String: Int] = [:]
    private var closedInOrder: [Int] = []

    mutating func countRefusal(_ reason: Reason) { self.refused[reason.rawValue, default: 0] += 1 }

    mutating func countRefusal(_ prepared: PreparedAnswer) {
        if prepared.status == 200 {
            self.accepted += 1
        } else {
            self.refused[prepared.name, default: 0] += 1
        }
    }

    /// Counts answers without one of Apple's reasons.
    mutating func countRefusals(_ name: String, _ count: Int) { self.refused[name, default: 0] += count }

    mutating func connectionClosed(_ connection: SimulatorStatistics.Connection) {
        var closed = connection
        closed.isOpen = false
        self.connections[closed.number] = closed
        self.closedInOrder.append(closed.number)
        if self.closedInOrder.count > SimulatorStatistics.closedConnectionsKeptMax {
            self.connections[self.closedInOrder.removeFirst()] = nil
        }
    }

    mutating func countHeard(_ reactions: Reactions) {
        for index in reactions.counts.indices { self.heard.counts[index] += reactions.counts[index] }
        self.heard.undecodable += reactions.undecodable
    }

    func statistics(tokens: Int, devices: Int) -> SimulatorStatistics {
        var statistics = SimulatorStatistics()
        statistics.connectionsAccepted = self.connectionsAccepted
        statistics.connectionsOpen = self.connections.values.count { $0.isOpen }
        statistics.connectionsRefused = self.connectionsRefused
        statistics.requests = self.requests
        statistics.accepted = self.accepted
        statistics.refused = self.refused
        statistics.unanswered = self.unanswered
        statistics.unansweredApplied = self.unansweredApplied
        for reaction in Device.Reaction.allCases where self.reactions[Int(reaction.rawValue)] > 0 {
            statistics.reactions["\(reaction)"] = self.reactions[Int(reaction.rawValue)]
        }
        if self.undecodable > 0 { statistics.reactions["undecodable"] = self.undecodable }
        statistics.highPriority = self.highPriority
        statistics.broadcasts = self.broadcasts
        statistics.channelRequestsAccepted = self.channelRequestsAccepted
        statistics.channelsCreated = self.channelsCreated
        statistics.channelsDeleted = self.channelsDeleted
        for reaction in Device.Reaction.allCases where self.heard.counts[Int(reaction.rawValue)] > 0 {
            statistics.broadcastReactions["\(reaction)"] = self.heard.counts[Int(reaction.rawValue)]
        }
        if self.heard.undecodable > 0 { statistics.broadcastReactions["undecodable"] = self.heard.undecodable }
        statistics.tokens = tokens
        statistics.devices = devices
        statistics.faultsFired = self.faultsFired
        statistics.delayed = self.delayed
        statistics.violations = self.violations.values.reduce(0, +)
        statistics.violationsByKind = Dictionary(
            uniqueKeysWithValues: self.violations.map { ($0.key.rawValue, $0.value) })
        statistics.connections = self.connections.values.sorted { $0.number < $1.number }
        return statistics
    }
}
