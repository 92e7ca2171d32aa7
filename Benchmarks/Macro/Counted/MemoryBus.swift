import PushEngine
import PushModel
import PushWorker
import ShardLoop

/// Partition queues in memory for few records that all differ: events for audiences, and the engine's own records of
/// `routed`.
struct MemoryBus {
    private struct Record {
        var key: [UInt8]
        var value: [UInt8]
        var timestampMillis: Int64
        var kind = RoutedKind.event
    }
    private struct Queue {
        var records: [Record] = []
        var nextOffset: Int64 = 0
    }

    /// Index into `EngineConfiguration.inputTopics`.
    private let topic: UInt16
    private var queues: [Queue]
    /// Partitions that got records since the last `takeReadable`.
    private var readable: [Int32] = []
    private var waitingCount = 0
    /// The tracing of events, or `nil` when nothing is traced.
    var tracing: MeasuredTracing?

    init(topic: UInt16, partitionCount: Int32) {
        self.topic = topic
        self.queues = Array(repeating: Queue(), count: Int(partitionCount))
    }

    var isEmpty: Bool { self.waitingCount == 0 }

    /// Offers an event, on the partition where its key belongs.
    mutating func offer(key: [UInt8], value: [UInt8], timestampMillis: Int64) {
        let partition = Murmur2.partition(key: key.span, count: Int32(self.queues.count))
        self.append(Record(key: key, value: value, timestampMillis: timestampMillis), to: partition)
    }
    /// Offers the records of `routed` in a batch that the engine wrote.
    mutating func offer(_ batch: borrowing RecordBatch, _ indexes: Span<Int32>) {
        for place in indexes.indices {
            let record = batch.records[Int(indexes[place])]
            guard record.topic == .routed else { continue }
            var kind = RoutedKind.event
            let kindName = RecordHeader.kind.name.withUTF8Buffer { Array($0) }
            for header in batch.headers[record.headers] where batch.bytes[header.name].elementsEqual(kindName) {
                kind = RoutedKind(named: Array(batch.bytes[header.value]).span)
            }
            self.append(
                Record(
                    key: Array(batch.bytes[record.key]), value: Array(batch.bytes[record.value]),
                    timestampMillis: record.timestampMillis, kind: kind), to: record.partition)
        }
    }
    private mutating func append(_ record: Record, to partition: Int32) {
        self.queues[Int(partition)].records.append(record)
        self.waitingCount += 1
        self.readable.append(partition)
    }

    mutating func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        for partition in self.readable { body(partition, self.topic) }
        self.readable.removeAll(keepingCapacity: true)
    }

    mutating func read(
        partition: Int32, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        let index = Int(partition)
        let count = min(max, self.queues[index].records.count)
        for record in self.queues[index].records[..<count] {
            var input = InputRecord(
                topic: self.topic, partition: partition, offset: self.queues[index].nextOffset,
                timestampMillis: record.timestampMillis, hasKey: true, hasValue: true, origin: nil, kind: record.kind)
            self.queues[index].nextOffset += 1
            let carried = self.tracing?.begin(&input) ?? []
            if batch.append(input, key: record.key.span, value: record.value.span, traceparent: carried.span) {
                continue
            }
            whenFull(&batch)
            _ = batch.append(input, key: record.key.span, value: record.value.span, traceparent: carried.span)
        }
        self.queues[index].records.removeFirst(count)
        self.waitingCount -= count
        return QueueRead(recordCount: count, mayHaveMore: !self.queues[index].records.isEmpty)
    }
}
