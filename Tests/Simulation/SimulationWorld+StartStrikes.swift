import PushModel

/// Faults that are aimed at what `state` says of a start. Drawn blindly, a worker dies once in hundreds of runs just when its record is on its way.
extension SimulationWorld {
    /// What concerns these faults alone. They are drawn apart: a world without any is as it was.
    struct StartStrikes {
        var random: SplitMix64
        /// How many of the moments that are looked for get a fault, in a hundred.
        let percent: Int
        var count = 0

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x57A1_4B07_57A1_4B07)
            self.percent = [0, 60, 100].randomElement(using: &self.random)!
        }
    }

    /// Each takes a takeover, and a start lives for a quarter of an hour.
    private static let countMax = 6
    private static let startKey = Array("r/".utf8)

    private func strikesAtStart() -> Bool {
        // A takeover writes records about starts where nobody has ever been started, too.
        guard self.faultsAreOn, !self.starters.isEmpty, self.workerCount < 60, self.startStrikes.count < Self.countMax,
            Int.random(in: 0..<100, using: &self.startStrikes.random) < self.startStrikes.percent
        else { return false }
        self.startStrikes.count += 1
        return true
    }

    /// A start has left for a phone while a record that says how far it is was on its way to `state`. The worker dies over it, and the record may be lost.
    func strikeOverAnnouncement(_ flight: Flight, of worker: SimulatedWorker) {
        let place = SimulatedKafka.Place(topic: .state, partition: flight.partition)
        let isUnderWay = self.kafka.transits.contains {
            $0.place == place && $0.producer == worker.number && !$0.isOrphan
                && $0.record.key.starts(with: Self.startKey)
        }
        guard isUnderWay, self.strikesAtStart() else { return }
        self.tell("worker \(worker.number) is to die over a start, and what it says of it is on its way")
        worker.fuse = 1
    }

    /// What a former owner said of a start has come to lie behind what the owner says: the owner dies before it has repaired that, or just after.
    func strikeAtLateStart(_ transit: SimulatedKafka.Transit) {
        guard transit.record.key.starts(with: Self.startKey),
            let owner = self.group.owner(of: transit.place.partition), owner != transit.producer,
            let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
            worker.partitions[transit.place.partition]?.isRunning == true, self.strikesAtStart()
        else { return }
        self.tell("worker \(owner) is to die over what a former owner says of a start")
        worker.fuse = Int.random(in: 1...4, using: &self.startStrikes.random)
    }
}
