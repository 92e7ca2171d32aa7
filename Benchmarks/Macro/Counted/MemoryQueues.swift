import PushEngine
import PushWorker
import ShardLoop

/// The partition queues of one input topic, in memory.
struct MemoryQueues {
    private struct Queue {
        /// Activities whose records are in the queue, in order. The records before index `next` have been read.
        var activities: [Int32] = []
        var next = 0
        var nextOffset: Int64 = 0
    }

    private let activities: CountedActivities
    /// Index into `EngineConfiguration.inputTopics`.
    private let topic: UInt16
    private var queues: [Queue]
    /// Partitions that got records since the last `takeReadable`.
    private var readable: [Int32] = []
    /// Values of the records that were offered last.
    private var values: [UInt8] = []
    private var valueByteCount = 0
    /// Bytes from one activity's value to the next activity's value. 0 means that all activities have the same value.
    private var valueStride = 0
    private var firstActivity = 0
    private var timestampMillis: Int64 = 0
    /// The tracing of events, or `nil` when nothing is traced.
    var tracing: MeasuredTracing?

    init(_ activities: CountedActivities, topic: UInt16) {
        self.activities = activities
        self.topic = topic
        self.queues = Array(repeating: Queue(), count: Int(activities.partitionCount))
        for partition in self.queues.indices { self.queues[partition].activities.reserveCapacity(64) }
        self.readable.reserveCapacity(Int(activities.partitionCount))
    }

    /// Offers a record for each of the activities. Records that were offered before must have been read.
    /// - Parameter values: one value for all, or one for each, all of the same length.
    mutating func offer(_ activities: Range<Int>, values: [UInt8], isShared: Bool, timestampMillis: Int64) {
        self.values = values
        self.valueByteCount = isShared ? values.count : values.count / activities.count
        self.valueStride = isShared ? 0 : self.valueByteCount
        self.firstActivity = activities.lowerBound
        self.timestampMillis = timestampMillis
        for activity in activities {
            let partition = self.activities.partitions[activity]
            if self.queues[Int(partition)].activities.isEmpty { self.readable.append(partition) }
            self.queues[Int(partition)].activities.append(Int32(activity))
        }
    }

    mutating func takeReadable(_ body: (_ partition: Int32, _ topic: UInt16) -> Void) {
        for partition in self.readable { body(partition, self.topic) }
        self.readable.removeAll(keepingCapacity: true)
    }

    mutating func read(
        partition: Int32, max: Int, into batch: inout InputBatch, whenFull: (inout InputBatch) -> Void
    ) -> QueueRead {
        let partition = Int(partition)
        let (first, count) = (self.queues[partition].next, self.queues[partition].activities.count)
        let end = min(count, first + max)
        guard first < end else { return QueueRead(recordCount: 0, mayHaveMore: false) }
        // Each local variable is one reference for all records, which saves reference counting for each record.
        let (activities, values) = (self.activities, self.values)
        let waiting = self.queues[partition].activities
        let firstOffset = self.queues[partition].nextOffset
        for place in first..<end {
            var input = InputRecord(
                topic: self.topic, partition: Int32(partition), offset: firstOffset + Int64(place - first),
                timestampMillis: self.timestampMillis, hasKey: true, hasValue: true, origin: nil)
            let activity = Int(waiting[place])
            let (keyStart, valueStart) = (
                activity * activities.keyByteCount, (activity - self.firstActivity) * self.valueStride
            )
            let key = activities.keys.span.extracting(keyStart..<keyStart + activities.keyByteCount)
            let value = values.span.extracting(valueStart..<valueStart + self.valueByteCount)
            let carried = self.tracing?.begin(&input) ?? []
            if batch.append(input, key: key, value: value, traceparent: carried.span) { continue }
            whenFull(&batch)
            _ = batch.append(input, key: key, value: value, traceparent: carried.span)
        }
        self.queues[partition].nextOffset += Int64(end - first)
        if end < count {
            self.queues[partition].next = end
        } else {
            self.empty(partition)
        }
        return QueueRead(recordCount: end - first, mayHaveMore: end < count)
    }

    private mutating func empty(_ partition: Int) {
        self.queues[partition].activities.removeAll(keepingCapacity: true)
        self.queues[partition].next = 0
    }
}
