import APNSProtocol
import DeviceModel
import PushModel

/// Tokens that are dead when they are registered, while the one before lives: an app reports a token that it has kept
/// from an earlier card.
extension SimulationWorld {
    /// What concerns such tokens alone. It is drawn with a generator of its own, so that worlds without them stay as
    /// they were.
    struct DeadArrivals {
        var random: SplitMix64
        /// Percent of steps of an activity with a living token that report a dead one.
        let percent: Int
        /// Percent of pushes under way during which a dead token is reported.
        let strikePercent: Int
        /// Every dead token that was reported.
        var tokens: Set<String> = []

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0xDEAD_70C3_DEAD_70C3)
            self.percent = [0, 0, 6, 20].randomElement(using: &self.random)!
            self.strikePercent = self.percent == 0 ? 0 : [0, 20].randomElement(using: &self.random)!
        }

        mutating func draw() -> Bool { self.percent > 0 && Int.random(in: 0..<100, using: &self.random) < self.percent }
        mutating func strikes() -> Bool {
            self.strikePercent > 0 && Int.random(in: 0..<100, using: &self.random) < self.strikePercent
        }

        /// What APNs says of a dead token: that it has died, that it died long ago, or that it is no token.
        mutating func verdict(nowMillis: Int64) -> PushResponse {
            switch Int.random(in: 0..<4, using: &self.random) {
            case 0: PushResponse(status: 400, reason: "BadDeviceToken")
            case 1: PushResponse(status: 410, reason: "Unregistered", timestampMillis: nowMillis)
            default: PushResponse(status: 410, reason: "Unregistered", timestampMillis: 1_600_000_000_000)
            }
        }
    }

    /// Whether the activity has a living token, and the app may report another. After an end that would begin another
    /// life.
    func mayReportDeadToken(_ activity: Int) -> Bool {
        let phone = self.phones[activity]
        let hasEnd = self.order.contains { self.written[$0]!.activity == activity && self.written[$0]!.kind == .end }
        return self.plan.publishesAll && phone.token != nil && !phone.isTokenDead && !phone.hasTokenToUpload
            && phone.channel == nil && phone.audience == nil && phone.device.phase != .ended && !hasEnd
    }

    func reportDeadToken(_ activity: Int) {
        let token = self.makeToken(activity)
        self.deadArrivals.tokens.insert(token)
        self.phones[activity].hasLostToken = true
        // Now and then the app reports the right token once more.
        self.phones[activity].hasTokenToUpload = Bool.random(using: &self.deadArrivals.random)
        self.writeRegistration(activity, token: token)
    }

    /// A push has left. A dead token is reported while the push is under way.
    func strikeWithDeadToken(_ flight: Flight) {
        guard !flight.isStart, flight.token == self.phones[flight.activity].token,
            self.mayReportDeadToken(flight.activity), self.deadArrivals.strikes()
        else { return }
        self.tell("activity \(flight.activity) reports a dead token while a push is under way")
        self.reportDeadToken(flight.activity)
    }

    /// Judges that nothing is rejected for a dead token while the one before lives. The worker must have heard that it
    /// lives since it has the partition (contract: Dead tokens).
    func judgeFormerToken(_ position: SourcePosition, _ event: WrittenEvent) {
        let phone = self.phones[event.activity]
        guard event.kind != .start, !self.deadArrivals.tokens.isEmpty, !self.plan.livesAreShort,
            let token = phone.token, !phone.isTokenDead, self.growth.moved[event.activity] == nil,
            !self.tokensRefused.contains(token)
        else { return }
        for note in self.evidence.outcomes[position] ?? [] where note.name == "rejected" {
            guard
                let heardAt = self.evidence.lastAccepted(token, worker: note.worker, before: note.madeAt),
                !self.evidence.wasAssigned(note.worker, after: heardAt, before: note.madeAt)
            else { continue }
            self.fail(
                "\(position) is rejected, and the token before, \(token.prefix(8))…, lives: activity \(event.activity)")
        }
    }
}
