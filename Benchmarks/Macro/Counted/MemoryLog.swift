import PushEngine
import PushWorker
import ShardLoop

/// A Kafka in memory for a counted loop. It does only what `ShardLog` requires, and allocates nothing once its arrays
/// have grown. It stores records at once, and acknowledges them at once unless it is told to wait.
final class MemoryLog: ShardLog {
    var leaseEndsMillis = Int64.max
    /// Whether deliveries are acknowledged.
    var reportsDeliveries = true
    /// Whether records written to `state` are kept.
    var keepsState = false
    var sectionStage = MemorySection.Stage.end
    private var queues: MemoryQueues
    private var deliveries: MemoryDeliveries
    /// Records of `state` by partition: those that were there at the beginning, and those that were kept.
    private(set) var state: [[StateRecord]]
    /// The committed next offset of each partition of the input.
    private var committed: [Int64]
    /// Number of offered input records that no commit covers.
    private(set) var uncommittedCount = 0
    private let topic: UInt16

    /// Makes a log.
    /// - Parameters:
    ///   - topic: the input topic whose records are in memory. Other input topics are empty.
    ///   - state: records of `state`, by partition. Empty means none.
    init(_ activities: CountedActivities, topic: UInt16 = 0, state: [[StateRecord]] = []) {
        let partitionCount = Int(activities.partitionCount)
        self.topic = topic
        self.state = state.isEmpty ? Array(repeating: [], count: partitionCount) : state
        self.queues = MemoryQueues(activities, topic: topic)
        self.deliveries = MemoryDeliveries(stateEnds: self.state.map { Int64($0.count) })
        self.committed = Array(repeating: 0, count: partitionCount)
    }

    /// Offers records (see `MemoryQueues.offer`).
    func offer(_ activities: Range<Int>, values: [UInt8], isShared: Bool, timestampMillis: Int64) {
        self.queues.offer(activities, values: values, isShared: isShared, timestampMillis: timestampMillis)
        self.uncommittedCount += activities.count
    }

    /// Traces events (see `MeasuredTracing`).
    func trace(by tracing: MeasuredTracing) { self.queues.tracing = tracing }

    /// Number of written records that are not acknowledged.
    var unreportedCount: Int { self.deliveries.count }

    // MARK: Records of the input

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) { self.queues.takeReadable(body) }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        guard topic == self.topic else { return QueueRead(recordCount: 0, mayHaveMore: false) }
        return self.queues.read(partition: partition, max: max, into: &batch, whenFull: whenFull)
    }

    func beginReading(partition: Int32) {}
    func endReading(partition: Int32) {}

    // MARK: State

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        MemorySection(self, self.state[Int(partition)])
    }

    // MARK: Records to be written

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        self.deliveries.add(batch, indexes)
        if self.keepsState { self.keepState(batch, indexes) }
        return ProducedRun(doneCount: indexes.count)
    }

    /// Reports a failure. The loop writes a record again only after a failed write, and no write fails here.
    func produce(_ record: KeptRecord) -> ProducedRun {
        ProducedRun(doneCount: 1, failures: [(0, ProduceFailure("a record is written again", .other, isFatal: true))])
    }

    private func keepState(_ batch: borrowing RecordBatch, _ indexes: Span<Int32>) {
        for place in indexes.indices {
            let record = batch.records[Int(indexes[place])]
            guard record.topic == .state else { continue }
            self.state[Int(record.partition)].append(
                StateRecord(key: Array(batch.bytes[record.key]), value: Array(batch.bytes[record.value])))
        }
    }

    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch) {
        guard self.reportsDeliveries else { return }
        self.deliveries.report(max: max, into: &batch)
    }

    // A producer that writes to memory never has to end or be renewed.
    func endProducer() {}
    func renewProducer() {}

    // MARK: Commits

    func commit(_ positions: [CommitPosition]) {
        for position in positions where position.topic == self.topic {
            let partition = Int(position.partition)
            self.uncommittedCount -= Int(position.nextOffset - self.committed[partition])
            self.committed[partition] = position.nextOffset
        }
    }
}
