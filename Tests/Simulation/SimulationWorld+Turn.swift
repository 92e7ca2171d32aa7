import APNSProtocol
import PushEngine
import PushModel
import ShardLoop

/// A worker's turn, and the calls that its loop makes to the world during it. The process may die at each call.
extension SimulationWorld {
    func turn(_ worker: SimulatedWorker) {
        worker.creditDueMillis = nil
        self.hearGroup(worker)
        self.lookAtInlets(worker)
        worker.loop.turn(now: self.now(of: worker))
        self.hearTraces(worker)
        self.hearNews(worker)
        guard worker.isAlive else { return }
        if let due = worker.askDueMillis, due <= self.steadyMillis {
            worker.askDueMillis = nil
            worker.commits.ask()
            self.sendCommits(worker)
        }
        self.sendLastCommits(worker)
        self.leaveIfDone(worker)
    }

    /// Handles the loop's reports after a turn, as the worker's other threads do.
    func hearNews(_ worker: SimulatedWorker) {
        guard worker.isAlive else { return }
        _ = worker.loop.takesChange()
        if let last = worker.loop.engine.batch.records.last {
            self.evidence.rememberMade(last.acknowledgement, worker: worker.number)
        }
        if !worker.loop.engine.wantsRecords {
            for (partition, owned) in worker.partitions where owned.isRunning {
                worker.partitions[partition]?.hasHadNoRoom = true
            }
        }
        for news in worker.loop.takeNews() {
            switch news {
            case .released(let number, let commits, let unfinished):
                if !unfinished.isEmpty { self.log("worker \(worker.number) leaves partition \(number) unfinished") }
                if unfinished.isEmpty { self.checkHandedOver(Int32(number), commits, by: worker) }
                worker.leaving.append((Int32(number), commits))
            case .gapFound(let gap):
                self.log("worker \(worker.number) finds a gap in state \(gap.partition): \(gap.offsets)")
            case .restored(let partition, _, _, let starts):
                self.log("worker \(worker.number) runs partition \(partition) from \(starts.map(\.nextOffset))")
                self.hearRestored(partition)
            case .halted(let partition, let reason):
                if partition == self.losses.partition {
                    self.hearHalt(partition, reason)
                } else {
                    self.rememberHalt(partition, reason, of: worker)
                }
            case .refused(let notice): self.rememberRefusal(notice, of: worker)
            case .failed(let text): self.fail("worker \(worker.number) ends: \(text)")
            case .voided(let partition, .accepted) where partition == self.losses.partition: break
            case .voided(_, .cluster("old")) where self.clusterMove.hasMoved: break
            case .voided, .readingFails: self.fail("worker \(worker.number) says \(news)")
            case .keeper(let notice): self.log("worker \(worker.number) says \(notice)")
            case .restoring, .gapRepaired, .misplaced, .untimed, .tokenRefused, .producerEnded, .producerNotRenewed,
                .producerRenewed:
                break
            }
        }
        self.checkInvariants(worker)
    }

    /// Counts a call at which the worker may die.
    /// - Returns: whether the process has died, now or earlier.
    func burns(_ worker: SimulatedWorker) -> Bool {
        guard worker.isAlive else { return true }
        guard let fuse = worker.fuse else { return false }
        worker.fuse = fuse - 1
        guard fuse <= 1 else { return false }
        self.kill(worker)
        return true
    }

    // MARK: Kafka's answers

    func takeDeliveries(max: Int, withKeys: Bool, of worker: SimulatedWorker, into batch: inout DeliveryBatch) {
        while batch.count < max, worker.isAlive, let first = worker.inbox.first, first.comesMillis <= self.steadyMillis
        {
            worker.inbox.removeFirst()
            guard let topic = first.logID.topic.written else { continue }
            if let offset = first.offset {
                if topic == .state { self.rememberStateEnd(first.logID.partition, offset: offset, worker) }
                self.rememberAcknowledged(first, worker: worker)
                if topic == .state, withKeys || batch.hasFailures {
                    let key = first.record.key ?? []
                    batch.append(
                        first.record.acknowledgement, topic: topic, partition: first.logID.partition, offset: offset,
                        key: key.span)
                } else {
                    batch.append(
                        first.record.acknowledgement, topic: topic, partition: first.logID.partition, offset: offset)
                }
            } else {
                self.log("worker \(worker.number) hears that a record of \(first.logID.topic) was not taken")
                let refusal = first.refusal.map { ProduceFailure("refused", $0) }
                batch.append(first.record, refusal ?? ProduceFailure("not taken", .other))
            }
            _ = self.burns(worker)
        }
        if worker.clientHasEnded { batch.clientFailure = SimulatedLog.ended }
    }

