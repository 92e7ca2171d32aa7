import APNSProtocol
import DeviceModel
import PushModel

/// Tokens that are already dead when an app registers them, while the activity's former token still works. An app may
/// report a token that it has kept from an earlier card.
extension SimulationWorld {
    /// Plan and state of registrations of dead tokens. They are drawn with a separate generator, so that worlds without
    /// them do not change.
    struct DeadArrivals {
        var random: SplitMix64
        /// Percentage of steps at which an app reports a dead token for an activity whose token works.
        let percent: Int
        /// Percentage of pushes in flight during which the app reports a dead token.
        let strikePercent: Int
        /// All dead tokens that apps have reported.
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

        /// APNs' answer about a dead token: it has just died, it died long ago, or it is not a token.
        mutating func verdict(nowMillis: Int64) -> PushResponse {
            switch Int.random(in: 0..<4, using: &self.random) {
            case 0: PushResponse(status: 400, reason: "BadDeviceToken")
            case 1: PushResponse(status: 410, reason: "Unregistered", timestampMillis: nowMillis)
            default: PushResponse(status: 410, reason: "Unregistered", timestampMillis: 1_600_000_000_000)
            }
        }
    }

    /// Whether the activity's token works and the app may report a dead one. After an end it may not, because a
    /// registration would begin another life.
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
        // The app may report the right token again later.
        self.phones[activity].hasTokenToUpload = Bool.random(using: &self.deadArrivals.random)
        self.writeRegistration(activity, token: token)
    }

    /// Perhaps reports a dead token while a push is in flight.
    func strikeWithDeadToken(_ flight: Flight) {
        guard !flight.isStart, flight.token == self.phones[flight.activity].token,
            self.mayReportDeadToken(flight.activity), self.deadArrivals.strikes()
        else { return }
        self.log("activity \(flight.activity) reports a dead token while a push is under way")
        self.reportDeadToken(flight.activity)
    }

    /// Judges that an event is not rejected for a dead token while the former token works. This is judged only if the
    /// worker got the answer that APNs took the former token, and has had the partition since then (contract: Dead
    /// tokens).
    func judgeFormerToken(_ position: SourcePosition, _ event: WrittenEvent) {
        let phone = self.phones[event.activity]
        guard event.kind != .start, !self.deadArrivals.tokens.isEmpty, !self.plan.livesAreShort,
            let token = phone.token, !phone.isTokenDead, self.growth.moved[event.activity] == nil,
            !self.tokensRefused.contains(token)
        else { return }
        for outcome in self.evidence.outcomes[position] ?? [] where outcome.name == "rejected" {
            guard
                let heardAt = self.evidence.lastAccepted(token, worker: outcome.worker, before: outcome.madeAt),
                !self.evidence.wasAssigned(outcome.worker, after: heardAt, before: outcome.madeAt)
            else { continue }
            self.fail(
                "\(position) is rejected, and the token before, \(token.prefix(8))…, lives: activity \(event.activity)")
        }
    }
}
