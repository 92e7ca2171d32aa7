import DeviceModel
import Foundation
import PushEngine
import PushModel

/// A phone that listens on a channel from the moment at which an outcome reports the channel as opened. It is sometimes
/// off, and no app reports it to the workers.
struct KeptSleeper {
    var audience: Int
    var device = Device()
    var isOn = true
    /// When the phone was last switched on or off, by the steady clock.
    var sinceMillis: Int64
}

/// Phones that listen on kept channels, and what their apps report about them.
extension SimulationWorld {
    /// An audience's broadcast channel. An outcome has reported that it was opened.
    struct OpenedChannel {
        var id: String
        /// The life of an audience that the channel belongs to.
        var audience: Int
        var isDevelopment: Bool
    }

    /// Perhaps lets a phone begin or stop listening, with a report of its app, or lets the app repeat its report.
    /// Sometimes the publisher opens a channel for the audience instead.
    /// - Returns: whether this step concerns a listener or a channel. `false`: nothing was written.
    func writesAboutListeners(_ audience: Int) -> Bool {
        guard self.plan.kept.isOn, self.keptChance(self.plan.kept.sharePercent) else { return false }
        let present = self.members.indices.filter { member in
            self.members[member].audience == audience && !self.members[member].isDead
        }
        guard let member = present.randomElement(using: &self.keptRandom),
            Int.random(in: 0..<12, using: &self.keptRandom) > 0
        else {
            self.writeOpen(audience)
            return true
        }
        let channel = self.channel(of: audience, isDevelopment: self.members[member].isDevelopment)
        switch (self.members[member].listening[audience], channel) {
        case (nil, let channel?): self.beginListening(member, to: channel, audience: audience)
        case (let former?, let channel?) where former != channel:
            self.beginListening(member, to: channel, audience: audience)
        case (.some, _) where Int.random(in: 0..<3, using: &self.keptRandom) == 0:
            self.endListening(member, audience: audience)
        case (.some, _):
            self.rejoin(member, audience: audience)
        case (nil, nil): return false
        }
        return true
    }

    /// The channel on which phones of the audience may listen. An outcome has reported it as opened, and none has
    /// reported it as closed. `nil`: there is none.
    func channel(of audience: Int, isDevelopment: Bool) -> String? {
        self.openedChannels.last { $0.audience == audience && $0.isDevelopment == isDevelopment }?.id
    }

    func beginListening(_ member: Int, to channel: String, audience: Int) {
        guard self.apple.isRegistered(channel) else { return }
        self.log("member \(member) listens on \(channel)")
        self.members[member].listening[audience] = channel
        // Some apps do not report the channel. Their phones get each version over the channel and by token.
        self.members[member].saysChannel = Int.random(in: 0..<8, using: &self.keptRandom) > 0
        self.rejoin(member, audience: audience)
    }

    /// Lets a member's app report that the phone no longer listens. The phone may still hear the channel for a while,
    /// or may stop at once and miss an alert.
    private func endListening(_ member: Int, audience: Int) {
        self.members[member].saysChannel = false
        self.rejoin(member, audience: audience)
        guard Bool.random(using: &self.keptRandom) else { return }
        self.log("member \(member) listens no more")
        self.members[member].listening[audience] = nil
        self.members[member].mayMissAlerts = true
    }

    private func rejoin(_ member: Int, audience: Int) {
        self.writeJoin(member, audience: audience, isFrequent: self.members[member].movement?.isFrequent ?? false)
    }

    private func writeOpen(_ audience: Int) {
        self.writeAboutAudience(
            audience, kind: .open, timestamp: 0, body: "", value: "{\"event\":\"open\"}", expires: nil)
        self.log("an open of audience \(audience)")
    }

    // MARK: Broadcasts

    /// Delivers an accepted broadcast: every phone that listens on its channel gets it.
    func deliverKept(_ request: KeptRequest) {
        guard let body = self.readMemberBody(request.body) else { return }
        self.log("a broadcast of worker \(request.worker) goes out on \(request.channel)")
        if body.content.event == .end { self.rememberEnd(request) }
        for member in self.members.indices
        where self.members[member].listening[body.audience] == request.channel && !self.members[member].isDead {
            self.hear(body, member: member, priority: request.priority)
        }
        self.deliverToKeptSleeper(request, body: body)
        self.deliverToOnlyListener(request, body: body)
        if body.content.event != .end {
            self.perhapsListenLate(request.channel, audience: body.audience)
            self.listenAsComer(request.channel, audience: body.audience)
        }
    }

