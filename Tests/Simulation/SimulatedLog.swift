import PushEngine
import PushModel
import ShardLoop

/// The loop's port to the simulated Kafka. The process may die within any call. If it does, later calls have no effect.
final class SimulatedLog: ShardLog {
    private unowned let world: SimulationWorld
    /// The worker that owns this port. The worker sets the property itself.
    unowned var worker: SimulatedWorker!

    init(world: SimulationWorld) { self.world = world }

    /// When the lease ends, by the worker's own clock. It is `.min` if the process has died or the lease has not begun.
    var leaseEndsMillis: Int64 {
        guard self.worker.isAlive, self.worker.leaseFromMillis <= self.world.steadyMillis else { return .min }
        guard self.worker.leaseEndsMillis != .max else { return .max }
        return self.worker.leaseEndsMillis + self.worker.steadyOffsetMillis
    }

    // MARK: Records of the input

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        guard self.worker.isAlive, self.world.brokerAwayUntilMillis <= self.world.steadyMillis else { return }
        for partition in self.worker.partitions.keys.sorted() {
            for topic in 0..<2 where self.world.isReadable(partition, topic: topic, of: self.worker) {
                body(partition, UInt16(topic))
            }
        }
    }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        var read = QueueRead(recordCount: 0, mayHaveMore: false)
        guard self.world.isReadable(partition, topic: Int(topic), of: self.worker) else { return read }
        let count = min(max, Int.random(in: 1...InputBatch.recordCountMax, using: &self.world.random))
        read.recordCount = self.world.read(
            count, partition: partition, topic: Int(topic), of: self.worker, into: &batch, whenFull: whenFull)
        if !self.world.burns(self.worker) { self.world.perhapsPauseReading(partition, of: self.worker) }
        read.mayHaveMore = self.world.isReadable(partition, topic: Int(topic), of: self.worker)
        return read
    }

    func beginReading(partition: Int32) {
        if self.worker.isAlive { self.world.runs(partition, worker: self.worker) }
    }

    func endReading(partition: Int32) { self.worker.partitions[partition]?.isRunning = false }

    // MARK: State

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        let section = SimulatedSection(world: self.world, worker: self.worker, partition: partition, offsets: offsets)
        self.worker.sections.append(section)
        return section
    }

    // MARK: Records to be written

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        for done in indexes.indices {
            if self.world.hasNoRoom(self.worker) { return ProducedRun(doneCount: done, isFull: true) }
            if self.worker.clientHasEnded { return ProducedRun(doneCount: done + 1, failures: [(done, Self.ended)]) }
            let record = batch.records[Int(indexes[done])]
            self.world.send(KeptRecord(record, of: batch), from: self.worker)
        }
        _ = self.world.burns(self.worker)
        return ProducedRun(doneCount: indexes.count)
    }

    func produce(_ record: KeptRecord) -> ProducedRun {
        if self.world.hasNoRoom(self.worker) { return ProducedRun(doneCount: 0, isFull: true) }
        if self.worker.clientHasEnded { return ProducedRun(doneCount: 1, failures: [(0, Self.ended)]) }
        self.world.send(record, from: self.worker)
        _ = self.world.burns(self.worker)
        return ProducedRun(doneCount: 1)
    }

    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch) {
        self.world.takeDeliveries(max: max, withKeys: withKeys, of: self.worker, into: &batch)
    }

    static let ended = ProduceFailure("the client has ended", .other, isFatal: true)

    func endProducer() {}

    func renewProducer() throws(LogFailure) { try self.world.renewClient(of: self.worker) }

    // MARK: Commits

    func commit(_ positions: [CommitPosition]) {
        guard self.worker.isAlive else { return }
        self.world.checkHandedToCommit(positions, by: self.worker)
        self.worker.commits.add(positions)
        self.world.sendCommits(self.worker)
        _ = self.world.burns(self.worker)
    }
}

/// A range of `state` that a worker reads in pieces, with pauses.
final class SimulatedSection: StateSection {
    private unowned let world: SimulationWorld
    private unowned let worker: SimulatedWorker
    let partition: Int32
    private var next: Int64
    private let end: Int64
    /// Time before which the next piece cannot be read.
    private(set) var dueMillis: Int64
    private var isOpen = true

    init(world: SimulationWorld, worker: SimulatedWorker, partition: Int32, offsets: Range<Int64>) {
        self.world = world
        self.worker = worker
        self.partition = partition
        self.next = offsets.lowerBound
        self.end = offsets.upperBound
        self.dueMillis = world.steadyMillis + Int64.random(in: 0...300, using: &world.random)
    }

    /// When the next piece can be read. `nil`: everything was read, or the section is closed.
    var readDueMillis: Int64? {
        self.isOpen && self.next < self.end ? max(self.dueMillis, self.world.brokerAwayUntilMillis) : nil
    }

    func takeReadable() -> Bool { self.readDueMillis.map { $0 <= self.world.steadyMillis } ?? self.isOpen }

    func read(max: Int, _ body: StateRecordBody) -> SectionRead {
        var read = SectionRead(recordCount: 0, mayHaveMore: false, isFinished: self.next >= self.end)
        guard self.worker.isAlive, self.takeReadable() else { return read }
        let logID = SimulatedKafka.LogID(topic: .state, partition: self.partition)
        let until = min(self.end, self.next + Int64.random(in: 1...200, using: &self.world.random))
        while self.next < until, read.recordCount < max {
            defer { self.next += 1 }
            guard let record = self.world.kafka.record(logID, self.next), !record.isGone else { continue }
            read.recordCount += 1
            body(
                record.key.span, record.value.span, record.isTombstone,
                StateHeader(isTombstone: record.isTombstone) { record.header($0).flatMap { Int64($0) } }, self.next)
        }
        self.dueMillis = self.world.steadyMillis + Int64.random(in: 0...50, using: &self.world.random)
        read.isFinished = self.next >= self.end
        return read
    }

    func close() {
        self.isOpen = false
        self.worker.sections.removeAll { $0 === self }
    }
}
