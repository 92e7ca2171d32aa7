import PushEngine
import PushWorker
import ShardLoop

/// A Kafka in memory that gives records of `routed` back to the loop. Joins are in the first topic, and events for
/// audiences in the second.
final class AudienceLog: ShardLog {
    static let inputTopics = [Workload.topic, "audiences", "routed"]

    let memory: MemoryLog
    private var events: MemoryBus
    private var routed: MemoryBus

    init(_ members: CountedActivities, state: [[StateRecord]]) {
        self.memory = MemoryLog(members, topic: 0, state: state)
        self.events = MemoryBus(topic: 1, partitionCount: members.partitionCount)
        self.routed = MemoryBus(topic: 2, partitionCount: members.partitionCount)
    }

    /// Traces events (see `MeasuredTracing`). An audience's version carries the trace context of its event.
    func trace(by tracing: MeasuredTracing) { self.events.tracing = tracing }

    func offerUpdate(_ number: Int, timestampMillis: Int64) {
        var value: [UInt8] = []
        AudienceWorkload.appendUpdate(number, to: &value)
        self.offerEvent(value, timestampMillis: timestampMillis)
    }
    /// Offers an event for the audience.
    func offerEvent(_ value: [UInt8], timestampMillis: Int64) {
        self.events.offer(key: AudienceWorkload.audience, value: value, timestampMillis: timestampMillis)
    }
    /// Whether every written record has been acknowledged, and every record of `routed` and every event has been read.
    var isStill: Bool { self.memory.unreportedCount == 0 && self.routed.isEmpty && self.events.isEmpty }

    var leaseEndsMillis: Int64 { self.memory.leaseEndsMillis }

    func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        self.memory.takeReadable(body)
        self.events.takeReadable(body)
        self.routed.takeReadable(body)
    }

    func read(
        partition: Int32, topic: UInt16, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        switch topic {
        case 0: self.memory.read(partition: partition, topic: topic, max: max, into: &batch, whenFull: whenFull)
        case 1: self.events.read(partition: partition, max: max, into: &batch, whenFull: whenFull)
        default: self.routed.read(partition: partition, max: max, into: &batch, whenFull: whenFull)
        }
    }

    func beginReading(partition: Int32) {}
    func endReading(partition: Int32) {}

    func openState(partition: Int32, offsets: Range<Int64>) throws(LogFailure) -> any StateSection {
        try self.memory.openState(partition: partition, offsets: offsets)
    }

    func produce(_ batch: borrowing RecordBatch, indexes: Span<Int32>) -> ProducedRun {
        self.routed.offer(batch, indexes)
        return self.memory.produce(batch, indexes: indexes)
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
