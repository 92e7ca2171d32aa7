import PushEngine

/// How many records librdkafka has of each partition whose order matters, and has not answered for: what failed is not produced again while
/// others of its partition, made later, may still come to lie before it.
struct UnderWayCount {
    private var state: [Int32] = []
    private var routed: [Int32] = []

    /// librdkafka has got one.
    @inline(__always)
    mutating func left(_ topic: EngineRecord.Topic, partition: Int32) {
        switch topic {
        case .state: Self.add(1, to: &self.state, partition)
        case .routed: Self.add(1, to: &self.routed, partition)
        case .outcomes, .deadLetters: break
        }
    }

    /// It has answered for one, well or badly.
    @inline(__always)
    mutating func returned(_ topic: EngineRecord.Topic, partition: Int32) {
        switch topic {
        case .state: Self.add(-1, to: &self.state, partition)
        case .routed: Self.add(-1, to: &self.routed, partition)
        case .outcomes, .deadLetters: break
        }
    }

    func isAny(_ topic: EngineRecord.Topic, partition: Int32) -> Bool {
        let counts = topic == .routed ? self.routed : self.state
        return topic.isOrdered && Int(partition) < counts.count && counts[Int(partition)] > 0
    }

    @inline(__always)
    private static func add(_ change: Int32, to counts: inout [Int32], _ partition: Int32) {
        while Int(partition) >= counts.count { counts.append(0) }
        counts[Int(partition)] += change
    }
}
