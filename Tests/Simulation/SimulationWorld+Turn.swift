import APNSProtocol
import PushEngine
import PushModel

/// What the runner of a shard does in a turn of its loop, step by step: the process may die after each.
extension SimulationWorld {
    /// A step was done. True: the process has died of it.
    private mutating func burns(_ worker: SimulatedWorker) -> Bool {
        guard let fuse = worker.fuse else { return false }
        worker.fuse = fuse - 1
        guard fuse <= 1 else { return false }
        self.kill(worker)
        return true
    }

    mutating func turn(_ worker: SimulatedWorker) {
        self.hearGroup(worker)
        if self.drainInbox(worker) { return }
        self.restore(worker)
        if worker.holdsLease(nowMillis: self.steadyMillis) {
            self.produceAgain(worker)
            self.repair(worker)
            if self.consume(worker) { return }
            worker.engine.advance(now: self.now(of: worker))
            if self.burns(worker) { return }
            if self.push(worker) { return }
        }
        // Records leave before anything else: an engine that died here would have written nothing.
        if self.burns(worker) { return }
        self.produce(worker)
        if self.burns(worker) { return }
        self.advanceReleases(worker)
        self.produce(worker)
        if self.burns(worker) { return }
        self.handOverCommits(worker)
        self.checkInvariants(worker)
        self.leaveIfDone(worker)
    }

    // MARK: Kafka's answers

    /// True: it died meanwhile.
    private mutating func drainInbox(_ worker: SimulatedWorker) -> Bool {
        while let first = worker.inbox.first, first.comesMillis <= self.steadyMillis {
            worker.inbox.removeFirst()
            if let offset = first.offset {
                worker.engine.acknowledged(first.acknowledgement, offset: offset, now: self.now(of: worker))
                if first.place.topic == .state {
                    let superseded = worker.retries.takeSuperseded(
                        partition: first.place.partition, key: first.record.key.span,
                        acknowledgement: first.acknowledgement)
                    for older in superseded {
                        worker.engine.acknowledged(older, offset: offset, now: self.now(of: worker))
                    }
                }
            } else {
                self.tell("worker \(worker.number) hears that a record of \(first.place.topic) was not taken")
                self.notTaken(first, worker: worker)
            }
            if self.burns(worker) { return true }
        }
        return false
    }

    private func notTaken(_ delivery: SimulatedKafka.Delivery, worker: SimulatedWorker) {
        guard let topic = delivery.place.topic.written else { return }
        if topic == .state, !worker.engine.isAwaited(delivery.acknowledgement) {
            return worker.engine.acknowledged(delivery.acknowledgement, offset: -1, now: self.now(of: worker))
        }
        worker.retries.failed(
            RetryQueue.Entry(
                topic: topic, partition: delivery.place.partition, key: delivery.record.key,
                acknowledgement: delivery.acknowledgement, content: delivery.record), nowMillis: self.steadyMillis)
    }

    private mutating func produceAgain(_ worker: SimulatedWorker) {
        let due = worker.retries.takeDue(nowMillis: self.steadyMillis) { topic, partition in
            let place = SimulatedKafka.Place(topic: .init(topic), partition: partition)
            return worker.inbox.contains { $0.place == place }
                || self.kafka.transits.contains { $0.place == place && $0.producer == worker.number && !$0.isOrphan }
        }
        for retry in due {
            self.send(
                retry.content, to: SimulatedKafka.Place(topic: .init(retry.topic), partition: retry.partition),
                acknowledgement: retry.acknowledgement, worker: worker)
        }
    }

    // MARK: Records to Kafka

