import PushModel
import Testing

@testable import PushEngine

/// Compares a `PassCourse` with a plain list of its members' positions.
@Suite struct PassCourseTests {
    /// A course, and its members by position, each with the number of times it was met. No two members have the same
    /// position.
    private struct Ring {
        var course: PassCourse
        var metCounts: [UInt64: Int] = [:]

        init(versionCount: Int = 0) { self.course = PassCourse(versionCount: versionCount) }
        var next: UInt64? {
            self.metCounts.keys.filter { self.course.turned($0) < self.course.until }
                .min { self.course.turned($0) < self.course.turned($1) }
        }
        mutating func join(_ position: UInt64) {
            guard self.metCounts[position] == nil else { return }
            self.metCounts[position] = 0
            let there = self.course.joined(position)
            #expect(there == self.course.turned(position))
        }
        mutating func leave(_ position: UInt64) {
            guard self.metCounts.removeValue(forKey: position) != nil else { return }
            _ = self.course.left(position)
        }
        /// - Returns: `false` if the round is over.
        @discardableResult mutating func meetNext() -> Bool {
            guard let next = self.next else {
                self.course.move(to: max(self.course.position, self.course.until))
                return false
            }
            self.course.move(to: self.course.turned(next))
            self.course.met()
            self.course.move(to: self.course.position + 1)
            self.metCounts[next, default: 0] += 1
            return true
        }
        mutating func take(
            hasAlert: Bool = false, withdrawsAlert: Bool = false, isHigh: Bool = false, isFrequentHigh: Bool = false,
            dropping: [Bool] = [], alertGoesAlone: Bool = false
        ) {
            var version = Version()
            version.stampSeconds = 1
            version.withdrawsAlert = withdrawsAlert
            version.isHigh = isHigh
            version.isFrequentHigh = isFrequentHigh
            if hasAlert { version.layer.alert = ByteRange(start: 0, count: 1) }
            _ = self.course.rebase()
            self.course.take(
                version, count: self.metCounts.count, dropping: dropping, alertGoesAlone: alertGoesAlone)
        }
        /// Compares the counts of the course with a recount of all positions.
        func check(_ place: String) {
            for target in self.course.targets + [self.course.alertTarget] + (self.course.alone.map { [$0] } ?? []) {
                let count = self.metCounts.keys.count { self.course.turned($0) < target.until }
                #expect(target.ahead == count, "\(place): up to \(target.until) from \(self.course.position)")
            }
        }
    }

