import APNSProtocol
import PushEngine
import PushModel
import ShardLoop

/// Judges the times of pushes. A push is too late if it leaves long after its low-priority window, minimum distance and
/// back-off are over. A push is too early if it leaves before a `Retry-After` of APNs is over.
///
/// A push is judged only if nothing else can explain its wait. It must be for an activity with a token, in a world
/// without audiences, after a quiet minute. In that minute no worker has died, stopped or lost a partition, no setting
/// has changed, and Kafka and APNs have taken everything.
extension SimulationWorld {
    /// Plan and state of the judgement of times. They are drawn with a separate generator, so that other draws do not
    /// change.
    struct Lateness {
        var random: SplitMix64
        /// The low-priority window in a world where only this window delays updates. Updates are frequent there and
        /// have low priority. `nil`: the world has other delays too.
        let windowMillis: Int64?
        /// Percentage of answers with status 429 or 5xx that have a `Retry-After`.
        let retryAfterPercent: Int
        /// The wait of each activity that has something to send, by activity.
        var waits: [Int: Wait] = [:]
        var attempts: [Int: Attempts] = [:]
        /// When something last happened that may delay pushes, by the steady clock.
        var struckMillis = Int64.min / 2

        /// The worker that has something to send for an activity, and since when.
        struct Wait {
            var worker: Int
            var sinceMillis: Int64
        }

