public import PushModel

/// Takes Kafka's acknowledgements.
extension ShardEngine {
    /// Whether anything depends on this acknowledgement. Nothing does if its partition has left since.
    public func isAwaited(_ acknowledgement: UInt64) -> Bool {
        self.journal.isAwaited(acknowledgement, in: self.memory)
    }

    /// Notes that Kafka has the record. Called once per record. An acknowledgement of a partition that has left since
    /// changes nothing.
    /// - Parameter acknowledgement: the number that the record carried, `EngineRecord.acknowledgement`.
    /// - Parameter offset: the record's offset; negative: the record was given up, and has none.
    /// - Parameter now: when Kafka's answer was taken.
    public mutating func acknowledged(_ acknowledgement: UInt64, offset: Int64, now: EngineTime) {
        switch self.journal.acknowledged(acknowledgement, offset: offset, in: &self.memory, now: now) {
        case .none: break
        case .marker(let partition, let claimNumber):
            self.markerAcknowledged(partition, claimNumber: claimNumber, offset: offset, now: now)
        case .pushMayFollow(let slot):
            self.tellVersions(slot, now: now)
            self.dispatch.reschedule(slot, in: &self.memory, now: now)
        case .versionTold(let slot, let stampLow): self.versionAcknowledged(slot, stampLow: stampLow, now: now)
        case .crowd(let wait, let partition): self.acknowledged(wait, in: partition, offset: offset, now: now)
        case .keeper(let wait): self.acknowledged(wait, now: now)
        }
    }

    /// Notes that Kafka has a record of a crowd. The crowd may have gone meanwhile.
    private mutating func acknowledged(
        _ wait: CrowdWait, in partition: PartitionIndex, offset: Int64, now: EngineTime
    ) {
        let (crowd, generation, number) = (wait.crowd, wait.generation, wait.number)
        switch wait.record {
        case .versions: self.versionsAcknowledged(crowd, generation: generation, number: number, now: now)
        case .progress: self.progressAcknowledged(crowd, generation: generation, number: number, now: now)
        case .voided: self.voidAcknowledged(crowd, generation: generation, partition: partition, now: now)
        case .lateJoin(let pass):
            self.lateJoinAcknowledged(
                crowd, generation: generation, pass: Int(pass), number: number, offset: offset)
        case .startProgress: self.startsAcknowledged(crowd, generation: generation, number: number, now: now)
        case .startMember(let round):
            self.startMemberAcknowledged(
                crowd, generation: generation, round: Int(round), number: number, offset: offset, now: now)
        }
    }

    /// Notes that Kafka has a record of a keeper. The keeper may have gone meanwhile.
    private mutating func acknowledged(_ wait: KeeperWait, now: EngineTime) {
        let token = UInt64(wait.token)
        switch wait.record {
        case .state: self.keptAcknowledged(wait.keeper, generation: wait.generation, write: token, now: now)
        case .news:
            self.announcementAcknowledged(
                wait.keeper, generation: wait.generation, announcement: token, now: now)
        }
    }
}
