import PushEngine
import PushModel

/// Judges, when everything is quiet, that each phone gets a version exactly once: over its channel or by its token.
extension SimulationWorld {
    /// Time after which no fault has any effect. Workers wait 15 minutes at most after refusals.
    private static let quietMillis: Int64 = 40 * 60_000

    func probeWays() {
        guard self.plan.kept.isOn else { return }
        self.wakeKeptSleepers()
        self.freeChannelsOfOthers()
        self.runUntil(self.steadyMillis + Self.quietMillis)
        self.judgeOnlyListeners("all is quiet")
        var probes: [Int: Int] = [:]
        let from = self.steadyMillis
        for audience in self.presentAudiences where self.phones[audience].hasEvents && !self.isOver(audience) {
            probes[audience] = self.order.count
            self.comers[audience] = self.comer(of: audience)
            self.writeProbe(audience)
        }
        let comers = self.comers
        self.runUntil(self.steadyMillis + 15 * 60_000)
        for (audience, event) in probes.sorted(by: { $0.key < $1.key }) {
            self.judgeWays(audience, event: event, from: from)
            if let comer = comers[audience] { self.judgeComer(comer, of: audience, event: event) }
        }
        self.probeOutage()
    }

    /// Chooses a phone that will begin to listen just after the probe's broadcast. The owner of its partition reads
    /// nothing there for a while, and then reads the join before the version.
    private func comer(of audience: Int) -> Int? {
        let home = self.home(of: audience)
        let deaf = self.members.indices.filter { member in
            self.members[member].audience == audience && !self.members[member].isDead
                && self.members[member].listening[audience] == nil && self.home(ofMember: member) != home
                && self.channel(of: audience, isDevelopment: self.members[member].isDevelopment) != nil
        }
        guard let member = deaf.randomElement(using: &self.keptRandom) else { return nil }
        for worker in self.workers where worker.isAlive {
            worker.partitions[self.home(ofMember: member)]?.readsFromMillis = self.steadyMillis + Self.comerMillis
        }
        return member
    }
    /// Time for which nothing is read in the chosen phone's partition. A version and its broadcast take less time when
    /// everything is quiet.
    private static let comerMillis: Int64 = 8_000

    /// Lets the phone that `comers` holds for the audience begin to listen on `channel`, just after a broadcast there.
    /// Does nothing if the phone's APNs environment has another channel.
    func listenAsComer(_ channel: String, audience: Int) {
        guard let member = self.comers[audience],
            self.channel(of: audience, isDevelopment: self.members[member].isDevelopment) == channel
        else { return }
        self.comers[audience] = nil
        self.beginListening(member, to: channel, audience: audience)
    }

    private func judgeComer(_ member: Int, of audience: Int, event: Int) {
        guard let versions = self.phones[audience].audience?.versions, self.comers[audience] == nil,
            let stamp = versions.first(where: { $0.value.event == event })?.key, versions.keys.max() == stamp,
            !self.members[member].isDead, self.members[member].audience == audience
        else { return }
        let version = VersionName(audience: audience, stampSeconds: stamp)
        guard self.members[member].got[version] == nil, self.members[member].heard[version] == nil else { return }
        self.fail(
            "member \(member) of audience \(audience) began to listen after the broadcast of event \(event), and got it neither way"
        )
    }

    private func isOver(_ audience: Int) -> Bool { !(self.phones[audience].audience?.ends.isEmpty ?? true) }

    private func writeProbe(_ audience: Int) {
        let number = self.order.count
        let timestamp = max(self.wallSeconds, self.phones[audience].lastEventSeconds + 1)
        self.phones[audience].lastEventSeconds = timestamp
        let content = "\"content-state\":{\"n\":\(number)}"
        self.writeAboutAudience(
            audience, kind: .update, timestamp: timestamp,
            body: "{\"aps\":{\"event\":\"update\",\"timestamp\":STAMP,\(content)}}",
            value: "{\"event\":\"update\",\"timestamp\":\(timestamp),\"priority\":5,\(content)}", expires: nil)
        self.log("a probe of audience \(audience): event \(number)")
    }

    private func judgeWays(_ audience: Int, event: Int, from millis: Int64) {
        // The audience may have ended since the probe was written. An end may have been on its way, or the audience may
        // have expired.
        guard let versions = self.phones[audience].audience?.versions,
            let stamp = versions.first(where: { $0.value.event == event })?.key, versions.keys.max() == stamp
        else { return }
        for member in self.members.indices {
            let phone = self.members[member]
            guard phone.audience == audience, !phone.isDead, let movement = phone.movement,
                movement.writtenMillis < millis - Self.quietMillis
            else { continue }
            let listens = phone.listening[audience]
            // A phone that listens without a report of its app gets the version both ways.
            guard listens == movement.channel else { continue }
            let version = VersionName(audience: audience, stampSeconds: stamp)
            let (pushes, messages) = (phone.got[version] ?? 0, phone.heard[version] ?? 0)
            if pushes + messages != 1 {
                self.fail(
                    "member \(member) of audience \(audience) got event \(event) \(pushes) times by token and \(messages) times over \(listens ?? "no channel")"
                )
            }
        }
    }
}
