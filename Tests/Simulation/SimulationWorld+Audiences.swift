import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Audiences in the simulated world: their members, and the records that the upstream service and the apps write about
/// them.
extension SimulationWorld {
    /// First dismissal time that an `end` without content may have, in seconds. The end's index in `order` is added to
    /// it, so that the judge recognizes the end.
    static let dismissalBeginsSeconds: Int64 = 2_000_000_000

    func makeAudiences() {
        for audience in self.plan.audiences.audiences {
            // The number follows a character that is not a digit, because `activity(ofStateKey:)` reads the digits at
            // the end.
            self.addAudience(key: "cup=\(self.phones.count)", app: audience.app)
        }
    }

    private func addAudience(key: String, app: UInt16, first: Int? = nil) {
        var phone = SimulatedPhone(key: key, lastEventSeconds: self.wallSeconds)
        phone.audience = SimulatedAudience(app: app, first: first ?? self.phones.count)
        self.phones.append(phone)
        self.budgetUnits.append([])
        self.possibleUnits.append([])
        self.lastStamps.append(0)
        self.lastBodies.append("")
    }

    /// Indexes into `phones` of all lives of audiences.
    var audienceNumbers: Range<Int> { self.plan.activities..<self.phones.count }

    /// The newest life of each audience. The upstream service writes about these lives only.
    var presentAudiences: [Int] {
        self.plan.audiences.audiences.indices.map { number in
            self.audienceNumbers.last {
                self.phones[$0].audience?.first == self.plan.activities + number
            }!
        }
    }

    func isAudience(_ activity: Int) -> Bool { self.phones[activity].audience != nil }

    /// Whether two lives belong to the same audience. `nil` is no life, and equals only `nil`.
    func isOneAudience(_ one: Int?, _ other: Int?) -> Bool {
        guard let one, let other else { return one == other }
        return self.phones[one].audience?.first == self.phones[other].audience?.first
    }