        /// Facts about an activity's earlier pushes that decide when the next push may leave.
        struct Attempts {
            var worker: Int
            var assignment: Int
            /// Number of failures since a push was accepted, or since another token was registered. At most 10.
            var failures = 0
            /// Time until which the back-off after failures may delay the next push, by the steady clock.
            var backsOffUntilMillis = Int64.min / 2
            /// Time until which a `Retry-After` of APNs forbids the next push, by the steady clock.
            var restsUntilMillis = Int64.min / 2
            /// When the last push left.
            var leftMillis = Int64.min / 2
            /// The next push waits until Kafka acknowledges a `state` record that was made at this sequence number of
            /// the evidence or later. `nil`: the next push waits for no record.
            var recordMadeAfter: Int?
            /// When the worker last got the acknowledgement of a `state` record that a push waited for.
            var recordMillis = Int64.min / 2
            /// The token in the registration that the worker read last.
            var token: String?
        }

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x1A7E_1A7E_1A7E_1A7E)
            let isPatient = Int.random(in: 0..<16, using: &self.random) == 0
            let window: Int64 = [2_000, 8_000].randomElement(using: &self.random)!
            self.windowMillis = isPatient ? window : nil
            self.retryAfterPercent = Int.random(in: 0..<8, using: &self.random) == 0 ? 60 : 0
        }

        /// Draws the `Retry-After` of an answer, in seconds. `nil`: the answer has none.
        mutating func drawRetryAfter(_ status: UInt16) -> Int64? {
            guard self.retryAfterPercent > 0, status == 429 || status >= 500,
                Int.random(in: 0..<100, using: &self.random) < self.retryAfterPercent
            else { return nil }
            return Int64.random(in: 1...120, using: &self.random)
        }
    }

    /// Tolerance for the parts of a wait that the judge does not know: delayed credit, records that wait for others,
    /// and pushes of other activities.
    private static let slackMillis: Int64 = 10_000
    /// Time after a disturbance in which pushes are not judged.
    private static let quietMillis: Int64 = 60_000

    /// Remembers that something happens now that may delay pushes.
    func rememberStruck() { self.lateness.struckMillis = self.steadyMillis }

    var struckUntilMillis: Int64 {
        max(self.lateness.struckMillis, self.brokerAwayUntilMillis, self.apnsAwayUntilMillis) + Self.quietMillis
    }

    private var isLatenessJudged: Bool {
        self.plan.audiences.audiences.isEmpty && !self.plan.livesAreShort
            && !self.plan.disturbances.contains(.clockStep)
    }

    private func assignment(of activity: Int, _ worker: SimulatedWorker) -> Int {
        worker.partitions[self.home(of: activity)]?.assignment ?? 0
    }

    /// The facts about the activity's pushes by the present owner.
    private func attempts(of activity: Int, _ worker: SimulatedWorker) -> Lateness.Attempts {
        let assignment = self.assignment(of: activity, worker)
        if let known = self.lateness.attempts[activity], known.worker == worker.number, known.assignment == assignment {
            return known
        }
        return Lateness.Attempts(worker: worker.number, assignment: assignment)
    }

    // MARK: What is to be sent

    /// Remembers that the worker has read an event in its activity's partition, and may have to push it.
    func rememberToBeSent(_ event: WrittenEvent, isReplay: Bool, worker: SimulatedWorker) {
        let activity = event.activity
        guard self.isLatenessJudged, event.member == nil, event.starter == nil, self.phones[activity].channel == nil
        else { return }
        if let token = event.token { return self.rememberToken(token, of: activity, worker: worker) }
        guard event.kind == .update || event.kind == .end else { return }
        guard !isReplay, self.lateness.waits[activity]?.worker != worker.number, self.isSurelySent(event, worker)
        else { return }
        self.lateness.waits[activity] = Lateness.Wait(
            worker: worker.number, sinceMillis: self.steadyMillis)
    }

    /// Whether the event is certain to be pushed. It must be an update that is newer than all earlier events and does
    /// not expire, and the worker must know the activity's token.
    private func isSurelySent(_ event: WrittenEvent, _ worker: SimulatedWorker) -> Bool {
        guard event.kind == .update, event.expiresSeconds == nil, !self.recordTimes.untimed.contains(event.activity),
            self.phones[event.activity].startToken == nil, !self.phones[event.activity].isTokenDead,
            let token = self.phones[event.activity].token,
            self.attempts(of: event.activity, worker).token == token
        else { return false }
        return self.order.prefix(event.number).allSatisfy {
            let before = self.written[$0]!
            return before.activity != event.activity || before.kind == .register || before.kind == .malformed
                || (before.kind == .update && before.timestampSeconds < event.timestampSeconds)
        }
    }

    private func rememberToken(_ token: String, of activity: Int, worker: SimulatedWorker) {
        var attempts = self.attempts(of: activity, worker)
        if attempts.token != token {
            attempts.failures = 0
            attempts.backsOffUntilMillis = self.steadyMillis
            attempts.restsUntilMillis = self.steadyMillis
        }
        attempts.token = token
        self.lateness.attempts[activity] = attempts
    }

    // MARK: When it leaves

    /// Checks that a push leaves neither too early nor too late.
    func checkLateness(of activity: Int, isStart: Bool, token: String, worker: SimulatedWorker) {
        guard self.isLatenessJudged, self.phones[activity].channel == nil else { return }
        var attempts = self.attempts(of: activity, worker)
        defer {
            attempts.leftMillis = self.steadyMillis
            self.lateness.attempts[activity] = attempts
            self.lateness.waits[activity] = nil
        }
        guard !isStart else { return }
        if self.steadyMillis < attempts.restsUntilMillis {
            self.fail(
                "activity \(activity): a push leaves \(attempts.restsUntilMillis - self.steadyMillis) ms before APNs wants to be asked again"
            )
        }
        guard let wait = self.lateness.waits[activity], wait.worker == worker.number, attempts.recordMadeAfter == nil,
            attempts.token == token, self.plan.app.budgetPolicy == .downgrade || !self.hasHighPriority(activity)
        else { return }
        let changing: Int64 = self.plan.reconfigurationPercent > 0 ? 10_000 : 0
        let window = max(self.plan.app.lowPriorityWindowMillis, changing)
        let since = max(
            wait.sinceMillis, self.struckUntilMillis, attempts.backsOffUntilMillis, attempts.recordMillis,
            attempts.leftMillis + self.plan.app.minimumDistanceMillis)
        guard self.steadyMillis - since > window + Self.slackMillis else { return }
        self.fail("activity \(activity): a push leaves \(self.steadyMillis - since) ms after nothing held it back")
    }

    /// Whether the activity has an event of high priority, so that the budget may hold a push back. Every such event
    /// counts, because a later push may have taken over its priority, or an unrecorded push may have sent it.
    private func hasHighPriority(_ activity: Int) -> Bool {
        self.order.contains { self.written[$0]!.activity == activity && self.written[$0]!.isHighPriority }
    }

    /// Remembers that the worker has the answer to a push.
    func rememberAttempt(_ flight: Flight, result: PushAnswer.Result, worker: SimulatedWorker) {
        let activity = flight.activity
        guard self.isLatenessJudged, flight.partitionLives, self.phones[activity].channel == nil else { return }
        var attempts = self.attempts(of: activity, worker)
        defer { self.lateness.attempts[activity] = attempts }
        attempts.recordMadeAfter = self.evidence.rememberHeard() + 1
        var asked: Int64 = 0
        switch result {
        case .accepted:
            attempts.failures = 0
            attempts.backsOffUntilMillis = Int64.min / 2
            attempts.restsUntilMillis = Int64.min / 2
            return
        case .notProcessed, .channel, .unknown: break
        case .response(let response):
            asked = (response.retryAfterSeconds ?? 0) * 1_000
            // A push to another token need not wait for this `Retry-After`.
            if asked > 0, !flight.isStart, attempts.token == nil || attempts.token == flight.token {
                attempts.restsUntilMillis = max(attempts.restsUntilMillis, self.steadyMillis + asked)
            }
        }
        attempts.failures = min(attempts.failures + 1, 10)
        let backOff: Int64 = min(60_000, 2_000 << attempts.failures)
        attempts.backsOffUntilMillis = self.steadyMillis + max(backOff, asked)
        guard !flight.isStart, self.phones[activity].startToken == nil, self.staysToBeSent(flight, result) else {
            return
        }
        self.lateness.waits[activity] = Lateness.Wait(
            worker: worker.number, sinceMillis: self.steadyMillis)
    }

    /// Whether the event must be pushed again. It must if it is an update that does not expire, and neither its token
    /// nor its message was refused.
    private func staysToBeSent(_ flight: Flight, _ result: PushAnswer.Result) -> Bool {
        if case .response(let response) = result, response.status == 400 || response.status == 410 { return false }
        guard let event = self.event(in: String(decoding: flight.body, as: UTF8.self)) else { return false }
        return event.kind == .update && event.expiresSeconds == nil
    }

    /// Remembers that the worker has the acknowledgement of a `state` record of the activity.
    func rememberRecordOfAttempt(_ activity: Int, madeAt: Int, worker: SimulatedWorker) {
        guard let attempts = self.lateness.attempts[activity], attempts.worker == worker.number,
            let after = attempts.recordMadeAfter, madeAt >= after
        else { return }
        self.lateness.attempts[activity]?.recordMadeAfter = nil
        self.lateness.attempts[activity]?.recordMillis = self.steadyMillis
    }
}

extension SimulationPlan {
    /// Turns a world with `windowMillis` into one where only the low-priority window decides when updates leave.
    mutating func drawLateness(_ lateness: SimulationWorld.Lateness) {
        guard let window = lateness.windowMillis, !self.livesAreShort else { return }
        self.app.lowPriorityWindowMillis = window
        self.activities = min(self.activities, 2)
        self.gapMillisMax = 3_000
        self.outcomeDelayMillisMax = 0
        self.disturbancePercent = 0
        self.disturbances = []
        self.strikePercent = 0
        self.produceFailurePercent = 0
        self.queueFullPercent = 0
    }
}
