import PushEngine
import PushModel

/// Carries out what the engine asks for.
extension ShardLoop {
    /// Carries out the actions that the engine has asked for since the last call.
    mutating func carryOutActions(_ now: EngineTime) {
        self.mayHaveActions = false
        self.engine.takeActions(into: &self.actions, now: now)
        guard !self.actions.isEmpty else { return }
        var actions: [PartitionAction] = []
        swap(&actions, &self.actions)
        for action in actions { self.carryOut(action, now) }
        actions.removeAll(keepingCapacity: true)
        swap(&actions, &self.actions)
        self.hasChanged = true
    }

    private mutating func carryOut(_ action: PartitionAction, _ now: EngineTime) {
        switch action {
        case .restore(let partition, let markerOffset):
            self.beginRestore(of: partition, markerOffset: markerOffset, now)
        case .repair(let gap):
            self.gaps.append(gap)
            self.hasMore = true
        case .halt(let partition, let reason):
            guard let index = self.partitions.firstIndex(where: { $0.number == partition }),
                self.partitions[index].life.takesRecords
            else { return }
            self.halt(index, reason)
        case .finishRelease(let partition), .takeLastCommit(let partition):
            for index in self.releases.indices { self.releases[index].awaited.removeAll { $0 == partition } }
        case .warnOfVoid(let partition, let cause): self.news.append(.voided(partition: partition, cause: cause))
        case .loseState(let partition, let reason): self.loseState(of: partition, reason, now)
        case .warnOfMisplaced(let misplacement): self.news.append(.misplaced(misplacement))
        case .warnOfUntimed(let record): self.news.append(.untimed(record))
        case .warnOfToken(let notice): self.news.append(.tokenRefused(notice))
        case .warnOfKeeper(let notice): self.news.append(.keeper(notice))
        }
    }
}
