import PushEngine
import PushModel
import ShardLoop

/// Judges each call of a loop to its ports (contract: One owner). Without the lease, the loop must not write, commit or
/// push. Before it commits offsets or hands over a partition, Kafka must have acknowledged the records for them.
extension SimulationWorld {
    /// Whether the worker has a confirmed lease, so that no other worker can have its partitions.
    func hasLease(_ worker: SimulatedWorker) -> Bool {
        worker.leaseFromMillis <= self.steadyMillis && self.steadyMillis < worker.leaseEndsMillis
    }

    /// Checks that a worker has the lease when it calls a port. Calls of a dead process have no effect, and a worker
    /// without partitions can do no harm.
    func checkLease(of worker: SimulatedWorker, _ what: @autoclosure () -> String) {
        guard worker.isAlive, !worker.partitions.isEmpty, !self.hasLease(worker) else { return }
        self.fail("worker \(worker.number) \(what()) without the lease")
    }

    /// Checks a record that leaves its worker.
    func checkWritten(_ kept: KeptRecord, to logID: SimulatedKafka.LogID, by worker: SimulatedWorker) {
        self.checkLease(of: worker, "writes \(self.name(of: kept)) to \(logID.topic) \(logID.partition)")
        guard logID.topic == .state, worker.partitions[logID.partition] == nil else { return }
        self.fail(
            "worker \(worker.number) writes \(self.name(of: kept)) to state \(logID.partition), which is not its own")
    }

    private func name(of kept: KeptRecord) -> String {
        kept.topic == .state
            ? self.name(ofStateKey: kept.key ?? []) : String(decoding: kept.key ?? [], as: UTF8.self)
    }

    /// Remembers that the worker has the acknowledgement of a record.
    func rememberAcknowledged(_ delivery: SimulatedKafka.Delivery, worker: SimulatedWorker) {
        guard delivery.logID.topic == .state, let activity = self.activity(ofStateKey: delivery.record.key ?? [])
        else { return }
        let madeAt = self.evidence.madeAt(delivery.record.acknowledgement, worker: worker.number)
        self.evidence.rememberAcknowledged(activity: activity, worker: worker.number, madeAt: madeAt)
        self.rememberRecordOfAttempt(activity, madeAt: madeAt, worker: worker)
    }

    /// Checks the offsets that the loop gives to its committer.
    func checkHandedToCommit(_ positions: [CommitPosition], by worker: SimulatedWorker) {
        guard worker.isAlive else { return }
        if let first = positions.first {
            self.checkLease(of: worker, "commits partition \(first.partition) up to \(first.nextOffset)")
        }
        self.checkAcknowledged(positions, by: worker)
    }

    /// Checks a partition that the loop has released. The next owner relies on `state` and on these positions.
    func checkHandedOver(_ partition: Int32, _ positions: [CommitPosition], by worker: SimulatedWorker) {
        self.checkAcknowledged(positions, by: worker)
        // For a partition that never ran, the worker has sent only a marker, on which nothing depends.
        guard let owned = worker.partitions[partition], owned.runsSinceMillis > 0 else { return }
        let underWay = self.kafka.transits.count {
            $0.producer == worker.number && !$0.isOrphan
                && $0.logID == SimulatedKafka.LogID(topic: .state, partition: partition)
        }
        if underWay > 0 {
            self.fail(
                "worker \(worker.number) hands partition \(partition) over with \(underWay) records on their way to state"
            )
        }
    }

    private func checkAcknowledged(_ positions: [CommitPosition], by worker: SimulatedWorker) {
        for position in positions {
            // A worker that was stopped for longer than its session may release a partition that another worker has.
            // Its commits are refused, so they are not judged.
            guard self.group.owner(of: position.partition) == worker.number else { continue }
            let logID = SimulatedKafka.LogID(
                topic: position.topic == 0 ? .events : .routed, partition: position.partition)
            let committed = self.kafka.committed[logID] ?? 0
            guard committed < position.nextOffset else { continue }
            for offset in committed..<position.nextOffset {
                guard let read = self.readEvent(logID, offset),
                    let why = self.whyUnresolved(read, logID, offset, worker: worker.number, isAcknowledged: true)
                else { continue }
                self.fail(
                    "\(logID.topic) \(logID.partition)/\(offset) (\(read.event.kind) of activity \(read.event.activity)) is to be committed, but \(why)"
                )
            }
        }
    }
}
