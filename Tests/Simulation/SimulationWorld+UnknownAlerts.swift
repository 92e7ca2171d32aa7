import APNSProtocol
import PushModel

/// `alert.on-unknown: drop`: an alert does not sound once more where nobody knows whether it came.
extension SimulationWorld {
    private func dropsUnknownAlerts(_ audience: Int) -> Bool {
        self.plan.audiences.dropsUnknownAlerts && self.phones[audience].audience?.app == 1
    }

    /// An answer to a push with an alert may be lost besides: such a push comes late, or never, or as if nothing had happened.
    func perhapsLoseAnswer(_ flight: inout Flight) {
        guard case .accepted = flight.result, flight.alert != nil, self.faultsAreOn,
            self.dropsUnknownAlerts(flight.activity),
            Int.random(in: 0..<100, using: &self.lostAlertRandom) < self.plan.audiences.lostAlertPercent
        else { return }
        flight.result = .unknown(detail: "connection lost")
        switch Int.random(in: 0..<3, using: &self.lostAlertRandom) {
        case 0: flight.isApplied = true  // It never arrived.
        case 1: break
        default: flight.arrivesMillis = flight.answersMillis + Int64.random(in: 1...4_000, using: &self.lostAlertRandom)
        }
    }

    /// The worker hears that nobody knows whether the push came.
    func noteUnknownAlert(_ flight: Flight, member: Int) {
        guard let alert = flight.alert, let pushes = self.members[member].cards[flight.activity]?.alerts[alert],
            let index = pushes.lastIndex(where: { $0.id == flight.id && $0.worker == flight.worker })
        else { return }
        self.members[member].cards[flight.activity]?.alerts[alert]?[index].isUnknown = true
    }

    /// The next owner may not know of the push. Of one event written twice the alert comes twice.
    func checkUnknownAlert(_ alert: Int, member: Int, audience: Int, worker: Int) {
        guard self.dropsUnknownAlerts(audience), !self.written[self.order[alert]]!.hasCopy,
            let pushes = self.members[member].cards[audience]?.alerts[alert],
            pushes.contains(where: { $0.isUnknown && $0.worker == worker && $0.moves == self.moves })
        else { return }
        self.fail("member \(member): the alert of event \(alert) once more, though nobody knows whether it came")
    }

    /// It has left for the phone, and was not to leave again.
    func mayBeDropped(_ alert: Int, _ card: MemberCard, audience: Int) -> Bool {
        self.dropsUnknownAlerts(audience) && !(card.alerts[alert] ?? []).isEmpty
    }
}
