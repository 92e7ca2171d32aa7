import PushEngine
import PushModel
import ShardLoop

/// The consumer group, and how workers react to its events: they get, restore, give back or lose partitions.
extension SimulationWorld {
    // MARK: The broker's side

    /// Delivers the records and commits that have arrived by now.
    func runBroker() {
        let now = self.steadyMillis
        var arrived: [(SimulatedKafka.Transit, Int64)] = []
        let deliveries = self.kafka.arrivals(nowMillis: now) { transit, offset in
            if let offset { arrived.append((transit, offset)) }
        }
        for (transit, offset) in arrived { self.rememberArrival(transit, offset: offset) }
        for delivery in deliveries {
            self.workers.first { $0.number == delivery.producer && $0.isAlive }?.inbox.append(delivery)
        }
        var kept: [CommitUnderWay] = []
        var due: [CommitUnderWay] = []
        for commit in self.commitsUnderWay {
            if commit.arrivesMillis <= now { due.append(commit) } else { kept.append(commit) }
        }
        self.commitsUnderWay = kept
        for commit in due { self.arrive(commit) }
    }

    private func arrive(_ commit: CommitUnderWay) {
        let isMember =
            self.group.isMember(commit.worker) && self.group.memberships[commit.worker] == commit.membership
        if isMember, !commit.isLost {
            for (position, metadata) in zip(commit.positions, commit.metadata) {
                self.apply(position, metadata, worker: commit.worker)
            }
        } else {
            self.log("a commit of worker \(commit.worker) is refused")
        }
        guard let worker = self.workers.first(where: { $0.number == commit.worker && $0.isAlive }) else { return }
        if let until = worker.stoppedUntilMillis {
            // The answer is read when the process continues.
            self.commitsUnderWay.append(
                CommitUnderWay(
                    worker: worker.number, membership: commit.membership, positions: [], givesBack: commit.givesBack,
                    arrivesMillis: until + 1,
                    isLost: false))
            return
        }
        if commit.givesBack.isEmpty {
            worker.commits.took(
                committed: isMember ? commit.positions : [], refused: isMember ? [] : commit.positions)
            if isMember {
                self.sendCommits(worker)
            } else {
                worker.askDueMillis = self.steadyMillis + Int64.random(in: 100...7_000, using: &self.random)
            }
        }
        for partition in commit.givesBack {
            self.log("worker \(worker.number) gives partition \(partition) back")
            self.forget([partition], worker: worker)
            self.post(self.group.gaveBack(partition, worker: worker.number))
        }
    }

    private func apply(_ position: CommitPosition, _ metadata: CommitMetadata, worker: Int) {
        let logID = SimulatedKafka.LogID(
            topic: position.topic == 0 ? .events : .routed, partition: position.partition)
        let offset = position.nextOffset
        self.log("worker \(worker) commits \(logID.topic) \(logID.partition) up to \(offset)")
        if self.group.owner(of: logID.partition) != worker {
            self.fail("worker \(worker) commits partition \(logID.partition), which is not its own")
        }
        let committed = self.kafka.committed[logID] ?? 0
        if offset > self.kafka.end(logID) { self.fail("committed \(offset) past the end of \(logID)") }
        if offset < committed { self.fail("a commit went back in \(logID)") }
        if offset > committed { self.checkCommit(logID, committed..<offset, worker: worker) }
        self.kafka.commit(logID, offset)
        self.losses.metadata[logID] = metadata
        if offset > committed { self.checkNotHalted(logID.partition, "a commit") }
    }

    /// Begins processes that are due. Lets the coordinator remove silent members, and lets workers reach it again.
    func runGroup() {
        let now = self.steadyMillis
        for seat in self.seatBegins.indices {
            if let begins = self.seatBegins[seat], begins <= now { self.begin(seat: seat) }
        }
        if self.brokerAwayUntilMillis <= now {
            for worker in self.group.expired(nowMillis: now) {
                self.log("worker \(worker) is put out of the group")
                self.moves += 1
                self.post(self.group.remove(worker))
            }
        }
        for worker in self.workers {
            var isBack = false
            if let until = worker.stoppedUntilMillis, until <= now {
                worker.stoppedUntilMillis = nil
                worker.runsSinceMillis = now
                isBack = true
                self.log("worker \(worker.number) wakes up")
            }
            if let until = worker.isolatedUntilMillis, until <= now {
                worker.isolatedUntilMillis = nil
                isBack = true
            }
            if isBack, worker.runs, worker.isolatedUntilMillis == nil { self.comeBack(worker) }
        }
        if self.brokerAwayUntilMillis <= now {
            for worker in self.workers
            where worker.runs && worker.isolatedUntilMillis == nil && worker.leaseEndsMillis != .max {
                self.comeBack(worker)
            }
        }
    }

    /// Lets a worker reach the group again after it was isolated or stopped, or after the broker was away. Soon its
    /// lease is renewed, or it learns that it has lost all partitions.
    private func comeBack(_ worker: SimulatedWorker) {
        guard worker.leaseEndsMillis != .max, self.brokerAwayUntilMillis <= self.steadyMillis else { return }
        self.rememberStruck()
        if self.group.isMember(worker.number) {
            self.group.rememberSign(worker.number)
            let renewed = self.steadyMillis + Int64.random(in: 1...200, using: &self.random)
            if worker.leaseEndsMillis <= self.steadyMillis { worker.leaseFromMillis = renewed }
            worker.leaseEndsMillis = .max
        } else if !worker.events.contains(where: { if case .lost = $0.event { true } else { false } }) {
            let lost = worker.partitions.keys.sorted()
            worker.events = [
                (.lost(lost), self.steadyMillis + Int64.random(in: 0...1_500, using: &self.random))
            ]
        }
    }

