import DeviceModel
import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Judges what phones of audiences show when everything is quiet. The judge knows which records were stored and which
/// pushes left. It does not read the engines' tables.
extension SimulationWorld {
    /// The events that phones of an audience may have been sent. The judge cannot always know whether an event was
    /// sent, so it makes an account for each possible combination of events.
    private struct Account {
        /// Events that are in a version, in order of the log. Updates with an older timestamp than an event before them
        /// are left out.
        var events: [Int]
        /// All events that are in a version.
        var all: [Int]
        /// A phone that got all `events`.
        var device: Device
    }

    func judgeAudience(_ audience: Int) {
        let positions = self.order.filter {
            self.written[$0]!.activity == audience && self.written[$0]!.isContent
        }
        for position in positions {
            let names = (self.evidence.outcomes[position] ?? []).map(\.name)
            for name in names where ["unregistered", "rejected", "unknown", "dead-lettered"].contains(name) {
                self.fail("\(position) is \(name): event of audience \(audience)")
            }
        }
        self.judgeVersionOrder(audience)
        let doubtful = positions.filter { !self.ways(of: $0).isEmpty }
        guard doubtful.count <= Self.doubtfulMax, !self.mayBeForgotten(positions) else { return }
        var accounts: [Account] = []
        for choice in 0..<(1 << doubtful.count) {
            var pushed: [SourcePosition: Bool] = [:]
            for (bit, position) in doubtful.enumerated() { pushed[position] = choice >> bit & 1 == 1 }
            let all = self.eventsCovered(positions, doubtful: pushed)
            let events = self.growing(all)
            if !accounts.contains(where: { $0.all == all }) {
                accounts.append(Account(events: events, all: all, device: self.phone(after: events)))
            }
        }
        for member in self.members.indices where self.isPresent(member, in: audience) {
            self.judgeMember(member, audience: audience, accounts: accounts)
        }
    }

    /// Judges that the outcome of every join and leave is `applied` or `duplicate`.
    func judgeMovements() {
        for position in self.order
        where self.written[position]!.member != nil || self.written[position]!.starter != nil {
            let names = (self.evidence.outcomes[position] ?? []).map(\.name)
            for name in names where name != "applied" && name != "duplicate" {
                self.fail(
                    "\(position) is \(name): \(self.written[position]!.kind) of member \(self.written[position]!.member ?? self.written[position]!.starter!)"
                )
            }
        }
    }

    /// Whether the member is in the audience, according to the upstream service's records, and its token is not dead.
    private func isPresent(_ member: Int, in audience: Int) -> Bool {
        let phone = self.members[member]
        guard let movement = phone.movement, movement.audience == audience, !phone.isDead else { return false }
        return true
    }

    /// Whether the time between two events is so long that members may be forgotten meanwhile. A member is forgotten
    /// some time after its join or the last version.
    private func mayBeForgotten(_ positions: [SourcePosition]) -> Bool {
        let times = positions.map { self.written[$0]!.writtenMillis }
        return zip(times, times.dropFirst()).contains { $1 - $0 > self.plan.lifetimeMillis / 12 * 11 }
    }

    // MARK: What they were told

    private func eventsCovered(_ positions: [SourcePosition], doubtful: [SourcePosition: Bool]) -> [Int] {
        var known = doubtful
        let onlySure = !doubtful.isEmpty && !doubtful.values.contains(true)
        var events: [Int] = []
        for position in positions where self.wasPushed(position, known: &known, onlySure: onlySure) {
            events.append(self.written[position]!.number)
        }
        return events
    }

    /// Returns the events, but leaves out each update whose timestamp is older than that of an earlier event.
    private func growing(_ events: [Int]) -> [Int] {
        var newest = Int64.min
        return events.filter { number in
            let event = self.written[self.order[number]]!
            if event.kind == .update, event.timestampSeconds < newest { return false }
            newest = max(newest, event.timestampSeconds)
            return true
        }
    }

