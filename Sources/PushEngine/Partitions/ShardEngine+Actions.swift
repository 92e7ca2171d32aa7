public import PushModel

/// Reports what has to be done about partitions.
extension ShardEngine {
    /// Adds to `actions` what has to be done and was not reported before. The call costs little while nothing is due,
    /// so it may be made at every step of a turn. It may add a leaving partition's last record to `batch`.
    public mutating func takeActions(into actions: inout [PartitionAction], now: EngineTime) {
        if !self.ownership.watched.isEmpty { self.lookAtWatched(&actions, now: now) }
        if !self.core.memory.partitions.wentBack.isEmpty { self.lookAtLostState(&actions) }
        while let gap = self.core.memory.partitions.takeGap() { actions.append(.repair(gap)) }
        if !self.core.intake.untimed.waiting.isEmpty {
            for record in self.core.intake.untimed.take() { actions.append(.warnOfUntimed(record)) }
        }
        if !self.core.intake.placement.waiting.isEmpty {
            for misplacement in self.core.intake.placement.take() { actions.append(.warnOfMisplaced(misplacement)) }
        }
        if !self.core.tokenRefusals.waiting.isEmpty {
            for notice in self.core.tokenRefusals.take() { actions.append(.warnOfToken(notice)) }
        }
        if !self.keeperHost.keepers.notices.isEmpty {
            for notice in self.keeperHost.keepers.takeNotices() { actions.append(.warnOfKeeper(notice)) }
        }
    }

    /// Whether Kafka has acknowledged everything for a leaving partition at this moment. A delayed answer may have
    /// added something since `takeLastCommit` was reported. A partition that is not owned has nothing left.
    public func isSettled(partition number: Int32) -> Bool {
        guard let partition = self.core.memory.partitions.index(of: number) else { return true }
        return self.core.journal.isSettled(partition, in: self.core.memory)
    }

    /// Reports partitions whose `state` has lost its end, or was made anew, as the offsets of acknowledged records show.
    /// They are abandoned: nothing of them is written, pushed or committed.
    @inline(never) private mutating func lookAtLostState(_ actions: inout [PartitionAction]) {
        for partition in self.core.memory.partitions.takeWentBack() {
            actions.append(self.core.memory.partitions[partition].lossWhileOwned)
        }
    }

    /// Reports the steps of watched partitions that have ended.
    private mutating func lookAtWatched(_ actions: inout [PartitionAction], now: EngineTime) {
        for partition in self.ownership.watched {
            let state = self.core.memory.partitions[partition]
            switch state.phase {
            case .awaitingMarker: continue
            case .restoring: actions.append(.restore(partition: state.number, markerOffset: state.epoch))
            case .running:
                if let reason = state.stopReason {
                    actions.append(.halt(partition: state.number, reason: reason))
                }
                if let cause = state.voids.cause { actions.append(.warnOfVoid(partition: state.number, cause: cause)) }
            case .releasing:
                guard state.inFlightCount == 0 else { continue }
                actions.append(.finishRelease(partition: state.number))
            case .released:
                guard self.core.journal.isSettled(partition, in: self.core.memory) else { continue }
                if self.core.memory.partitions[partition].takeReleaseMarker() {
                    self.core.journal.writeReleaseMarker(partition, in: &self.core.memory, now: now)
                    guard self.core.journal.isSettled(partition, in: self.core.memory) else { continue }
                }
                actions.append(.takeLastCommit(partition: state.number))
            case .gone: break
            }
            self.ownership.unwatch(partition)
        }
    }
}
