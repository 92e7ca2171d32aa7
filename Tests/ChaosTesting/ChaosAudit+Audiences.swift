import CommandSupport
import DeviceModel
import KafkaLog
import Upstream

/// Compares what members of audiences got with what was published. Kafka's log, the outcomes and the accepted pushes
/// are the evidence.
extension ChaosAudit {
    /// Facts about members that Kafka's log does not contain.
    struct AudienceScene {
        /// Pushes to members that APNs took.
        var members = ChaosMembers(distanceMillis: 0)
        /// Times at which paused workers continued, milliseconds since 1970. A push right after a pause is excused,
        /// because it may have been on its way before the pause.
        var resumedMillis: [Int64] = []
        /// Long turns of workers. A push in a long turn counts as sent at the turn's beginning, but may leave later.
        var stalls: [WorkerStall] = []
        /// Tokens that APNs calls dead.
        var dead: Set<String> = []
        /// Maximum number of versions of priority 10 in an hour, for members without and with `frequent-updates`.
        var (budgetPerHour, frequentBudgetPerHour) = (0, 0)
        /// Number of broadcasts on channels that are kept for audiences.
        var broadcastCount = 0
        /// How often a card got the same content both over its channel and by a push. The key is the token of a member
        /// that has listened.
        var bothWays: [String: Int] = [:]
        /// Number of high-priority contents that a phone got twice because it began to listen or got a new token. The
        /// key is the token (`ChaosRepeats`).
        var repeats: [String: Int] = [:]
        /// Phones that only listen, because no worker gets their tokens. The list is empty in runs with a former
        /// release, which may leave such phones without updates.
        var silent: [SilentListener] = []
        /// Whether the run had no faults. Then no push may come twice, except to members that came back. A version may
        /// come both over the channel and by push only when a member begins or stops listening.
        var isUndisturbed = false
    }

    /// Counts of members and of what they got.
    struct MemberCounts: Equatable {
        var audiences = 0
        /// Number of phones that were members at the end and whose token is good.
        var checked = 0
        var equivalent = 0
        /// Number of members that came from another audience. Their phones may ignore content that is older than the
        /// content they show.
        var moved = 0
        var pushes = 0
        var repeats = 0
        var alertRepeats = 0
        /// Number of pairs of pushes that were too close without an excuse.
        var tooClose = 0
        /// Number of pairs of pushes that were too close and that a pause excuses. They are not in `tooClose`.
        var excused = 0
        /// Number of pairs of pushes that were too close and whose first push was in a long turn. They are not in
        /// `tooClose`.
        var stalled = 0
        /// Number of all long turns.
        var stalls = 0
        /// Number of outcome records about members whom a version did not reach, by reason.
        var failures: [String: Int] = [:]
        /// Number of members that listened at the end, and number of joins and leaves with which listening began or
        /// ended.
        var (listening, waysSaid) = (0, 0)
        var broadcasts = 0
        /// Number of phones that only listen and had to show something.
        var silent = 0
        /// Number of times that a card got the same content both over the channel and by push.
        var bothWays = 0
        /// Range of the number of memberships that all workers together may hold.
        var held = 0...0
    }

    /// Maximum number of contents that a member gets both over the channel and by push, each time that it begins or
    /// stops listening. These are the newest version and the newest alert. The worker cannot know whether the channel
    /// brought them.
    static let bothWaysMax = 2

    /// How long after its leave a member may still get a push, because a request may have been on its way.
    static let leavingMillisMax: Int64 = 10_000

    /// Reasons with which APNs refuses a member for good, because its token was replaced or has died. Any other reason
    /// is a fault.
    private static let deadReasons: Set<String> = ["Unregistered", "ExpiredToken"]

    /// What a phone would show if it got all events of an audience.
    private struct Expectation {
        var reference = ReferenceDevice()
        /// For each event: when its record was written, its stamp, the alert that it brought to an up-to-date phone,
        /// and whether it withdrew alerts.
        var alerts: [(recordMillis: Int64, seconds: Int64, alert: [UInt8], withdraws: Bool)] = []

