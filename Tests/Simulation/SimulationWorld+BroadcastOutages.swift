import APNSProtocol
import DeviceModel
import PushEngine
import PushModel

/// Outages in which APNs takes pushes to tokens, but no broadcasts. In an outage that is longer than
/// `channel.fallback`, listeners that have a token get pushes to it.
extension SimulationWorld {
    /// Perhaps lets APNs refuse broadcasts for a while.
    func perhapsRefuseBroadcasts() {
        guard self.plan.kept.isOn, self.faultsAreOn, self.outageRandomChance(self.plan.kept.outagePercent) else {
            return
        }
        let millis = Int64.random(in: 5_000...180_000, using: &self.outageRandom)
        self.log("APNs takes no broadcasts for \(millis) ms")
        self.broadcastsRefusedUntilMillis = max(self.broadcastsRefusedUntilMillis, self.steadyMillis + millis)
    }
    func outageRandomChance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.outageRandom) < percent
    }

    /// Refuses a request that leaves, if it is a broadcast and APNs takes none now.
    /// - Returns: whether it was refused.
    func refusesBroadcast(_ request: inout KeptRequest) -> Bool {
        guard request.kind == .broadcast, self.steadyMillis < self.broadcastsRefusedUntilMillis else { return false }
        request.result = .response(PushResponse(status: 503, reason: "ServiceUnavailable"))
        request.isOver = true
        return true
    }

    // MARK: When everything is quiet

    /// Plays an outage of broadcasts with an alert and then an update. The outage is so long that workers push the
    /// alert to tokens. Each phone must show the alert once, and a phone without a token must get the update after the
    /// outage.
    func probeOutage() {
        var probes: [Int: (alert: Int, update: Int)] = [:]
        let refusedMillis = self.plan.app.channelFallbackMillis + 30_000
        self.broadcastsRefusedUntilMillis = self.steadyMillis + refusedMillis + 20_000
        let from = self.steadyMillis
        let listeners = self.onlyListeners.keys.filter { self.livesOn($0) && self.onlyListeners[$0]?.known != nil }
        let audiences = Set(listeners.compactMap { self.onlyListeners[$0]?.audience })
        for audience in audiences.sorted() where !self.isEnded(audience) {
            probes[audience] = (self.order.count, 0)
            self.writeOutageProbe(audience, hasAlert: true)
        }
        self.runUntil(self.steadyMillis + refusedMillis)
        for audience in probes.keys.sorted() {
            probes[audience]?.update = self.order.count
            self.writeOutageProbe(audience, hasAlert: false)
        }
        self.runUntil(self.steadyMillis + 10 * 60_000)
        for (audience, events) in probes.sorted(by: { $0.key < $1.key }) {
            self.judgeOutage(audience, alert: events.alert, update: events.update, from: from)
        }
        self.judgeOnlyListeners("after an outage")
    }

    private func isEnded(_ audience: Int) -> Bool { !(self.phones[audience].audience?.ends.isEmpty ?? true) }

    private func writeOutageProbe(_ audience: Int, hasAlert: Bool) {
        let number = self.order.count
        let timestamp = max(self.wallSeconds, self.phones[audience].lastEventSeconds + 1)
        self.phones[audience].lastEventSeconds = timestamp
        let content =
            "\"content-state\":{\"n\":\(number)}"
            + (hasAlert ? ",\"alert\":{\"title\":\"t\",\"body\":\"\(number)\"}" : "")
        self.writeAboutAudience(
            audience, kind: .update, timestamp: timestamp,
            body: "{\"aps\":{\"event\":\"update\",\"timestamp\":STAMP,\(content)}}",
            value: "{\"event\":\"update\",\"timestamp\":\(timestamp),\"priority\":\(hasAlert ? 10 : 5),\(content)}",
            expires: nil)
        self.log("a probe of audience \(audience) while APNs takes no broadcasts: event \(number)")
    }

    private func judgeOutage(_ audience: Int, alert: Int, update: Int, from millis: Int64) {
        guard let versions = self.phones[audience].audience?.versions,
            let stamp = versions.first(where: { $0.value.event == update })?.key, versions.keys.max() == stamp
        else { return }
        for (channel, listener) in self.onlyListeners.sorted(by: { $0.key < $1.key })
        where listener.audience == audience && self.livesOn(channel) && listener.known != nil {
            let count = listener.alertsShown.count { $0 == alert }
            if count != 1 {
                self.fail(
                    "the phone that only listens on \(channel) shows the alert of event \(alert) \(count) times, which fell back to tokens"
                )
            }
        }
        for member in self.members.indices {
            let phone = self.members[member]
            guard phone.audience == audience, !phone.isDead, let movement = phone.movement,
                movement.writtenMillis < millis, phone.listening[audience] == movement.channel
            else { continue }
            let shown = phone.cards[audience]?.alertsShown.count { $0 == alert } ?? 0
            if shown != 1 {
                self.fail(
                    "member \(member) of audience \(audience), which listens on \(phone.listening[audience] ?? "no channel"), shows the alert of event \(alert) \(shown) times"
                )
            }
        }
    }
}
