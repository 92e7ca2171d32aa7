import PushEngine
import PushModel
import ShardLoop

/// Disturbances of the world, and how they end.
extension SimulationWorld {
    /// Perhaps begins a disturbance now.
    func disturb() {
        // Brokers may compact at any time.
        if self.chance(self.plan.compactionPercent) { self.compact() }
        let dice = Int.random(in: 0..<100, using: &self.random)
        guard dice < self.plan.disturbancePercent, let kind = self.plan.disturbances.randomElement(using: &self.random)
        else { return }
        self.rememberStruck()
        switch kind {
        case .crash:
            guard let worker = self.pick() else { return }
            // The worker dies now, or during its next calls to Kafka and APNs.
            if Bool.random(using: &self.random) { return self.kill(worker) }
            worker.fuse = Int.random(in: 1...60, using: &self.random)
        case .stop:
            guard let worker = self.pick() else { return }
            let session = SimulatedGroup.sessionMillis
            let millis =
                Bool.random(using: &self.random)
                ? Int64.random(in: 100...(session * 8 / 10), using: &self.random)
                : Int64.random(in: session...(session * 3), using: &self.random)
            self.stop(worker, millis: millis)
        case .isolation:
            guard let worker = self.pick(), worker.isolatedUntilMillis == nil else { return }
            let session = SimulatedGroup.sessionMillis
            self.isolate(worker, millis: Int64.random(in: 1_000...(session * 2), using: &self.random))
        case .rebalance:
            self.moves += 1
            let partition = Int32.random(in: 0..<self.partitionCount, using: &self.random)
            self.log("the group asks for partition \(partition)")
            self.post(self.group.ask(for: partition))
        case .scaling:
            let seat = Int.random(in: 0..<self.plan.seats, using: &self.random)
            if let worker = self.workers.first(where: { $0.seat == seat && $0.isAlive && !$0.isStopping }) {
                self.terminate(worker)
            } else if self.seatBegins[seat] == nil, !self.workers.contains(where: { $0.seat == seat }) {
                self.seatBegins[seat] = self.steadyMillis
            }
        case .brokerOutage:
            let until = self.steadyMillis + Int64.random(in: 100...90_000, using: &self.random)
            self.log("the broker is away for \(until - self.steadyMillis) ms")
            self.brokerAwayUntilMillis = max(self.brokerAwayUntilMillis, until)
            self.kafka.brokerAway(untilMillis: self.brokerAwayUntilMillis)
            for index in self.commitsUnderWay.indices {
                self.commitsUnderWay[index].arrivesMillis = max(
                    self.commitsUnderWay[index].arrivesMillis, self.brokerAwayUntilMillis + 10)
            }
            for worker in self.workers { self.endLease(of: worker) }
        case .apnsOutage:
            let until = self.steadyMillis + Int64.random(in: 100...120_000, using: &self.random)
            self.log("APNs is away for \(until - self.steadyMillis) ms")
            self.apnsAwayUntilMillis = max(self.apnsAwayUntilMillis, until)
        case .clockStep:
            let step = Int64.random(in: -190_000...30_000, using: &self.random)
            // If clocks were set back by more than 190 s in total, events that had been accepted would be too far in
            // the future.
            guard self.behindMillis - step <= 190_000 else { return }
            self.behindMillis += max(0, -step)
            if Bool.random(using: &self.random) {
                self.wallsBeforeSteps.append((self.steadyMillis, self.wallSeconds))
                self.wallOffsetMillis += step
                self.aheadMillis += max(0, step)
                self.log("all clocks step by \(step) ms")
            } else if let worker = self.pick() {
                worker.wallOffsetMillis += step / 4
                self.differenceMillis += abs(step) / 4
                self.log("the clock of worker \(worker.number) steps by \(step / 4) ms")
            }
        }
    }

    /// A random worker that runs.
    private func pick() -> SimulatedWorker? {
        self.workers.filter { $0.runs }.randomElement(using: &self.random)
    }

