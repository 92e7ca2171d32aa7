import CommandSupport
import DeviceModel
import KafkaLog
import Upstream

/// Holds the members of audiences against what was published: by the log, by what was said of it, and by what APNs took.
extension ChaosAudit {
    /// What is known of members besides Kafka's log.
    struct AudienceScene {
        /// What APNs took for members.
        var members = ChaosMembers(distanceMillis: 0)
        /// When workers that had been paused went on, milliseconds since 1970: what they send then was on its way before.
        var resumedMillis: [Int64] = []
        /// Long turns of workers: what was sent in one left later than it counts from.
        var stalls: [WorkerStall] = []
        /// Tokens that APNs calls dead.
        var dead: Set<String> = []
        /// Versions of priority 10 within an hour, for members without and with `frequent-updates`.
        var (budgetPerHour, frequentBudgetPerHour) = (0, 0)
        /// Broadcasts on channels that are kept for audiences.
        var broadcastCount = 0
        /// By token of a member that has listened: how often its card got the same by its channel and by a push.
        var bothWays: [String: Int] = [:]
        /// Repeats just before they began to listen, which phones do not count.
        var repeats: [String: Int] = [:]
        /// Phones that listen and have no token; none where a former release runs, which leaves them behind.
        var silent: [SilentListener] = []
        /// Nothing was disturbed: then no push may come twice, and nothing both ways.
        var isUndisturbed = false
    }

    /// What became of members.
    struct MemberCounts: Equatable {
        var audiences = 0
        /// Those that were members at the end and whose token is good.
        var checked = 0
        var equivalent = 0
        /// Members that came from another audience, whose phones may ignore what is older than they show.
        var moved = 0
        var pushes = 0
        var repeats = 0
        var alertRepeats = 0
        /// Pushes that came too soon after another, but for those that a pause excuses.
        var tooClose = 0
        var excused = 0
        /// Those whose first push left in a long turn, later than it counts from, and the turns of all workers that took long.
        var stalled = 0
        var stalls = 0
        /// Outcome records of members whom a version did not reach, by reason.
        var failures: [String: Int] = [:]
        /// Members that listened at the end, and joins that said so or took it back.
        var (listening, waysSaid) = (0, 0)
        var broadcasts = 0
        /// Phones that listen without a token: those that had to show something.
        var silent = 0
        /// Times that a card got the same both ways.
        var bothWays = 0
        /// What the workers together may hold.
        var held = 0...0
    }

    /// What a member may get both ways each time that it begins or stops to listen: the newest version, as nobody knows whether the channel had
    /// brought it, and the newest alert.
    static let bothWaysMax = 2

    /// A member that has left may be pushed to for so long: a request may have been on its way.
    static let leavingMillisMax: Int64 = 10_000

    /// Why APNs refuses a push to a member for good: its token was given anew, or taken away. Nothing else happens to members here.
    private static let deadReasons: Set<String> = ["Unregistered", "ExpiredToken"]

    /// What an audience's events make of a phone that gets all of them.
    private struct Expectation {
        var reference = ReferenceDevice()
        /// By record: when it was written, the alert that it brought a phone that is up to date, and what it withdrew.
        var alerts: [(recordMillis: Int64, seconds: Int64, alert: [UInt8], withdraws: Bool)] = []

        mutating func take(_ event: StoryEvent, recordMillis: Int64) throws {
            let payload = event.payload(recordMillis: recordMillis)
            let reaction = try self.reference.take(payload: payload, nowMillis: recordMillis)
            let isShown = reaction == .shown || reaction == .shownAsSecondCard
            let alert = isShown ? event.alert.map { Array($0.utf8) } ?? [] : []
            self.alerts.append(
                (recordMillis, event.timestampSeconds ?? recordMillis / 1_000, alert, event.withdrawsAlert))
        }

        /// Alerts of the events that were written after a time, and whether the newest is due.
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

    /// What the log says of one token.
    private struct Member {
        var last: StoryMembership
        /// When the last record was last said to be applied, milliseconds since 1970; `nil`: nobody said so.
        var appliedMillis: Int64?
        /// Audiences it was in, in order.
        var audiences: [String] = []
        var isFrequent = false
        /// The channel that it has said it listens on.
        var channel: String?
        /// It came back after it had left: then it is shown the newest, which it may have been shown before.
        var cameBack = false
    }

    /// Every phone of a member shows its audience's newest state, or its end; nobody is pushed to too soon, too often or after having left.
    /// - Parameter phone: the phone behind a token; `nil`: nothing was ever pushed to it.
    mutating func judgeMembers(
        _ scene: AudienceScene, _ records: [OwnedRecord], phone: (_ token: String) -> Device?
    ) throws {
        var expectations: [String: Expectation] = [:]
        var members: [String: Member] = [:]
        for record in records {
            guard let publication = self.publication(of: record) else { continue }
            // Start members and their audiences have a judge of their own.
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
                    // It is shown the newest by its token, whatever its channel had brought.
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

    /// A phone has one way at a time. A worker that takes over may bring a version the other way, too: that is counted.
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
        // A phone listens before its app has said so, or says no more that it does: each version comes both ways until that is known, and counts
        // twice there.
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
        // An audience that it left may have ended before the next join was read: then its card has ended for good.
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

    /// What was published once it surely listened comes to it over its channel alone.
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
        // Whatever alert it shows: which are due depends on when it came.
        var anyAlert = AlertHistory()
        anyAlert.append(device.alerts.last ?? [], seconds: 0)
        if let difference = device.firstDifference(from: expected, countingCards: false, alerts: anyAlert) {
            guard hasMoved, let received, received.lastContent == expected.contentState else { return difference }
            // It shows what was stamped later by an audience before.
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
    /// Lines of the table.
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
