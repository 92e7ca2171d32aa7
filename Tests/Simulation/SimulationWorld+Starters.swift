import Foundation
import PushEngine
import PushModel
import ShardLoop

/// Start members in the simulated world: the phones with push-to-start tokens, and the records that the upstream
/// service and the apps write about them.
extension SimulationWorld {
    private func startChance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.startRandom) < percent
    }
    /// An update token that a phone has got for a card, and that the app reports later.
    struct ComingBack {
        var audience: Int
        var isDevelopment: Bool
        /// The channel on which the card listens.
        var channel: String?
        var dueMillis: Int64
    }

    /// Perhaps writes an audience's start, or a record about its start members.
    /// - Returns: whether this step concerns start members. The first joins, and update tokens that are due, are
    ///   written in any case.
    func writesAboutStarters(_ audience: Int) -> Bool {
        let plan = self.plan.audiences
        guard plan.starterCount > 0 else { return false }
        self.uploadUpdateTokens()
        if self.starters.isEmpty {
            self.joinStarters(Int.random(in: 0...plan.starterCount, using: &self.startRandom), audience: audience)
            self.joinStarters(plan.starterCrowdCount, audience: audience)
        }
        guard self.startChance(plan.startSharePercent) else { return false }
        let hasEnded = !(self.phones[audience].audience?.ends.isEmpty ?? true)
        if self.starters.count < plan.starterCount, Bool.random(using: &self.startRandom) {
            self.joinStarters(Int.random(in: 1...8, using: &self.startRandom), audience: audience)
        } else if self.phones[audience].audience?.start == nil, !hasEnded,
            Int.random(in: 0..<3, using: &self.startRandom) == 0
        {
            self.writeAudienceStart(audience)
        } else {
            self.moveStarter(audience)
        }
        return true
    }

    private func joinStarters(_ count: Int, audience: Int) {
        for _ in 0..<count {
            let isDevelopment =
                self.plan.audiences.hasDevelopment && Int.random(in: 0..<3, using: &self.startRandom) == 0
            self.writeStartJoin(self.makeStarter(isDevelopment: isDevelopment), audience: audience)
        }
    }

    private func makeStarter(isDevelopment: Bool) -> Int {
        let number = self.starters.count
        let digits = "0000000" + String(number, radix: 16)
        let byteCount = [32, 80, 128].randomElement(using: &self.startRandom)!
        // Tokens of activities and of update members begin differently.
        let token = "fd" + digits.suffix(8) + String(repeating: "5a", count: byteCount - 5)
        self.starters.append(
            SimulatedStarter(
                token: token, keyBytes: Array(token.utf8), isDevelopment: isDevelopment,
                isChannelCapable: Bool.random(using: &self.startRandom)))
        self.starterNumbers[token] = number
        self.starterHashes[Self.hash(ofToken: token)] = number
        return number
    }

    /// Lets a start member join or leave, lets its token die, or lets another start member join.
    private func moveStarter(_ audience: Int) {
        let living = self.starters.indices.filter { !self.starters[$0].isDead }
        guard let starter = living.randomElement(using: &self.startRandom) else {
            return self.joinStarters(1, audience: audience)
        }
        // A token belongs to one app, so the member can only join audiences of this app.
        let home = self.starters[starter].movements.first?.audience ?? audience
        let isOfApp = self.phones[home].audience?.app == self.phones[audience].audience?.app
        switch Int.random(in: 0..<10, using: &self.startRandom) {
        case 0..<4 where isOfApp: self.writeStartJoin(starter, audience: audience)
        case 4 where isOfApp:
            // The member leaves and rejoins at once.
            self.writeStartLeave(starter, audience: audience)
            self.writeStartJoin(starter, audience: audience)
        case 5 where isOfApp: self.writeStartLeave(starter, audience: audience)
        case 6: self.writeStartLeave(starter, audience: nil)
        case 7:
            self.log("the token of starter \(starter) dies")
            self.starters[starter].isDead = true
            guard isOfApp else { return }
            self.writeStartJoin(
                self.makeStarter(isDevelopment: self.starters[starter].isDevelopment), audience: audience)
        default: self.joinStarters(1, audience: audience)
        }
    }

    private func writeStartJoin(_ starter: Int, audience: Int) {
        let phone = self.starters[starter]
        let environment = phone.isDevelopment ? ",\"environment\":\"development\"" : ""
        let capable = phone.isChannelCapable ? ",\"channel-capable\":true" : ""
        self.write(
            starter, kind: .join, audience: audience,
            value:
                "{\"event\":\"register\",\"token-type\":\"start\",\"audience\":\"\(self.phones[audience].key)\"\(environment)\(capable)}"
        )
    }

    /// Writes a leave of a start member.
    /// - Parameter audience: the audience that the member leaves. `nil`: it leaves all audiences.
    private func writeStartLeave(_ starter: Int, audience: Int?) {
        let named = audience.map { ",\"token-type\":\"start\",\"audience\":\"\(self.phones[$0].key)\"" } ?? ""
        self.write(starter, kind: .leave, audience: audience, value: "{\"event\":\"unregister\"\(named)}")
    }

    private func write(_ starter: Int, kind: WrittenEvent.Kind, audience: Int?, value: String) {
        let number = audience ?? self.starters[starter].movements.first?.audience ?? self.audienceNumbers.lowerBound
        let record = LoggedRecord(
            key: self.starters[starter].keyBytes, value: Array(self.named(value, app: number).utf8),
            timestampMillis: self.wallMillis)
        let partition = self.writtenPartition(ofStarter: starter)
        let offset = self.kafka.append(
            self.perhapsSampled(record, in: partition),
            to: SimulatedKafka.LogID(topic: .events, partition: partition), nowMillis: self.steadyMillis)
        let position = SourcePosition(topic: 0, partition: partition, offset: offset)
        var event = WrittenEvent(kind: kind, activity: number, timestampSeconds: 0, body: "", isHighPriority: false)
        event.writtenMillis = self.steadyMillis
        event.number = self.order.count
        event.starter = starter
        event.movement = self.starters[starter].movements.count
        self.written[position] = event
        self.order.append(position)
        self.starters[starter].movements.append(
            SimulatedStarter.Movement(
                position: position, audience: audience, isJoin: kind == .join, writtenMillis: self.steadyMillis))
        self.log("starter \(starter) at \(position): \(value)")
    }

    // MARK: Starts

    /// Writes an audience's start. Update members get its content without the alert.
    private func writeAudienceStart(_ audience: Int) {
        let number = self.order.count
        let timestamp = max(self.wallSeconds, self.phones[audience].lastEventSeconds + 1)
        guard timestamp <= self.wallSeconds + 100 else { return }
        self.phones[audience].lastEventSeconds = timestamp
        self.phones[audience].hasEvents = true
        let expires =
            Int.random(in: 0..<4, using: &self.startRandom) == 0
            ? self.wallSeconds + Int64.random(in: 5...600, using: &self.startRandom) : nil
        let stale = self.drawStaleDateOfStart()
        let isStale = stale.map { $0 <= self.wallSeconds } ?? false
        let content = "\"content-state\":{\"n\":\(number)}\(stale.map { ",\"stale-date\":\($0)" } ?? "")"
        let value = """
            {"event":"start","timestamp":\(timestamp),\(content),"attributes-type":"Cup","attributes":{"start":\(number)},\
            "alert":{"title":"go","body":"\(number)"}\(expires.map { ",\"expires\":\($0)" } ?? "")}
            """
        self.phones[audience].audience?.start = number
        self.writeAboutAudience(
            audience, kind: .start, timestamp: timestamp,
            body: "{\"aps\":{\"event\":\"update\",\"timestamp\":STAMP,\(content)}}", value: value,
            expires: isStale ? stale : expires)
        self.log("a start of audience \(audience): event \(number)")
    }

    /// Draws when the app gets an update token for a card that is up. In 5 of 14 draws, the app never gets one.
    /// - Parameter channel: the channel on which the card listens.
    func getUpdateToken(_ starter: Int, audience: Int, channel: String?) {
        guard Int.random(in: 0..<14, using: &self.startRandom) >= 5 else { return }
        self.comingBack.append(
            ComingBack(
                audience: audience, isDevelopment: self.starters[starter].isDevelopment, channel: channel,
                dueMillis: self.steadyMillis + Int64.random(in: 200...60_000, using: &self.startRandom)))
    }
    private func uploadUpdateTokens() {
        for back in self.comingBack where back.dueMillis <= self.steadyMillis {
            self.joinStarted(back.audience, isDevelopment: back.isDevelopment, channel: back.channel)
        }
        self.comingBack.removeAll { $0.dueMillis <= self.steadyMillis }
    }

    // MARK: Places

    /// The partition to which the records of a start token are written.
    func writtenPartition(ofStarter starter: Int) -> Int32 {
        let key = self.starters[starter].keyBytes
        let partition = Murmur2.partition(key: key.span, count: self.plan.partitions)
        let isElsewhere =
            self.plan.audiences.trustsPlacement || (starter % 3 == 2 && self.plan.misplacedPercent > 0)
        return isElsewhere ? (partition + 1) % self.plan.partitions : partition
    }
    /// The partition in which a start member is stored.
    func home(ofStarter starter: Int) -> Int32 {
        guard !self.plan.audiences.trustsPlacement else { return self.writtenPartition(ofStarter: starter) }
        let key = self.starters[starter].keyBytes
        return Murmur2.partition(key: key.span, count: self.plan.partitions)
    }

    // MARK: Who is in which audience

    func rememberStartMovement(_ event: WrittenEvent, worker: SimulatedWorker) {
        guard let starter = event.starter else { return }
        self.starters[starter].lastRead[worker.number] = event.movement
        self.starters[starter].newestRead = event.movement
    }
    func forgetStartMovements(_ partition: Int32, worker: SimulatedWorker) {
        for starter in self.starters.indices where self.home(ofStarter: starter) == partition {
            self.starters[starter].lastRead[worker.number] = nil
        }
    }
    func rememberStartCommit(_ event: WrittenEvent) {
        guard let starter = event.starter else { return }
        if self.starters[starter].movements[event.movement].committedMillis == nil {
            self.starters[starter].movements[event.movement].committedMillis = self.steadyMillis
        }
    }
    /// The join with which the start member's stay in the audience began. Only the member's first `count` movements
    /// count. `nil`: after these, it is not in the audience.
    func joined(_ starter: Int, audience: Int, upTo count: Int) -> SimulatedStarter.Movement? {
        var joined: SimulatedStarter.Movement?
        for movement in self.starters[starter].movements.prefix(count) {
            guard movement.audience == nil || self.isOneAudience(movement.audience, audience) else { continue }
            if !movement.isJoin { joined = nil } else if joined == nil { joined = movement }
        }
        return joined
    }
}
