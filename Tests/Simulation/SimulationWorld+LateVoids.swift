import PushEngine
import PushModel
import ShardLoop

/// Voids that arrive late. An audience's owner dies while it sends the void of an ended audience to partitions. One
/// partition gets the void only when the audience lives again. The void is about the earlier life, so it must not
/// remove members of the new one.
extension SimulationWorld {
    /// A record that is held up until its audience lives again. It is a void, or another record about an audience that
    /// the void's worker sent to the same partition later.
    struct LateVoid {
        var transit: SimulatedKafka.Transit
        /// The life of the audience that the record is about.
        var audience: Int
    }

    /// Perhaps holds up a void that leaves for `routed`, and lets its worker die. The worker's later records about
    /// audiences for the same partition are held up too.
    /// - Returns: whether the record is held up.
    func strikeAtVoid(_ kept: KeptRecord, _ record: LoggedRecord, of worker: SimulatedWorker) -> Bool {
        let logID = SimulatedKafka.LogID(topic: .routed, partition: max(0, kept.partition))
        let isBehind = self.lateVoids.contains { $0.transit.producer == worker.number && $0.transit.logID == logID }
        guard isBehind || self.isStruck(record) else { return false }
        guard isBehind || self.voidStrikes < Self.audienceStrikesMax else { return false }
        guard
            let audience = self.audienceNumbers.last(where: {
                self.phones[$0].keyBytes.elementsEqual(record.key) && self.phones[$0].audience != nil
            })
        else { return false }
        if !isBehind {
            self.log("worker \(worker.number) is to die over the void of audience \(audience)")
            worker.fuse = 1
            self.voidStrikes += 1
        }
        let transit = SimulatedKafka.Transit(
            logID: logID, record: record, kept: kept, producer: worker.number, arrivesMillis: 0, answersMillis: 0,
            fate: .delivered, isOrphan: true)
        self.lateVoids.append(LateVoid(transit: transit, audience: audience))
        return true
    }
    private func isStruck(_ record: LoggedRecord) -> Bool {
        self.faultsAreOn && self.plan.audiences.livesAgain
            && record.header(.kind) == RoutedKind.void.name.map { "\($0)" }
            && Int.random(in: 0..<3, using: &self.voidRandom) == 0
    }

    /// Perhaps lets voids of an audience's earlier lives arrive. It is called when a push of the audience's present
    /// life leaves.
    func perhapsReleaseVoids(_ audience: Int) {
        guard self.lateVoids.contains(where: { $0.audience < audience && self.isOneAudience($0.audience, audience) }),
            Int.random(in: 0..<3, using: &self.voidRandom) == 0
        else { return }
        self.releaseVoids { $0.audience < audience && self.isOneAudience($0.audience, audience) }
    }
    func releaseVoids(_ isMeant: (LateVoid) -> Bool) {
        // Only voids arrive. The other records are lost with their worker, because no real record arrives so late. If a
        // forwarded event or a version did, a worker could not tell that it belongs to an earlier life.
        for late in self.lateVoids
        where isMeant(late) && late.transit.record.header(.kind) == RoutedKind.void.name.map({ "\($0)" }) {
            self.log("the void of audience \(late.audience) for partition \(late.transit.logID.partition) arrives")
            var transit = late.transit
            transit.arrivesMillis = self.steadyMillis + 1
            self.kafka.sendLate(transit)
        }
        self.lateVoids.removeAll { isMeant($0) }
    }
}
