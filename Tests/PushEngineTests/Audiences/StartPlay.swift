import PushModel
import Testing

@testable import PushEngine

/// Start members of one crowd, played without an engine. The partition's `state` is a list, and its owner may die
/// between any two steps.
struct StartPlay: ~Copyable {
    /// A record of the partition's `state`.
    enum Record {
        case member(Int, StartMemberRecord?, number: UInt32, round: Int)
        case progress(StartProgressRecord, number: UInt32)
    }
    static let memberCount = 80

    var random: SplitMix64
    var starts = CrowdStarts()
    var table = MemberTable(seed: 1)
    var pushes = MemberPushStore()
    var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    let terms: StartTerms

    /// Records in `state` or on their way. Kafka has acknowledged the first `acknowledgedCount`.
    var log: [Record] = []
    var acknowledgedCount = 0

    // The test keeps the following for itself, to check the crowd.
    var order: StartOrder?
    var members: Set<Int> = []
    /// Members to whom a push of the current start left and was not refused. The push may have no answer yet.
    var sent: Set<Int> = []
    /// Members that a new owner has reported as being in doubt.
    var unheard: Set<Int> = []
    /// Members that had left when they were refused. `state` may say that they were sent the start.
    var excused: Set<Int> = []
    var unknownCount: UInt64 = 0
    var inFlight: [(push: MemberPushID, member: Int, start: StartStamp)] = []
    /// Number of members that are owed the start, by the crowd's own reports.
    var waitingCount = 0
    var phases: Set<CrowdStarts.Phase> = []
    private var lastStampSeconds: Int64 = 0

    init(seed: UInt64, resends: Bool = false) {
        self.random = SplitMix64(seed: seed)
        self.terms = StartTerms(resends: resends, spreadMillis: seed % 3 == 0 ? 5_000 : 0)
        self.makeRing()
    }

    private static func token(_ member: Int) -> [UInt8] { [UInt8(member), 1, 2, 3] }
    private func name(_ member: MemberID) -> Int { Int(self.table.token(of: member)[0]) }
    private func find(_ member: Int) -> MemberID {
        let token = Self.token(member)
        return self.starts.member(token.span, in: self.table)
    }
    private mutating func insert(_ member: Int, joinedSeconds: UInt32) -> MemberID {
        let token = Self.token(member)
        return self.table.insert(token.span, in: self.starts.rounds[0].ring, joinedSeconds: joinedSeconds)
    }
    private mutating func makeRing() {
        self.starts.ringMade(self.table.makeRing(of: .start), environment: .production)
    }
    private mutating func draw(_ count: Int) -> Int { Int.random(in: 0..<count, using: &self.random) }

    // MARK: Steps