    /// Simulates a phone that got the given events without their alerts.
    private func phone(after events: some Sequence<Int>) -> Device {
        var device = Device()
        var stamp = Int64(0)
        for number in events {
            let event = self.written[self.order[number]]!
            stamp = max(event.timestampSeconds, stamp + 1)
            let text = event.body.replacingOccurrences(of: "STAMP", with: String(stamp))
            guard let content = try? PayloadReader.read(Array(text.utf8).span) else {
                self.fail("the reference cannot decode \(text)")
                continue
            }
            var silent = content
            silent.alert = 0..<0
            device.apply(silent, body: Array(text.utf8).span, priority: 5, nowMillis: self.wallMillis)
        }
        return device
    }

    // MARK: One phone

    private func judgeMember(_ member: Int, audience: Int, accounts: [Account]) {
        let card = self.members[member].cards[audience] ?? MemberCard()
        var differences: [String] = []
        for account in accounts {
            // An event with an older timestamp may be valid for longer than the event before it. A phone shows it when
            // the earlier event has expired.
            let kept = Set(account.events)
            let told = account.all.filter { kept.contains($0) || card.shown.contains($0) }
            let ways =
                self.waysToExpire(account.events, unshownBy: card)
                + (told == account.events ? [] : self.waysToExpire(told, unshownBy: card))
            for events in ways {
                let device = events == account.events ? account.device : self.phone(after: events)
                guard let difference = card.silent.firstDifference(from: device, countingCards: false) else {
                    return self.judgeAlert(card, member: member, audience: audience, events: account.events)
                }
                differences.append(difference)
            }
            if self.mayShowLess(card, member: member, audience: audience, events: account.events) { return }
        }
        guard let difference = differences.first else { return }
        let joined = (self.members[member].arrival?.writtenMillis ?? 0) - Self.beginMillis
        self.fail(
            "member \(member) of audience \(audience), partition \(self.home(ofMember: member)), joined at \(joined) ms: \(difference)"
                + self.story(of: audience))
    }

    /// All lists of events that a phone may show if versions expired before they were sent to it. Members that did not
    /// get an expired version are sent the newest valid one. An end without its own content has that version's content.
    private func waysToExpire(_ events: [Int], unshownBy card: MemberCard) -> [[Int]] {
        var ways = [self.growing(events)]
        var rest = events
        func dropLast() -> Bool {
            guard let last = self.growing(rest).last, self.written[self.order[last]]!.expiresSeconds != nil,
                !card.shown.contains(last)
            else { return false }
            rest.removeAll { $0 == last }
            return true
        }
        while dropLast() { ways.append(self.growing(rest)) }
        guard let end = events.last, self.written[self.order[end]]!.kind == .end else { return ways }
        rest = events.dropLast()
        while dropLast() { ways.append(self.growing(rest) + [end]) }
        return ways
    }

    /// Whether a member of an ended audience may show less than the newest content. It may have joined after that
    /// content, or too late for the end. Or no owner had its partition for long enough to send the end.
    private func mayShowLess(_ card: MemberCard, member: Int, audience: Int, events: [Int]) -> Bool {
        guard let arrival = self.members[member].arrival,
            let end = events.last(where: { self.written[self.order[$0]]!.kind == .end })
        else { return false }
        let ended = self.written[self.order[end]]!
        let content = events.last { self.written[self.order[$0]]!.body.contains("\"content-state\":") }
        let came = content.map { self.written[self.order[$0]]!.writtenMillis } ?? 0
        if arrival.writtenMillis >= came,
            card.silent.firstDifference(from: self.phone(after: [end]), countingCards: false) == nil
        {
            return true
        }
        let retention = self.plan.app.retentionAfterEndMillis
        if self.wasInNoHands(self.home(ofMember: member), from: ended.writtenMillis, forMillis: retention),
            events.indices.contains(where: {
                card.silent.firstDifference(from: self.phone(after: events[..<$0]), countingCards: false) == nil
            })
        {
            return true
        }
        return card.device.phase == .untouched
            && arrival.writtenMillis + Self.delayMillisMax > ended.writtenMillis + retention
    }

