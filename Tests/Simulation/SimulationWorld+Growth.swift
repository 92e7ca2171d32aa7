import DeviceModel
import PushEngine
import PushModel

/// Somebody adds partitions to `events` while workers run. `state` was not written for them, so they are inlets. Their
/// records are forwarded by the old count, after the records that the old partitions held. Publishers learn of the
/// growth one after the other, so a key may have records on both sides.
///
/// A key that the new count moves between two old partitions stays where it was. Its order would not hold (Operations,
/// "A topic has got more partitions"). A publisher with a partitioner of its own moves to an added partition as well.
extension SimulationWorld {
    /// Plan and state of the growth. It is drawn with a generator of its own, so that worlds without growth stay as
    /// they were.
    struct Growth {
        var random: SplitMix64
        /// Number of partitions that are added.
        private(set) var added: Int32 = 0
        /// Percentage of the run after which partitions are added.
        let atPercent: Int
        /// Percentage of a publisher's writes at which it learns of the partitions.
        private let learnPercent: Int
        fileprivate(set) var hasGrown = false
        /// The added partition that a publisher writes to once it knows of it, by activity or audience.
        fileprivate(set) var moved: [Int: Int32] = [:]

        /// One world in this many grows.
        private static let worldsPerGrowingWorld = 6

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x6209_6209_6209_6209)
            self.atPercent = Int.random(in: 0..<90, using: &self.random)
            self.learnPercent = [10, 40, 100].randomElement(using: &self.random)!
            guard Int.random(in: 0..<Self.worldsPerGrowingWorld, using: &self.random) == 0 else { return }
            self.added = Int32.random(in: 1...2, using: &self.random)
        }

        mutating func strikes() -> Bool { Int.random(in: 0..<3, using: &self.random) == 0 }

        mutating func learns() -> Bool { Int.random(in: 0..<100, using: &self.random) < self.learnPercent }
    }

    /// Number of partitions of `events`; the plan has the number for the other topics.
    var partitionCount: Int32 { self.plan.partitions + (self.growth.hasGrown ? self.growth.added : 0) }

    func isInlet(_ partition: Int32) -> Bool { partition >= self.plan.partitions }

    /// Adds partitions, if this is the moment. With `placement: trust` added partitions wait: no loop hears of them.
    func perhapsGrow(afterEvents count: Int) {
        guard self.growth.added > 0, !self.growth.hasGrown, self.plan.placement == .check,
            count * 100 >= self.plan.events * self.growth.atPercent
        else { return }
        self.growth.hasGrown = true
        self.moves += 1
        self.log("events gets \(self.growth.added) partitions more")
        self.post(self.group.grow(by: Int(self.growth.added)))
    }

    /// Perhaps lets the publisher of an activity learn how many partitions there are, before it writes.
    func perhapsLearn(_ activity: Int) {
        guard self.growth.hasGrown, self.growth.moved[activity] == nil, self.growth.learns(),
            let partition = self.addedPartition(of: activity)
        else { return }
        self.move(activity, to: partition)
    }

    private func move(_ activity: Int, to partition: Int32) {
        self.log("the publisher of activity \(activity) writes to partition \(partition) from here on")
        self.growth.moved[activity] = partition
    }

    /// The added partition that a publisher with the new count writes to; `nil`: it writes to an old partition.
    private func addedPartition(of activity: Int) -> Int32? {
        let key = self.phones[activity].keyBytes
        let old = self.plan.partitions
        let isMisplaced = self.writtenPartition(of: activity) != Murmur2.partition(key: key.span, count: old)
        let partition =
            isMisplaced
            ? old + Int32(activity) % self.growth.added
            : Murmur2.partition(key: key.span, count: self.partitionCount)
        return self.isInlet(partition) ? partition : nil
    }

    /// Perhaps plays the worst case while a worker waits for old partitions to be read to their ends. A publisher
    /// writes to one of them once more, learns of the growth, and goes on at once.
    func strikeAtWait() {
        guard self.faultsAreOn, self.growth.strikes() else { return }
        let waiting = (0..<self.plan.activities).filter {
            self.growth.moved[$0] == nil && self.phones[$0].token != nil && self.phones[$0].channel == nil
                && self.phones[$0].device.phase != .ended
        }
        guard let activity = waiting.first(where: { self.addedPartition(of: $0) != nil }),
            let partition = self.addedPartition(of: activity)
        else { return }
        self.writeContent(activity)
        guard self.growth.moved[activity] == nil else { return }
        self.move(activity, to: partition)
        self.writeContent(activity)
    }

    // MARK: What must not happen

    /// Judges, when a worker takes a record of an inlet, that all earlier records of its key in partitions with lower
    /// numbers are committed.
    func judgeInletRead(_ position: SourcePosition, _ event: WrittenEvent, of worker: SimulatedWorker) {
        for other in self.order.prefix(event.number)
        where other.partition < position.partition && self.written[other]!.activity == event.activity {
            let logID = SimulatedKafka.LogID(topic: .events, partition: other.partition)
            guard self.kafka.committed[logID] ?? 0 <= other.offset else { continue }
            return self.fail(
                "worker \(worker.number) takes \(position.partition)/\(position.offset) of an inlet, and \(other.partition)/\(other.offset) of the same key is not committed"
            )
        }
    }
}