        mutating func take(_ event: StoryEvent, recordMillis: Int64) throws {
            let payload = event.payload(recordMillis: recordMillis)
            let reaction = try self.reference.take(payload: payload, nowMillis: recordMillis)
            let isShown = reaction == .shown || reaction == .shownAsSecondCard
            let alert = isShown ? event.alert.map { Array($0.utf8) } ?? [] : []
            self.alerts.append(
                (recordMillis, event.timestampSeconds ?? recordMillis / 1_000, alert, event.withdrawsAlert))
        }

        /// Alerts of the events after `sinceMillis`, and whether the phone must have got the newest one.
        func history(sinceMillis: Int64) -> (history: AlertHistory, newestIsDue: Bool) {
            var history = AlertHistory()
            var newestIsDue = false
            for event in self.alerts where event.recordMillis > sinceMillis {
                history.append(event.alert, seconds: event.seconds)
                if !event.alert.isEmpty { newestIsDue = true }
                if event.withdraws {
                    history.withdraw(upTo: event.seconds)
                    newestIsDue = false
                }
            }
            return (history, newestIsDue)
        }
    }

    /// What the log says about one token.
    private struct Member {
        var last: StoryMembership
        /// When an outcome last said that the latest record was applied, milliseconds since 1970. `nil` means that none
        /// said so.
        var appliedMillis: Int64?
        /// Audiences that the member was in, in order.
        var audiences: [String] = []
        var isFrequent = false
        /// The channel that the member's latest record names. `nil` means that the member does not listen.
        var channel: String?
        /// Whether the member returned to an audience, or began or stopped listening. A push then brings the newest
        /// version, which the phone may have got before.
        var cameBack = false
    }

    /// Judges that the phone of every member shows its audience's newest state, or its end. No phone may get a push too
    /// soon, too often or after its leave.
    /// - Parameter phone: the phone behind a token, or `nil` when nothing was ever pushed to it.
    mutating func judgeMembers(
        _ scene: AudienceScene, _ records: [OwnedRecord], phone: (_ token: String) -> Device?
    ) throws {
        var expectations: [String: Expectation] = [:]
        var members: [String: Member] = [:]
        for record in records {
            guard let publication = self.publication(of: record) else { continue }
            // Start members and their audiences have their own judge.
            if let audience = publication.event?.audience, self.startAudiences.contains(audience) { continue }
            if let token = publication.membership?.token, self.startTokens.contains(token) { continue }
            if let event = publication.event, event.audience != nil {
                try expectations[publication.activity, default: Expectation()].take(
                    event, recordMillis: record.timestampMillis)
            } else if let membership = publication.membership {
                let wasJoin = members[membership.token]?.last.isJoin
                var member = members[membership.token] ?? Member(last: membership)
                member.last = membership
                member.appliedMillis = self.outcomes(of: record).map(\.writtenMillis).max()
                let channel = membership.isJoin ? membership.channel : nil
                if channel != member.channel {
                    self.memberCounts.waysSaid += 1
                    // A push brings the newest version to the member, whether or not its channel had brought it.
                    member.cameBack = true
                }
                member.channel = channel
                if membership.isJoin, let audience = membership.audience {
                    if wasJoin == false || (member.audiences.last != audience && member.audiences.contains(audience)) {
                        member.cameBack = true
                    }
                    if member.audiences.last != audience { member.audiences.append(audience) }
                    member.isFrequent = member.isFrequent || membership.frequentUpdates
                }
                members[membership.token] = member
            }
        }
        self.memberCounts.audiences = expectations.count
        self.memberCounts.pushes = scene.members.pushCount
        self.memberCounts.repeats = scene.members.repeatedCount
        self.memberCounts.alertRepeats = scene.members.repeatedAlertCount
        self.memberCounts.stalls = scene.stalls.count
        self.judgePace(scene)
        self.judgeWays(scene)
        self.memberCounts.listening = members.values.count { $0.channel != nil }
        var certainCount = 0
        for (token, member) in members.sorted(by: { $0.key < $1.key }) {
            if scene.isUndisturbed, !member.cameBack, let count = scene.members.tokens[token]?.repeatedCount, count > 0
            {
                self.fault("member \(token.prefix(8))…: \(count) pushes came twice, and nothing was disturbed")
            }
            if scene.dead.contains(token) { continue }
            if member.last.isJoin {
                certainCount += 1
                self.judge(member, scene, expectations, device: phone(token) ?? Device())
            } else {
                self.judgeLeft(member, scene)
            }
        }
        for listener in scene.silent {
            self.judge(listener, expectations[listener.audience], device: phone(listener.token) ?? Device())
        }
        self.memberCounts.held = certainCount...certainCount + scene.dead.count
    }

