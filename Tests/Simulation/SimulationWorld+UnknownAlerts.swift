import APNSProtocol
import PushModel

/// Judges the setting `alert.on-unknown: drop`. With it, an alert is not sent again if it may already have arrived.
extension SimulationWorld {
    private func dropsUnknownAlerts(_ audience: Int) -> Bool {
        self.plan.audiences.dropsUnknownAlerts && self.phones[audience].audience?.app == 1
    }

    /// Perhaps loses the answer to a push with an alert. The push itself arrives on time, arrives late, or gets lost.
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

    /// Remembers that the worker treats the push as one whose answer will stay unknown.
    func rememberUnknownAlert(_ flight: Flight, member: Int) {
        guard let alert = flight.alert, let pushes = self.members[member].cards[flight.activity]?.alerts[alert],
            let index = pushes.lastIndex(where: { $0.id == flight.id && $0.worker == flight.worker })
        else { return }
        self.members[member].cards[flight.activity]?.alerts[alert]?[index].isUnknown = true
    }

    /// Judges that a worker does not repeat an alert if it knows that the alert may have arrived. The next owner may
    /// not know of the first push. The alert of an event that was written twice may sound twice.
    func checkUnknownAlert(_ alert: Int, member: Int, audience: Int, worker: Int) {
        guard self.dropsUnknownAlerts(audience), !self.written[self.order[alert]]!.hasCopy,
            let pushes = self.members[member].cards[audience]?.alerts[alert],
            pushes.contains(where: { $0.isUnknown && $0.worker == worker && $0.moves == self.moves })
        else { return }
        self.fail("member \(member): the alert of event \(alert) once more, though nobody knows whether it came")
    }

    /// Whether the app has `alert.on-unknown: drop`, and the alert has already left for the phone. The phone may then
    /// never show the alert.
    func mayBeDropped(_ alert: Int, _ card: MemberCard, audience: Int) -> Bool {
        self.dropsUnknownAlerts(audience) && !(card.alerts[alert] ?? []).isEmpty
    }
}
