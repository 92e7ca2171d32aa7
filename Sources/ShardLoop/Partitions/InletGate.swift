public import PushEngine

/// Decides how far the records of inlets may be forwarded, so that none overtakes records of its key in another
/// partition. It is pure: the caller passes what the group and the logs say.
///
/// An inlet is a partition that was added to an input topic after `state` had been written. It has no activities, and
/// its records belong to other partitions. A key's older records are in a partition with a lower number. The present
/// records of an inlet may therefore pass once the group has committed every such partition up to an end that was read
/// later. Everything published before is then done, and what arrives later through `routed` is behind it. The end is
/// read again and again, as publishers learn about a new partition at different times.
public struct InletGate: Sendable {
    /// One partition of one input topic, as the group and the log had it at the time of the question.
    public struct Sight: Sendable, Equatable {
        /// Index of the input topic.
        public var topic: UInt16
        /// The number of the partition, from 0.
        public var partition: Int32
        /// The group's committed offset, or where the log begins if it has committed nothing.
        public var committedOffset: Int64
        /// The offset that the next record will get.
        public var endOffset: Int64

        public init(topic: UInt16, partition: Int32, committedOffset: Int64, endOffset: Int64) {
            self.topic = topic
            self.partition = partition
            self.committedOffset = committedOffset
            self.endOffset = endOffset
        }
    }

    private struct Key: Hashable {
        var topic: UInt16
        var partition: Int32
    }

    /// How far an inlet may pass, and what must be committed before that.
    private struct Barrier {
        var upTo: Int64
        /// The offset that must be committed, by partition.
        var ends: [Int32: Int64]
    }

    /// The end of each inlet at the last look.
    private var lastEnds: [Key: Int64] = [:]
    private var barriers: [Key: Barrier] = [:]
    private var letIn: [Key: Int64] = [:]

    /// A gate without inlets.
    public init() {}

    /// Takes what was found about inlets and the partitions before them.
    /// - Parameters:
    ///   - sights: inlets and every partition of their topics with a lower number. All were requested after the last
    ///     answers had arrived.
    ///   - inlets: numbers of the partitions that are inlets here.
    /// - Returns: how far each inlet may be forwarded from now on, where this has changed. An answer is repeated while
    ///   the group has not committed all of it. The inlet may have left and returned between two looks, and its new
    ///   owner was sent nothing.
    public mutating func saw(_ sights: [Sight], inlets: Set<Int32>) -> [CommitPosition] {
        var opened: [CommitPosition] = []
        for inlet in sights where inlets.contains(inlet.partition) {
            let key = Key(topic: inlet.topic, partition: inlet.partition)
            let others = sights.filter { $0.topic == inlet.topic && $0.partition < inlet.partition }
            // The end of an inlet must have been read before those of the other partitions, so the one from the last
            // look counts.
            let end = self.lastEnds.updateValue(inlet.endOffset, forKey: key)
            if self.barriers[key] == nil, let end, end > self.letIn[key] ?? 0,
                Set(others.map(\.partition)).count == Int(inlet.partition)
            {
                let ends = others.map { ($0.partition, $0.endOffset) }
                self.barriers[key] = Barrier(upTo: end, ends: Dictionary(ends, uniquingKeysWith: max))
            }
            let isReached = self.barriers[key]?.ends.allSatisfy { number, end in
                others.contains { $0.partition == number && $0.committedOffset >= end }
            }
            if let barrier = self.barriers[key], isReached == true {
                self.barriers[key] = nil
                self.letIn[key] = barrier.upTo
            } else if inlet.committedOffset >= self.letIn[key] ?? 0 {
                continue
            }
            opened.append(
                CommitPosition(topic: inlet.topic, partition: inlet.partition, nextOffset: self.letIn[key] ?? 0))
        }
        return opened
    }

    /// Forgets partitions that are no longer inlets here.
    public mutating func forget(_ partitions: [Int32]) {
        self.lastEnds = self.lastEnds.filter { !partitions.contains($0.key.partition) }
        self.barriers = self.barriers.filter { !partitions.contains($0.key.partition) }
        self.letIn = self.letIn.filter { !partitions.contains($0.key.partition) }
    }

    /// Partitions that delay an inlet, by the last sights, for a person. Ascending.
    public func holdingUp(_ sights: [Sight]) -> [Int32] {
        var numbers: Set<Int32> = []
        for (key, barrier) in self.barriers {
            for (number, end) in barrier.ends
            where !sights.contains(where: {
                $0.topic == key.topic && $0.partition == number && $0.committedOffset >= end
            }) { numbers.insert(number) }
        }
        return numbers.sorted()
    }
}