    mutating func step(crashes: Bool) {
        switch self.draw(24) {
        case 0..<5: for _ in 0..<8 { self.join(1 + self.draw(Self.memberCount)) }
        case 5, 6: self.leave(1 + self.draw(Self.memberCount))
        case 7: if self.order == nil { self.begin() }
        case 8: if self.draw(4) == 0 { self.end() }
        case 9..<15:
            var count = self.draw(10)
            while count >= 0, self.send() { count -= 1 }
        case 15..<19: for _ in 0...self.draw(6) { self.answer() }
        case 19..<22: self.acknowledge(self.draw(self.log.count - self.acknowledgedCount + 1))
        case 22: if crashes { self.crash() }
        default: self.pass(Int64(self.draw(1_200)))
        }
        self.writeIfDue()
        self.check()
    }
    private func check() {
        let (counted, waiting) = (self.waitingCount, self.starts.waitingCount)
        #expect(counted == waiting && waiting >= 0, "what is counted is what waits")
    }
    mutating func join(_ member: Int) {
        let seconds = UInt32(self.now.wallSeconds)
        var id = self.find(member)
        let isNew = id.isNone
        if isNew {
            id = self.insert(member, joinedSeconds: seconds)
        }
        self.members.insert(member)
        self.starts.joinTaken(seconds: seconds)
        let isChanged = self.starts.joined(
            id, of: 0, says: Bool.random(using: &self.random) ? .isChannelCapable : [], isNew: isNew,
            joinedSeconds: seconds, in: &self.table, now: self.now)
        if isChanged { self.write(id) }
    }
    private mutating func write(_ id: MemberID) {
        if self.terms.resends, self.starts.isServedInDoubt(id, of: 0, in: self.table) { self.writeProgress() }
        let (record, number, dueCount) = self.starts.record(of: id, of: 0, in: self.table)
        self.waitingCount += dueCount
        self.log.append(.member(self.name(id), record, number: number, round: 0))
    }
    mutating func leave(_ member: Int) {
        let id = self.find(member)
        guard self.members.remove(member) != nil, id.isSome else { return }
        if let fewer = self.starts.left(id, of: 0, in: &self.table, now: self.now) {
            self.waitingCount -= fewer
            return self.write(id)
        }
        self.forget(id)
    }
    private mutating func forget(_ id: MemberID) {
        self.log.append(.member(self.name(id), nil, number: self.starts.tombstoneWritten(), round: 0))
        self.waitingCount -= self.starts.removed(id, of: 0, in: &self.table)
    }
    mutating func begin() {
        var order = StartOrder()
        order.life = 1
        self.lastStampSeconds = max(self.lastStampSeconds + 1, self.now.wallSeconds)
        order.stampSeconds = self.lastStampSeconds
        order.expiresSeconds = self.now.wallSeconds + 900
        self.order = order
        self.sent = []
        self.unheard = []
        self.excused = []
        self.unknownCount = 0
        self.take(order)
    }
    private mutating func take(_ order: StartOrder) {
        guard case .begins = self.starts.coming(order) else { return }
        var entries: [RingEntry] = []
        let begun = self.starts.startCame(order, in: &self.table, entries: &entries)
        self.waitingCount += begun.dueCount
        self.unknownCount += begun.unknownCount
        for id in begun.unheard { self.unheard.insert(self.name(id)) }
        self.phases.insert(self.starts.phase)
    }
    mutating func end() {
        guard case .ceases = self.starts.coming(nil) else { return }
        self.waitingCount -= self.starts.ceased(into: \.superseded, in: &self.table)
        self.starts.over()
        self.order = nil
        self.phases.insert(self.starts.phase)
    }
    /// - Returns: whether a push has left.
    mutating func send() -> Bool {
        guard self.starts.mayLeave else { return false }
        guard
            let (id, failures) = self.starts.nextStep(of: 0, self.terms, in: &self.table, now: self.now)
        else { return false }
        let member = self.name(id)
        let (isFirst, isMember) = (self.sent.insert(member).inserted, self.members.contains(member))
        let mayRepeat = self.terms.resends
        #expect(isFirst || mayRepeat, "a second card for \(member)")
        #expect(isMember, "\(member) has left")
        self.table.insertFlag(.isInFlight, of: id)
        let push = self.pushes.make()
        self.pushes[push].member = id
        self.pushes[push].failures = failures
        self.pushes[push].life = self.starts.orderStamp.life
        self.pushes[push].stampSeconds = self.starts.orderStamp.stampSeconds
        self.inFlight.append((push, member, self.starts.orderStamp))
        _ = self.starts.pushLeft(push, of: 0, in: &self.pushes, now: self.now)
        return true
    }
    mutating func answer() {
        guard !self.inFlight.isEmpty else { return }
        let index = self.draw(self.inFlight.count)
        let (id, member, start) = self.inFlight.remove(at: index)
        let push = self.pushes[id]
        self.starts.pushAnswered(id, of: 0, in: &self.pushes)
        self.pushes.release(id)
        self.table.removeFlag(.isInFlight, of: push.member)
        var isOwed = false
        if self.draw(4) == 0 {
            let reason = self.starts.surelyNotArrived(
                push, endsSeconds: self.starts.orderExpiresSeconds, delayMillis: Int64(self.draw(1_500)),
                failures: FailureStreak(count: 1), in: &self.table, now: self.now)
            if start == self.starts.orderStamp { self.sent.remove(member) }
            if !self.members.contains(member) { self.excused.insert(member) }
            isOwed = reason == nil
        }
        if !isOwed { self.waitingCount -= 1 }
        self.starts.settled(push.member, of: 0, nowMillis: self.now.steadyMillis)
    }
    mutating func pass(_ millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
        if self.order != nil { self.starts.began(now: self.now) }
    }
    mutating func writeIfDue() {
        let due = self.starts.recordDueMillis(
            announces: self.starts.mayLeave, self.terms, in: self.table, now: self.now)
        if due <= self.now.steadyMillis { self.writeProgress() }
    }
    private mutating func writeProgress() {
        var entries: [RingEntry] = []
        let progress = self.starts.record(
            announces: self.starts.mayLeave, self.terms, in: self.table, pushes: self.pushes, entries: &entries,
            now: self.now)
        self.log.append(.progress(progress, number: self.starts.records.progress.number))
    }
    /// Kafka acknowledges `count` more records.
    mutating func acknowledge(_ count: Int) {
        for _ in 0..<count {
            let offset = self.acknowledgedCount
            self.acknowledgedCount += 1
            switch self.log[offset] {
            case .member(_, _, let number, let round):
                self.starts.memberAcknowledged(number, of: round, offset: Int64(offset))
            case .progress(_, let number): _ = self.starts.recordAcknowledged(number, now: self.now)
            }
        }
    }
    mutating func acknowledgeAll() { self.acknowledge(self.log.count - self.acknowledgedCount) }

