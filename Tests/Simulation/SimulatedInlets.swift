import PushEngine
import ShardLoop

/// State of a worker's inlets, which are partitions that were added to `events` during the run. `InletGate` is the
/// production code. In a real worker, the adapter `InletWatch` asks Kafka for offsets.
struct SimulatedInlets {
    var gate = InletGate()
    /// Inlets that the worker had when its latest look began.
    var known: Set<Int32> = []
    /// Offset below which an inlet's records were let in since the inlet was assigned, by inlet.
    var letIn: [Int32: Int64] = [:]
    /// When the worker begins its next look, or asks for the next log ends.
    var dueMillis: Int64 = 0
    /// Offsets that the group had committed when the latest look began, by partition.
    var committed: [Int64] = []
    /// Partitions whose log end the worker has not asked for in the latest look.
    var unasked: [Int32] = []
    var sights: [InletGate.Sight] = []
}

/// A worker's questions about its inlets and all partitions with lower numbers. The worker first asks for committed
/// offsets, then for the end of each log. Other things happen in between.
extension SimulationWorld {
    private static let inletLookMillis: Int64 = 500

    private func inlets(of worker: SimulatedWorker) -> Set<Int32> { Set(worker.partitions.keys.filter(self.isInlet)) }

    /// When the worker next looks at its inlets. `nil`: they have no records that must be let in.
    func inletLookDueMillis(_ worker: SimulatedWorker) -> Int64? {
        guard self.growth.hasGrown else { return nil }
        let hasMore = self.inlets(of: worker).contains {
            let logID = SimulatedKafka.LogID(topic: .events, partition: $0)
            return max(worker.inlets.letIn[$0] ?? 0, self.kafka.committed[logID] ?? 0) < self.kafka.end(logID)
        }
        guard hasMore || !worker.inlets.unasked.isEmpty else { return nil }
        return max(worker.inlets.dueMillis, self.commitFloorMillis(worker))
    }

    func lookAtInlets(_ worker: SimulatedWorker) {
        guard let due = self.inletLookDueMillis(worker), due <= self.steadyMillis else { return }
        if worker.inlets.unasked.isEmpty { self.beginLook(worker) }
        let count = Int.random(in: 1...worker.inlets.unasked.count, using: &self.growth.random)
        for partition in worker.inlets.unasked.suffix(count) {
            worker.inlets.sights.append(
                InletGate.Sight(
                    topic: 0, partition: partition, committedOffset: worker.inlets.committed[Int(partition)],
                    endOffset: self.kafka.end(.init(topic: .events, partition: partition))))
        }
        worker.inlets.unasked.removeLast(count)
        guard worker.inlets.unasked.isEmpty else {
            worker.inlets.dueMillis = self.steadyMillis + Int64.random(in: 1...200, using: &self.growth.random)
            return
        }
        let opened = worker.inlets.gate.saw(worker.inlets.sights, inlets: worker.inlets.known)
        let waits = !worker.inlets.gate.holdingUp(worker.inlets.sights).isEmpty
        worker.inlets.sights = []
        worker.inlets.dueMillis = self.steadyMillis + Self.inletLookMillis
        if waits { self.strikeAtWait() }
        guard !opened.isEmpty else { return }
        for position in opened where worker.partitions[position.partition] != nil {
            self.log("worker \(worker.number) lets inlet \(position.partition) in up to \(position.nextOffset)")
            worker.inlets.letIn[position.partition] = position.nextOffset
        }
        worker.loop.carryOut(.letIn(opened), now: self.now(of: worker))
    }

    private func beginLook(_ worker: SimulatedWorker) {
        let inlets = self.inlets(of: worker)
        worker.inlets.gate.forget(Array(worker.inlets.known.subtracting(inlets)))
        worker.inlets.known = inlets
        let all = Array(0...(inlets.max() ?? 0))
        worker.inlets.committed = all.map { self.kafka.committed[.init(topic: .events, partition: $0)] ?? 0 }
        worker.inlets.unasked = all.shuffled(using: &self.growth.random)
    }
}
