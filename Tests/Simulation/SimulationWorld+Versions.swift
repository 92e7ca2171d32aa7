import DeviceModel
import PushEngine
import PushModel
import ShardLoop

/// Versions of audiences that the judge derives from the pushes that leave. The judge does not ask the engines, and
/// does not read their records.
extension SimulationWorld {
    /// Checks that all phones get the same content under one stamp, and that a partition does not go back to an earlier
    /// version.
    func checkVersion(_ body: MemberBody, in tenure: SimulatedAudience.Tenure) {
        let stamp = body.content.stampSeconds
        guard let audience = self.phones[body.audience].audience else { return }
        if let version = audience.versions[stamp] {
            if version.body != body.silent {
                self.fail(
                    "audience \(body.audience): stamp \(stamp) has both \(String(decoding: version.body.prefix(200), as: UTF8.self)) and "
                        + String(decoding: body.silent.prefix(200), as: UTF8.self))
            }
        } else {
            let version = SimulatedAudience.Version(
                body: body.silent, event: body.event, content: body.contentEvent,
                isUpdate: body.content.event == .update,
                isBehind: self.isOwnerBehind(body.audience))
            self.phones[body.audience].audience?.versions[stamp] = version
        }
        for (newer, version) in audience.versions where newer > stamp {
            guard let first = version.first[tenure] else { continue }
            // An older version may leave after a newer one in two cases: the newer one expired before all members were
            // served, or the alert does not fit beside the newer content.
            let expires = version.event.flatMap { self.written[self.order[$0]]!.expiresSeconds }
            if expires.map({ self.hasExpired($0, sinceMillis: first) }) ?? false || self.mayGoAlone(body, past: newer) {
                self.phones[body.audience].audience?.hasGoneBack = true
                continue
            }
            self.fail("audience \(body.audience): version \(stamp) leaves partition \(tenure.partition) after \(newer)")
        }
    }

    /// Whether an alert may be sent alone after the version with this stamp. It may if the alert does not fit beside
    /// that version or a later one. The partition may know a later version that has not left yet, so all later events
    /// count.
    private func mayGoAlone(_ body: MemberBody, past stamp: Int64) -> Bool {
        guard body.alertByteCount > 0, let audience = self.phones[body.audience].audience else { return false }
        let roomByteCount = PayloadWriter.payloadByteCountMax - body.alertByteCount
        if audience.versions.contains(where: { $0.key >= stamp && $0.value.body.count > roomByteCount }) { return true }
        guard let event = audience.versions[stamp]?.event else { return false }
        return self.order[event...].contains {
            self.written[$0]!.activity == body.audience && self.written[$0]!.isContent
                && self.written[$0]!.body.utf8.count > roomByteCount
        }
    }

    /// Whether a worker's clock may have shown the event as expired at some time since the worker learnt of the event.
    /// It stays expired for the worker, even if clocks are set back later.
    /// - Parameter millis: when the worker had certainly learnt of the event, by the steady clock.
    private func hasExpired(_ expiresSeconds: Int64, sinceMillis millis: Int64) -> Bool {
        let walls = self.wallsBeforeSteps.filter { $0.steadyMillis >= millis }.map(\.wallSeconds) + [self.wallSeconds]
        return walls.contains { expiresSeconds <= $0 + self.clockSlackSeconds }
    }

    /// Greatest error of a worker's wall clock, in seconds, rounded up.
    var clockSlackSeconds: Int64 {
        (self.plan.clockSkewMillisMax + self.differenceMillis) / 1_000 + 1
    }

    /// Whether the audience's owner may push now, although it has not read everything that was in its logs at
    /// assignment. An owner waits for that only for a limited time. Without an owner the result is `true`, too.
    func isOwnerBehind(_ audience: Int) -> Bool {
        let partition = self.home(of: audience)
        guard let owner = self.group.owner(of: partition),
            let worker = self.workers.first(where: { $0.number == owner }), let owned = worker.partitions[partition]
        else { return true }
        let hasWaited =
            owned.hasHadNoRoom || self.steadyMillis >= owned.runsSinceMillis + worker.catchUpMaxMillis
        return hasWaited && zip(owned.positions, owned.logEnds).contains { $0 < $1 }
    }

