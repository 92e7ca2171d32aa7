import PushEngine
import PushModel

/// Judges the rounds of passes. No member may be served twice before every member has been served once, even if
/// versions follow each other fast.
extension SimulationWorld {
    /// Checks a push that leaves for a member. The push counts as part of a round if the member's former push was
    /// accepted before the round began. The round begins with the version's first push in this partition.
    func checkRound(_ flight: Flight, body: MemberBody, member: Int, in tenure: SimulatedAudience.Tenure) {
        let last = self.members[member].service
        let isOfStay = last?.audience == body.audience && last?.tenure == tenure
        var service = SimulatedMember.Service(
            audience: body.audience, tenure: tenure, id: flight.id, millis: self.steadyMillis,
            stampSeconds: flight.stampSeconds)
        let begun =
            self.phones[body.audience].audience?.versions[flight.stampSeconds]?.first[tenure] ?? self.steadyMillis
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

    /// Whether the member could be served when the version's round began.
    private func isFree(
        _ member: Int, since last: SimulatedMember.Service, at begun: Int64, _ flight: Flight
    ) -> Bool {
        // A member that was just served outside a round cannot be served yet.
        let isRecent = !last.isInTurn && begun <= last.millis + self.minimumDistanceMillisMax
        return last.stampSeconds < flight.stampSeconds && last.acceptedMillis ?? .max <= begun && !isRecent
            && self.stays(member, since: last.millis)
    }

    /// Whether the member's last join was committed before that time, and it has no later join or leave.
    private func stays(_ member: Int, since millis: Int64) -> Bool {
        // A phone that is served over its channel is not served in a round.
        guard self.members[member].movements.allSatisfy({ $0.channel == nil }) else { return false }
        return self.members[member].movements.allSatisfy {
            $0.writtenMillis < millis && $0.committedMillis ?? .max < millis
        }
    }

    /// Whether `member` was served in a round before `other` was, and still waits to be served again, although nothing
    /// prevents that.
    private func waitsForItsTurn(_ member: Int, since service: SimulatedMember.Service, of other: Int) -> Bool {
        let (phone, last) = (self.members[member], self.members[member].service)
        guard let last, last.audience == service.audience, last.tenure == service.tenure, last.isInTurn,
            last.acceptedMillis ?? .max < service.millis,
            last.millis < service.millis, phone.isDevelopment == self.members[other].isDevelopment, !phone.isDead
        else { return false }
        return self.stays(member, since: last.millis) && phone.audience == service.audience
    }

    /// Whether no version of the audience expires, and none was sent again for its alert. Such versions change the
    /// order of rounds.
    private func goesRoundPlainly(_ audience: Int) -> Bool {
        guard let versions = self.phones[audience].audience?.versions.values else { return false }
        return versions.allSatisfy { version in
            version.event.map { self.written[self.order[$0]]!.expiresSeconds == nil } ?? true
        } && self.phones[audience].audience?.hasGoneBack == false
    }

    func rememberAccepted(_ flight: Flight) {
        guard let member = flight.member, self.members[member].service?.id == flight.id,
            self.members[member].service?.tenure.worker == flight.worker
        else { return }
        self.members[member].service?.acceptedMillis = self.steadyMillis
    }
}
