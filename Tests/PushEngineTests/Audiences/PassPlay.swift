import PushModel

@testable import PushEngine

/// Two audiences of one partition. Their passes are driven as an engine drives them, and each is compared with a
/// plain loop over a list.
final class PassPlay {
    static let distanceMillis: Int64 = 1_000

    struct Play {
        var stampSeconds: Int64
        var hasAlert: Bool
        var withdrawsAlert: Bool
        var expiresMillis: Int64
    }
    /// What a progress record holds. The next owner goes on from it.
    struct Written {
        var position: Int64 = 0
        var untils: [Int64] = []
        var aloneUntil: Int64?
        var alertUntil: Int64 = 0
        var waiting: [(position: Int64, owesAlert: Bool)] = []
        var skipped: [Int64] = []
        var quiet: [Int64] = []
        var versions: [Play] = []
        var alert: Play?
        var servedJoins = 0
        var model = PassModel()
    }
    struct Audience {
        var pass: Pass
        var model = PassModel()
        /// The newest version is last.
        var versions: [Play] = []
        var alert: Play?
        var written = Written()
    }
    /// A phone, known by the position of its token.
    struct Phone {
        let token: [UInt8]
        /// The phone's audience; `nil` if it is in none.
        var audience: Int?
        var joinNumber = 0
        /// The newest stamp when the phone joined.
        var joinedAfterStamp: Int64 = 0
        var notBeforeMillis: Int64 = .min
        var shownStamp: Int64 = 0
        /// Number of times that each alert has sounded, by the alert's stamp.
        var rung: [Int64: Int] = [:]
        var lastPushMillis: Int64 = .min / 2
    }
    struct Push {
        var id: MemberPushID
        var audience: Int
        var member: MemberID
        var position: Int64
        var stampSeconds: Int64
        var alert: Int64?
        var isAlone: Bool
        var sentMillis: Int64
        var failures: FailureStreak
        var isDetached = false
    }

    var random: SplitMix64
    var table: MemberTable
    var audiences: [Audience] = []
    var phones: [Int64: Phone] = [:]
    /// Positions of the phones, in the order in which they were made.
    var positions: [Int64] = []
    var pushes: [Push] = []
    var store = MemberPushStore()
    var nowMillis: Int64 = 1_000_000
    var stampSeconds: Int64 = 0
    var joinCount = 0
    /// Stamps of alerts that may sound again, because an answer was unknown or the passes were restored.
    var mayRingAgain: Set<Int64> = []
    var faults: [String] = []
    private let fits: UInt64

    /// - Parameter phoneCount: number of phones; `nil`: random.
    init(seed: UInt64, phoneCount: Int? = nil) {
        self.random = SplitMix64(seed: seed)
        self.table = MemberTable(seed: seed)
        self.fits = seed
        for number in 0..<2 {
            let ring = self.table.makeRing(of: .update)
            self.audiences.append(
                Audience(
                    pass: Pass(
                        ring: ring, environment: .production, lane: LaneIndex(rawValue: Int32(number)), versionCount: 0)
                ))
        }
        let drawn = [1, 3, 12, 12, 150].randomElement(using: &self.random)!
        for _ in 0..<(phoneCount ?? drawn) {
            let token = (0..<[8, 32, 80].randomElement(using: &self.random)!).map { _ in
                UInt8.random(in: 0...255, using: &self.random)
            }
            let position = Int64(RingPosition.of(token.span))
            self.phones[position] = Phone(token: token)
            self.positions.append(position)
        }
    }

    func chance(_ percent: Int) -> Bool { Int.random(in: 0..<100, using: &self.random) < percent }
    func fail(_ text: String) { if self.faults.count < 3 { self.faults.append(text) } }

    /// The phone's member; `none` if it is in no audience.
    func member(_ position: Int64) -> MemberID {
        let token = self.phones[position]!.token
        return self.table.find(token.span)
    }

    /// Whether an alert does not fit beside the newest content, and goes with its own version.
    func goesAlone(_ audience: Int) -> Bool {
        guard let alert = self.audiences[audience].alert, let newest = self.audiences[audience].versions.last,
            alert.stampSeconds != newest.stampSeconds
        else { return false }
        var mixed = SplitMix64(seed: self.fits &+ UInt64(alert.stampSeconds &* 1_000 &+ newest.stampSeconds))
        return mixed.next() % 4 == 0
    }