    /// Checks that the event of a version is not sent after it has expired.
    func checkExpiry(_ body: MemberBody, worker: SimulatedWorker) {
        guard let event = body.event, let expires = self.written[self.order[event]]!.expiresSeconds,
            expires < self.now(of: worker).wallSeconds
        else { return }
        self.fail("audience \(body.audience): event \(event) is sent after it has expired")
    }

    // MARK: Alerts

    /// Checks that an alert sounds once on each phone. It must not sound for members that joined after it, or after it
    /// was withdrawn.
    func checkMemberAlert(
        _ flight: Flight, body: MemberBody, stays: [Int], in tenure: SimulatedAudience.Tenure
    ) {
        guard let member = flight.member, let alert = flight.alert,
            let audience = self.phones[body.audience].audience
        else { return }
        let movements = self.members[member].movements
        if let stay = stays.min(), let first = audience.alertDepartures[alert]?[flight.partition],
            movements[stay].writtenMillis > first, !self.written[self.order[alert]]!.hasCopy,
            !self.wasLeftToChannel(alert, besides: body, movements[stay...])
        {
            self.fail("member \(member): came after the alert of event \(alert), and gets it")
        }
        if let push = self.members[member].cards[body.audience]?.alerts[alert]?.last, push.isAccepted,
            push.moves == self.moves, !self.written[self.order[alert]]!.hasCopy
        {
            self.fail("member \(member): the alert of event \(alert) a second time")
        }
        self.checkUnknownAlert(alert, member: member, audience: body.audience, worker: flight.worker)
        self.checkNotWithdrawn(alert, body: body, in: tenure)
    }

    /// Whether a later version rightly brings the alert to a member that is reported to listen on a channel. The owner
    /// had left the alert to the channel. If the channel may not have brought it, a version that is pushed to tokens
    /// does (Audiences, "A channel for an audience").
    private func wasLeftToChannel(
        _ alert: Int, besides body: MemberBody, _ movements: ArraySlice<SimulatedMember.Movement>
    ) -> Bool {
        self.plan.kept.isOn && body.contentEvent != alert && movements.contains { $0.channel != nil }
    }

    /// Checks that the partition has not already sent a version whose event withdraws this alert.
    private func checkNotWithdrawn(_ alert: Int, body: MemberBody, in tenure: SimulatedAudience.Tenure) {
        guard let audience = self.phones[body.audience].audience else { return }
        let brought = self.written[self.order[alert]]!
        for version in audience.versions.values where version.first[tenure] != nil {
            guard let content = version.content, self.written[self.order[content]]!.withdrawsAlert,
                self.withdraws(self.order[content], brought)
            else { continue }
            self.fail(
                "audience \(body.audience): the alert of event \(alert) leaves partition \(tenure.partition), which has sent event \(content) that withdraws it"
            )
        }
    }

    func rememberMemberDeparture(_ flight: Flight, body: MemberBody, in tenure: SimulatedAudience.Tenure) {
        guard let member = flight.member else { return }
        let stamp = body.content.stampSeconds
        let now = self.steadyMillis
        self.phones[body.audience].audience?.departures[flight.partition, default: []].append(now)
        if self.phones[body.audience].audience?.versions[stamp]?.first[tenure] == nil {
            self.phones[body.audience].audience?.versions[stamp]?.first[tenure] = now
        }
        guard let alert = flight.alert else { return }
        if self.phones[body.audience].audience?.alertDepartures[alert]?[flight.partition] == nil {
            self.phones[body.audience].audience?.alertDepartures[alert, default: [:]][flight.partition] = now
        }
        self.members[member].cards[body.audience, default: MemberCard()].alerts[alert, default: []].append(
            MemberCard.AlertPush(worker: flight.worker, id: flight.id, moves: self.moves))
    }
}
