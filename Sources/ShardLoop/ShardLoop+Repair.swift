import PushEngine
import PushModel

/// A gap in `state` that is being read: a stretch that this owner did not write.
struct Repair {
    let partition: Int32
    let section: any StateSection
    /// Whether the last read stopped at its limit.
    var mayHaveMore = true
    var recordCount = 0
}

extension ShardLoop {
    /// Maximum number of gaps that are read at the same time. Further gaps wait.
    static let repairsMax = 4

    /// Reads what other workers wrote into the `state` of this shard's partitions. The engine then writes its own
    /// records of the same keys again.
    mutating func repairState(_ now: EngineTime) {
        while self.repairs.count < Self.repairsMax, !self.gaps.isEmpty { self.beginRepair(self.gaps.removeFirst()) }
        for index in self.repairs.indices.reversed() { self.repair(index, now) }
    }

    private mutating func beginRepair(_ gap: StateGap) {
        self.news.append(.gapFound(gap))
        do throws(LogFailure) {
            let section = try self.log.openState(partition: gap.partition, offsets: gap.offsets)
            self.repairs.append(Repair(partition: gap.partition, section: section))
        } catch {
            self.news.append(
                .failed("\(self.configuration.stateTopic)[\(gap.partition)] \(gap.offsets) cannot be read: \(error)"))
        }
    }

    private mutating func repair(_ index: Int, _ now: EngineTime) {
        let repair = self.repairs[index]
        guard repair.section.takeReadable() || repair.mayHaveMore else { return }
        let topicPartition = "\(self.configuration.stateTopic)[\(repair.partition)]"
        var successorOffset: Int64?
        let read = repair.section.read(max: Self.restoresPerTurnMax) { key, value, _, _, offset in
            let done = self.engine.repair(
                partition: repair.partition, key: key, value: value, offset: offset, now: now)
            if done == .succeeded { successorOffset = offset }
        }
        self.repairs[index].mayHaveMore = read.mayHaveMore
        self.repairs[index].recordCount += read.recordCount
        self.hasChanged = true
        if let successorOffset {
            // Another owner's marker should not be found here, because this worker writes only while the group confirms
            // its ownership. If two workers believe that they own a partition, this worker cannot continue.
            self.news.append(
                .failed(
                    "another worker has taken over partition \(repair.partition) (its marker is at \(topicPartition)@\(successorOffset)), "
                        + "and the consumer group did not report it: do workers of another group (kafka.group) use the same topics?"
                ))
        }
        if let failure = read.failure, failure.isFinal {
            self.news.append(.failed("what others wrote to \(topicPartition) cannot be read: \(failure)"))
        } else if read.isFinished {
            repair.section.close()
            self.news.append(
                .gapRepaired(partition: repair.partition, recordCount: self.repairs[index].recordCount))
            self.repairs.remove(at: index)
            self.engine.stateGapRepaired(partition: repair.partition, now: now)
            self.mayHaveActions = true
            self.hasMore = true
        } else if read.mayHaveMore {
            self.hasMore = true
        }
    }

    /// Stops the repairs of partitions whose `state` must not be written now.
    mutating func forgetRepairs(of numbers: [Int32]) {
        for repair in self.repairs where numbers.contains(repair.partition) { repair.section.close() }
        self.repairs.removeAll { numbers.contains($0.partition) }
        self.gaps.removeAll { numbers.contains($0.partition) }
    }
}