    @Test("The number of members ahead is what a recount gives", arguments: 0..<100 as Range<UInt64>)
    func isWhatARecountSays(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ring = Ring()
        let positions = (0..<10).map { _ in UInt64.random(in: 0..<RingPosition.end, using: &random) }
        for step in 0..<300 {
            let position = positions.randomElement(using: &random) ?? 0
            let versionCount = ring.course.targets.count
            switch Int.random(in: 0..<20, using: &random) {
            case 0..<5: ring.join(position)
            case 5..<7: ring.leave(position)
            case 7, 8:
                let kind = Int.random(in: 0..<4, using: &random)
                ring.take(
                    hasAlert: kind == 0, withdrawsAlert: kind == 1,
                    dropping: (0..<versionCount).map { _ in versionCount > 2 || Bool.random(using: &random) },
                    alertGoesAlone: Bool.random(using: &random))
            case 9 where versionCount > 0:
                let rest = ring.course.dropNewest(
                    count: ring.metCounts.count, alertGoesAlone: Bool.random(using: &random))
                #expect((rest == .nothing) == (versionCount == 1))
                if rest == .nothing { ring.course.end() }
            case 10: ring.course.forgetAlert()
            case 11 where versionCount > 0 && ring.course.alone == nil:
                ring.course.returnToAlert(ofVersionAt: Int.random(in: 0..<versionCount, using: &random))
            case 12 where versionCount > 0 && ring.course.alone == nil:
                ring.course.oweAlertAgain(count: ring.metCounts.count)
            default: ring.meetNext()
            }
            ring.check("seed \(seed), step \(step)")
        }
    }
    @Test("A version reaches every member that stays, once", arguments: 0..<50 as Range<UInt64>)
    func comesOnceToEverybody(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var ring = Ring()
        for _ in 0..<20 { ring.join(UInt64.random(in: 0..<RingPosition.end, using: &random)) }
        ring.take()
        for _ in 0..<Int.random(in: 0..<20, using: &random) { ring.meetNext() }
        // A second version takes over in the middle of the first version's round.
        for position in ring.metCounts.keys { ring.metCounts[position] = 0 }
        ring.take(dropping: [true])
        var expected = Set(ring.metCounts.keys)
        repeat {
            let position = UInt64.random(in: 0..<RingPosition.end, using: &random)
            switch Int.random(in: 0..<4, using: &random) {
            case 0:
                ring.join(position)
                if ring.course.isAhead(position) { expected.insert(position) }
            case 1:
                guard let left = ring.metCounts.keys.min(by: { $0 ^ position < $1 ^ position }) else { break }
                ring.leave(left)
                expected.remove(left)
            default: break
            }
        } while ring.meetNext()
        #expect(ring.metCounts.allSatisfy { $0.value == (expected.contains($0.key) ? 1 : 0) })
        #expect(ring.course.aheadCount == 0 && !ring.course.isUnderWay)
    }
    @Test func anAlertThatGoesAloneIsFollowedByTheNewest() {
        var ring = Ring()
        for position in [10, 20, 30] as [UInt64] { ring.join(position) }
        ring.take(hasAlert: true)
        ring.meetNext()
        #expect(ring.course.owesAlert)
        ring.take(dropping: [false], alertGoesAlone: true)
        // Two members are owed the alert, and all three the newest version.
        #expect(ring.course.isAlone && ring.course.aloneCount == 2 && ring.course.aheadCount == 3)
        ring.meetNext()
        ring.meetNext()
        #expect(ring.course.aloneCount == 0 && ring.course.aheadCount == 3)
        while ring.meetNext() {}
        #expect(ring.metCounts == [10: 2, 20: 2, 30: 2])
    }
    @Test func whoComesFirstAfterATakeoverMayHaveHadPriority10() {
        var course = PassCourse(versionCount: 0)
        course.restore(
            position: 100, untils: [500], aloneUntil: nil, alertUntil: 100, highUntil: 400, frequentHighUntil: 300,
            horizon: 200)
        #expect(course.isHigh && course.isBeyondHorizon && !course.mayBeHigh(isFrequent: false))
        course.extendHorizon(members: 10, of: 20)
        #expect(course.isBeyondHorizon)
        course.horizonWritten()
        #expect(course.horizon == 100 + PassCourse.circle / 20 * 10 && !course.isBeyondHorizon)
        course.move(to: 200)
        #expect(course.mayBeHigh(isFrequent: false) && course.mayBeHigh(isFrequent: true))
        course.move(to: 300)
        #expect(course.mayBeHigh(isFrequent: false) && !course.mayBeHigh(isFrequent: true))
        course.move(to: 400)
        #expect(!course.isHigh)
        course.extendHorizon(members: 20, of: 20)
        #expect(course.nextHorizon == 400 + PassCourse.circle)
    }
    @Test func turnsAreGivenUpTogether() {
        var ring = Ring(versionCount: 1)
        ring.join(7)
        ring.take(hasAlert: true, isHigh: true, isFrequentHigh: true, dropping: [true])
        while ring.meetNext() {}
        #expect(ring.course.position == PassCourse.circle)
        let turns = [ring.course.rebase(), ring.course.rebase()]
        #expect(turns == [PassCourse.circle, 0])
        #expect(ring.course.position == 0 && ring.course.targets == [PassCourse.Target(until: 0, ahead: 0)])
        #expect(ring.course.alertUntil == 0 && ring.course.highUntil == 0 && ring.course.frequentHighUntil == 0)
        ring.check("behind a turn")
    }
}