    /// Judges how often phones got the same content both over the channel and by push. Runs with faults only count
    /// this, because after a takeover any version may come both ways.
    private mutating func judgeWays(_ scene: AudienceScene) {
        self.memberCounts.broadcasts = scene.broadcastCount
        self.memberCounts.bothWays = scene.bothWays.values.reduce(0, +)
        let max = Self.bothWaysMax * self.memberCounts.waysSaid
        guard scene.isUndisturbed, self.memberCounts.bothWays > max else { return }
        self.fault(
            "members got the same both ways \(self.memberCounts.bothWays) times, and said \(self.memberCounts.waysSaid) times that they listen, or no more"
        )
    }

    private mutating func judgePace(_ scene: AudienceScene) {
        for pair in scene.members.tooClose {
            if Self.isExcused(pair.firstMillis, scene) || Self.isExcused(pair.secondMillis, scene) {
                self.memberCounts.excused += 1
                continue
            }
            if scene.stalls.contains(where: { $0.covers(pair.firstMillis) }) {
                self.memberCounts.stalled += 1
                continue
            }
            self.memberCounts.tooClose += 1
            self.fault(
                "member \(pair.token.prefix(8))…: two pushes are \(pair.secondMillis - pair.firstMillis) ms apart, the second at "
                    + "\(pair.secondMillis)")
        }
        for reason in self.memberCounts.failures.keys.sorted() where !Self.deadReasons.contains(reason) {
            self.fault("\(self.memberCounts.failures[reason] ?? 0) members were not reached: \(reason)")
        }
    }

    private static func isExcused(_ millis: Int64, _ scene: AudienceScene) -> Bool {
        scene.resumedMillis.contains { ($0...$0 + BroadcastRules.excusedMillis).contains(millis) }
    }

    private mutating func judge(
        _ member: Member, _ scene: AudienceScene, _ expectations: [String: Expectation], device: Device
    ) {
        let budget = member.isFrequent ? scene.frequentBudgetPerHour : scene.budgetPerHour
        // A phone that begins to listen may get versions both over the channel and by push until its app says so. The
        // phone counts such a version twice, and its worker counts it once.
        let token = member.last.token
        let peak = device.highPriorityPeak - (scene.bothWays[token] ?? 0) - (scene.repeats[token] ?? 0)
        if peak > budget {
            self.fault(
                "member \(token.prefix(8))…: \(device.highPriorityPeak) high-priority pushes in an hour, the budget is \(budget)"
            )
        }
        let audience = member.last.audience ?? ""
        let hasMoved = member.audiences.count > 1
        if hasMoved { self.memberCounts.moved += 1 }
        let expectation = expectations[audience] ?? Expectation()
        // An audience that the member left may have ended before the next join was read. The phone's card has then
        // ended for good.
        if hasMoved, device.phase == .ended,
            member.audiences.dropLast().contains(where: { expectations[$0]?.reference.device.phase == .ended })
        {
            return
        }
        self.memberCounts.checked += 1
        let difference = self.difference(
            member, of: device, from: expectation, hasMoved: hasMoved, received: scene.members.tokens[member.last.token]
        )
        if let difference {
            self.fault(
                "member \(member.last.token.prefix(8))… of \(member.audiences.joined(separator: ", ")): \(difference)")
        } else {
            self.memberCounts.equivalent += 1
        }
    }

