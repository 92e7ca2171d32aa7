import PushEngine
import PushModel

/// How a worker gives a partition back, or loses it.
extension SimulationWorld {
    mutating func revoked(_ partition: Int32, worker: SimulatedWorker) {
        guard let owned = worker.partitions[partition] else {
            self.post(self.group.gaveBack(partition, worker: worker.number))
            return
        }
        self.moves += 1
        self.tell("worker \(worker.number) is to give partition \(partition) back")
        if owned.hasRun {
            worker.engine.beginRelease(partition: partition, now: self.now(of: worker))
        } else {
            worker.engine.forget(partition: partition)
        }
        let quiet = self.steadyMillis + 500
        worker.partitions[partition]?.phase = .quieting
        worker.partitions[partition]?.quietUntilMillis = quiet
        worker.partitions[partition]?.endsAtMillis = quiet + 3_000
    }

    mutating func advanceReleases(_ worker: SimulatedWorker) {
        for partition in worker.partitions.keys.sorted() {
            guard let owned = worker.partitions[partition] else { continue }
            if owned.phase == .quieting,
                owned.quietUntilMillis <= self.steadyMillis || worker.engine.isQuiet(partition: partition)
            {
                worker.engine.finishRelease(partition: partition, now: self.now(of: worker))
                self.produce(worker)
                worker.partitions[partition]?.phase = .writing
            }
            guard let owned = worker.partitions[partition], owned.phase == .writing else { continue }
            let isDone = worker.engine.isReleased(partition: partition)
            guard isDone || owned.endsAtMillis <= self.steadyMillis else { continue }
            if !isDone { self.tell("worker \(worker.number) leaves partition \(partition) unfinished") }
            // What is on its way is waited for; then the last commit goes out.
            guard !worker.hasCommitUnderWay else { continue }
            self.takeCommits(worker)
            let positions = self.sorted(worker.commits.filter { $0.key.partition == partition })
            worker.commits = worker.commits.filter { $0.key.partition != partition }
            worker.partitions[partition]?.phase = .committing
            let floor = self.commitFloorMillis(worker)
            // Waited for three seconds at most.
            let isLost = floor > self.steadyMillis + 3_000 || self.chance(5)
            self.commitsUnderWay.append(
                CommitUnderWay(
                    worker: worker.number, membership: self.group.memberships[worker.number] ?? 0, positions: positions,
                    givesBack: [partition],
                    arrivesMillis: isLost
                        ? self.steadyMillis + 3_000
                        : max(floor, self.steadyMillis) + Int64.random(in: 1...60, using: &self.random),
                    isLost: isLost))
        }
    }

    /// The partition is somebody else's from here on.
    mutating func forget(_ partition: Int32, worker: SimulatedWorker) {
        for index in self.flights.indices
        where self.flights[index].worker == worker.number && self.flights[index].partition == partition {
            self.flights[index].partitionLives = false
            self.settleBudgetOfTheDead(self.flights[index])
        }
        for activity in self.phones.indices where self.home(of: activity) == partition {
            self.abandonBudget(activity, worker: worker.number)
        }
        worker.engine.forget(partition: partition)
        var forgotten = worker.retries.forgetState(partition: partition)
        worker.engine.batch.records.removeAll { record in
            guard record.topic == .state, record.partition == partition else { return false }
            forgotten.append(record.acknowledgement)
            return true
        }
        for acknowledgement in forgotten {
            worker.engine.acknowledged(acknowledgement, offset: -1, now: self.now(of: worker))
        }
        worker.repairs.removeAll { $0.partition == partition }
        worker.commits = worker.commits.filter { $0.key.partition != partition }
        worker.partitions[partition] = nil
    }
}
