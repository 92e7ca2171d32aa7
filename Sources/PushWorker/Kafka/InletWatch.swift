import KafkaLog
import Logging
import PushEngine
import ShardLoop

/// Lets in records of inlets: partitions that were added after `state` was written. These records must not overtake
/// older ones in other partitions. So the watch asks for the group's progress there, and `InletGate` decides. Every
/// worker can ask, because the coordinator knows the group's commits for all partitions.
struct InletWatch {
    let seat: GroupSeat
    let coordinator: GroupCoordinator
    /// The input topics without the routed one.
    let inputTopics: [String]
    let logger: Logger

    static let interval: Duration = .milliseconds(500)
    /// How long an added partition waits before a line is logged about it, and the interval between these lines.
    private static let logInterval: Duration = .seconds(60)

    /// Asks again and again until the task is cancelled.
    func run() async {
        var gate = InletGate()
        var known: Set<Int32> = []
        var logAt: ContinuousClock.Instant?
        while !Task.isCancelled {
            let inlets = self.coordinator.inlets
            gate.forget(Array(known.subtracting(inlets)))
            known = inlets
            let sights = inlets.isEmpty ? [] : await self.look(inlets)
            let opened = gate.saw(sights, inlets: inlets)
            if !opened.isEmpty { self.coordinator.letIn(opened) }
            self.logHoldUp(gate.holdingUp(sights), at: &logAt)
            try? await Task.sleep(for: Self.interval)
        }
    }

    private func look(_ inlets: Set<Int32>) async -> [InletGate.Sight] {
        let last = inlets.max() ?? 0
        let (consumer, topics) = (self.seat.consumer, self.inputTopics)
        let wanted = topics.flatMap { topic in (0...last).map { TopicPartition(topic: topic, partition: $0) } }
        let answers = await NamedThread.run("kafka-inlets") { () -> PositionAnswers? in
            try? consumer.positionsOfEach(wanted, within: .seconds(3))
        }
        return (answers?.known ?? [:]).compactMap { partition, position in
            topics.firstIndex(of: partition.topic).map { topic in
                InletGate.Sight(
                    topic: UInt16(topic), partition: partition.partition,
                    committedOffset: position.committed ?? position.lowOffset, endOffset: position.endOffset)
            }
        }
    }

    private func logHoldUp(_ holdingUp: [Int32], at logAt: inout ContinuousClock.Instant?) {
        guard !holdingUp.isEmpty else {
            logAt = nil
            return
        }
        let due = logAt ?? .now + Self.logInterval
        logAt = due
        guard due <= .now else { return }
        logAt = .now + Self.logInterval
        let list = holdingUp.map { "\($0)" }.joined(separator: ",")
        self.logger.warning(
            "records of an inlet wait until the group has taken the records before them",
            metadata: ["waits-for-partitions": "\(list)"])
    }
}
