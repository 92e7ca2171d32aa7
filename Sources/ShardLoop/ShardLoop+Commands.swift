public import PushEngine
public import PushModel

/// Partitions that leave together.
struct Release {
    /// The number that `ShardNews.released` repeats.
    let number: Int
    let partitions: [Int32]
    /// When the wait for APNs' answers ends, on the steady clock.
    let quietUntilMillis: Int64
    /// When all waits of the release end, on the steady clock.
    let endsAtMillis: Int64
    /// The partitions that ran, and may have something to wait for and to write.
    let ran: [Int32]
    /// The partitions whose present step, quieting or writing, has not ended.
    var awaited: [Int32]
    /// Whether the rest was written, so that all partitions of the release are `.writing`.
    var isWriting = false

    var dueMillis: Int64 { self.isWriting ? self.endsAtMillis : self.quietUntilMillis }
}

extension ShardLoop {
    /// Carries out a request from another thread. A turn must follow.
    public mutating func carryOut(_ command: ShardCommand, now: EngineTime) {
        switch command {
        case .assign(let grants): for grant in grants { self.assign(grant, now: now) }
        case .letIn(let positions): self.letIn(positions)
        case .release(let number, let partitions, let times):
            self.beginRelease(
                number, of: partitions, quietUntilMillis: now.steadyMillis + times.quietMillis,
                endsAtMillis: now.steadyMillis + times.limitMillis, now: now)
        case .forget(let partitions): self.forget(partitions, now: now)
        case .stopReading: self.isDraining = true
        case .limit(let limits): self.outbox.limits = limits
        }
        self.hasChanged = true
        self.mayHaveActions = true
    }

    /// Takes another configuration, between two turns. A turn must follow. Records that wait for Kafka follow the new
    /// times. There may be more routes than before; the push port must already have them.
    /// - Throws: what cannot be changed. In this case nothing has changed.
    public mutating func reconfigure(
        _ new: ShardLoopConfiguration, now: EngineTime
    ) throws(ReconfigurationRefusal) {
        guard new.stateTopic == self.configuration.stateTopic, new.routeCount >= self.configuration.routeCount else {
            throw ReconfigurationRefusal(faults: [ReconfigurationFault(cause: .keptForLife)])
        }
        try self.engine.reconfigure(new.engine, now: now)
        self.configuration = new
        self.outbox.pace.follow(
            holdMillis: new.settings.recordHoldMillis, unacknowledgedMax: new.engine.settings.unacknowledgedMax)
        self.hasChanged = true
        self.mayHaveActions = true
    }

    /// Takes over a partition. Unless the partition is an inlet or halts, its marker is written first, and nothing is
    /// read before Kafka has acknowledged the marker.
    private mutating func assign(_ grant: PartitionGrant, now: EngineTime) {
        guard !self.partitions.contains(where: { $0.number == grant.number }) else { return }
        if let reason = grant.haltReason {
            self.news.append(.halted(partition: grant.number, reason: reason))
        } else if grant.isInlet {
            self.engine.inletAssigned(grant.number, starts: grant.starts, now: now)
            self.log.beginReading(partition: grant.number)
        } else {
            self.engine.partitionAssigned(
                grant.number, releasedWallMillis: grant.releasedWallMillis, now: now)
        }
        self.partitions.append(
            OwnedPartition(grant, topicCount: self.configuration.engine.inputTopics.count))
    }

    private mutating func letIn(_ positions: [CommitPosition]) {
        for position in positions {
            guard let index = self.partitions.firstIndex(where: { $0.number == position.partition }),
                Int(position.topic) < self.partitions[index].letInUpTo.count
            else { continue }
            self.partitions[index].letInUpTo[Int(position.topic)] = position.nextOffset
            self.hasReadable = true
            self.hasMore = true
        }
    }

    // MARK: Leaving

    private mutating func beginRelease(
        _ number: Int, of numbers: [Int32], quietUntilMillis: Int64, endsAtMillis: Int64, now: EngineTime
    ) {
        var ran: [Int32] = []
        for index in self.partitions.indices
        where numbers.contains(self.partitions[index].number) && !self.partitions[index].life.isLeaving {
            if self.partitions[index].life.hasRun {
                self.engine.beginRelease(partition: self.partitions[index].number, now: now)
                ran.append(self.partitions[index].number)
            } else {
                // A restore that has not ended has read only a part of `state`. That part must not be written again,
                // because it would look complete.
                self.engine.forget(partition: self.partitions[index].number)
            }
            self.partitions[index].move(to: .quieting)
        }
        // The engine would ignore what repairs find in gaps of these partitions.
        self.gaps.removeAll { ran.contains($0.partition) }
        self.releases.append(
            Release(
                number: number, partitions: numbers, quietUntilMillis: quietUntilMillis, endsAtMillis: endsAtMillis,
                ran: ran, awaited: ran))
    }

    mutating func advanceReleases(_ now: EngineTime) {
        guard !self.releases.isEmpty else { return }
        self.carryOutActions(now)
        for index in self.releases.indices.reversed() {
            let release = self.releases[index]
            if !release.isWriting, release.awaited.isEmpty || now.steadyMillis >= release.quietUntilMillis {
                for partition in release.ran { self.engine.finishRelease(partition: partition, now: now) }
                self.takeRecords(now)
                self.releases[index].isWriting = true
                self.releases[index].awaited = release.ran
                self.move(release.partitions, to: .writing)
                // If there was nothing to write, the engine's actions end the step at once.
                self.carryOutActions(now)
            }
            guard self.releases[index].isWriting else { continue }
            guard self.releases[index].awaited.isEmpty || now.steadyMillis >= release.endsAtMillis else { continue }
            // All partitions of the release are checked again: an answer may have arrived for one that had finished.
            let unfinished = release.ran.filter { !self.engine.isSettled(partition: $0) }
            guard unfinished.isEmpty || now.steadyMillis >= release.endsAtMillis else { continue }
            self.releases.remove(at: index)
            self.move(release.partitions, to: .left)
            self.commits.gather(from: &self.engine, now: now)
            self.news.append(
                .released(
                    number: release.number, commits: self.commits.take(of: release.partitions),
                    unfinished: unfinished))
        }
        self.takeRecords(now)
    }

    private mutating func move(_ numbers: [Int32], to life: PartitionLife) {
        for index in self.partitions.indices where numbers.contains(self.partitions[index].number) {
            self.partitions[index].move(to: life)
        }
        self.hasChanged = true
    }

    var releaseDueMillis: Int64? { self.releases.map(\.dueMillis).min() }

    private mutating func forget(_ numbers: [Int32], now: EngineTime) {
        for release in self.releases where !Set(release.partitions).isDisjoint(with: numbers) {
            self.news.append(.released(number: release.number, commits: [], unfinished: release.partitions))
        }
        self.releases.removeAll { !Set($0.partitions).isDisjoint(with: numbers) }
        self.forgetRepairs(of: numbers)
        for number in numbers {
            self.engine.forget(partition: number)
            self.outbox.forget(partition: number, in: &self.engine, now: now)
            self.log.endReading(partition: number)
        }
        _ = self.commits.take(of: numbers)
        for partition in self.partitions where numbers.contains(partition.number) { partition.section?.close() }
        self.partitions.removeAll { numbers.contains($0.number) }
    }

    /// Ends the loop and drops everything. All partitions must have left before.
    public mutating func close(now: EngineTime) {
        for partition in self.partitions { partition.section?.close() }
        self.forgetRepairs(of: self.partitions.map(\.number))
        self.partitions = []
    }
}
