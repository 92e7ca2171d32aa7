import PushEngine
import PushModel

/// Carries a shard's records to Kafka. It takes the engine's batches in order, keeps records for which there is no
/// room, and writes failed ones again. The outbox cannot grow without limit: the engine stops at `unacknowledgedMax`
/// records.
struct Outbox: ~Copyable {
    var batch = RecordBatch()
    var order = ProduceOrder()
    /// Index of the next entry of `order` to be written.
    var next = 0
    var pace: OutboxPace
    /// The last record of a batch, and the time at which the batch was handed over (steady clock). They serve to
    /// measure how long Kafka takes.
    private var probe: (acknowledgement: UInt64, handedOverMillis: Int64)?
    private var handedOverMillis: Int64 = 0
    /// Acknowledgement of the last record that librdkafka took.
    private var lastQueued: UInt64?
    var retries = RetryQueue()
    var underWay = UnderWayCount()
    var renewal = ProducerRenewal()
    var deliveries = DeliveryBatch()
    /// Records that librdkafka refused when they were produced, or that are too large to be handed over. They are
    /// handled in the next function that has the engine.
    private var refusedAtOnce: [(record: KeptRecord, failure: ProduceFailure)] = []
    var refusals = RefusalDesk()
    /// Size limits of the topics, as far as they are known. A larger record is refused before it leaves.
    var limits = RecordLimits()
    /// Whether the engine has made records since the last turn checked this flag.
    var hasNewRecords = false
    /// Whether Kafka's client has no room for more (back-pressure), or has ended.
    var isBlocked = false
    var counters = OutboxCounters()
    /// The last failure. A later delivery to the same topic clears it, and a new Kafka client does so, too. Deliveries
    /// to other topics do not, because a right may be missing for one topic alone.
    var failure: ProduceFailure?
    private var failedTopic: EngineRecord.Topic?

    /// Maximum number of records that are handed over together, unless somebody waits for one of them. Handing them
    /// over takes half a millisecond.
    static let recordsPerTurnMax = 1_024
    /// Number of deliveries whose entries the engine prefetches together.
    private static let aheadCountMax = 32

    init(pace: OutboxPace) { self.pace = pace }

    /// When `advance` or `take` next has something to do, on the steady clock; `nil` if nothing is due at a known time.
    var dueMillis: Int64? {
        guard !self.isBlocked else { return nil }
        guard let retryMillis = self.retries.dueMillis else { return self.pace.dueMillis }
        return min(retryMillis, self.pace.dueMillis ?? retryMillis)
    }

    /// Whether records are left for the next turn although Kafka's client has room for them.
    var hasRest: Bool { !self.isBlocked && !self.batch.isEmpty }

    /// Number of records that wait in the outbox.
    var waitingRecordCount: Int {
        (self.batch.isEmpty ? 0 : self.order.indexes.count - self.next) + self.retries.count
    }

    // MARK: Writing

    /// Takes the records that the engine wants written, and hands over as many as Kafka's client has room for. Records
    /// gather for a moment first, unless somebody waits for one of them.
    mutating func take(from engine: inout ShardEngine, to log: any ShardLog, now: EngineTime, isUrgent: Bool) {
        self.handOver(from: &engine, to: log, nowMillis: now.steadyMillis, isUrgent: isUrgent)
        if !self.refusedAtOnce.isEmpty { self.settleRefused(in: &engine, now: now) }
    }

    private mutating func handOver(
        from engine: inout ShardEngine, to log: any ShardLog, nowMillis: Int64, isUrgent: Bool
    ) {
        let isUrgent = isUrgent || engine.batch.isUrgent
        self.produce(max: isUrgent ? .max : Self.recordsPerTurnMax, to: log, nowMillis: nowMillis)
        let count = engine.batch.records.count
        guard self.batch.isEmpty, self.pace.handsOver(count: count, isUrgent: isUrgent, nowMillis: nowMillis) else {
            return
        }
        self.handedOverMillis = nowMillis
        swap(&self.batch, &engine.batch)
        self.order.arrange(self.batch.records)
        self.next = 0
        self.produce(max: isUrgent ? .max : Self.recordsPerTurnMax, to: log, nowMillis: nowMillis)
    }

    /// Tries again all records that are due.
    mutating func advance(from engine: inout ShardEngine, to log: any ShardLog, now: EngineTime) {
        guard !self.isBlocked, let dueMillis = self.retries.dueMillis, dueMillis <= now.steadyMillis else { return }
        self.tryAgain(to: log, nowMillis: now.steadyMillis)
        if !self.refusedAtOnce.isEmpty { self.settleRefused(in: &engine, now: now) }
    }