    // MARK: Records to Kafka

    /// Whether the queue of Kafka's library has no room now. It is full only while one of the worker's records is on
    /// its way, because the answer to that record makes room.
    func hasNoRoom(_ worker: SimulatedWorker) -> Bool {
        guard worker.isAlive, self.chance(self.plan.queueFullPercent) else { return false }
        self.rememberStruck()
        return self.kafka.transits.contains { $0.producer == worker.number && !$0.isOrphan }
    }

    func send(_ kept: KeptRecord, from worker: SimulatedWorker) {
        guard worker.isAlive else { return }
        self.evidence.rememberMade(kept.acknowledgement, worker: worker.number)
        let record = LoggedRecord(kept, madeAt: self.evidence.madeAt(kept.acknowledgement, worker: worker.number))
        let logID = SimulatedKafka.LogID(topic: .init(kept.topic), partition: max(0, kept.partition))
        self.checkWritten(kept, to: logID, by: worker)
        self.rememberStranded(record, on: logID.topic)
        if self.isOfKeptChannel(kept) { self.strikeAtKept("a record of \(logID.topic)", worker) }
        if logID.topic == .routed, self.strikeAtVoid(kept, record, of: worker) { return }
        var fate = SimulatedKafka.Fate.delivered
        // A record for `routed` is tried until the process dies, so that later records do not overtake it.
        if logID.topic != .routed, self.chance(self.plan.produceFailurePercent) {
            fate = Bool.random(using: &self.random) ? .answerLost : .lost
        }
        if let refusal = self.refusal(of: record, at: logID) { fate = .refused(refusal) }
        if fate != .delivered { self.rememberStruck() }
        let delayMillisMax =
            logID.topic == .outcomes
            ? self.plan.outcomeDelayMillisMax : self.strikeAtMarker(record, to: logID, of: worker)
        self.kafka.send(
            record, kept: kept, to: logID, producer: worker.number, fate: fate,
            nowMillis: self.steadyMillis, notBeforeMillis: self.brokerAwayUntilMillis,
            delayMillisMax: delayMillisMax, random: &self.random)
        self.judgeBatch(of: logID, from: worker)
        if logID.topic == .state, record.isTombstone { self.strikeAtTombstone(record, of: worker) }
        if logID.topic == .state { self.perhapsEndClient(of: worker) }
    }

    // MARK: Records from Kafka

    /// Whether the partition has a record of this topic that has been fetched and not read.
    func isReadable(_ partition: Int32, topic: Int, of worker: SimulatedWorker) -> Bool {
        guard worker.isAlive, self.brokerAwayUntilMillis <= self.steadyMillis,
            let owned = worker.partitions[partition], owned.isRunning, owned.readsFromMillis <= self.steadyMillis
        else { return false }
        return owned.positions[topic]
            < self.kafka.end(.init(topic: topic == 0 ? .events : .routed, partition: partition))
    }

    /// When the worker can read more records. `nil`: there are none, or it must not read now.
    func readDueMillis(_ worker: SimulatedWorker) -> Int64? {
        // Without a Kafka client the worker reads nothing, because it could not write the resulting records.
        guard worker.loop.engine.wantsRecords, !worker.isStopping, !worker.clientHasEnded else { return nil }
        return worker.partitions.filter { partition, owned in
            let end = self.kafka.end(.init(topic: .events, partition: partition))
            let isInlet = self.isInlet(partition)
            return owned.isRunning
                && (owned.positions[0] < (isInlet ? min(end, worker.inlets.letIn[partition] ?? 0) : end)
                    || owned.positions[1] < self.kafka.end(.init(topic: .routed, partition: partition)))
        }.map { max($0.value.readsFromMillis, self.brokerAwayUntilMillis) }.min()
    }

    /// Perhaps pauses reading, as if the rest of the records had not been fetched yet.
    func perhapsPauseReading(_ partition: Int32, of worker: SimulatedWorker) {
        guard self.chance(self.plan.partialReadPercent) else { return }
        worker.partitions[partition]?.readsFromMillis =
            self.steadyMillis + Int64.random(in: 1...self.plan.readPauseMillisMax, using: &self.random)
    }

