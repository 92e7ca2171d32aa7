/// While far more comes than is listed, only the partitions of the sample are read. What lies in the others is counted by its offsets.
extension Timeline {
    /// How many partitions the events topic has, and the outcomes topic; told before anything is read. Not told: all is read always.
    public mutating func setPartitionCount(_ count: Int) {
        self.partitions = PartitionSampling(partitionCount: count)
    }

    /// Which partitions are to be read; `nil`: all.
    public func partitionsToRead(nowMillis: Int64) -> ReadPartitions? {
        self.readsSomePartitions ? self.partitions.read(nowMillis: nowMillis) : nil
    }

    /// Who joins an audience does so with a token for a key, which may lie in any partition. So all is read while there is an audience.
    var readsSomePartitions: Bool {
        self.eventAllowance.isFarBeyond && self.partitions.partitionCount > 1 && self.audiences.audiences.isEmpty
    }

    /// Events came in a partition that is not read.
    public mutating func passOver(events count: Int, nowMillis: Int64) {
        let hasBegun = self.eventAllowance.begin(nowMillis: nowMillis)
        let hasFilled = self.eventAllowance.pass(count)
        if self.eventAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: nowMillis) }
    }

    /// Outcomes came in a partition that is not read: nobody knows what becomes of the events that are listed and wait for one there.
    public mutating func passOver(outcomesIn partition: Int32) {
        guard self.partitions.awaits(outcomesIn: partition) else { return }
        let ids = self.entries.compactMap { entry -> Int? in
            guard case .event(let event) = entry.body, event.outcome == nil, !event.isOutcomeUnread,
                self.partitions.partition(ofKey: event.record.key ?? []) == partition
            else { return nil }
            return entry.id
        }
        for id in ids {
            self.change(id) { entry in
                guard case .event(var event) = entry.body else { return }
                event.isOutcomeUnread = true
                entry.body = .event(event)
            }
        }
    }

    /// An outcome that is wanted was found. - Parameter position: that of its event.
    public mutating func found(outcomeIn partition: Int32, of position: EventPosition, nowMillis: Int64) {
        self.partitions.strayed(event: position.partition, outcome: partition, nowMillis: nowMillis)
    }
}
