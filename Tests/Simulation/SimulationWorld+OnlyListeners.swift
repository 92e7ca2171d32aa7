import DeviceModel
import PushEngine
import PushModel

/// A phone that listens on a channel from the moment at which an outcome reports the channel as opened. It is never
/// off, and has no token. Workers do not know of it.
struct OnlyListener {
    /// The life of an audience that the phone belongs to.
    var audience: Int
    var device = Device()
    /// Stamp and departure time of the first broadcast on the channel, even if APNs did not take it. From this version
    /// on, the phone must in the end show the newest version.
    var known: (stampSeconds: Int64, millis: Int64)?
    /// Events whose alerts the phone has shown, in order.
    var alertsShown: [Int] = []
}

/// Phones that only listen. They get the broadcasts that APNs takes on their channel, and nothing else. They must get
/// the newest version, and every end.
extension SimulationWorld {
    /// Remembers the first broadcast that leaves for the channel.
    func rememberBroadcast(_ request: KeptRequest, _ body: MemberBody) {
        guard self.onlyListeners[request.channel] != nil, self.onlyListeners[request.channel]?.known == nil else {
            return
        }
        self.onlyListeners[request.channel]?.known = (body.content.stampSeconds, self.steadyMillis)
    }

    func deliverToOnlyListener(_ request: KeptRequest, body: MemberBody) {
        guard var listener = self.onlyListeners[request.channel] else { return }
        do {
            let reaction = try listener.device.push(
                body: body.bytes, priority: request.priority, nowMillis: self.wallMillis)
            if reaction == .shown, let alert = body.alertEvent { listener.alertsShown.append(alert) }
        } catch { self.fail("a phone that only listens cannot decode a broadcast: \(error)") }
        self.onlyListeners[request.channel] = listener
    }

    /// Whether the channel exists and is its audience's channel now.
    func livesOn(_ channel: String) -> Bool {
        guard let home = self.apple[channel]?.home, let listener = self.onlyListeners[channel] else { return false }
        return self.apple.isRegistered(channel)
            && self.channel(of: listener.audience, isDevelopment: home.isDevelopment) == channel
    }

    /// Judges that each phone shows the newest version after a quiet time. A version that may have expired need not be
    /// shown.
    func judgeOnlyListeners(_ what: String) {
        for (channel, listener) in self.onlyListeners.sorted(by: { $0.key < $1.key }) where self.livesOn(channel) {
            guard let known = listener.known, let versions = self.phones[listener.audience].audience?.versions,
                let newest = versions.max(by: { $0.key < $1.key }), newest.key >= known.stampSeconds,
                let event = newest.value.event.map({ self.written[self.order[$0]]! }), event.expiresSeconds == nil
            else { continue }
            if listener.device.stampSeconds < newest.key, listener.device.phase != .ended {
                self.fail(
                    "\(what): the phone that only listens on \(channel) shows \(listener.device.stampSeconds) and not event \(event.number) of audience \(listener.audience), stamp \(newest.key)"
                )
            }
        }
    }

    /// Judges the ends of audiences when the run is over. A phone that listened when its audience ended must show that.
    func judgeEndsOfOnlyListeners() {
        for (channel, listener) in self.onlyListeners.sorted(by: { $0.key < $1.key }) {
            guard let known = listener.known, let apple = self.apple[channel], !apple.wasTakenAway,
                let end = self.phones[listener.audience].audience?.ends.first,
                known.millis < end.millis, self.written[end.position]?.expiresSeconds == nil,
                self.evidence.lastReported(of: end.position) != nil,
                listener.device.phase != .ended
            else { continue }
            self.fail(
                "the phone that only listens on \(channel) has a live card: audience \(listener.audience) ended at \(end.millis - Self.beginMillis) ms"
            )
        }
    }
}
