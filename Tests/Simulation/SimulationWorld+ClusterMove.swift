import PushModel

/// A planned move to another cluster in the middle of a run. All workers give back their partitions, and workers that
/// begin later see another cluster's id. A mirror writes records without gaps, so offsets are lower in the new cluster.
///
/// The simulated logs keep their offsets. The world makes the positions inside `state` records higher by a constant,
/// which has the same effect. Nothing else that moves contains offsets.
extension SimulationWorld {
    /// Whether and when the world moves. It is drawn with a separate generator, so that worlds without a move do not
    /// change.
    struct ClusterMove {
        fileprivate var random: SplitMix64
        let isDrawn: Bool
        /// Percentage of the run's events after which the world moves.
        private let atPercent: Int
        fileprivate(set) var hasMoved = false
        /// Number of attempts to move that are left. An attempt fails if workers cannot read everything in time.
        fileprivate var attemptsLeft = 3
        /// Events with a forwarded copy that was stored too late to be read before the move.
        fileprivate(set) var leftUnread: Set<SourcePosition> = []
        /// Time, by the steady clock, before which a worker that begins may soon die.
        fileprivate var strikesUntilMillis = Int64.min

        init(seed: UInt64, worldsPercent: Int) {
            self.random = SplitMix64(seed: seed ^ 0xC105_7E25_C105_7E25)
            self.isDrawn = Int.random(in: 0..<100, using: &self.random) < worldsPercent
            self.atPercent = Int.random(in: 10..<90, using: &self.random)
        }

        /// The cluster's id that workers see.
        var clusterID: String { self.isDrawn ? self.hasMoved ? "new" : "old" : "" }

        func isDue(afterEvents count: Int, of events: Int) -> Bool {
            self.isDrawn && !self.hasMoved && self.attemptsLeft > 0 && count * 100 >= events * self.atPercent
        }
    }

    /// Whether the world has moved to another cluster, or is just moving.
    package var hasMovedCluster: Bool { self.clusterMove.hasMoved }

    /// Moves the world to another cluster, if the move is due.
    func perhapsMoveCluster(afterEvents count: Int) {
        guard self.clusterMove.isDue(afterEvents: count, of: self.plan.events) else { return }
        self.log("everything is to move to another cluster")
        self.clusterMove.attemptsLeft -= 1
        let hadFaults = self.faultsAreOn
        self.faultsAreOn = false
        self.releaseVoids { _ in true }
        self.mend()
        // The operator's instructions say that publishers pause, and that everything is read before workers end. If
        // something is still unread, the attempt fails.
        self.runUntil(deadlineMillis: 300_000) { self.isCaughtUp }
        guard self.isCaughtUp else {
            self.faultsAreOn = hadFaults
            return
        }
        self.clusterMove.hasMoved = true
        for worker in self.workers where !worker.isStopping { self.terminate(worker) }
        self.runUntil(deadlineMillis: 1_800_000) {
            for seat in self.seatBegins.indices { self.seatBegins[seat] = nil }
            return self.isDeserted
        }
        if !self.isDeserted { self.fail("workers do not end before a move") }
        self.rememberUnread()
        let distance = Int64.random(in: 1...300, using: &self.clusterMove.random)
        for partition in 0..<self.plan.partitions {
            self.kafka.rewrite(SimulatedKafka.LogID(topic: .state, partition: partition)) { record in
                guard !record.isTombstone else { return }
                var rewriter = PositionRewriter(record.value, distance: distance)
                record.value = rewriter.rewritten()
            }
        }
        // Publishers may begin before the workers.
        for _ in 0..<Int.random(in: 0...12, using: &self.clusterMove.random) {
            if !self.writesAboutAudience() { self.writeSomething() }
            self.runUntil(self.steadyMillis + Int64.random(in: 0...2_000, using: &self.clusterMove.random))
        }
        self.log("workers begin in the other cluster")
        self.rememberStruck()
        self.clusterMove.strikesUntilMillis = self.steadyMillis + 120_000
        for seat in self.seatBegins.indices where seat == 0 || Bool.random(using: &self.clusterMove.random) {
            self.seatBegins[seat] = self.steadyMillis + 1
        }
        self.faultsAreOn = hadFaults
    }

    private func runUntil(deadlineMillis: Int64, _ isDone: () -> Bool) {
        let deadline = self.steadyMillis + deadlineMillis
        while !isDone(), self.steadyMillis < deadline { self.runUntil(self.steadyMillis + 50) }
    }

