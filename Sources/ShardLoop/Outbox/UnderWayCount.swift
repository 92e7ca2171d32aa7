import PushEngine

/// Numbers of records that librdkafka has taken and not answered for. They are counted by partition where order
/// matters, otherwise by topic. While a partition has such records, none of its failed records is produced again,
/// because the order could change. A record is certainly alone in its request only if all other records are
/// answered.
struct UnderWayCount {
    private var state: [Int32] = []
    private var routed: [Int32] = []
    private var outcomes: Int32 = 0
    private var deadLetters: Int32 = 0

    /// Counts a record that librdkafka has taken.
    @inline(__always)
    mutating func left(_ topic: EngineRecord.Topic, partition: Int32) {
        switch topic {
        case .state: Self.add(1, to: &self.state, partition)
        case .routed: Self.add(1, to: &self.routed, partition)
        case .outcomes: self.outcomes += 1
        case .deadLetters: self.deadLetters += 1
        }
    }

    /// Counts an answer, whether success or failure.
    @inline(__always)
    mutating func returned(_ topic: EngineRecord.Topic, partition: Int32) {
        switch topic {
        case .state: Self.add(-1, to: &self.state, partition)
        case .routed: Self.add(-1, to: &self.routed, partition)
        case .outcomes: self.outcomes -= 1
        case .deadLetters: self.deadLetters -= 1
        }
    }

    /// Whether all records are answered.
    var isNone: Bool {
        self.outcomes == 0 && self.deadLetters == 0 && self.state.allSatisfy { $0 == 0 }
            && self.routed.allSatisfy { $0 == 0 }
    }

    /// Whether some records of this partition, or of a topic without an order, are not answered.
    /// - Parameter partition: ignored if the topic has no order.
    func isAny(_ topic: EngineRecord.Topic, partition: Int32) -> Bool {
        switch topic {
        case .state: Int(partition) < self.state.count && self.state[Int(partition)] > 0
        case .routed: Int(partition) < self.routed.count && self.routed[Int(partition)] > 0
        case .outcomes: self.outcomes > 0
        case .deadLetters: self.deadLetters > 0
        }
    }

    @inline(__always)
    private static func add(_ change: Int32, to counts: inout [Int32], _ partition: Int32) {
        while Int(partition) >= counts.count { counts.append(0) }
        counts[Int(partition)] += change
    }
}