    /// Ends all disturbances that still last.
    func mend() {
        self.log("faults end")
        self.rememberStruck()
        self.brokerAwayUntilMillis = min(self.brokerAwayUntilMillis, self.steadyMillis + 1_000)
        self.apnsAwayUntilMillis = min(self.apnsAwayUntilMillis, self.steadyMillis + 1_000)
        self.refusalWindow.untilMillis = min(self.refusalWindow.untilMillis, self.steadyMillis)
        for worker in self.workers { worker.fuse = nil }
        self.resumeAll()
        if self.seatBegins.allSatisfy({ $0 == nil }), self.workers.allSatisfy({ $0.isStopping }) {
            self.seatBegins[0] = self.steadyMillis + 5_000
        }
    }

    /// Lets the broker compact `state`. It compacts all records older than the lag or only a part of them, because a
    /// segment may end anywhere.
    private func compact() {
        for partition in 0..<self.plan.partitions where Int.random(in: 0..<4, using: &self.random) > 0 {
            let head = self.steadyMillis - 30 * 60_000 - Int64.random(in: 0...10, using: &self.random) * 120_000
            self.log("state \(partition) is compacted up to \(head - Self.beginMillis) ms")
            self.kafka.compact(SimulatedKafka.LogID(topic: .state, partition: partition), olderThanMillis: head)
        }
    }

    // MARK: Processes

    /// Begins a process in a seat. The process joins the group.
    func begin(seat: Int) {
        self.seatBegins[seat] = nil
        let worker = SimulatedWorker(
            number: self.workerCount, seat: seat, world: self, configuration: self.loopConfiguration(),
            steadyOffsetMillis: Int64.random(in: -900_000...50_000_000, using: &self.random),
            wallOffsetMillis: self.plan.clockSkewMillisMax == 0
                ? 0
                : Int64.random(in: -self.plan.clockSkewMillisMax...self.plan.clockSkewMillisMax, using: &self.random))
        self.workerCount += 1
        self.drawTracing(of: worker)
        self.strikeAfterMove(worker)
        self.workers.append(worker)
        self.log("worker \(worker.number) begins in seat \(seat)")
        let last = self.seatLast[seat]
        self.seatLast[seat] = worker.number
        // At most one process at a time has a given instance id.
        if self.plan.isStatic, let last, self.group.isMember(last),
            !self.workers.contains(where: { $0.number == last && $0.isAlive })
        {
            self.post(self.group.replace(last, by: worker.number))
        } else {
            self.post(self.group.join(worker.number))
        }
    }

    func loopConfiguration() -> ShardLoopConfiguration {
        var engine = EngineConfiguration(
            settings: EngineSettings(), apps: self.plan.apps, inputTopics: Self.topics, routedTopicIndex: 1,
            partitionCount: self.plan.partitions)
        engine.clusterID = self.clusterMove.clusterID
        engine.settings.placement = self.plan.placement
        engine.settings.outcomePublication = self.plan.publishesAll ? .all : .pushes
        engine.settings.unacknowledgedMax = self.plan.unacknowledgedMax
        engine.settings.lifetimeMillis = self.plan.lifetimeMillis
        var loop = ShardLoopSettings()
        loop.commitIntervalMillis = self.plan.commitIntervalMillis
        loop.recordHoldMillis = self.plan.recordHoldMillis
        return ShardLoopConfiguration(
            settings: loop, engine: engine, stateTopic: "liveactivity.state", routeCount: self.plan.routeCount)
    }

    /// Kills the process (`kill -9`). Records and pushes that are already in a socket may still arrive.
    func kill(_ worker: SimulatedWorker) {
        self.log("worker \(worker.number) is killed")
        self.rememberStruck()
        self.abandon(worker)
        self.group.rememberSilence(worker.number, sinceMillis: self.steadyMillis)
        self.seatBegins[worker.seat] = self.steadyMillis + Int64.random(in: 300...8_000, using: &self.random)
    }

