public import PushEngine

extension ShardLoop {
    /// Counts of what was written to Kafka since the start, and of Kafka's answers.
    public var outboxCounters: OutboxCounters {
        var counters = self.outbox.counters
        counters.refusals = self.outbox.refusals.table
        return counters
    }

    /// Number of records that the engine has made and that Kafka's client does not have. They wait for other records,
    /// for room, or for the next attempt.
    public var waitingRecordCount: Int { self.engine.batch.records.count + self.outbox.waitingRecordCount }

    /// The state of each partition, in the order of assignment.
    public var partitionReports: [PartitionReport] { self.partitions.map { PartitionReport($0) } }

    /// The next offsets to be committed, for partitions whose records are taken. Lag is measured from them.
    public var watermarks: [CommitPosition] {
        var positions: [CommitPosition] = []
        for partition in self.partitions where partition.life.takesRecords {
            for topic in self.configuration.engine.inputTopics.indices {
                guard let next = self.engine.watermark(topic: UInt16(topic), partition: partition.number) else {
                    continue
                }
                positions.append(CommitPosition(topic: UInt16(topic), partition: partition.number, nextOffset: next))
            }
        }
        return positions
    }

    /// Whether a known cause keeps the shard from taking records: the worker stops, Kafka does not take the shard's
    /// records, memory is full, or an app has used up its share.
    public var isHeldUp: Bool {
        self.isDraining || self.outbox.isBlocked || self.outbox.failure != nil || !self.engine.wantsRecords
            || self.engine.isAnAppFull
    }

    /// What is wrong with the shard, in plain words.
    public var errors: [String] {
        var errors = self.partitions.filter { $0.life.isHalted }.map {
            "partition \($0.number) is halted: \($0.haltReason)"
        }
        if let failure = self.outbox.failure { errors.append("records cannot be written: \(failure)") }
        if !self.holdsLease {
            errors.append(
                "the consumer group has not confirmed recently that this worker owns its partitions: nothing is sent"
            )
        }
        return errors
    }
    /// Apps whose topic APNs refuses, in plain words. They make the worker unready only if no other app is well.
    public var refusedTopics: [String] {
        self.engine.appsHeldBack.map { held in
            let bundleID = self.engine.configuration.apps[Int(held.app)].bundleID
            return "APNs refuses the topic of app \(bundleID) in \(held.environment)"
        }
    }
}