    /// Perhaps lets a phone begin to listen just after a broadcast. A phone whose partition has no owner is preferred,
    /// because its join is then read before the version.
    private func perhapsListenLate(_ channel: String, audience: Int) {
        guard self.keptChance(self.plan.kept.sharePercent) else { return }
        let deaf = self.members.indices.filter { member in
            self.members[member].audience == audience && !self.members[member].isDead
                && self.members[member].listening[audience] == nil
                && self.channel(of: audience, isDevelopment: self.members[member].isDevelopment) == channel
        }
        let stranded = deaf.filter { member in
            let partition = self.home(ofMember: member)
            return !self.workers.contains { $0.isAlive && $0.partitions[partition]?.isRunning == true }
        }
        guard let member = (stranded.isEmpty ? deaf : stranded).randomElement(using: &self.keptRandom) else { return }
        self.beginListening(member, to: channel, audience: audience)
    }

    private func rememberEnd(_ request: KeptRequest) {
        let now = self.steadyMillis
        self.apple.change(request.channel) { channel in
            if channel.endedMillis == nil { channel.endedMillis = now } else { channel.beacons.append(now) }
        }
    }

    private func hear(_ body: MemberBody, member: Int, priority: Int) {
        var card = self.members[member].cards[body.audience] ?? MemberCard()
        do {
            let reaction = try card.device.push(body: body.bytes, priority: priority, nowMillis: self.wallMillis)
            try card.silent.push(body: body.silent, priority: priority, nowMillis: self.wallMillis)
            if reaction == .ignoredSameStamp {
                self.fail("member \(member): a broadcast has other content under the same stamp")
            }
            let version = VersionName(audience: body.audience, stampSeconds: body.content.stampSeconds)
            self.members[member].heard[version, default: 0] += 1
            if reaction == .shown {
                for event in [body.event, body.contentEvent, body.alertEvent] {
                    if let event { self.shown.insert(self.order[event]) }
                }
                card.shown.formUnion([body.event, body.contentEvent].compactMap { $0 })
                if let alert = body.alertEvent { card.alertsShown.append(alert) }
                // An ended card no longer listens.
                if body.content.event == .end { self.members[member].listening[body.audience] = nil }
            }
        } catch {
            self.fail("member \(member) cannot decode a broadcast: \(error)")
        }
        self.members[member].cards[body.audience] = card
    }

    // MARK: The phone that is off now and then

    private func deliverToKeptSleeper(_ request: KeptRequest, body: MemberBody) {
        guard var sleeper = self.keptSleepers[request.channel] else { return }
        if sleeper.isOn {
            self.hand(body.silent, priority: request.priority, to: &sleeper)
        } else if self.apple[request.channel]?.stores == true {
            let until = request.expirationSeconds
            self.apple.change(request.channel) { $0.stored = until > self.wallSeconds ? (body.silent, until) : nil }
        }
        self.keptSleepers[request.channel] = sleeper
    }

    private func hand(_ body: [UInt8], priority: Int, to sleeper: inout KeptSleeper) {
        do {
            try sleeper.device.push(body: body, priority: priority, nowMillis: self.wallMillis)
        } catch { self.fail("a phone that listens cannot decode a broadcast: \(error)") }
    }

    func perhapsSleepOnKept() {
        guard self.plan.kept.sleepPercent > 0 else { return }
        for channel in self.keptSleepers.keys.sorted()
        where Int.random(in: 0..<100, using: &self.keptRandom) < self.plan.kept.sleepPercent {
            self.toggleSleeper(channel)
        }
    }

    func wakeKeptSleepers() {
        for (channel, sleeper) in self.keptSleepers.sorted(by: { $0.key < $1.key }) where !sleeper.isOn {
            self.toggleSleeper(channel)
        }
    }

    private func toggleSleeper(_ channel: String) {
        guard var sleeper = self.keptSleepers[channel] else { return }
        sleeper.isOn.toggle()
        sleeper.sinceMillis = self.steadyMillis
        self.log("the phone that listens on \(channel) \(sleeper.isOn ? "comes back" : "goes off")")
        if sleeper.isOn, let stored = self.apple[channel]?.stored {
            if stored.untilSeconds > self.wallSeconds { self.hand(stored.body, priority: 5, to: &sleeper) }
            self.apple.change(channel) { $0.stored = nil }
        }
        self.keptSleepers[channel] = sleeper
    }
}