    func read(
        _ countMax: Int, partition: Int32, topic: Int, of worker: SimulatedWorker, into batch: inout InputBatch,
        whenFull: (inout InputBatch) -> Void
    ) -> Int {
        let logID = SimulatedKafka.LogID(topic: topic == 0 ? .events : .routed, partition: partition)
        var count = 0
        while count < countMax, let owned = worker.partitions[partition],
            let record = self.kafka.record(logID, owned.positions[topic])
        {
            var input = self.input(
                record, topic: UInt16(topic), partition: partition, offset: owned.positions[topic])
            let context = self.carriedContext(&input, record, of: worker)
            if !batch.append(input, key: record.key.span, value: record.value.span, traceparent: context.span) {
                whenFull(&batch)
                _ = batch.append(input, key: record.key.span, value: record.value.span, traceparent: context.span)
            }
            worker.partitions[partition]?.positions[topic] += 1
            if topic == 1 { self.rememberRoutedRead(partition, upTo: owned.positions[topic] + 1) }
            count += 1
            if input.offset < owned.logEnds[topic] || input.origin != nil {
                for activity in self.phones.indices where self.phones[activity].keyBytes == record.key {
                    self.rememberUnrecordedPush(activity, worker: worker.number, isTakeover: false)
                    worker.replayed.insert(activity)
                }
            }
            let position = SourcePosition(topic: UInt16(topic), partition: partition, offset: input.offset)
            self.evidence.consumed(position, worker: worker.number)
            self.log(
                "worker \(worker.number) reads \(position) of \(String(decoding: record.key, as: UTF8.self)) \(record.header(.kind) ?? "")"
            )
            guard let event = self.written[input.origin ?? position] else { continue }
            if partition == self.home(of: event.activity) {
                self.rememberToBeSent(
                    event, isReplay: input.offset < owned.logEnds[topic] || input.origin != nil, worker: worker)
            }
            if topic == 0, self.isInlet(partition) { self.judgeInletRead(position, event, of: worker) }
            if event.token != nil {
                self.evidence.rememberRegistration(event.number, of: event.activity, worker: worker.number)
            }
            if partition == self.home(of: event.activity) {
                self.rememberWithdrawal(event, at: input.origin ?? position, worker: worker)
            }
            if let member = event.member, partition == self.home(ofMember: member) {
                self.rememberMovement(event, worker: worker)
            }
            if let starter = event.starter, partition == self.home(ofStarter: starter) {
                self.rememberStartMovement(event, worker: worker)
            }
        }
        return count
    }

    private func input(_ record: LoggedRecord, topic: UInt16, partition: Int32, offset: Int64) -> InputRecord {
        var origin: SourcePosition?
        var timestamp = record.timestampMillis
        if topic == 1, record.isForwarded, let originPartition = record.header(.partition).flatMap({ Int32($0) }),
            let originOffset = record.header(.offset).flatMap({ Int64($0) })
        {
            origin = SourcePosition(topic: 0, partition: originPartition, offset: originOffset)
            timestamp = record.header(.timestamp).flatMap { Int64($0) } ?? timestamp
        }
        return InputRecord(
            topic: topic, partition: partition, offset: offset, timestampMillis: timestamp, hasKey: record.hasKey,
            hasValue: !record.isTombstone, origin: origin,
            kind: topic == 1 ? record.header(.kind).map { RoutedKind(named: Array($0.utf8).span) } ?? .event : .event)
    }

    // MARK: Pushes

    /// Maximum number of pushes that APNs takes from a worker in one call.
    func credit() -> Int {
        self.faultsAreOn ? Int.random(in: 0...self.plan.creditMax, using: &self.random) : 8
    }

    func wantsCredit(_ worker: SimulatedWorker) {
        worker.creditDueMillis =
            max(self.steadyMillis, self.apnsAwayUntilMillis) + Int64.random(in: 1...60, using: &self.random)
    }

    // MARK: Commits

    /// Sends one batch of the positions that wait to be committed.
    func sendCommits(_ worker: SimulatedWorker) {
        let positions = worker.commits.takeBatch(nowMillis: self.steadyMillis, isJoining: false)
        guard !positions.isEmpty else { return }
        self.commitsUnderWay.append(
            CommitUnderWay(
                worker: worker.number, membership: self.group.memberships[worker.number] ?? 0, positions: positions,
                metadata: positions.map { self.metadata(of: $0, worker) }, givesBack: [],
                arrivesMillis: max(self.commitFloorMillis(worker), self.steadyMillis)
                    + Int64.random(in: 1...60, using: &self.random),
                isLost: false))
    }

    func commitFloorMillis(_ worker: SimulatedWorker) -> Int64 {
        max(self.brokerAwayUntilMillis, worker.isolatedUntilMillis ?? 0)
    }
}
