public import PushEngine

/// Decides how far the records of inlets may be forwarded, so that no record overtakes older records of its key in
/// another partition. The type is pure: the caller passes what the group and the logs say.
///
/// An inlet is a partition that was added to an input topic after `state` had been written. It has no activities, and
/// its records belong to other partitions. Older records of a key may be in a partition with a lower number. The gate
/// reads the inlet's end first, and then the ends of all partitions with lower numbers. When the group has committed
/// these partitions up to their ends, the inlet's records up to its end may pass. These records reach other partitions
/// through `routed`, after everything that was published before them. The ends are read again and again, because
/// publishers learn about a new partition at different times.
public struct InletGate: Sendable {
    /// The offsets of one partition of one input topic, as the group and the log had them when they were asked.
    public struct Sight: Sendable, Equatable {
        /// Index of the input topic.
        public var topic: UInt16
        /// The number of the partition, from 0.
        public var partition: Int32
        /// The group's committed offset, or where the log begins if the group has committed nothing.
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

    /// How far an inlet may pass, and what the group must have committed before.
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

    /// Takes what was found about inlets and the partitions with lower numbers.
    /// - Parameters:
    ///   - sights: inlets and every partition of their topics with a lower number. All were requested after the last
    ///     answers had arrived.
    ///   - inlets: numbers of the partitions that are inlets here.
    /// - Returns: how far inlets may be forwarded from now on. An inlet is listed when its position has changed, and
    ///   again at each look until the group has committed the position. The inlet may leave and return between two
    ///   looks. The loop that gets the inlet then does not know the position.
    public mutating func saw(_ sights: [Sight], inlets: Set<Int32>) -> [CommitPosition] {
        var opened: [CommitPosition] = []
        for inlet in sights where inlets.contains(inlet.partition) {
            let key = Key(topic: inlet.topic, partition: inlet.partition)
            let others = sights.filter { $0.topic == inlet.topic && $0.partition < inlet.partition }
            // The inlet's end must have been read before the ends of the other partitions. So the inlet's end from the
            // last look is used.
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

    /// The partitions that delay an inlet according to the last sights, in ascending order. They are for a log line.
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
