public import PushModel

/// What Kafka has.
extension ShardEngine {
    /// Whether anything depends on this acknowledgement: not when its partition has left since.
    public func isAwaited(_ acknowledgement: UInt64) -> Bool {
        self.journal.isAwaited(acknowledgement, in: self.memory)
    }

    /// Kafka has the record. Once per record; an acknowledgement of a partition that has left since changes nothing.
    /// - Parameter acknowledgement: the number that the record carried, `EngineRecord.acknowledgement`.
    /// - Parameter offset: of the record; negative: it was given up, and none is known.
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
        case .versions(let crowd, let generation, let number):
            self.versionsAcknowledged(crowd, generation: generation, number: number, now: now)
        case .progress(let crowd, let generation, let number):
            self.progressAcknowledged(crowd, generation: generation, number: number, now: now)
        case .lateJoin(let crowd, let generation, let pass, let number):
            self.lateJoinAcknowledged(crowd, generation: generation, pass: pass, number: number, offset: offset)
        case .startProgress(let crowd, let generation, let number):
            self.startsAcknowledged(crowd, generation: generation, number: number, now: now)
        case .startMember(let crowd, let generation, let round, let number):
            self.startMemberAcknowledged(
                crowd, generation: generation, round: round, number: number, offset: offset, now: now)
        case .voided(let crowd, let generation, let partition):
            self.voidAcknowledged(crowd, generation: generation, partition: partition, now: now)
        case .kept(let keeper, let generation, let write):
            self.keptAcknowledged(keeper, generation: generation, write: write, now: now)
        case .keeperNews(let keeper, let generation, let announcement):
            self.announcementAcknowledged(keeper, generation: generation, announcement: announcement, now: now)
        }
    }
}