    private mutating func tryAgain(to log: any ShardLog, nowMillis: Int64) {
        let due = self.retries.takeDue(nowMillis: nowMillis, underWay: self.underWay)
        // Lanes with a record that has failed again.
        var failedLanes: Set<RetryQueue.Lane> = []
        for (index, record) in due.enumerated() {
            let lane = RetryQueue.Lane(record.topic, record.partition)
            guard !record.topic.isOrdered || !failedLanes.contains(lane) else {
                // `wait` comes first, because `cameBack` would make a lane without records normal again, with no due
                // time.
                self.retries.wait(record)
                self.retries.cameBack(record, nowMillis: nowMillis)
                continue
            }
            guard record.byteCount <= self.limits[record.topic] else {
                failedLanes.insert(lane)
                self.retries.cameBack(record, nowMillis: nowMillis)
                self.refuse(record)
                continue
            }
            let run = log.produce(record)
            if run.isFull {
                self.block()
                self.retries.putBack(due[index...], nowMillis: nowMillis)
                return
            }
            if let failure = run.failures.first {
                failedLanes.insert(lane)
                self.retries.cameBack(record, nowMillis: nowMillis)
                self.handleFailure(record, failure.failure, nowMillis: nowMillis)
            } else {
                self.counters.recordsProduced += 1
                self.underWay.left(record.topic, partition: record.partition)
            }
        }
    }

    private mutating func produce(max: Int, to log: any ShardLog, nowMillis: Int64) {
        guard !self.isBlocked, !self.batch.isEmpty else { return }
        let end = max == .max ? self.order.indexes.count : min(self.order.indexes.count, self.next + max)
        while self.next < end {
            if self.isHeld(self.next) {
                self.retries.wait(self.record(self.next))
                self.next += 1
            } else if self.wouldOvertake(self.next) {
                self.retries.followsInOrder(self.record(self.next), nowMillis: nowMillis)
                self.next += 1
            } else if self.isTooLarge(self.next) {
                self.refuse(self.record(self.next))
                self.next += 1
            } else {
                self.produceRun(end: self.endOfRun(before: end), to: log, nowMillis: nowMillis)
            }
            guard !self.isBlocked else { return }
        }
        guard end == self.order.indexes.count else { return }
        self.batch.removeAll()
        if self.probe == nil { self.probe = self.lastQueued.map { ($0, self.handedOverMillis) } }
        self.lastQueued = nil
    }

    /// Whether the record must wait behind earlier records of its partition.
    private func isHeld(_ index: Int) -> Bool {
        guard !self.retries.isEmpty else { return false }
        let record = self.batch.records[Int(self.order.indexes[index])]
        return self.retries.holds(
            record.topic, partition: record.partition, acknowledgement: record.acknowledgement)
    }

    /// Whether the record is larger than its topic allows.
    private func isTooLarge(_ index: Int) -> Bool {
        guard Int(self.batch.recordByteCountMax) > self.limits.smallest else { return false }
        let record = self.batch.records[Int(self.order.indexes[index])]
        return self.batch.byteCount(of: record) > self.limits[record.topic]
    }

    /// Refuses a record that is larger than its topic allows, without sending it.
    private mutating func refuse(_ record: KeptRecord) {
        self.counters.deliveriesFailed += 1
        let text = "it has \(record.byteCount) bytes, and its topic takes \(self.limits[record.topic])"
        self.refusedAtOnce.append((record, ProduceFailure(text, .size)))
    }

    private func endOfRun(before limit: Int) -> Int {
        var limit = limit
        let routed = self.order.routed
        if !routed.isEmpty {
            // A run has either only records of `routed`, or none of them.
            if self.next < routed.lowerBound { limit = min(limit, routed.lowerBound) }
            if routed.contains(self.next) { limit = min(limit, routed.upperBound) }
        }
        let mayBeTooLarge = Int(self.batch.recordByteCountMax) > self.limits.smallest
        guard !self.retries.isEmpty || mayBeTooLarge || routed.contains(self.next) else { return limit }
        var end = self.next + 1
        while end < limit, !self.isHeld(end), !self.isTooLarge(end), !self.wouldOvertake(end) { end += 1 }
        return end
    }

    /// Whether Kafka has not answered for other records of the same partition of `routed`. If Kafka refused those
    /// records, this record would be written before them, and their reader would take them for replays.
    private func wouldOvertake(_ index: Int) -> Bool {
        guard self.order.routed.contains(index) else { return false }
        return self.underWay.isAny(.routed, partition: self.batch.records[Int(self.order.indexes[index])].partition)
    }

