/// Reads only the partitions of the sample while far more arrives than is listed. Records of other partitions are
/// counted by their offsets.
extension Timeline {
    /// Sets the number of partitions of each topic, before anything is read. Without it, everything is always read.
    public mutating func setPartitionCount(_ count: Int) {
        self.partitions = PartitionSampling(partitionCount: count)
    }

    /// The partitions that must be read; `nil`: all.
    public func partitionsToRead(nowMillis: Int64) -> ReadPartitions? {
        self.readsSomePartitions ? self.partitions.read(nowMillis: nowMillis) : nil
    }

    /// Whether some partitions may be left unread. A join has a token as its key, which may be in any partition, so
    /// everything is read while there is an audience.
    var readsSomePartitions: Bool {
        self.eventAllowance.isFarBeyond && self.partitions.partitionCount > 1 && self.audiences.audiences.isEmpty
    }

    /// Counts events in a partition that is not read.
    public mutating func passOver(events count: Int, nowMillis: Int64) {
        let hasBegun = self.eventAllowance.begin(nowMillis: nowMillis)
        let hasFilled = self.eventAllowance.pass(count)
        if self.eventAllowance.isCrowded, hasBegun || hasFilled { self.drawSample(nowMillis: nowMillis) }
    }

    /// Passes over outcomes in a partition that is not read. Listed events that wait for an outcome there stay without
    /// a result.
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

    /// Remembers where a wanted outcome was found.
    /// - Parameter position: position of its event.
    public mutating func found(outcomeIn partition: Int32, of position: EventPosition, nowMillis: Int64) {
        self.partitions.strayed(event: position.partition, outcome: partition, nowMillis: nowMillis)
    }
}
