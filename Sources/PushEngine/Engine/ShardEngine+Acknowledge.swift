public import PushModel

/// Takes Kafka's acknowledgements.
extension ShardEngine {
    /// Whether something depends on this acknowledgement. Nothing does if its partition has left since.
    public func isAwaited(_ acknowledgement: UInt64) -> Bool {
        self.core.journal.isAwaited(acknowledgement, in: self.core.memory)
    }

    /// Takes Kafka's acknowledgement of a record. The loop calls this method once per record. If the record's partition
    /// has left since, nothing changes.
    /// - Parameter acknowledgement: the number that the record carried, `EngineRecord.acknowledgement`.
    /// - Parameter offset: the record's offset, or that of a newer record which replaced it. Negative: the offset is
    ///   not known, or the record was given up.
    /// - Parameter now: when Kafka's answer was taken.
    public mutating func acknowledged(_ acknowledgement: UInt64, offset: Int64, now: EngineTime) {
        switch self.core.journal.acknowledged(acknowledgement, offset: offset, in: &self.core.memory, now: now) {
        case .none: break
        case .marker(let partition, let claimNumber):
            self.markerAcknowledged(partition, claimNumber: claimNumber, offset: offset, now: now)
        case .pushMayFollow(let slot):
            self.publisher.sendVersions(slot, in: &self.core, now: now)
            self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
        case .versionAcknowledged(let slot, let stampLow):
            self.publisher.versionAcknowledged(slot, stampLow: stampLow, in: &self.core, now: now)
        case .crowd(let wait, let partition): self.acknowledged(wait, in: partition, offset: offset, now: now)
        case .keeper(let wait): self.acknowledged(wait, now: now)
        }
    }

    /// Takes Kafka's acknowledgement of a crowd's record. The crowd may be gone by now.
    private mutating func acknowledged(
        _ wait: CrowdWait, in partition: PartitionIndex, offset: Int64, now: EngineTime
    ) {
        let (crowd, generation, number) = (wait.crowd, wait.generation, wait.number)
        switch wait.record {
        case .versions:
            self.fanOut.versionsAcknowledged(crowd, generation: generation, number: number, in: &self.core, now: now)
        case .progress:
            self.fanOut.progressAcknowledged(crowd, generation: generation, number: number, in: &self.core, now: now)
        case .voided:
            self.fanOut.voidAcknowledged(crowd, generation: generation, partition: partition, in: &self.core, now: now)
            self.takeWaiting(partition, now: now)
        case .lateJoin(let pass):
            self.fanOut.lateJoinAcknowledged(
                crowd, generation: generation, pass: Int(pass), number: number, offset: offset)
        case .startProgress:
            self.fanOut.startsAcknowledged(crowd, generation: generation, number: number, in: &self.core, now: now)
        case .startMember(let round):
            self.fanOut.startMemberAcknowledged(
                crowd, generation: generation, round: Int(round), number: number, offset: offset, in: &self.core,
                now: now)
        }
    }

    /// Processes the records that have waited for a void.
    private mutating func takeWaiting(_ partition: PartitionIndex, now: EngineTime) {
        for waiting in self.fanOut.voids.takeWaiting(partition) {
            let (key, value, traceparent) = (waiting.key, waiting.value, waiting.traceparent)
            self.consume(
                waiting.record, key: key.span, value: value.span, traceparent: traceparent.span, now: now)
        }
    }

    /// Takes Kafka's acknowledgement of a keeper's record. The keeper may be gone by now.
    private mutating func acknowledged(_ wait: KeeperWait, now: EngineTime) {
        let token = UInt64(wait.token)
        switch wait.record {
        case .state:
            self.keeperHost.keptAcknowledged(
                wait.keeper, generation: wait.generation, write: token, in: &self.core, now: now)
        case .news:
            self.keeperHost.announcementAcknowledged(
                wait.keeper, generation: wait.generation, announcement: token, in: &self.core, now: now)
        }
    }
}
