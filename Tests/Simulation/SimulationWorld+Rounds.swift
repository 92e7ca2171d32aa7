import PushEngine
import PushModel

/// A pass goes round: nobody is served twice before everybody has been served once, however fast versions come.
extension SimulationWorld {
    /// A push leaves. In its turn: what left for the phone before was accepted, before the first phone of its partition got this version.
    func checkRound(_ flight: Flight, body: MemberBody, member: Int, at place: SimulatedAudience.Place) {
        let last = self.members[member].service
        let isOfStay = last?.audience == body.audience && last?.place == place
        var service = SimulatedMember.Service(
            audience: body.audience, place: place, id: flight.id, millis: self.steadyMillis,
            stampSeconds: flight.stampSeconds)
        let begun =
            self.phones[body.audience].audience?.versions[flight.stampSeconds]?.first[place] ?? self.steadyMillis
        service.isInTurn = isOfStay && last.map { self.isFree(member, since: $0, at: begun, flight) } ?? false
        self.members[member].service = service
        guard service.isInTurn, let last, last.isInTurn, self.goesRoundPlainly(body.audience) else { return }
        for other in self.members.indices where other != member && self.waitsForItsTurn(other, since: last, of: member)
        {
            self.fail(
                "member \(member) of audience \(body.audience) is served twice, and member \(other) has waited since before the first time"
            )
        }
    }

    /// Nothing kept the round of a version from the phone when it began.
    private func isFree(
        _ member: Int, since last: SimulatedMember.Service, at begun: Int64, _ flight: Flight
    ) -> Bool {
        // Out of turn it was served a moment ago.
        let isRecent = !last.isInTurn && begun <= last.millis + self.minimumDistanceMillisMax
        return last.stampSeconds < flight.stampSeconds && last.acceptedMillis ?? .max <= begun && !isRecent
            && self.stays(member, since: last.millis)
    }

    /// It was in its audience by then, and nothing has been written about that since.
    private func stays(_ member: Int, since millis: Int64) -> Bool {
        // Over its channel a phone is not served in turn.
        guard self.members[member].movements.allSatisfy({ $0.channel == nil }) else { return false }
        return self.members[member].movements.allSatisfy {
            $0.writtenMillis < millis && $0.committedMillis ?? .max < millis
        }
    }

    /// It was served in its turn, before that of the other, and nothing keeps it from being served again.
    private func waitsForItsTurn(_ member: Int, since service: SimulatedMember.Service, of other: Int) -> Bool {
        let (phone, last) = (self.members[member], self.members[member].service)
        guard let last, last.audience == service.audience, last.place == service.place, last.isInTurn,
            last.acceptedMillis ?? .max < service.millis,
            last.millis < service.millis, phone.isDevelopment == self.members[other].isDevelopment, !phone.isDead
        else { return false }
        return self.stays(member, since: last.millis) && phone.audience == service.audience
    }

    /// No version of it expires, and none came back for the sake of an alert: those end and begin rounds of their own.
    private func goesRoundPlainly(_ audience: Int) -> Bool {
        guard let versions = self.phones[audience].audience?.versions.values else { return false }
        return versions.allSatisfy { version in
            version.event.map { self.written[self.order[$0]]!.expiresSeconds == nil } ?? true
        } && self.phones[audience].audience?.hasGoneBack == false
    }

    func noteAccepted(_ flight: Flight) {
        guard let member = flight.member, self.members[member].service?.id == flight.id,
            self.members[member].service?.place.worker == flight.worker
        else { return }
        self.members[member].service?.acceptedMillis = self.steadyMillis
    }
}
