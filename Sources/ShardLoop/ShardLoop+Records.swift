import PushEngine
import PushModel

extension ShardLoop {
    /// Takes records of the input, partition by partition, until the engine has no room or the turn's limit is reached.
    mutating func readRecords(_ now: EngineTime) {
        guard !self.isDraining, !self.partitions.isEmpty, !self.outbox.isBlocked else { return }
        self.log.takeReadable { partition, topic in
            guard let index = self.partitions.firstIndex(where: { $0.number == partition }) else { return }
            self.partitions[index].setReadable(Int(topic), true)
            self.hasReadable = true
        }
        guard self.hasReadable else { return }
        // The engine's room is read once per turn.
        var room = min(Self.recordsPerTurnMax, self.engine.recordRoom)
        guard room > 0 else { return }
        self.hasReadable = false
        // Each turn begins with another partition, so that every partition is read even when turns are full.
        self.firstPartition = (self.firstPartition + 1) % self.partitions.count
        let count = self.partitions.count
        reading: for step in 0..<count {
            let stepped = self.firstPartition + step
            let index = stepped < count ? stepped : stepped - count
            guard self.partitions[index].mayBeReadable, self.partitions[index].life.takesRecords else { continue }
            // The last topic is `routed`. It is read first, so that messages between workers do not wait behind events.
            for topic in self.partitions[index].isReadable.indices.reversed()
            where self.partitions[index].isReadable[topic] {
                guard room > 0 else {
                    self.hasReadable = true
                    self.hasMore = true
                    break reading
                }
                var max = min(room, Self.recordsPerQueueMax)
                if self.partitions[index].life == .inlet { max = min(max, self.letInCount(index, topic)) }
                // A queue that the gate holds back stays readable. It is checked again when the gate opens.
                guard max > 0 else { continue }
                max = self.engine.recordRoom(
                    topic: UInt16(topic), partition: self.partitions[index].number, within: max)
                // The app of this queue has used up its share of the room. It may have room again in the next turn.
                guard max > 0 else {
                    self.hasReadable = true
                    continue
                }
                room -= self.readQueue(index, topic, max: max, now)
            }
        }
        self.engine.consume(&self.inputBatch, now: now)
    }

    /// Number of records of an inlet that may be taken at once: half of the offsets up to the gate, rounded up.
    ///
    /// Transactions leave marks and aborted records, which have offsets but are not read. A read of as many records as
    /// offsets would then go beyond the gate. The limit is not exact: if more than half of the offsets are not read,
    /// some records beyond the gate are taken.
    private func letInCount(_ index: Int, _ topic: Int) -> Int {
        let number = self.partitions[index].number
        guard let next = self.engine.nextOffset(topic: UInt16(topic), partition: number) else { return 0 }
        return Int(clamping: max(0, (self.partitions[index].letInUpTo[topic] - next + 1) / 2))
    }

    /// Reads a queue. The last records may stay in the batch, so that the engine takes the records of many short queues
    /// together.
    private mutating func readQueue(_ index: Int, _ topic: Int, max: Int, _ now: EngineTime) -> Int {
        let read = self.log.read(
            partition: self.partitions[index].number, topic: UInt16(topic), max: max, into: &self.inputBatch
        ) { self.engine.consume(&$0, now: now) }
        self.partitions[index].setReadable(topic, read.mayHaveMore)
        if read.mayHaveMore {
            self.hasReadable = true
            self.hasMore = true
        }
        if read.recordCount > 0 {
            self.hasChanged = true
            self.mayHaveActions = true
        }
        if let failure = read.failure {
            if failure.isFinal {
                // The records before the failure were read while the partition ran.
                self.engine.consume(&self.inputBatch, now: now)
                self.halt(index, failure.description)
            } else {
                self.news.append(.readingFails(failure))
            }
        }
        return read.recordCount
    }

    /// Stops the partition until a person has looked at it; the others continue.
    mutating func halt(_ index: Int, _ reason: String) {
        self.partitions[index].halt(reason)
        self.hasChanged = true
        self.news.append(.halted(partition: self.partitions[index].number, reason: reason))
    }
}
