import PushEngine
import ShardLoop

/// Records that were written to a Kafka in memory and are not acknowledged yet.
struct MemoryDeliveries {
    private struct Delivery {
        var acknowledgement: UInt64
        var offset: Int64
        var partition: Int32
        var topic: EngineRecord.Topic
    }

    /// Deliveries in order. The deliveries before index `next` are acknowledged.
    private var waiting: [Delivery] = []
    private var next = 0
    /// Offset of the next record in each partition of `state`. The offsets of other topics are not needed.
    private var stateEnds: [Int64]

    init(stateEnds: [Int64]) {
        self.stateEnds = stateEnds
        self.waiting.reserveCapacity(4_096)
    }

    var count: Int { self.waiting.count - self.next }

    mutating func add(_ batch: borrowing RecordBatch, _ indexes: Span<Int32>) {
        let records = batch.records
        for place in indexes.indices {
            let record = records[Int(indexes[place])]
            var offset: Int64 = 0
            if record.topic == .state {
                offset = self.stateEnds[Int(record.partition)]
                self.stateEnds[Int(record.partition)] = offset + 1
            }
            self.waiting.append(
                Delivery(
                    acknowledgement: record.acknowledgement, offset: offset, partition: record.partition,
                    topic: record.topic))
        }
    }

    mutating func report(max: Int, into batch: inout DeliveryBatch) {
        let end = min(self.waiting.count, self.next + max)
        for place in self.next..<end {
            let delivery = self.waiting[place]
            batch.append(
                delivery.acknowledgement, topic: delivery.topic, partition: delivery.partition, offset: delivery.offset)
        }
        self.next = end
        guard end == self.waiting.count else { return }
        self.waiting.removeAll(keepingCapacity: true)
        self.next = 0
    }
}
