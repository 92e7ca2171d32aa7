import KafkaLog
import Logging
import PushEngine
import PushModel

extension ShardRunner {
    /// A stretch of `state` that this owner did not write, being read.
    struct Repair {
        var partition: Int32
        var section: LogSection
        let isReadable: ReadableFlag
        var recordCount = 0
    }

    /// Gaps read at the same time; the others wait in the engine.
    static let repairsMax = 4

    /// Reads what others wrote into the `state` of own partitions, for the engine to overwrite.
    func repairState(_ now: EngineTime) {
        while self.repairs.count < Self.repairsMax, let gap = self.engine.takeStateGap() { self.beginRepair(gap) }
        for index in self.repairs.indices.reversed() { self.repair(index, now) }
    }

    private func beginRepair(_ gap: StateGap) {
        let partition = TopicPartition(topic: self.shared.configuration.topics.state, partition: gap.partition)
        self.logger.warning(
            "somebody else has written to the state of an own partition; reading what",
            metadata: ["partition": "\(partition)", "offsets": "\(gap.offsets)"])
        do {
            let section = try self.shared.logReader.open(
                partition, from: .offset(gap.offsets.lowerBound), upTo: gap.offsets.upperBound)
            let isReadable = ReadableFlag()
            self.repairs.append(Repair(partition: gap.partition, section: section, isReadable: isReadable))
            section.onReadable { [waker = self.waker] in
                isReadable.set()
                waker?.wake()
            }
        } catch {
            self.shared.fail("\(partition) \(gap.offsets) cannot be read: \(error)")
        }
    }

    private func repair(_ index: Int, _ now: EngineTime) {
        let repair = self.repairs[index]
        guard repair.isReadable.take() else { return }
        var successorOffset: Int64?
        let result = repair.section.read(max: Self.restoresPerTurnMax) { record in
            let done = self.engine.repair(
                partition: repair.partition, key: record.key, value: record.value, offset: record.offset, now: now)
            if done == .succeeded { successorOffset = record.offset }
        }
        self.repairs[index].recordCount += result.recordCount
        self.noteChange()
        if let successorOffset {
            // Never seen while the group is asked before anything is written; not to be settled by two who both believe they own it.
            self.shared.fail(
                "another worker has taken over partition \(repair.partition) (its marker is at offset \(successorOffset) of "
                    + "\(repair.section.topicPartition.topic)), and the consumer group has not said so")
        }
        if let failure = result.failure, let reason = failure.haltReason {
            self.shared.fail("what others wrote to \(repair.section.topicPartition) cannot be read: \(reason)")
        } else if result.isFinished {
            repair.section.close()
            self.logger.warning(
                "the state of an own partition is repaired",
                metadata: [
                    "partition": "\(repair.section.topicPartition)",
                    "records": "\(self.repairs[index].recordCount)",
                ])
            self.repairs.remove(at: index)
            self.engine.stateGapRepaired(partition: repair.partition, now: now)
            self.hasMore = true
        } else if result.mayHaveMore {
            repair.isReadable.set()
            self.hasMore = true
        }
    }

    /// The partition is somebody else's: nothing of it is repaired any more.
    func forgetRepairs(of numbers: [Int32]) {
        for repair in self.repairs where numbers.contains(repair.partition) { repair.section.close() }
        self.repairs.removeAll { numbers.contains($0.partition) }
    }
}