    // MARK: Versions
    func publish(_ audience: Int, hasAlert: Bool) {
        self.stampSeconds += 1
        self.take(
            Play(stampSeconds: self.stampSeconds, hasAlert: hasAlert, withdrawsAlert: false, expiresMillis: .max),
            audience)
        self.write(audience)
    }
    func publish(_ audience: Int) {
        self.stampSeconds += 1
        let kind = Int.random(in: 0..<10, using: &self.random)
        let play = Play(
            stampSeconds: self.stampSeconds, hasAlert: kind < 4, withdrawsAlert: kind == 4,
            expiresMillis: self.chance(30) ? self.nowMillis + Int64.random(in: 1...20_000, using: &self.random) : .max)
        self.take(play, audience)
        // `state` has a version before any member is met. So the next owner knows the version, with or without newer
        // progress.
        if self.chance(10) { self.restore() } else { self.write(audience) }
        self.expire(audience)
    }
    func take(_ play: Play, _ audience: Int) {
        let kept = self.audiences[audience].versions
        var dropped = kept.map { $0.expiresMillis <= play.expiresMillis }
        if dropped.count >= CrowdVersions.countMax, dropped.allSatisfy({ !$0 }) { dropped[1] = true }
        if play.hasAlert {
            self.audiences[audience].alert = play
        } else if play.withdrawsAlert {
            self.audiences[audience].alert = nil
        }
        self.audiences[audience].versions = zip(kept, dropped).filter { !$0.1 }.map(\.0) + [play]
        var version = Version()
        version.stampSeconds = play.stampSeconds
        version.withdrawsAlert = play.withdrawsAlert
        if play.hasAlert { version.layer.alert = ByteRange(start: 0, count: 1) }
        let goesAlone = self.audiences[audience].pass.course.owesAlert && self.goesAlone(audience)
        self.audiences[audience].pass.take(
            version, count: self.table.count(of: self.audiences[audience].pass.ring), dropping: dropped,
            alertGoesAlone: goesAlone, in: &self.table)
        self.audiences[audience].model.take(
            hasAlert: play.hasAlert, withdrawsAlert: play.withdrawsAlert, dropping: dropped,
            goesAlone: goesAlone && !play.hasAlert && !play.withdrawsAlert)
    }
    func expire(_ audience: Int) {
        if let alert = self.audiences[audience].alert, alert.expiresMillis <= self.nowMillis {
            self.audiences[audience].alert = nil
            self.audiences[audience].pass.forgetAlert()
            self.audiences[audience].model.forgetAlert()
        }
        while let newest = self.audiences[audience].versions.last, newest.expiresMillis <= self.nowMillis {
            self.audiences[audience].versions.removeLast()
            let goesAlone = self.audiences[audience].pass.course.owesAlert && self.goesAlone(audience)
            self.audiences[audience].pass.dropNewest(
                count: self.table.count(of: self.audiences[audience].pass.ring), alertGoesAlone: goesAlone,
                in: &self.table)
            self.audiences[audience].model.dropNewest(goesAlone: goesAlone)
        }
    }

    // MARK: Coming and going
    func join(_ position: Int64, _ audience: Int) {
        guard self.phones[position]!.audience != audience else { return }
        let ring = self.audiences[audience].pass.ring
        let token = self.phones[position]!.token
        let notBefore: Int64
        var member = self.member(position)
        if member.isNone {
            notBefore = self.phones[position]!.notBeforeMillis
            member = self.table.insert(token.span, in: ring, joinedSeconds: 0)
            // The member had left with a push in flight, and joins again.
            if let push = self.pushes.firstIndex(where: { $0.position == position }) {
                self.table.free(self.pushes[push].member)
                self.pushes[push].member = member
                self.table.insertFlag(.isInFlight, of: member)
            }
        } else {
            notBefore = self.exit(member, position)
            self.table.move(member, to: ring)
        }
        self.joinCount += 1
        self.phones[position]!.audience = audience
        self.phones[position]!.joinNumber = self.joinCount
        self.phones[position]!.joinedAfterStamp = self.stampSeconds
        self.phones[position]!.shownStamp = 0
        self.phones[position]!.rung = [:]
        let isAhead = self.audiences[audience].pass.course.isAhead(UInt64(position))
        if isAhead != self.audiences[audience].model.joined(position) {
            self.fail("a join at \(position): the round comes to it or not")
        }
        let number = self.audiences[audience].pass.joined(
            member, notBeforeMillis: notBefore, distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis,
            hasVersions: !self.audiences[audience].versions.isEmpty, in: &self.table)
        if let number { self.audiences[audience].pass.lateJoinWritten(number, at: Int64(self.joinCount)) }
    }
    func leave(_ position: Int64) {
        guard self.phones[position]!.audience != nil else { return }
        let member = self.member(position)
        self.phones[position]!.notBeforeMillis = self.exit(member, position)
        self.phones[position]!.audience = nil
        if self.table.flags(of: member).contains(.isInFlight) {
            self.table.unlink(member)
        } else {
            self.table.remove(member)
        }
    }
    private func exit(_ member: MemberID, _ position: Int64) -> Int64 {
        let audience = self.phones[position]!.audience!
        for push in self.pushes.indices where self.pushes[push].position == position {
            self.pushes[push].isDetached = true
        }
        self.audiences[audience].model.left(position)
        return self.audiences[audience].pass.left(
            member, distanceMillis: Self.distanceMillis, nowMillis: self.nowMillis, in: &self.table)
    }