    func post(_ events: [(worker: Int, event: SimulatedGroup.Event)]) {
        for (number, event) in events {
            guard let worker = self.workers.first(where: { $0.number == number && $0.isAlive }) else { continue }
            let last = worker.events.map(\.comesMillis).max() ?? 0
            let comes = max(last, self.steadyMillis + Int64.random(in: 1...300, using: &self.random))
            worker.events.append((event, comes))
        }
    }

    // MARK: The worker's side

    func hearGroup(_ worker: SimulatedWorker) {
        guard worker.isolatedUntilMillis == nil else { return }
        while let first = worker.events.first, first.comesMillis <= self.steadyMillis {
            // The worker must ask the broker for the group's offsets first.
            if case .assigned = first.event, self.brokerAwayUntilMillis > self.steadyMillis {
                worker.events[0].comesMillis = self.brokerAwayUntilMillis + 1
                return
            }
            worker.events.removeFirst()
            switch first.event {
            case .assigned(let partition): self.assigned(partition, worker: worker)
            case .revoked(let partition): self.revoked(partition, worker: worker)
            case .lost(let partitions):
                self.log("worker \(worker.number) learns that it has lost \(partitions)")
                self.forget(worker.partitions.keys.sorted(), worker: worker)
                // One thread of a worker gives partitions back and hears of losses, so it gives none back after a loss.
                // The last commit of the ended membership is refused, and its answer does not matter for partitions
                // that are assigned later.
                self.commitsUnderWay.removeAll { $0.worker == worker.number && !$0.givesBack.isEmpty }
                worker.leaseEndsMillis = .max
                worker.leaseFromMillis = .max
                if worker.isStopping { worker.events = [] } else { self.post(self.group.join(worker.number)) }
            }
        }
    }

    private func assigned(_ partition: Int32, worker: SimulatedWorker) {
        guard self.group.owner(of: partition) == worker.number, worker.partitions[partition] == nil else { return }
        self.log("worker \(worker.number) gets partition \(partition)")
        self.rememberStruck()
        self.forgetUnwrittenRefusals(of: partition, worker: worker.number)
        let logIDs = [
            SimulatedKafka.LogID(topic: .events, partition: partition),
            SimulatedKafka.LogID(topic: .routed, partition: partition),
        ]
        let starts = logIDs.map { self.kafka.committed[$0] ?? 0 }
        worker.partitions[partition] = SimulatedWorker.Owned(
            starts: starts, logEnds: logIDs.map { self.kafka.end($0) }, positions: starts)
        self.assignmentCount += 1
        worker.partitions[partition]?.assignment = self.assignmentCount
        if worker.leaseFromMillis == .max {
            worker.leaseFromMillis = self.steadyMillis + Int64.random(in: 1...80, using: &self.random)
        }
        self.evidence.rememberAssignment(worker: worker.number)
        self.forgetWithdrawals(partition, worker: worker)
        self.forgetMovements(partition, worker: worker)
        self.forgetStartMovements(partition, worker: worker)
        self.moveTimes[partition, default: []].append(self.steadyMillis)
        let owned = worker.partitions[partition]!
        guard !self.isInlet(partition) else {
            let grant = PartitionGrant(
                number: partition, starts: Self.positions([owned.starts[0]], partition),
                logEnds: Self.positions([owned.logEnds[0]], partition), isInlet: true)
            worker.commits.own([partition], starts: grant.starts)
            return worker.loop.carryOut(.assign([grant]), now: self.now(of: worker))
        }
        let logs = self.judgeLogs(partition, logIDs)
        worker.stateEnds[partition] = (false, logs.stateEnd, false)
        // Commits of a halted partition repeat the metadata of earlier commits.
        worker.stateStarts[partition] =
            logs.haltReason == nil
            ? self.kafka.start(SimulatedKafka.LogID(topic: .state, partition: partition)) : logs.stateStart
        let grant = PartitionGrant(
            number: partition, starts: Self.positions(owned.starts, partition),
            logEnds: Self.positions(owned.logEnds, partition), stateEnd: logs.stateEnd, haltReason: logs.haltReason)
        worker.commits.own([partition], starts: grant.starts)
        worker.loop.carryOut(.assign([grant]), now: self.now(of: worker))
    }

    /// Remembers that the loop has restored the partition, and now reads its input.
    func runs(_ partition: Int32, worker: SimulatedWorker) {
        worker.partitions[partition]?.isRunning = true
        self.rememberStruck()
        worker.partitions[partition]?.runsSinceMillis = self.steadyMillis
        for activity in self.phones.indices where self.home(of: activity) == partition {
            self.rememberUnrecordedPush(activity, worker: worker.number, isTakeover: true)
        }
    }

    private static func positions(_ offsets: [Int64], _ partition: Int32) -> [CommitPosition] {
        offsets.enumerated().map {
            CommitPosition(topic: UInt16($0.offset), partition: partition, nextOffset: $0.element)
        }
    }
}