    mutating func produce(_ worker: SimulatedWorker) {
        guard worker.holdsLease(nowMillis: self.steadyMillis) else { return }
        let batch = worker.engine.batch
        guard !batch.records.isEmpty else { return }
        worker.engine.batch.removeAll()
        for record in batch.records {
            var logged = LoggedRecord(key: Array(batch.bytes[record.key]), value: Array(batch.bytes[record.value]))
            logged.hasKey = record.hasKey
            logged.isTombstone = record.isTombstone
            logged.timestampMillis = record.timestampMillis
            logged.madeAt = self.evidence.sequence
            logged.headers = record.headers.map {
                let header = batch.headers[$0]
                return (
                    String(decoding: batch.bytes[header.name], as: UTF8.self),
                    String(decoding: batch.bytes[header.value], as: UTF8.self)
                )
            }
            let place = SimulatedKafka.Place(topic: .init(record.topic), partition: max(0, record.partition))
            if worker.retries.holds(record.topic, partition: record.partition) {
                worker.retries.wait(
                    RetryQueue.Entry(
                        topic: record.topic, partition: record.partition, key: logged.key,
                        acknowledgement: record.acknowledgement, content: logged))
            } else {
                self.send(logged, to: place, acknowledgement: record.acknowledgement, worker: worker)
            }
        }
    }

    private mutating func send(
        _ record: LoggedRecord, to place: SimulatedKafka.Place, acknowledgement: UInt64, worker: SimulatedWorker
    ) {
        var fate = SimulatedKafka.Fate.delivered
        // What is forwarded is tried for as long as the process lives: nothing overtakes it.
        if place.topic != .routed, self.chance(self.plan.produceFailurePercent) {
            fate = Bool.random(using: &self.random) ? .answerLost : .lost
        }
        self.kafka.send(
            record, to: place, acknowledgement: acknowledgement, producer: worker.number, fate: fate,
            nowMillis: self.steadyMillis, notBeforeMillis: self.brokerAwayUntilMillis,
            delayMillisMax: place.topic == .outcomes
                ? self.plan.outcomeDelayMillisMax : self.strikeAtMarker(record, to: place, of: worker),
            random: &self.random)
        if place.topic == .state, record.isTombstone { self.strikeAtTombstone(record, of: worker) }
    }

    // MARK: Records from Kafka

    /// When a turn would find more records; `nil`: there are none.
    func readDueMillis(_ worker: SimulatedWorker) -> Int64? {
        guard worker.engine.wantsRecords else { return nil }
        return worker.partitions.filter { partition, owned in
            owned.phase == .running
                && (owned.positions[0] < self.kafka.end(.init(topic: .events, partition: partition))
                    || owned.positions[1] < self.kafka.end(.init(topic: .routed, partition: partition)))
        }.map { max($0.value.readsFromMillis, self.brokerAwayUntilMillis) }.min()
    }

    /// True: it died meanwhile.
    private mutating func consume(_ worker: SimulatedWorker) -> Bool {
        guard self.brokerAwayUntilMillis <= self.steadyMillis else { return false }
        for partition in worker.partitions.keys.sorted() {
            for topic in 0..<2 {
                let place = SimulatedKafka.Place(topic: topic == 0 ? .events : .routed, partition: partition)
                while let owned = worker.partitions[partition], owned.phase == .running,
                    owned.readsFromMillis <= self.steadyMillis,
                    worker.engine.wantsRecords, owned.positions[topic] < self.kafka.end(place)
                {
                    let count = min(
                        worker.engine.recordRoom, Int.random(in: 1...InputBatch.recordCountMax, using: &self.random))
                    self.consume(count, of: place, topic: UInt16(topic), worker: worker)
                    if self.burns(worker) { return true }
                    if self.chance(self.plan.partialReadPercent) {
                        worker.partitions[partition]?.readsFromMillis =
                            self.steadyMillis + Int64.random(in: 1...self.plan.readPauseMillisMax, using: &self.random)
                    }
                }
                if worker.partitions[partition]?.phase == .running, !worker.engine.wantsRecords {
                    worker.partitions[partition]?.hasHadNoRoom = true
                }
            }
        }
        return false
    }