    /// Judges a silent listener. The channel must have brought it everything that was published after it surely
    /// listened.
    private mutating func judge(_ listener: SilentListener, _ expectation: Expectation?, device: Device) {
        guard let expectation, let since = listener.sinceMillis,
            expectation.alerts.contains(where: { $0.recordMillis > since })
        else { return }
        self.memberCounts.silent += 1
        var anyAlert = AlertHistory()
        anyAlert.append(device.alerts.last ?? [], seconds: 0)
        var difference = device.firstDifference(
            from: expectation.reference.device, countingCards: false, alerts: anyAlert)
        let (history, newestIsDue) = expectation.history(sinceMillis: since)
        if difference == nil, newestIsDue, !history.mayBeNewest(device.alerts.last) {
            difference = "its newest alert is not the newest that was published"
        }
        guard let difference else { return }
        self.fault("the phone that only listens on \(listener.channel) of \(listener.audience): \(difference)")
    }

    private func difference(
        _ member: Member, of device: Device, from expectation: Expectation, hasMoved: Bool,
        received: ChaosMembers.Token?
    ) -> String? {
        let expected = expectation.reference.device
        // Any alert passes here, because the time of the join decides which alerts are due.
        var anyAlert = AlertHistory()
        anyAlert.append(device.alerts.last ?? [], seconds: 0)
        if let difference = device.firstDifference(from: expected, countingCards: false, alerts: anyAlert) {
            guard hasMoved, let received, received.lastContent == expected.contentState else { return difference }
            // The phone shows content with a later stamp, from an audience that it was in before.
            return received.lastWasEnd == (expected.phase == .ended) ? nil : difference
        }
        guard !hasMoved, let applied = member.appliedMillis else { return nil }
        let (history, newestIsDue) = expectation.history(sinceMillis: applied)
        guard newestIsDue, !history.mayBeNewest(device.alerts.last) else { return nil }
        let shown = device.alerts.last.map { String(decoding: $0, as: UTF8.self) } ?? "none"
        return "its newest alert is \(shown), and a newer one came after its join was applied"
    }

    private mutating func judgeLeft(_ member: Member, _ scene: AudienceScene) {
        guard let applied = member.appliedMillis, let received = scene.members.tokens[member.last.token],
            received.lastPushMillis > applied + Self.leavingMillisMax, !Self.isExcused(received.lastPushMillis, scene)
        else { return }
        self.fault(
            "member \(member.last.token.prefix(8))…: it left, and was pushed to \(received.lastPushMillis - applied) ms later"
        )
    }
}

extension ChaosAudit.MemberCounts {
    /// Lines for the result table of a run.
    var lines: [String] {
        let grouped = NumberText.grouped
        let failures = self.failures.sorted { $0.key < $1.key }.map { "\(grouped($0.value)) \($0.key)" }
        return [
            "member failures     \(failures.isEmpty ? "none" : failures.joined(separator: ", "))",
            "member repeats      \(grouped(self.repeats)) pushes, among them \(grouped(self.alertRepeats)) alerts (a worker died over them, their "
                + "answer was lost, or the phone came back)",
            "members listening   \(grouped(self.listening)) at the end, \(grouped(self.broadcasts)) broadcasts on their audiences' channels; "
                + "\(grouped(self.waysSaid)) times a phone began or stopped, \(grouped(self.bothWays)) times a card got the same both ways",
            "phones that only listen  \(grouped(self.silent)) without a token, each on the channel of an audience",
            "members that moved  \(grouped(self.moved)) came from another audience",
            "member pace         \(grouped(self.tooClose)) pushes too soon after another"
                + (self.excused > 0 ? ", \(grouped(self.excused)) that a paused worker had on their way" : "")
                + (self.stalled > 0
                    ? ", \(grouped(self.stalled)) whose first left late in one of \(grouped(self.stalls)) long turns"
                    : ""),
        ]
    }
}
