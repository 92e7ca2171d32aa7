import PushModel

/// Voids that Kafka has not acknowledged, and what was read behind them.
///
/// A void removes every member whose record is before it. If Kafka does not take one at once, it is written again, and
/// may then be behind later joins that were already under way. A takeover would take those for members of the former
/// life. While a void is under way, a partition therefore processes nothing but voids. What has been read waits here
/// for a round trip of `state`, and no more is read (`recordRoom`).
struct VoidsUnderWay {
    fileprivate struct Record {
        var record: InputRecord
        var key: [UInt8]
        var value: [UInt8]
        var traceparent: [UInt8]
    }
    private var counts: [PartitionIndex: Int] = [:]
    /// Waiting records by partition, in the order in which they were read.
    private var waiting: [PartitionIndex: [Record]] = [:]

    var isEmpty: Bool { self.counts.isEmpty && self.waiting.isEmpty }
    var hasWaiting: Bool { !self.waiting.isEmpty }

    /// Notes that a void has been written.
    mutating func left(_ partition: PartitionIndex) { self.counts[partition, default: 0] += 1 }
    /// Notes that `state` has a void.
    mutating func acknowledged(_ partition: PartitionIndex) {
        guard let count = self.counts[partition] else { return }
        self.counts[partition] = count > 1 ? count - 1 : nil
    }
    /// Whether the record has to wait: behind a void, or behind a record of its own log that waits.
    func holdsUp(_ record: borrowing InputRecord, partition: PartitionIndex) -> Bool {
        if self.counts[partition] != nil, record.kind != .void { return true }
        let topic = record.topic
        return self.waiting[partition]?.contains { $0.record.topic == topic } ?? false
    }
    mutating func wait(
        _ record: InputRecord, key: Span<UInt8>, value: Span<UInt8>, traceparent: Span<UInt8>,
        partition: PartitionIndex
    ) {
        var copy = Record(record: record, key: [], value: [], traceparent: [])
        copy.key.append(copying: key)
        copy.value.append(copying: value)
        copy.traceparent.append(copying: traceparent)
        self.waiting[partition, default: []].append(copy)
    }
    /// Takes out the waiting records of a partition.
    fileprivate mutating func takeWaiting(_ partition: PartitionIndex) -> [Record] {
        self.waiting.removeValue(forKey: partition) ?? []
    }
    /// Forgets a partition that has left: its next owner reads the waiting records again.
    mutating func forget(partition: PartitionIndex) {
        self.counts[partition] = nil
        self.waiting[partition] = nil
    }
}

extension ShardEngine {
    /// Notes that `state` has a void: whatever is written from now on is behind it.
    mutating func voidAcknowledged(_ crowd: CrowdID, generation: UInt32, partition: PartitionIndex, now: EngineTime) {
        self.audiences.voids.acknowledged(partition)
        let isLeaving =
            self.audiences.crowds.contains(crowd, generation: generation)
        if isLeaving, self.audiences.crowds[crowd].voidAcknowledged() {
            self.audiences.deadlines.set(now.steadyMillis, for: crowd)
            self.carryStarts(from: crowd, now: now)
        }
        if isLeaving,
            let follower = self.audiences.crowds.find(
                reference: self.audiences.crowds[crowd].reference, partition: partition)
        {
            // The record with the name of the start members' new crowd may be before the void.
            self.audiences.crowds[follower].progressed()
            self.schedule(follower, now: now)
        }
        for waiting in self.audiences.voids.takeWaiting(partition) {
            let (key, value, traceparent) = (waiting.key, waiting.value, waiting.traceparent)
            self.consume(
                waiting.record, key: key.span, value: value.span, traceparent: traceparent.span, now: now)
        }
    }
}
