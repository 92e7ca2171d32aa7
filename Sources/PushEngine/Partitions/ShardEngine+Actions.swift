/// Reports what has to be done about partitions.
extension ShardEngine {
    /// Adds what has to be done since the last call to `actions`. Cheap while nothing is due: it may be called at every
    /// step of a turn.
    public mutating func takeActions(into actions: inout [PartitionAction]) {
        if !self.ownership.watched.isEmpty { self.lookAtWatched(&actions) }
        if !self.memory.partitions.wentBack.isEmpty { self.lookAtLostState(&actions) }
        while let gap = self.memory.partitions.takeGap() { actions.append(.repair(gap)) }
        if !self.intake.untimed.waiting.isEmpty {
            for record in self.intake.untimed.take() { actions.append(.tellUntimed(record)) }
        }
        if !self.intake.placement.waiting.isEmpty {
            for misplacement in self.intake.placement.take() { actions.append(.tellMisplaced(misplacement)) }
        }
        if !self.keepers.notices.isEmpty {
            for notice in self.keepers.takeNotices() { actions.append(.tellKeeper(notice)) }
        }
    }

    /// Whether everything handed to Kafka for a leaving partition is acknowledged at this moment. A late answer may
    /// have added to it since that was reported. A partition that is not owned has nothing left.
    public func isSettled(partition number: Int32) -> Bool {
        guard let partition = self.memory.partitions.index(of: number) else { return true }
        return self.journal.isSettled(partition, in: self.memory)
    }

    /// Reports steps that have ended.
    private mutating func lookAtWatched(_ actions: inout [PartitionAction]) {
        for partition in self.ownership.watched {
            let state = self.memory.partitions[partition]
            switch state.phase {
            case .awaitingMarker: continue
            case .restoring: actions.append(.restore(partition: state.number, markerOffset: state.epoch))
            case .running:
                if let reason = state.stopReason {
                    actions.append(.halt(partition: state.number, reason: reason))
                }
                if let cause = state.voids.cause { actions.append(.tellVoid(partition: state.number, cause: cause)) }
            case .releasing:
                guard state.inFlightCount == 0 else { continue }
                actions.append(.finishRelease(partition: state.number))
            case .released:
                guard self.journal.isSettled(partition, in: self.memory) else { continue }
                actions.append(.takeLastCommit(partition: state.number))
            case .gone: break
            }
            self.ownership.unwatch(partition)
        }
    }
}