    // MARK: A takeover

    /// The owner dies. Some of the records on their way still end up in `state`.
    mutating func crash() {
        let kept = self.acknowledgedCount + self.draw(self.log.count - self.acknowledgedCount + 1)
        // Events whose records are lost were not committed, so they come again.
        let lost = self.log[kept...]
        self.log.removeLast(self.log.count - kept)
        self.acknowledgedCount = kept
        self.starts = CrowdStarts()
        self.table = MemberTable(seed: 1)
        self.pushes = MemberPushStore()
        self.inFlight = []
        self.waitingCount = 0
        self.makeRing()
        self.pass(2_000)
        for (offset, record) in self.log.enumerated() { self.read(record, offset: Int64(offset)) }
        if let order = self.order { self.take(order) }
        self.starts.restoreOver(resends: self.terms.resends, now: self.now)
        self.phases.insert(self.starts.phase)
        for record in lost {
            guard case .member(let member, _, _, _) = record else { continue }
            if self.members.contains(member) { self.join(member) } else { self.leaveAgain(member) }
        }
    }
    private mutating func leaveAgain(_ member: Int) {
        let id = self.find(member)
        guard id.isSome, !self.table.flags(of: id).contains(.isGhost) else { return }
        self.members.insert(member)
        self.leave(member)
    }
    private mutating func read(_ record: Record, offset: Int64) {
        switch record {
        case .progress(let progress, _): self.starts.progressRead(progress, now: self.now)
        case .member(let member, let record?, _, let round):
            var id = self.find(member)
            if id.isNone {
                id = self.insert(member, joinedSeconds: record.joinedSeconds)
            }
            self.starts.memberRead(id, of: round, record, offset: offset, in: &self.table)
        case .member(let member, nil, _, let round):
            let id = self.find(member)
            if id.isSome { _ = self.starts.removed(id, of: round, in: &self.table) }
        }
    }
    /// The partition is released in good order, and assigned again.
    mutating func release() {
        while !self.inFlight.isEmpty { self.answer() }
        self.starts.withdrawn()
        var entries: [RingEntry] = []
        let progress = self.starts.record(
            announces: false, self.terms, in: self.table, pushes: self.pushes, entries: &entries, now: self.now)
        self.log.append(.progress(progress, number: self.starts.records.progress.number))
        self.acknowledgeAll()
        self.crash()
    }
    /// Sends and answers everything that can be sent.
    mutating func settle() {
        for _ in 0..<80 {
            self.acknowledgeAll()
            while self.send() {}
            while !self.inFlight.isEmpty { self.answer() }
            self.pass(250)
            self.writeIfDue()
        }
    }
}