    // MARK: What is written down
    func write(_ audience: Int) {
        let pass = self.audiences[audience].pass
        let laps = pass.course.position & ~(PassCourse.circle - 1)
        func from(_ position: Int64) -> Int64 { max(0, position - laps) }
        var written = Written()
        written.position = from(pass.course.position)
        written.untils = pass.course.targets.map { from($0.until) }
        written.aloneUntil = pass.course.alone.map { from($0.until) }
        written.alertUntil = from(pass.course.alertUntil)
        written.waiting = pass.apart.retries.members.map {
            (Int64(self.table.position(of: $0)), pass.apart.retries[$0]?.owesAlert ?? false)
        }
        for push in self.pushes where self.table.ring(of: push.member) == pass.ring && push.audience == audience {
            written.waiting.append((push.position, push.alert != nil))
        }
        written.skipped = pass.apart.skipped.map { Int64(self.table.position(of: $0)) }
        written.quiet = pass.apart.quiet.map { Int64(self.table.position(of: $0)) }
        written.versions = self.audiences[audience].versions
        written.alert = self.audiences[audience].alert
        written.servedJoins = self.joinCount + 1
        if let first = pass.apart.late.first { written.servedJoins = min(written.servedJoins, Int(first.offset)) }
        written.model = self.audiences[audience].model.asWritten()
        self.audiences[audience].written = written
    }
    /// Another owner goes on from the last record. Answers to open pushes are lost.
    func restore() {
        for push in self.pushes {
            self.store.release(push.id)
            if self.table.ring(of: push.member).isNone {
                self.table.free(push.member)
            } else {
                self.table.removeFlag(.isInFlight, of: push.member)
            }
        }
        self.pushes = []
        for audience in self.audiences.indices { self.restore(audience) }
    }
    private func restore(_ audience: Int) {
        let written = self.audiences[audience].written
        let stamp = written.versions.last?.stampSeconds ?? 0
        let newer = self.audiences[audience].versions.filter { $0.stampSeconds > stamp }
        for alert in [written.alert, self.audiences[audience].alert] {
            if let alert { self.mayRingAgain.insert(alert.stampSeconds) }
        }
        let ring = self.audiences[audience].pass.ring
        for entry in self.table.members(of: ring) { self.table.removeFlag(.isLate, of: entry.member) }
        var pass = Pass(ring: ring, environment: .production, lane: self.audiences[audience].pass.lane, versionCount: 0)
        pass.restore(
            position: written.position, untils: written.untils, aloneUntil: written.aloneUntil,
            alertUntil: written.alertUntil, alertStampSeconds: written.alert?.stampSeconds ?? 0, highUntil: 0,
            frequentHighUntil: 0, horizon: 0,
            notBeforeMillis: self.nowMillis + Self.distanceMillis, in: self.table)
        var model = written.model
        for entry in self.table.members(of: ring) { model.joined(Int64(entry.position)) }
        if !written.versions.isEmpty { self.restoreMembers(of: &pass, audience, from: written) }
        self.audiences[audience].pass = pass
        self.audiences[audience].model = model
        self.audiences[audience].versions = written.versions
        self.audiences[audience].alert = pass.course.owesAlert || pass.apart.retries.owesAlert ? written.alert : nil
        for play in newer { self.take(play, audience) }
        self.write(audience)
        self.expire(audience)
    }
    private func restoreMembers(of pass: inout Pass, _ audience: Int, from written: Written) {
        func member(_ position: Int64) -> MemberID? {
            self.phones[position]!.audience == audience ? self.member(position) : nil
        }
        for waiting in written.waiting {
            guard let member = member(waiting.position) else { continue }
            let isAhead = pass.course.isAhead(UInt64(waiting.position)) && !written.skipped.contains(waiting.position)
            let owesAlert = waiting.owesAlert || pass.apart.retries[member]?.owesAlert == true
            guard !isAhead || owesAlert || pass.course.keepsOlder else { continue }
            pass.restoreWaiting(member, isAhead: isAhead, owesAlert: owesAlert)
        }
        for position in written.skipped where pass.course.isAhead(UInt64(position)) {
            if let member = member(position) { pass.restoreSkipped(member) }
        }
        for position in written.quiet where pass.course.isAhead(UInt64(position)) {
            if let member = member(position) { pass.restoreQuiet(member) }
        }
        let joins = self.positions.filter {
            self.phones[$0]!.audience == audience && self.phones[$0]!.joinNumber >= written.servedJoins
        }
        for position in joins.sorted(by: { self.phones[$0]!.joinNumber < self.phones[$1]!.joinNumber }) {
            guard let member = member(position), pass.apart.retries[member] == nil, !pass.apart.skipped.contains(member)
            else {
                continue
            }
            pass.restoreLate(member, offset: Int64(self.phones[position]!.joinNumber), in: &self.table)
        }
    }
}
