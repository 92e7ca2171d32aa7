import PushModel

/// Voids that Kafka has not acknowledged yet, and records that were read after them.
///
/// A void removes every update member whose record is before it. If Kafka does not accept the void at once, the void is
/// written again. Later joins that were already under way may then be stored before it, and a takeover would count
/// these joins to the former life. While a void is under way, a partition therefore processes nothing but voids.
/// Records already read wait here until `state` has the void, and no more are read (`recordRoom`).
struct VoidsUnderWay {
    struct Record {
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

    /// Counts a void that has been written.
    mutating func left(_ partition: PartitionIndex) { self.counts[partition, default: 0] += 1 }
    /// Counts a void as acknowledged, because `state` has it.
    mutating func acknowledged(_ partition: PartitionIndex) {
        guard let count = self.counts[partition] else { return }
        self.counts[partition] = count > 1 ? count - 1 : nil
    }
    /// Whether the record has to wait, because a void is under way or an earlier record of its log waits.
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
    mutating func takeWaiting(_ partition: PartitionIndex) -> [Record] {
        self.waiting.removeValue(forKey: partition) ?? []
    }
    /// Forgets a partition that has left. Its next owner reads the waiting records again.
    mutating func forget(partition: PartitionIndex) {
        self.counts[partition] = nil
        self.waiting[partition] = nil
    }
}

extension FanOut {
    /// Takes Kafka's acknowledgement of a void. Everything that is written from now on follows the void in `state`.
    mutating func voidAcknowledged(
        _ crowd: CrowdID, generation: UInt32, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) {
        self.voids.acknowledged(partition)
        guard self.crowds.contains(crowd, generation: generation) else { return }
        if self.crowds[crowd].voidAcknowledged() {
            self.deadlines.set(now.steadyMillis, for: crowd)
            self.carryStarts(from: crowd, in: &core, now: now)
        }
        if let follower = self.crowds.follower(of: crowd) {
            // The record that names the start members' new crowd may precede the void in `state`, so the record is
            // written again.
            self.crowds[follower].progressed()
            self.schedule(follower, in: &core, now: now)
        }
    }
}