    private mutating func produceRun(end: Int, to log: any ShardLog, nowMillis: Int64) {
        let first = self.next
        let run = log.produce(self.batch, indexes: self.order.indexes.span.extracting(first..<end))
        self.next += run.doneCount
        self.counters.recordsProduced += UInt64(run.doneCount - run.failures.count)
        for index in first..<self.next {
            let record = self.batch.records[Int(self.order.indexes[index])]
            self.underWay.left(record.topic, partition: record.partition)
        }
        if run.doneCount > 0 {
            self.lastQueued = self.batch.records[Int(self.order.indexes[self.next - 1])].acknowledgement
        }
        for failure in run.failures {
            let record = self.record(first + failure.index)
            if record.acknowledgement == self.lastQueued { self.lastQueued = nil }
            self.underWay.returned(record.topic, partition: record.partition)
            self.handleFailure(record, failure.failure, nowMillis: nowMillis)
        }
        if run.isFull { self.block() }
    }

    private func record(_ index: Int) -> KeptRecord {
        KeptRecord(self.batch.records[Int(self.order.indexes[index])], of: self.batch)
    }

    private mutating func block() {
        self.isBlocked = true
        self.counters.queueFull += 1
    }

    /// Handles a record that librdkafka did not take.
    private mutating func handleFailure(_ record: KeptRecord, _ failure: ProduceFailure, nowMillis: Int64) {
        self.counters.deliveriesFailed += 1
        if failure.isFatal { self.clientEnded(failure, nowMillis: nowMillis) }
        guard !failure.error.isOfTheRecord || failure.isFatal else {
            // librdkafka refused this record by itself, so the record counts as tried alone.
            return self.refusedAtOnce.append((record, failure))
        }
        self.failedForNow(record, failure, nowMillis: nowMillis)
        self.counters.retriesWaiting = self.retries.count
    }

    /// Makes the record wait until it is tried again.
    private mutating func failedForNow(_ record: KeptRecord, _ failure: ProduceFailure, nowMillis: Int64) {
        (self.failure, self.failedTopic) = (failure, record.topic)
        self.refusals.add(failure, record, .triedAgain, nowMillis: nowMillis)
        self.retries.failed(record, nowMillis: nowMillis)
    }

    private mutating func settleRefused(in engine: inout ShardEngine, now: EngineTime) {
        let refused = self.refusedAtOnce
        self.refusedAtOnce = []
        for (record, failure) in refused {
            self.judge(record, failure, isAlone: true, engine: &engine, now: now)
        }
        self.counters.retriesWaiting = self.retries.count
    }

    // MARK: Kafka's answers

    /// Reports results of deliveries to the engine.
    /// - Returns: number of results.
    mutating func takeDeliveries(
        from log: any ShardLog, into engine: inout ShardEngine, max: Int, now: EngineTime
    ) -> Int {
        log.takeDeliveries(max: max, withKeys: !self.retries.isEmpty, into: &self.deliveries)
        if self.deliveries.hasClientFailure { self.takeClientFailure(nowMillis: now.steadyMillis) }
        let count = self.deliveries.count
        guard count > 0 else { return 0 }
        for index in 0..<count {
            if index % Self.aheadCountMax == 0 {
                let end = min(count, index + Self.aheadCountMax)
                engine.fetchAhead(acknowledgements: self.deliveries.acknowledgements.span.extracting(index..<end))
            }
            self.delivered(index, engine: &engine, now: now)
        }
        self.deliveries.removeAll()
        self.counters.retriesWaiting = self.retries.count
        self.isBlocked = self.renewal.isDue
        return count
    }

    private mutating func delivered(_ index: Int, engine: inout ShardEngine, now: EngineTime) {
        let acknowledgement = self.deliveries.acknowledgements[index]
        let delivery = self.deliveries.deliveries[index]
        self.underWay.returned(delivery.topic, partition: delivery.partition)
        if let sent = self.probe, sent.acknowledgement == acknowledgement {
            self.pace.acknowledged(afterMillis: now.steadyMillis - sent.handedOverMillis)
            self.probe = nil
        }
        guard !delivery.isFailure else {
            self.failed(Int(delivery.start), engine: &engine, now: now)
            return self.retries.answered(delivery.topic, partition: delivery.partition, underWay: self.underWay)
        }
        if self.failedTopic == delivery.topic { (self.failure, self.failedTopic) = (nil, nil) }
        guard !self.retries.isEmpty else {
            engine.acknowledged(acknowledgement, offset: delivery.offset, now: now)
            return self.retries.succeeded()
        }
        if delivery.topic == .state, self.retries.isClaim(acknowledgement, partition: delivery.partition) {
            return self.claimAcknowledged(
                acknowledgement, partition: delivery.partition, offset: delivery.offset, engine: &engine, now: now)
        }
        engine.acknowledged(acknowledgement, offset: delivery.offset, now: now)
        self.refusals.taken(acknowledgement)
        defer { self.retries.answered(delivery.topic, partition: delivery.partition, underWay: self.underWay) }
        if delivery.topic == .routed {
            let overtaken = self.retries.takeOvertaken(partition: delivery.partition, acknowledgement: acknowledgement)
            for record in overtaken { self.overtaken(record, engine: &engine, now: now) }
        }
        guard delivery.topic == .state else { return }
        let (keys, start) = (self.deliveries.keys, Int(delivery.start))
        let superseded = self.retries.takeSuperseded(
            partition: delivery.partition, key: keys.span.extracting(start..<start + Int(delivery.byteCount)),
            acknowledgement: acknowledgement)
        for older in superseded { engine.acknowledged(older, offset: delivery.offset, now: now) }
    }