    private func audienceChance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.audienceRandom) < percent
    }

    // MARK: Upstream

    /// Perhaps lets the upstream service or an app write something about an audience.
    /// - Returns: whether this step concerns an audience. If not, the caller writes about an activity or channel.
    func writesAboutAudience() -> Bool {
        guard !self.audienceNumbers.isEmpty else { return false }
        if self.members.isEmpty {
            for (number, audience) in self.plan.audiences.audiences.enumerated() where audience.joinsFirst {
                self.joinMany(audience.memberCount, audience: self.audienceNumbers.lowerBound + number)
            }
        }
        self.perhapsBeginAnew()
        guard self.audienceChance(self.plan.audiences.sharePercent) else { return false }
        let living = self.presentAudiences.enumerated().filter { !self.isBetweenLives($0.element) }
        guard let (number, audience) = living.randomElement(using: &self.audienceRandom) else { return false }
        if self.writesAboutStarters(audience) { return true }
        if self.writesAboutListeners(audience) { return true }
        let wanted = self.plan.audiences.audiences[number].memberCount
        let missing = wanted - self.members.count { $0.movements.first?.audience == audience }
        if missing > 0, Bool.random(using: &self.audienceRandom) {
            self.joinMany(min(missing, Int.random(in: 1...12, using: &self.audienceRandom)), audience: audience)
        } else if self.audienceChance(self.plan.audiences.movementPercent) {
            self.moveSomebody(audience)
        } else {
            self.writeContent(audience)
        }
        return true
    }

    private func joinMany(_ count: Int, audience: Int) {
        for _ in 0..<count { self.joinAnew(audience) }
    }

    private func joinAnew(_ audience: Int) {
        let plan = self.plan.audiences
        let member = self.makeMember(
            isDevelopment: plan.hasDevelopment && Int.random(in: 0..<3, using: &self.audienceRandom) == 0)
        self.writeJoin(member, audience: audience, isFrequent: self.audienceChance(plan.frequentPercent))
    }

    /// Lets a phone join after a start has put up a card on it. The phone's app reports the card's update token.
    /// - Parameter channel: the channel on which the card listens. Two of three apps report it.
    func joinStarted(_ audience: Int, isDevelopment: Bool, channel: String?) {
        guard !self.isBetweenLives(audience), self.presentAudiences.contains(audience) else { return }
        let member = self.makeMember(isDevelopment: isDevelopment)
        if let channel {
            self.members[member].listening[audience] = channel
            self.members[member].saysChannel = Int.random(in: 0..<3, using: &self.keptRandom) > 0
        }
        self.writeJoin(member, audience: audience, isFrequent: false)
    }

    private func makeMember(isDevelopment: Bool) -> Int {
        let number = self.members.count
        // The tokens of activities begin with the activity's number, which is never `fe`.
        let digits = "0000000" + String(number, radix: 16)
        let byteCount = [8, 32, 32, 80].randomElement(using: &self.audienceRandom)!
        let token = "fe" + digits.suffix(8) + String(repeating: "c3", count: byteCount - 5)
        self.members.append(
            SimulatedMember(token: token, keyBytes: Array(token.utf8), isDevelopment: isDevelopment))
        self.memberNumbers[token] = number
        return number
    }

    /// Lets a member join, leave, move to another audience, or repeat its last record. Its token may also die or be
    /// replaced.
    private func moveSomebody(_ audience: Int) {
        let living = self.members.indices.filter { member in
            let last = self.members[member].movements.last { $0.audience != nil }?.audience
            let present = self.presentAudiences.first { self.isOneAudience($0, last) }
            return !self.members[member].isDead && present.map { !self.isBetweenLives($0) } ?? false
        }
        guard let member = living.randomElement(using: &self.audienceRandom) else { return self.joinAnew(audience) }
        let present = self.members[member].audience
        let last = self.members[member].movements.last { $0.audience != nil }
        let home = self.presentAudiences.first { self.isOneAudience($0, last?.audience) } ?? audience
        let isFrequent = last?.isFrequent ?? false
        if self.audienceChance(self.plan.audiences.deathPercent) {
            self.log("the token of member \(member) dies")
            self.members[member].isDead = true
            // The app reports the next token now, or never.
            if Bool.random(using: &self.audienceRandom) { self.rotate(member, audience: home, isFrequent: isFrequent) }
            return
        }
        // A token belongs to one app, so the member can only move to audiences of this app.
        let others = self.presentAudiences.filter {
            !self.isOneAudience($0, present) && !self.isBetweenLives($0)
                && self.phones[$0].audience?.app == self.phones[home].audience?.app
        }
        switch Int.random(in: 0..<10, using: &self.audienceRandom) {
        case 0..<2: self.joinAnew(audience)
        case 2: self.writeJoin(member, audience: home, isFrequent: isFrequent)
        case 3: self.writeJoin(member, audience: home, isFrequent: Bool.random(using: &self.audienceRandom))
        case 4..<6:
            guard let other = others.randomElement(using: &self.audienceRandom) else {
                return self.writeJoin(member, audience: home, isFrequent: isFrequent)
            }
            self.writeJoin(member, audience: other, isFrequent: isFrequent)
            // The member may return at once.
            if Int.random(in: 0..<3, using: &self.audienceRandom) == 0 {
                self.writeJoin(member, audience: home, isFrequent: isFrequent)
            }
        case 6: self.writeLeave(member, audience: nil)
        case 7: self.writeLeave(member, audience: home)
        case 8:
            // The member leaves an audience to which it does not belong now.
            guard let other = others.randomElement(using: &self.audienceRandom) else { return }
            self.writeLeave(member, audience: other)
        default: self.rotate(member, audience: home, isFrequent: isFrequent)
        }
    }

    /// Replaces the app's token. The app removes the old token and reports the new one.
    private func rotate(_ member: Int, audience: Int, isFrequent: Bool) {
        self.members[member].isDead = true
        self.writeLeave(member, audience: nil)
        let next = self.makeMember(isDevelopment: self.members[member].isDevelopment)
        self.writeJoin(next, audience: audience, isFrequent: isFrequent)
    }

    func writeJoin(_ member: Int, audience: Int, isFrequent: Bool) {
        let listens = self.members[member].saysChannel ? self.members[member].listening[audience] : nil
        let channel = listens.map { ",\"channel\":\"\($0)\"" } ?? ""
        let environment = self.members[member].isDevelopment ? ",\"environment\":\"development\"" : ""
        let frequent = isFrequent ? ",\"frequent-updates\":true" : ""
        let value =
            "{\"event\":\"register\",\"audience\":\"\(self.phones[audience].key)\"\(environment)\(frequent)\(channel)}"
        self.write(
            member, kind: .join, audience: audience, value: value, leadsTo: audience, isFrequent: isFrequent,
            isArrival: self.members[member].audience != audience, channel: listens)
        if self.chance(self.plan.duplicatePercent) {
            self.write(
                member, kind: .join, audience: audience, value: value, leadsTo: audience, isFrequent: isFrequent,
                isArrival: false, channel: listens)
        }
    }

    /// Writes a leave.
    /// - Parameter audience: the audience that the member leaves. `nil`: the one to which it belongs.
    private func writeLeave(_ member: Int, audience: Int?) {
        let present = self.members[member].audience
        let named = audience.map { ",\"audience\":\"\(self.phones[$0].key)\"" } ?? ""
        let remains = audience != nil && !self.isOneAudience(audience, present)
        self.write(
            member, kind: .leave, audience: audience ?? present ?? self.audienceNumbers.lowerBound,
            value: "{\"event\":\"unregister\"\(named)}",
            leadsTo: remains ? present : nil, isFrequent: self.members[member].movement?.isFrequent ?? false,
            isArrival: false)
    }

    private func write(
        _ member: Int, kind: WrittenEvent.Kind, audience: Int, value: String, leadsTo: Int?, isFrequent: Bool,
        isArrival: Bool, channel: String? = nil
    ) {
        let partition = self.writtenPartition(ofMember: member)
        let record = LoggedRecord(
            key: self.members[member].keyBytes, value: Array(self.named(value, app: audience).utf8),
            timestampMillis: self.wallMillis)
        let offset = self.kafka.append(
            self.perhapsSampled(record, in: partition),
            to: SimulatedKafka.LogID(topic: .events, partition: partition), nowMillis: self.steadyMillis)
        let position = SourcePosition(topic: 0, partition: partition, offset: offset)
        var event = WrittenEvent(kind: kind, activity: audience, timestampSeconds: 0, body: "", isHighPriority: false)
        event.writtenMillis = self.steadyMillis
        event.writtenWallMillis = self.wallMillis
        event.number = self.order.count
        event.member = member
        event.movement = self.members[member].movements.count
        self.written[position] = event
        self.order.append(position)
        self.members[member].movements.append(
            SimulatedMember.Movement(
                position: position, audience: leadsTo, isFrequent: isFrequent, writtenMillis: self.steadyMillis,
                isArrival: isArrival, channel: channel))
        self.log("member \(member) at \(position): \(value)")
    }

    /// The event's JSON, with the name of its app if the world has two apps.
    func named(_ value: String, app activity: Int) -> String {
        guard self.plan.audiences.hasTwoApps, value.hasPrefix("{") else { return value }
        let app = self.plan.apps[Int(self.phones[activity].audience?.app ?? 0)]
        return "{\"app\":\"\(app.bundleID)\"," + value.dropFirst()
    }

    // MARK: Lives

    /// Begins a new life of each audience that was ended and forgotten, with some of its phones and with others. All of
    /// `routed` must have been read, so that voids have removed the former members.
    private func perhapsBeginAnew() {
        guard self.isRoutedRead else { return }
        for audience in self.presentAudiences {
            guard let life = self.phones[audience].audience, let end = self.end(of: audience),
                self.isForgotten(audience, end.position)
            else { continue }
            self.addAudience(key: self.phones[audience].key, app: life.app, first: life.first)
            let next = self.phones.count - 1
            self.log("audience \(audience) lives again, as \(next)")
            for member in self.members.indices
            where !self.members[member].isDead && self.members[member].audience == audience {
                guard Int.random(in: 0..<3, using: &self.audienceRandom) > 0 else { continue }
                self.writeJoin(member, audience: next, isFrequent: self.members[member].movement?.isFrequent ?? false)
            }
            self.joinMany(Int.random(in: 0...6, using: &self.audienceRandom), audience: next)
        }
    }

    /// The first `end` of the audience that took effect or has no outcome yet.
    func end(of audience: Int) -> (position: SourcePosition, millis: Int64)? {
        self.phones[audience].audience?.ends.first { end in
            let names = (self.evidence.outcomes[end.position] ?? []).map(\.name)
            return names.isEmpty || names.contains("delivered")
        }
    }

    /// Whether the audience has ended so long ago that a record written now may belong to the ended life or begin
    /// another.
    private func isBetweenLives(_ audience: Int) -> Bool {
        guard let end = self.end(of: audience) else { return false }
        return self.steadyMillis > end.millis + self.plan.app.retentionAfterEndMillis - 300_000
    }

    /// Whether the audience's owner has forgotten it. It has, if the end was sent long enough ago and the owner has run
    /// for a while.
    private func isForgotten(_ audience: Int, _ end: SourcePosition) -> Bool {
        let partition = self.home(of: audience)
        guard let told = self.evidence.lastReported(of: end),
            self.steadyMillis > told + self.plan.app.retentionAfterEndMillis + 190_000 + 30_000,
            let owner = self.group.owner(of: partition),
            let owned = self.workers.first(where: { $0.number == owner })?.partitions[partition],
            self.steadyMillis > owned.runsSinceMillis + 30_000
        else { return false }
        return true
    }

    // MARK: Places

    /// The partition to which the records of a member's token are written.
    func writtenPartition(ofMember member: Int) -> Int32 {
        let key = self.members[member].keyBytes
        let partition = Murmur2.partition(key: key.span, count: self.plan.partitions)
        let isElsewhere =
            self.plan.audiences.trustsPlacement || (member % 3 == 2 && self.plan.misplacedPercent > 0)
        return isElsewhere ? (partition + 1) % self.plan.partitions : partition
    }

    /// The partition in which a member is stored.
    func home(ofMember member: Int) -> Int32 {
        guard !self.plan.audiences.trustsPlacement else { return self.writtenPartition(ofMember: member) }
        let key = self.members[member].keyBytes
        return Murmur2.partition(key: key.span, count: self.plan.partitions)
    }

    /// Whether all messages between workers have been read. Every audience's owner then knows the partitions that have
    /// asked for versions.
    var isRoutedRead: Bool {
        guard self.brokerAwayUntilMillis <= self.steadyMillis,
            !self.kafka.transits.contains(where: { $0.logID.topic == .routed }),
            self.workers.allSatisfy({ $0.loop.waitingRecordCount == 0 })
        else { return false }
        return (0..<self.plan.partitions).allSatisfy { partition in
            guard let owner = self.group.owner(of: partition),
                let worker = self.workers.first(where: { $0.number == owner && $0.runs }),
                let owned = worker.partitions[partition], owned.isRunning
            else { return false }
            return owned.positions[1] == self.kafka.end(.init(topic: .routed, partition: partition))
        }
    }
}
