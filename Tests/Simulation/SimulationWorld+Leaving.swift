import PushEngine
import PushModel
import ShardLoop

/// How a worker gives a partition back or loses it. A real worker has `GroupCoordinator` for that.
extension SimulationWorld {
    /// Times for a release in a rebalance, which has enough time.
    private static var releaseTimes: ReleaseTimes {
        ReleaseTimes(leftMillis: 60_000, isStopping: false, quietWaitMillis: 500)
    }

    func revoked(_ partition: Int32, worker: SimulatedWorker) {
        guard worker.partitions[partition] != nil else {
            self.post(self.group.gaveBack(partition, worker: worker.number))
            return
        }
        self.moves += 1
        self.log("worker \(worker.number) is to give partition \(partition) back")
        worker.partitions[partition]?.isRunning = false
        worker.loop.carryOut(
            .release(number: Int(partition), [partition], times: Self.releaseTimes),
            now: self.now(of: worker))
    }

    /// Sends the last commits of partitions that the loop has released, when no other commit is on its way.
    func sendLastCommits(_ worker: SimulatedWorker) {
        guard worker.commits.isIdle else { return }
        for leaving in worker.leaving {
            let last = CommitGathering.last(
                waiting: worker.commits.take([leaving.partition]), released: leaving.positions)
            let floor = self.commitFloorMillis(worker)
            // The worker waits three seconds at most for the answer to this commit.
            let isLost = floor > self.steadyMillis + 3_000 || self.chance(5)
            self.commitsUnderWay.append(
                CommitUnderWay(
                    worker: worker.number, membership: self.group.memberships[worker.number] ?? 0,
                    positions: last, metadata: last.map { self.metadata(of: $0, worker) },
                    givesBack: [leaving.partition],
                    arrivesMillis: isLost
                        ? self.steadyMillis + 3_000
                        : max(floor, self.steadyMillis) + Int64.random(in: 1...60, using: &self.random),
                    isLost: isLost))
        }
        worker.leaving = []
    }

    /// Forgets partitions that belong to another worker from now on.
    func forget(_ partitions: [Int32], worker: SimulatedWorker) {
        for partition in partitions {
            for index in self.flights.indices
            where self.flights[index].worker == worker.number && self.flights[index].partition == partition {
                self.flights[index].partitionLives = false
                self.settleBudgetOfTheDead(self.flights[index])
            }
            for activity in self.phones.indices where self.home(of: activity) == partition {
                self.abandonBudget(activity, worker: worker.number)
                self.phones[activity].channel?.answeredWorkers.remove(worker.number)
            }
            worker.partitions[partition] = nil
            worker.inlets.letIn[partition] = nil
        }
        worker.leaving.removeAll { partitions.contains($0.partition) }
        _ = worker.commits.take(partitions)
        worker.loop.carryOut(.forget(partitions), now: self.now(of: worker))
        self.hearTraces(worker)
        self.forgetTraces(partitions, worker: worker)
        // The loop may still report a release that has begun. The partitions are already lost, so the report is read
        // here and dropped.
        self.hearNews(worker)
        worker.leaving.removeAll { partitions.contains($0.partition) }
    }
}