    /// What one read finds is taken together.
    private mutating func consume(
        _ countMax: Int, of place: SimulatedKafka.Place, topic: UInt16, worker: SimulatedWorker
    ) {
        var batch = InputBatch()
        var count = 0
        while count < countMax, let owned = worker.partitions[place.partition],
            let record = self.kafka.record(place, owned.positions[Int(topic)])
        {
            let input = self.input(
                record, topic: topic, partition: place.partition, offset: owned.positions[Int(topic)])
            guard
                batch.append(
                    input, key: record.key.span, value: record.value.span, traceparent: [UInt8]().span)
            else { break }
            worker.partitions[place.partition]?.positions[Int(topic)] += 1
            count += 1
            if input.offset < owned.logEnds[Int(topic)] || input.origin != nil {
                for activity in self.phones.indices where self.phones[activity].keyBytes == record.key {
                    self.noteUnrecordedPush(activity, worker: worker.number, isTakeover: false)
                }
            }
            let position = SourcePosition(topic: topic, partition: place.partition, offset: input.offset)
            self.evidence.consumed(position, worker: worker.number)
            self.tell(
                "worker \(worker.number) reads \(position) of \(String(decoding: record.key, as: UTF8.self))"
            )
            if let event = self.written[input.origin ?? position], let token = event.token {
                self.evidence.noteRegistration(
                    token, of: event.activity, worker: worker.number)
            }
        }
        worker.engine.consume(&batch, now: self.now(of: worker))
    }

    private func input(_ record: LoggedRecord, topic: UInt16, partition: Int32, offset: Int64) -> InputRecord {
        var origin: SourcePosition?
        var timestamp = record.timestampMillis
        if topic == 1, let originPartition = record.header("mailboat-partition").flatMap({ Int32($0) }),
            let originOffset = record.header("mailboat-offset").flatMap({ Int64($0) })
        {
            origin = SourcePosition(topic: 0, partition: originPartition, offset: originOffset)
            timestamp = record.header("mailboat-timestamp").flatMap { Int64($0) } ?? timestamp
        }
        return InputRecord(
            topic: topic, partition: partition, offset: offset, timestampMillis: timestamp, hasKey: record.hasKey,
            hasValue: !record.isTombstone, origin: origin)
    }

    // MARK: Pushes

    /// True: it died meanwhile.
    private mutating func push(_ worker: SimulatedWorker) -> Bool {
        guard self.apnsAwayUntilMillis <= self.steadyMillis else { return false }
        var credit = Int.random(in: 0...self.plan.creditMax, using: &self.random)
        if !self.faultsAreOn { credit = 8 }
        var request = PushRequest()
        while credit > 0, worker.engine.nextPush(route: 0, into: &request, now: self.now(of: worker)) {
            credit -= 1
            self.depart(request, from: worker)
            if self.burns(worker) { return true }
        }
        return false
    }

    // MARK: Commits

    private mutating func handOverCommits(_ worker: SimulatedWorker) {
        guard worker.holdsLease(nowMillis: self.steadyMillis) else { return }
        self.takeCommits(worker)
        guard !worker.commits.isEmpty, !worker.hasCommitUnderWay, worker.commitDueMillis <= self.steadyMillis else {
            return
        }
        // Of a partition that is being given back the last commit is under way.
        let isLeaving = { (place: SimulatedKafka.Place) in worker.partitions[place.partition]?.phase == .committing }
        let positions = self.sorted(worker.commits.filter { !isLeaving($0.key) })
        worker.commits = [:]
        guard !positions.isEmpty else { return }
        worker.hasCommitUnderWay = true
        self.commitsUnderWay.append(
            CommitUnderWay(
                worker: worker.number, membership: self.group.memberships[worker.number] ?? 0, positions: positions,
                givesBack: [],
                arrivesMillis: max(self.commitFloorMillis(worker), self.steadyMillis)
                    + Int64.random(in: 1...60, using: &self.random),
                isLost: false))
    }

    func commitFloorMillis(_ worker: SimulatedWorker) -> Int64 {
        max(self.brokerAwayUntilMillis, worker.isolatedUntilMillis ?? 0)
    }

    func sorted(_ commits: [SimulatedKafka.Place: Int64]) -> [(place: SimulatedKafka.Place, offset: Int64)] {
        commits.map { (place: $0.key, offset: $0.value) }.sorted {
            ($0.place.partition, $0.place.topic == .events ? 0 : 1)
                < ($1.place.partition, $1.place.topic == .events ? 0 : 1)
        }
    }

    func takeCommits(_ worker: SimulatedWorker) {
        for commit in worker.engine.takeCommits() {
            let place = SimulatedKafka.Place(topic: commit.topic == 0 ? .events : .routed, partition: commit.partition)
            worker.commits[place] = commit.nextOffset
        }
    }
}
