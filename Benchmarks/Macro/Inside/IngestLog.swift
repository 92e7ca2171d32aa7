import PushEngine
import PushWorker
import ShardLoop

/// A log whose events come from Kafka, as in a worker. Registrations, `state`, written records and commits are in
/// memory.
final class IngestLog: ShardLog {
    let memory: MemoryLog
    private var input: KafkaInput
    /// Whether events are read from Kafka.
    var isReading = false
    /// Number of events that were taken from Kafka.
    private(set) var eventCount = 0

    /// Topics, as indices into `inputTopics`.
    private static let eventsTopic: UInt16 = 0
    static let registrationsTopic: UInt16 = 1
    static let inputTopics = [Workload.topic, "registrations", "routed"]

    init(_ input: consuming KafkaInput, _ activities: CountedActivities) {
        self.input = input
        self.memory = MemoryLog(activities, topic: Self.registrationsTopic)
    }

    var leaseEndsMillis: Int64 { self.memory.leaseEndsMillis }

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        self.memory.takeReadable(body)
        if self.isReading { self.input.takeReadable(body) }
    }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        guard topic == Self.eventsTopic else {
            return self.memory.read(partition: partition, topic: topic, max: max, into: &batch, whenFull: whenFull)
        }
        guard self.isReading else { return QueueRead(recordCount: 0, mayHaveMore: false) }
        let read = self.input.read(
            partition: partition, topic: topic, max: max, into: &batch, whenFull: whenFull)
        self.eventCount += read.recordCount
        return read
    }

    func beginReading(partition: Int32) { self.input.beginReading(partition: partition) }
    func endReading(partition: Int32) { self.input.endReading(partition: partition) }

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        try self.memory.openState(partition: partition, offsets: offsets)
    }

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        self.memory.produce(batch, indexes: indexes)
    }

    func produce(_ record: KeptRecord) -> ProducedRun { self.memory.produce(record) }

    func takeDeliveries(max: Int, withKeys: Bool, into batch: inout DeliveryBatch) {
        self.memory.takeDeliveries(max: max, withKeys: withKeys, into: &batch)
    }

    // A producer that writes to memory never has to end or be renewed.
    func endProducer() {}
    func renewProducer() {}

    func commit(_ positions: [CommitPosition]) { self.memory.commit(positions) }
}