    /// Whether no owner had the partition and a Kafka client for long enough to serve all its members. An end is sent
    /// only while it is kept, for `forMillis`.
    private func wasInNoHands(_ partition: Int32, from millis: Int64, forMillis: Int64) -> Bool {
        let moves = (self.moveTimes[partition] ?? []).map { (millis: $0, hasClient: true) }
        let turns = (moves + (self.clientTimes[partition] ?? [])).sorted { $0.millis < $1.millis }
        // Since when the partition has had an owner that can write. `nil`: it has none.
        var since: Int64? = millis
        for turn in turns where turn.millis < millis + forMillis {
            if let since, turn.millis - since >= Self.handsMillisMin { return false }
            since = turn.hasClient ? max(millis, turn.millis) : nil
        }
        return since.map { millis + forMillis - $0 < Self.handsMillisMin } ?? true
    }
    /// Least time in which an owner serves all members: a dead owner's session, and the time in which the next owner
    /// reads the log before it pushes.
    private static let handsMillisMin = SimulatedGroup.sessionMillis + 15_000

    /// Longest delay until a worker reads a record, if all delays coincide.
    static let delayMillisMax: Int64 = 600_000

    private func judgeAlert(_ card: MemberCard, member: Int, audience: Int, events: [Int]) {
        let alerts = events.filter { self.written[self.order[$0]]!.body.contains("\"alert\":") }
        if let rung = card.alertsShown.last, let text = alerts.lastIndex(where: { self.alertOf($0) == rung }),
            let newest = card.alertsShown.compactMap({ shown in alerts.lastIndex { self.alertOf($0) == shown } }).max(),
            text < newest, !self.written[self.order[alerts[newest]]]!.hasCopy,
            !self.changedHands(card, between: self.alertOf(alerts[newest]), and: rung)
        {
            self.fail("member \(member): the alert of event \(rung) rang after that of event \(alerts[newest])")
        }
        guard let newest = alerts.last else { return }
        let event = self.written[self.order[newest]]!
        guard !self.isWithdrawn(event), event.expiresSeconds == nil, !self.members[member].mayMissAlerts,
            self.isSurelyDue(event, to: member),
            !card.alertsShown.contains(self.alertOf(newest)),
            !self.mayBeDropped(self.alertOf(newest), card, audience: audience),
            !self.endedOverItsChannel(card, before: self.alertOf(newest))
        else { return }
        self.fail(
            "member \(member) of audience \(audience), partition \(self.home(ofMember: member)): the alert of event \(newest) is lost"
                + self.story(of: audience))
    }

    /// Whether the end may have arrived over the channel before the alert arrived by token. The phone then ignored the
    /// push with the alert.
    private func endedOverItsChannel(_ card: MemberCard, before alert: Int) -> Bool {
        self.plan.kept.isOn && card.device.phase == .ended && card.alerts[alert]?.last?.isAccepted == true
    }

    /// Whether the later push came from a new owner that may not have known of the earlier push, because no record
    /// mentioned it. When the earlier event has expired, the new owner sends the older content that was kept beneath
    /// it.
    private func changedHands(_ card: MemberCard, between earlier: Int, and later: Int) -> Bool {
        guard let first = card.alerts[earlier]?.last, let second = card.alerts[later]?.last else { return false }
        return first.moves < second.moves && first.worker != second.worker
            && self.written[self.order[earlier]]!.expiresSeconds != nil
    }

    /// The number in the text of the event's alert. It is the event's own number, or the first record's number if the
    /// event was written twice.
    private func alertOf(_ number: Int) -> Int {
        self.alertNumber(in: self.written[self.order[number]]!.body) ?? number
    }