    /// Removes a process that has ended.
    private func abandon(_ worker: SimulatedWorker) {
        self.moves += 1
        worker.isAlive = false
        self.kafka.producerDied(
            worker.number, nowMillis: self.steadyMillis, lateMillisMax: self.plan.lateMillisMax, random: &self.random)
        self.commitsUnderWay.removeAll { $0.worker == worker.number && Bool.random(using: &self.random) }
        for index in self.flights.indices where self.flights[index].worker == worker.number {
            if !self.flights[index].isApplied, Int.random(in: 0..<3, using: &self.random) == 0 {
                self.flights[index].isApplied = true
                let name =
                    self.flights[index].member.map { "member \($0)" } ?? "activity \(self.flights[index].activity)"
                self.log("a push of \(name) dies with its worker")
            }
            self.settleBudgetOfTheDead(self.flights[index])
        }
        for activity in self.phones.indices { self.abandonBudget(activity, worker: worker.number) }
        self.abandonKept(worker)
        self.abandonTraces(worker)
    }

    /// Stops the process with SIGSTOP, and wakes it later with SIGCONT.
    private func stop(_ worker: SimulatedWorker, millis: Int64) {
        let until = self.steadyMillis + millis
        self.log("worker \(worker.number) is stopped for \(millis) ms")
        worker.stoppedUntilMillis = until
        self.kafka.producerStopped(worker.number, untilMillis: until, random: &self.random)
        for index in self.commitsUnderWay.indices
        where self.commitsUnderWay[index].worker == worker.number && Bool.random(using: &self.random) {
            self.commitsUnderWay[index].arrivesMillis = until + 1
        }
        for index in self.flights.indices
        where self.flights[index].worker == worker.number && !self.flights[index].isApplied
            && Bool.random(using: &self.random)
        {
            self.flights[index].arrivesMillis = until + Int64.random(in: 1...2_000, using: &self.random)
            self.flights[index].answersMillis = max(
                self.flights[index].answersMillis, self.flights[index].arrivesMillis + 1)
        }
        self.endLease(of: worker)
        self.group.rememberSilence(worker.number, sinceMillis: self.steadyMillis)
    }

    /// Isolates a worker. The worker continues to work, but the coordinator does not hear of it.
    private func isolate(_ worker: SimulatedWorker, millis: Int64) {
        self.log("the coordinator does not hear of worker \(worker.number) for \(millis) ms")
        worker.isolatedUntilMillis = self.steadyMillis + millis
        for index in self.commitsUnderWay.indices where self.commitsUnderWay[index].worker == worker.number {
            self.commitsUnderWay[index].arrivesMillis = self.steadyMillis + millis + 1
        }
        self.endLease(of: worker)
        self.group.rememberSilence(worker.number, sinceMillis: self.steadyMillis)
    }

    /// Sets the end of the worker's lease, because the group confirms no more questions from now on. The last confirmed
    /// question was asked at most `askEveryMillis` ago.
    private func endLease(of worker: SimulatedWorker) {
        var lease = OwnershipLease(sessionTimeoutMillis: SimulatedGroup.sessionMillis)
        lease.confirmed(
            askedAtMillis: self.steadyMillis - Int64.random(in: 0...lease.askEveryMillis, using: &self.random))
        worker.leaseEndsMillis = min(worker.leaseEndsMillis, lease.endsMillis)
    }

    /// Ends the worker with SIGTERM. The worker gives its partitions back and leaves the group.
    func terminate(_ worker: SimulatedWorker) {
        self.log("worker \(worker.number) is to end")
        self.moves += 1
        worker.isStopping = true
        worker.loop.carryOut(.stopReading, now: self.now(of: worker))
        self.post(self.group.beginLeaving(worker.number))
    }

    /// Ends a process that was told to stop and has given all partitions back.
    func leaveIfDone(_ worker: SimulatedWorker) {
        guard worker.isStopping, worker.isAlive else { return }
        let owned = (0..<self.partitionCount).filter { self.group.owner(of: $0) == worker.number }
        if owned.isEmpty, worker.partitions.isEmpty, worker.events.isEmpty {
            self.log("worker \(worker.number) has left")
            self.abandon(worker)
            self.post(self.group.remove(worker.number))
            if self.workers.allSatisfy({ !$0.isAlive || $0.isStopping }) || Bool.random(using: &self.random) {
                self.seatBegins[worker.seat] = self.steadyMillis + Int64.random(in: 100...8_000, using: &self.random)
            }
        }
    }
}