    private mutating func failed(_ index: Int, engine: inout ShardEngine, now: EngineTime) {
        let (record, failure) = self.deliveries.failures[index]
        self.counters.deliveriesFailed += 1
        let isAlone = self.retries.isAlone(record.topic, partition: record.partition)
        self.judge(record, failure, isAlone: isAlone, engine: &engine, now: now)
    }

    /// Acts on an answer other than success.
    private mutating func judge(
        _ record: KeptRecord, _ failure: ProduceFailure, isAlone: Bool, engine: inout ShardEngine, now: EngineTime
    ) {
        if record.topic.isOrdered, !engine.isAwaited(record.acknowledgement) {
            // The partition has left, and another worker writes there.
            return engine.acknowledged(record.acknowledgement, offset: -1, now: now)
        }
        let verdict = ProduceVerdict(
            failure.error, isFatal: failure.isFatal, isAlone: isAlone,
            hasPresentTime: self.refusals.hasPresentTime(record.acknowledgement))
        switch verdict {
        case .taken, .forNow, .fatal: self.failedForNow(record, failure, nowMillis: now.steadyMillis)
        case .alone:
            self.refusals.add(failure, record, .triedAlone, nowMillis: now.steadyMillis)
            self.retries.goesAlone(record, nowMillis: now.steadyMillis)
        case .withPresentTime:
            var retimed = record
            retimed.timestampMillis = 0
            self.refusals.add(failure, record, .triedWithPresentTime, nowMillis: now.steadyMillis)
            self.refusals.givesPresentTime(record.acknowledgement)
            self.retries.goesAlone(retimed, nowMillis: now.steadyMillis)
        case .forGood(let error):
            self.refusedForGood(record, failure, error, engine: &engine, now: now)
        }
    }

    // MARK: Leaving

    /// Drops the records of a partition that the engine has forgotten: records of its `state`, and what it sends to
    /// other partitions through `routed`. The engine does not wait for their acknowledgements.
    ///
    /// Other partitions would act on versions of the partition's audiences. If the next owner does not know the
    /// versions' life, phones would get versions twice. Forwarded events are not lost: the next owner of the input
    /// partition reads them again.
    mutating func forget(partition: Int32, in engine: inout ShardEngine, now: EngineTime) {
        var forgotten = self.retries.forgetState(partition: partition)
        forgotten += self.retries.forgetRouted { engine.isAwaited($0) }
        var records: [EngineRecord] = []
        swap(&records, &engine.batch.records)
        Self.forget(partition: partition, in: &records, of: engine, &forgotten)
        swap(&records, &engine.batch.records)
        if !self.batch.isEmpty {
            // Records that have been handed over must not be written again.
            var unsent = self.order.indexes[self.next...].sorted().map { self.batch.records[Int($0)] }
            Self.forget(partition: partition, in: &unsent, of: engine, &forgotten)
            self.replaceUnsent(by: unsent)
        }
        for acknowledgement in forgotten { engine.acknowledged(acknowledgement, offset: -1, now: now) }
        self.refusals.forget(partition: partition, acknowledgements: forgotten)
    }

    /// Puts these records in the place of the batch's records that have not been handed over.
    mutating func replaceUnsent(by records: [EngineRecord]) {
        self.batch.records = records
        self.order.arrange(records)
        self.next = 0
        if self.batch.isEmpty { self.batch.removeAll() }
    }

    private static func forget(
        partition: Int32, in records: inout [EngineRecord], of engine: borrowing ShardEngine,
        _ forgotten: inout [UInt64]
    ) {
        var kept: [EngineRecord] = []
        for record in records {
            let isForgotten =
                switch record.topic {
                case .state: record.partition == partition
                // `record.partition` is where the message goes. `isAwaited` says whether this worker still has the
                // partition that sent it.
                case .routed: !engine.isAwaited(record.acknowledgement)
                case .outcomes, .deadLetters: false
                }
            if isForgotten { forgotten.append(record.acknowledgement) } else { kept.append(record) }
        }
        records = kept
    }
}
