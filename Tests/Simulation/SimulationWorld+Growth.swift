import DeviceModel
import PushEngine
import PushModel

/// Growth of `events`: somebody adds partitions while workers run. An added partition is called an inlet, and `state`
/// was not written for it. Records of an inlet are forwarded to the partitions that the old count gives. Earlier
/// records in the old partitions are taken first. Publishers learn of the growth one after the other, so a key may have
/// records in an old and an added partition.
///
/// A publisher that places its records by the hash of the key moves only if the new count gives an added partition. If
/// it gives another old partition, the publisher stays in the partition where it was. Otherwise the order of its events
/// could not be kept (Operations, "A topic has got more partitions"). A publisher with its own partitioner always moves
/// to an added partition, once it has learnt of the growth.
extension SimulationWorld {
    /// Plan and state of the growth. It is drawn with a separate generator, so that worlds without growth do not
    /// change.
    struct Growth {
        var random: SplitMix64
        /// Number of partitions that are added. 0: the world does not grow.
        private(set) var added: Int32 = 0
        /// Percentage of the run's events after which partitions are added.
        let atPercent: Int
        /// Chance, in percent, that a publisher learns of the added partitions just before it writes an event.
        private let learnPercent: Int
        fileprivate(set) var hasGrown = false
        /// The added partition to which a publisher writes after it has learnt of the growth, by activity or audience.
        fileprivate(set) var moved: [Int: Int32] = [:]

        /// On average, one in this number of worlds grows.
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

    /// Number of partitions of `events` now. The other topics keep the number in the plan.
    var partitionCount: Int32 { self.plan.partitions + (self.growth.hasGrown ? self.growth.added : 0) }

    func isInlet(_ partition: Int32) -> Bool { partition >= self.plan.partitions }

    /// Adds partitions, if that is due. With `placement: trust` no worker would use added partitions, so none are
    /// added.
    func perhapsGrow(afterEvents count: Int) {
        guard self.growth.added > 0, !self.growth.hasGrown, self.plan.placement == .check,
            count * 100 >= self.plan.events * self.growth.atPercent
        else { return }
        self.growth.hasGrown = true
        self.moves += 1
        self.log("events gets \(self.growth.added) partitions more")
        self.post(self.group.grow(by: Int(self.growth.added)))
    }

    /// Perhaps lets an activity's publisher learn of the added partitions before it writes.
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

    /// The added partition to which a publisher that knows the new count writes. `nil`: it writes to an old partition.
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

    /// Perhaps plays the worst case while a worker waits until old partitions are read. A publisher writes to an old
    /// partition once more, learns of the growth, and at once writes to an added partition.
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

    /// Judges that earlier records of the key are committed when a worker takes a record of an inlet. Only records in
    /// partitions with lower numbers count.
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
