public import PushEngine

/// How far the records of inlets may be forwarded, so that none overtakes what its key has in another partition. Pure: told what the group and
/// the logs say.
///
/// An inlet is a partition that was added to an input topic after `state` had been written: it has no activities, and its records belong to
/// others. A key's older records lie in a partition with a lower number. So what an inlet holds at one moment is let in once the group has
/// committed every such partition up to the end that it had later than that: whatever was published before is done, and what comes afterwards
/// through `routed` lies behind it. The end is taken again and again, as publishers learn of a new partition at different times.
public struct InletGate: Sendable {
    /// One partition of one input topic, as it was when somebody asked.
    public struct Sight: Sendable, Equatable {
        /// Index of the input topic.
        public var topic: UInt16
        /// The number of the partition, from 0.
        public var partition: Int32
        /// What the group has committed, or where the log begins if it has committed nothing.
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

    /// What is to be let in, and what has to be done before.
    private struct Barrier {
        var upTo: Int64
        /// By partition.
        var ends: [Int32: Int64]
    }

    /// Where each inlet ended when it was looked at last.
    private var lastEnds: [Key: Int64] = [:]
    private var barriers: [Key: Barrier] = [:]
    private var letIn: [Key: Int64] = [:]

    /// No inlet is known.
    public init() {}

    /// Somebody has asked.
    /// - Parameters:
    ///   - sights: inlets and every partition of the same topics with a lower number, all asked after the answers before had come.
    ///   - inlets: numbers of the partitions that are inlets here.
    /// - Returns: how far each may be forwarded from here on, for inlets where this has changed. An answer is repeated while the group has not
    ///   committed all of it: the inlet may have left and come back between two looks, and its new owner was told nothing.
    public mutating func saw(_ sights: [Sight], inlets: Set<Int32>) -> [CommitPosition] {
        var opened: [CommitPosition] = []
        for inlet in sights where inlets.contains(inlet.partition) {
            let key = Key(topic: inlet.topic, partition: inlet.partition)
            let others = sights.filter { $0.topic == inlet.topic && $0.partition < inlet.partition }
            // An end that was asked for together with theirs may be the later one.
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

    /// These are inlets here no longer.
    public mutating func forget(_ partitions: [Int32]) {
        self.lastEnds = self.lastEnds.filter { !partitions.contains($0.key.partition) }
        self.barriers = self.barriers.filter { !partitions.contains($0.key.partition) }
        self.letIn = self.letIn.filter { !partitions.contains($0.key.partition) }
    }

    /// Partitions that hold up an inlet, by the last sights, for a person. Ascending.
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
