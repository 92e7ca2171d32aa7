import PushModel
import Testing

@testable import PushEngine

/// Compares a pass with a plain loop over a list of members. Joins, leaves, moves, versions, alerts, expiries,
/// answers and takeovers are random.
@Suite struct PassPropertyTests {
    /// Each test case is a hundred plays, which keeps the report readable. A failure names its seed.
    @Test("A pass does what a plain loop does", arguments: 0..<12)
    func goesAsALoop(hundred: UInt64) {
        for seed in (hundred * 100)..<(hundred * 100 + 100) {
            let play = PassPlay(seed: seed)
            play.run()
            #expect(play.faults.isEmpty, "seed \(seed): \(play.faults.joined(separator: "; "))")
        }
    }

    /// More members are refused than can wait at a time. A version without an alert then takes over, and its round has
    /// to come to all these members.
    @Test func aFullRetrySetDoesNotHoldUpTheRound() {
        let play = PassPlay(seed: 1, phoneCount: RetrySet.countMax + 200)
        for position in play.positions { play.join(position, 0) }
        play.publish(0, hasAlert: true)
        while play.serve(0) { play.answer(0, .again) }
        #expect(play.audiences[0].pass.apart.retries.isFull)
        play.publish(0, hasAlert: false)
        play.drain()
        play.checkPhones(0)
        #expect(play.faults.isEmpty, "\(play.faults.joined(separator: "; "))")
    }
}

extension PassPlay {
    func run() {
        for step in 0..<150 {
            self.step()
            for audience in self.audiences.indices { self.check(audience, "step \(step)") }
            guard self.faults.isEmpty else { return }
        }
        self.drain()
        for audience in self.audiences.indices { self.checkPhones(audience) }
    }
    private func step() {
        let audience = Int.random(in: 0..<2, using: &self.random)
        let position = self.positions.randomElement(using: &self.random)!
        switch Int.random(in: 0..<100, using: &self.random) {
        case 0..<20: self.join(position, audience)
        case 20..<25: self.leave(position)
        case 25..<37: self.publish(audience)
        case 37..<39: self.restore()
        case 39..<44: self.write(audience)
        case 44..<55: self.nowMillis += Int64.random(in: 1...4_000, using: &self.random)
        case 55..<75:
            for _ in 0..<Int.random(in: 1...6, using: &self.random) {
                guard self.serve(audience) else { break }
                self.check(audience, "a push")
            }
        default:
            guard !self.pushes.isEmpty else { return }
            let answer: Answer =
                switch Int.random(in: 0..<20, using: &self.random) {
                case 0..<12: .accepted
                case 12..<16: .again
                case 16..<19: .unknown
                default: .gone
                }
            self.answer(Int.random(in: 0..<self.pushes.count, using: &self.random), answer)
        }
    }
    /// Delivers everything without failures, until every member has what it is owed.
    fileprivate func drain() {
        for _ in 0..<200 {
            for audience in self.audiences.indices {
                self.expire(audience)
                while self.serve(audience) { self.check(audience, "the end") }
            }
            while !self.pushes.isEmpty { self.answer(0, .accepted) }
            self.nowMillis += Self.distanceMillis
            if self.audiences.allSatisfy({ $0.pass.waitingCount == 0 }) { return }
        }
        self.fail("\(self.audiences.map { $0.pass.waitingCount }) wait for ever")
    }

    /// Compares the counts of the pass with a recount of all members.
    private func check(_ audience: Int, _ place: String) {
        let pass = self.audiences[audience].pass
        let model = self.audiences[audience].model
        func expect(_ one: Int, _ other: Int, _ what: String) {
            if one != other { self.fail("\(place): \(what) \(one), counted \(other)") }
        }
        for index in pass.course.targets.indices {
            expect(pass.course.targets[index].ahead, model.count { $0.isOwed[index] }, "ahead of version \(index)")
        }
        expect(pass.course.alertTarget.ahead, model.count { $0.isOwedAlert }, "owed the alert")
        expect(pass.course.aloneCount, model.count { $0.isOwedAlone }, "owed the alert alone")
        var waiting = self.pushes.count { $0.audience == audience } + model.count { $0.isOwedAlone }
        for (position, phone) in self.phones where phone.audience == audience {
            let member = self.member(position)
            let isAhead = model.members[position]!.isOwed.last ?? false
            if pass.course.isAhead(UInt64(position)) != isAhead { self.fail("\(place): \(position) is ahead or not") }
            if isAhead, !pass.apart.skipped.contains(member) { waiting += 1 }
            if !isAhead, self.table.flags(of: member).contains(.isLate) { waiting += 1 }
            if pass.apart.retries[member]?.isOwed == true { waiting += 1 }
        }
        expect(pass.waitingCount, waiting, "waiting")
    }
    /// Expects that every phone of the audience shows the newest version. A phone that joined before the alert has
    /// heard it once, and a later phone has not. Alerts in `mayRingAgain` may have sounded more often.
    fileprivate func checkPhones(_ audience: Int) {
        guard let newest = self.audiences[audience].versions.last else { return }
        let alert = self.audiences[audience].alert
        for (position, phone) in self.phones where phone.audience == audience {
            if phone.shownStamp < newest.stampSeconds {
                self.fail("\(position) shows \(phone.shownStamp), the newest is \(newest.stampSeconds)")
            }
            guard let alert else { continue }
            let count = phone.rung[alert.stampSeconds] ?? 0
            if phone.joinedAfterStamp < alert.stampSeconds {
                if count == 0 { self.fail("\(position): the alert of \(alert.stampSeconds) is lost") }
                if count > 1, !self.mayRingAgain.contains(alert.stampSeconds) {
                    self.fail("\(position): the alert of \(alert.stampSeconds) \(count) times")
                }
            } else if count > 0, !self.mayRingAgain.contains(alert.stampSeconds) {
                self.fail("\(position): came after the alert of \(alert.stampSeconds), and gets it")
            }
        }
    }
}