    /// Whether the member's join was committed when the event was written, and the audience's owner can tell that.
    /// Otherwise the event may be processed before the join, and the member does not get an alert that is older than
    /// its join.
    private func isSurelyDue(_ event: WrittenEvent, to member: Int) -> Bool {
        guard let arrival = self.members[member].arrival, let joined = arrival.committedMillis,
            joined < event.writtenMillis
        else {
            return false
        }
        if event.isHeard || self.isNewest(event, andLaterThan: arrival, of: member) { return true }
        let departures = self.phones[event.activity].audience?.departures[self.home(ofMember: member)] ?? []
        return departures.contains { $0 > joined && $0 < event.writtenMillis }
    }
    /// Whether the event made the newest version, and its record is not older than the join's record. An owner may get
    /// the partition's question after it has read the event. It then compares only the times of the two records.
    private func isNewest(
        _ event: WrittenEvent, andLaterThan arrival: SimulatedMember.Movement, of member: Int
    ) -> Bool {
        // A forwarded join may be processed after the version.
        guard self.home(ofMember: member) == self.writtenPartition(ofMember: member),
            !self.recordTimes.untimed.contains(event.activity),
            self.written[arrival.position]!.writtenWallMillis <= event.writtenWallMillis
        else { return false }
        return !self.order[(event.number + 1)...].contains {
            self.written[$0]!.activity == event.activity && self.written[$0]!.isContent
        }
    }

    // MARK: Versions

    /// Judges, in the order of stamps, that no version shows older content than the version before it.
    private func judgeVersionOrder(_ audience: Int) {
        let versions = (self.phones[audience].audience?.versions ?? [:]).sorted { $0.key < $1.key }.map(\.value)
        for (earlier, later) in zip(versions, versions.dropFirst()) where later.isUpdate && !later.isBehind {
            guard let before = earlier.event, let after = later.event else { continue }
            let (old, new) = (self.written[self.order[before]]!, self.written[self.order[after]]!)
            guard (new.timestampSeconds, after) < (old.timestampSeconds, before), old.expiresSeconds == nil else {
                continue
            }
            self.fail("audience \(audience): event \(after) became a version after event \(before)")
        }
    }

    private func story(of audience: Int) -> String {
        var story = ""
        for position in self.order where self.written[position]!.activity == audience {
            let event = self.written[position]!
            guard event.isContent else { continue }
            let names = (self.evidence.outcomes[position] ?? []).map(\.name)
            let alert = event.body.contains("\"alert\":") ? ", alert" : event.withdrawsAlert ? ", withdraws" : ""
            let expires =
                event.expiresSeconds.map { ", expires at \($0 * 1_000 - self.wallOffsetMillis - Self.beginMillis) ms" }
                ?? ""
            story +=
                "\n  \(event.number): \(event.kind)@\(event.timestampSeconds) \(position.partition)/\(position.offset) written at \(event.writtenMillis - Self.beginMillis) ms\(alert)\(expires) \(names)"
        }
        return story
    }

    // MARK: After every step

    /// Checks that the counts of waiting members and start members are right, and that none is lost.
    func checkMembers(_ worker: SimulatedWorker) {
        let waiting = worker.loop.engine.countWaitingMembers()
        if UInt64(waiting) != worker.loop.engine.counters.members.waiting {
            self.fail(
                "worker \(worker.number): \(waiting) members wait, \(worker.loop.engine.counters.members.waiting) are counted"
            )
        }
        let starters = worker.loop.engine.counters.startMembers
        let starterCount = worker.loop.engine.countWaitingStartMembers()
        if UInt64(starterCount) != starters.waiting {
            self.fail("worker \(worker.number): \(starterCount) starts wait, \(starters.waiting) are counted")
        }
        if !starters.isConserved { self.fail("start members are not conserved: \(starters)") }
        let members = worker.loop.engine.counters.members
        if !members.isConserved { self.fail("members are not conserved: \(members)") }
    }
}
