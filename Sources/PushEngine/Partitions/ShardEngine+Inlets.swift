public import PushModel

/// Opens inlets: partitions of input topics beyond those that `state` was written for. An inlet has no marker, no
/// activities and no topic `routed`. Each of its records belongs to another partition, and is forwarded there.
extension ShardEngine {
    /// Opens an inlet, a partition whose records are all forwarded. Records may be consumed from `starts` on. An inlet
    /// leaves like every other partition.
    /// - Parameters:
    ///   - number: not below `EngineConfiguration.partitionCount`, so that no key belongs to it.
    ///   - starts: by input topic, the offset of the first record that will be consumed.
    ///   - now: when the inlet is assigned.
    public mutating func inletAssigned(_ number: Int32, starts: [CommitPosition], now: EngineTime) {
        let partition = self.core.memory.partitions.add(number: number)
        self.core.memory.slots.addPartition(partition)
        self.fanOut.crowds.addPartition(partition)
        let topics = self.core.memory.configuration.inputTopics.indices.filter {
            $0 != Int(self.core.memory.configuration.routedTopicIndex)
        }
        let logs = topics.map { topic in
            let start = starts.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0
            return self.core.journal.ledger.openLog(topic: UInt16(topic), partition: number, startOffset: start)
        }
        self.core.memory.partitions[partition].inletOpened(logs: logs, wallMillis: now.wallMillis)
    }

    /// The offset after the last record taken of an input log; `nil`: this engine does not follow the log.
    public func nextOffset(topic: UInt16, partition: Int32) -> Int64? {
        guard let partition = self.core.memory.partitions.index(of: partition),
            Int(topic) < self.core.memory.partitions[partition].logs.count
        else { return nil }
        return self.core.journal.ledger.nextOffset(log: self.core.memory.partitions[partition].logs[Int(topic)])
    }
}
