import PushModel

/// Deaths of workers while a record about a start is on its way to `state`. At random times, a worker would die at such
/// a moment only once in hundreds of runs.
extension SimulationWorld {
    /// Plan and state of the deaths that are aimed at starts. They have a separate generator, so that worlds without
    /// them do not change.
    struct StartStrikes {
        var random: SplitMix64
        /// Percentage of suitable moments at which a worker dies.
        let percent: Int
        var count = 0

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x57A1_4B07_57A1_4B07)
            self.percent = [0, 60, 100].randomElement(using: &self.random)!
        }
    }

    /// Maximum number of deaths that are aimed at starts in one world. Each takes the time of a takeover, and a start
    /// is valid for only a quarter of an hour.
    private static let countMax = 6
    private static let startKey = Array("r/".utf8)

    private func strikesAtStart() -> Bool {
        // A takeover writes records about starts even in worlds without start members.
        guard self.faultsAreOn, !self.starters.isEmpty, self.workerCount < 60, self.startStrikes.count < Self.countMax,
            Int.random(in: 0..<100, using: &self.startStrikes.random) < self.startStrikes.percent
        else { return false }
        self.startStrikes.count += 1
        return true
    }

    /// Perhaps lets a worker die when it sends a start while a record of the worker's progress with starts is on its
    /// way to `state`. The record may be lost.
    func strikeOverAnnouncement(_ flight: Flight, of worker: SimulatedWorker) {
        let logID = SimulatedKafka.LogID(topic: .state, partition: flight.partition)
        let isUnderWay = self.kafka.transits.contains {
            $0.logID == logID && $0.producer == worker.number && !$0.isOrphan
                && $0.record.key.starts(with: Self.startKey)
        }
        guard isUnderWay, self.strikesAtStart() else { return }
        self.log("worker \(worker.number) is to die over a start, and what it says of it is on its way")
        worker.fuse = 1
    }

    /// Perhaps lets an owner die when a former owner's record about a start is stored behind its own. The owner dies
    /// before it has written its own record again, or just after.
    func strikeAtLateStart(_ transit: SimulatedKafka.Transit) {
        guard transit.record.key.starts(with: Self.startKey),
            let owner = self.group.owner(of: transit.logID.partition), owner != transit.producer,
            let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
            worker.partitions[transit.logID.partition]?.isRunning == true, self.strikesAtStart()
        else { return }
        self.log("worker \(owner) is to die over what a former owner says of a start")
        worker.fuse = Int.random(in: 1...4, using: &self.startStrikes.random)
    }
}
