import PushEngine
import PushModel
import ShardLoop

/// An audience's owner dies while it tells partitions that the audience is over. Its void reaches one of them when the
/// audience lives again. The void is about the life before, and nobody may believe it.
extension SimulationWorld {
    /// A void that is on its way until its audience lives again.
    struct LateVoid {
        var transit: SimulatedKafka.Transit
        /// The life that the void is about.
        var audience: Int
    }

    /// A record leaves for `routed`.
    /// - Returns: whether it is held up, because its worker dies over it, or because it is behind such a record.
    func strikeAtVoid(_ kept: KeptRecord, _ record: LoggedRecord, of worker: SimulatedWorker) -> Bool {
        let place = SimulatedKafka.Place(topic: .routed, partition: max(0, kept.partition))
        let isBehind = self.lateVoids.contains { $0.transit.producer == worker.number && $0.transit.place == place }
        guard isBehind || self.isStruck(record) else { return false }
        guard isBehind || self.voidStrikes < Self.audienceStrikesMax else { return false }
        guard
            let audience = self.audienceNumbers.last(where: {
                self.phones[$0].keyBytes.elementsEqual(record.key) && self.phones[$0].audience != nil
            })
        else { return false }
        if !isBehind {
            self.tell("worker \(worker.number) is to die over the void of audience \(audience)")
            worker.fuse = 1
            self.voidStrikes += 1
        }
        let transit = SimulatedKafka.Transit(
            place: place, record: record, kept: kept, producer: worker.number, arrivesMillis: 0, answersMillis: 0,
            fate: .delivered, isOrphan: true)
        self.lateVoids.append(LateVoid(transit: transit, audience: audience))
        return true
    }
    private func isStruck(_ record: LoggedRecord) -> Bool {
        self.faultsAreOn && self.plan.audiences.livesAgain
            && record.header(.kind) == RoutedKind.void.name.map { "\($0)" }
            && Int.random(in: 0..<3, using: &self.voidRandom) == 0
    }

    /// A push of an audience's life has left: voids of the life before may arrive now.
    func perhapsReleaseVoids(_ audience: Int) {
        guard self.lateVoids.contains(where: { $0.audience < audience && self.isOneAudience($0.audience, audience) }),
            Int.random(in: 0..<3, using: &self.voidRandom) == 0
        else { return }
        self.releaseVoids { $0.audience < audience && self.isOneAudience($0.audience, audience) }
    }
    func releaseVoids(_ isMeant: (LateVoid) -> Bool) {
        // Records behind the void are lost with the worker: no record arrives after so long. Nobody could tell that a
        // forwarded event, or a version, is of the life before.
        for late in self.lateVoids
        where isMeant(late) && late.transit.record.header(.kind) == RoutedKind.void.name.map({ "\($0)" }) {
            self.tell("the void of audience \(late.audience) for partition \(late.transit.place.partition) arrives")
            var transit = late.transit
            transit.arrivesMillis = self.steadyMillis + 1
            self.kafka.sendLate(transit)
        }
        self.lateVoids.removeAll { isMeant($0) }
    }
}
