import PushEngine
import PushModel
import ShardLoop

/// What the loop does by its ports, judged at each call (contract: One owner): it writes, commits and pushes nothing without the lease, and commits and hands
/// over nothing before Kafka has acknowledged what that depends on.
extension SimulationWorld {
    /// Whether the group has confirmed the worker's partitions, and no other worker can have them yet.
    func hasLease(_ worker: SimulatedWorker) -> Bool {
        worker.leaseFromMillis <= self.steadyMillis && self.steadyMillis < worker.leaseEndsMillis
    }

    /// The worker asks a port for something. What a dead process asks for does not happen, and who owns nothing harms nobody.
    func checkLease(of worker: SimulatedWorker, _ what: @autoclosure () -> String) {
        guard worker.isAlive, !worker.partitions.isEmpty, !self.hasLease(worker) else { return }
        self.fail("worker \(worker.number) \(what()) without the lease")
    }

    /// Checks a record that leaves its worker.
    func checkWritten(_ kept: KeptRecord, to place: SimulatedKafka.Place, by worker: SimulatedWorker) {
        self.checkLease(of: worker, "writes \(self.name(of: kept)) to \(place.topic) \(place.partition)")
        guard place.topic == .state, worker.partitions[place.partition] == nil else { return }
        self.fail(
            "worker \(worker.number) writes \(self.name(of: kept)) to state \(place.partition), which is not its own")
    }

    private func name(of kept: KeptRecord) -> String {
        kept.topic == .state
            ? self.name(ofStateKey: kept.key ?? []) : String(decoding: kept.key ?? [], as: UTF8.self)
    }

    /// Notes that the worker hears that its record is stored in Kafka.
    func noteAcknowledged(_ delivery: SimulatedKafka.Delivery, worker: SimulatedWorker) {
        guard delivery.place.topic == .state, let activity = self.activity(ofStateKey: delivery.record.key ?? [])
        else { return }
        let madeAt = self.evidence.madeAt(delivery.record.acknowledgement, worker: worker.number)
        self.evidence.noteAcknowledged(activity: activity, worker: worker.number, madeAt: madeAt)
        self.noteRecordOfAttempt(activity, madeAt: madeAt, worker: worker)
    }

    /// The loop hands offsets to its committer.
    func checkHandedToCommit(_ positions: [CommitPosition], by worker: SimulatedWorker) {
        guard worker.isAlive else { return }
        if let first = positions.first {
            self.checkLease(of: worker, "commits partition \(first.partition) up to \(first.nextOffset)")
        }
        self.checkAcknowledged(positions, by: worker)
    }

    /// The loop has let go of a partition: its next owner relies on all that was not said to be unfinished.
    func checkHandedOver(_ partition: Int32, _ positions: [CommitPosition], by worker: SimulatedWorker) {
        self.checkAcknowledged(positions, by: worker)
        // One that never ran has sent its marker and nothing that anybody relies on.
        guard let owned = worker.partitions[partition], owned.runsSinceMillis > 0 else { return }
        let underWay = self.kafka.transits.count {
            $0.producer == worker.number && !$0.isOrphan
                && $0.place == SimulatedKafka.Place(topic: .state, partition: partition)
        }
        if underWay > 0 {
            self.fail(
                "worker \(worker.number) hands partition \(partition) over with \(underWay) records on their way to state"
            )
        }
    }

    private func checkAcknowledged(_ positions: [CommitPosition], by worker: SimulatedWorker) {
        for position in positions {
            // One that slept past its session hands over what is another's: its commits are refused, and who read it last is another.
            guard self.group.owner(of: position.partition) == worker.number else { continue }
            let place = SimulatedKafka.Place(
                topic: position.topic == 0 ? .events : .routed, partition: position.partition)
            let committed = self.kafka.committed[place] ?? 0
            guard committed < position.nextOffset else { continue }
            for offset in committed..<position.nextOffset {
                guard let read = self.readEvent(place, offset),
                    let why = self.whyUnresolved(read, place, offset, worker: worker.number, isAcknowledged: true)
                else { continue }
                self.fail(
                    "\(place.topic) \(place.partition)/\(offset) (\(read.event.kind) of activity \(read.event.activity)) is to be committed, but \(why)"
                )
            }
        }
    }
}