    /// Whether the group has committed all offsets of the input topics.
    private var isCaughtUp: Bool {
        (0..<self.partitionCount).allSatisfy { partition in
            [SimulatedKafka.Topic.events, .routed].allSatisfy {
                let logID = SimulatedKafka.LogID(topic: $0, partition: partition)
                return (self.kafka.committed[logID] ?? 0) >= self.kafka.end(logID)
            }
        }
    }

    /// Remembers events with an unread copy in `routed`. A worker forwarded such a copy after it had lost its
    /// partition.
    private func rememberUnread() {
        for partition in 0..<self.plan.partitions {
            let routed = SimulatedKafka.LogID(topic: .routed, partition: partition)
            for offset in (self.kafka.committed[routed] ?? 0)..<self.kafka.end(routed) {
                guard let source = self.kafka.record(routed, offset).flatMap(Self.source) else { continue }
                self.clusterMove.leftUnread.insert(source)
            }
        }
    }
    /// Whether the event may have been processed in both clusters. In the new cluster its copy looks like other
    /// forwarded events, so the second outcome may be of any kind.
    func mayBeTakenInBothClusters(_ position: SourcePosition) -> Bool {
        self.clusterMove.leftUnread.contains(position)
    }

    /// Whether no worker runs, and no record or commit is on its way.
    private var isDeserted: Bool {
        self.workers.isEmpty && self.group.members.isEmpty && self.kafka.transits.isEmpty
            && self.commitsUnderWay.isEmpty
    }

    /// Perhaps lets a worker that begins after a move die during its first steps. The next owner must then know all
    /// that this worker knew.
    func strikeAfterMove(_ worker: SimulatedWorker) {
        guard self.steadyMillis < self.clusterMove.strikesUntilMillis,
            Int.random(in: 0..<3, using: &self.clusterMove.random) > 0
        else { return }
        worker.fuse = Int.random(in: 1...50, using: &self.clusterMove.random)
    }
}

/// Raises the input positions inside a record of `state`. It parses the fields up to these positions (`SlotRecord`,
/// `MemberRecord`) and copies the rest.
private struct PositionRewriter {
    private let old: [UInt8]
    private let distance: Int64
    private var next = 0
    private var new: [UInt8] = []

    init(_ value: [UInt8], distance: Int64) {
        self.old = value
        self.distance = distance
    }

    mutating func rewritten() -> [UInt8] {
        guard self.old.count > 2, self.old[0] == 1 else { return self.old }
        self.copy(2)
        switch self.old[1] {
        case 1, 4: self.rewriteSlot()
        case 3:
            self.copy(2)
            self.copyInteger()
            self.rewriteSlot()
        case 7: self.rewriteMember()
        default: break
        }
        self.copy(self.old.count - self.next)
        return self.new
    }

    private mutating func rewriteSlot() {
        self.copyInteger()
        self.copy(1)
        let isFromTwo = self.copyByte() & 32 != 0
        self.copy(Int(self.copyInteger()))
        self.copyInteger()
        if self.copyByte() != 0 { self.copyInteger() }
        for _ in 0..<3 { self.copyInteger() }
        self.raise()
        self.raise()
        self.raiseOrigin()
        if isFromTwo { self.raiseOrigin() }
    }
    /// Raises the position at which a record was first stored: topic, partition and offset.
    private mutating func raiseOrigin() {
        self.copyInteger()
        self.copyInteger()
        self.raise()
    }

    private mutating func rewriteMember() {
        self.copyInteger()
        self.copy(1)
        self.copyInteger()
        self.copy(8)
        guard self.next < self.old.count else { return }
        let marks = self.copyByte()
        if marks & 1 != 0 { self.raiseOrigin() }
        if marks & 16 != 0 { self.raiseOrigin() }
    }

    private mutating func copy(_ count: Int) {
        self.new += self.old[self.next..<self.next + count]
        self.next += count
    }
    private mutating func copyByte() -> UInt8 {
        self.copy(1)
        return self.old[self.next - 1]
    }
    /// Copies an integer in LEB128 form.
    @discardableResult private mutating func copyInteger() -> UInt64 {
        var (value, shift) = (UInt64(0), UInt64(0))
        while true {
            let byte = self.copyByte()
            value |= UInt64(byte & 0x7f) << shift
            shift += 7
            guard byte & 0x80 != 0 else { return value }
        }
    }
    /// Raises an offset in zigzag form. A negative offset stands for no position, and does not change.
    private mutating func raise() {
        let count = self.new.count
        let zigzag = self.copyInteger()
        guard zigzag & 1 == 0 else { return }
        self.new.removeLast(self.new.count - count)
        var raised = zigzag + UInt64(self.distance) << 1
        while raised >= 0x80 {
            self.new.append(UInt8(raised & 0x7f) | 0x80)
            raised >>= 7
        }
        self.new.append(UInt8(raised))
    }
}
