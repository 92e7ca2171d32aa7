@testable import PushEngine
import Testing

@Suite struct TokenRemovalGuardTests {
    private static func fed(_ answers: [(count: Int, isSuspicious: Bool, atMillis: Int64)]) -> TokenRemovalGuard {
        var tokenGuard = TokenRemovalGuard()
        for (count, isSuspicious, at) in answers {
            for _ in 0..<count { tokenGuard.answered(isSuspicious: isSuspicious, nowMillis: at) }
        }
        return tokenGuard
    }

    struct Case: Sendable {
        var good: Int
        var bad: Int
        var isStopped: Bool
    }

    /// It takes both: at least 20 suspicious answers in the window, and 30 in 100 of all.
    @Test(arguments: [
        Case(good: 0, bad: 19, isStopped: false),
        Case(good: 0, bad: 20, isStopped: true),
        Case(good: 46, bad: 20, isStopped: true),
        Case(good: 47, bad: 20, isStopped: false),
        Case(good: 1_000, bad: 400, isStopped: false),
        Case(good: 1_000, bad: 429, isStopped: true),
        Case(good: 10_000, bad: 0, isStopped: false),
    ])
    func stopsOnManyAndALargeShare(_ answers: Case) {
        let tokenGuard = Self.fed([(answers.good, false, 0), (answers.bad, true, 1)])
        #expect(tokenGuard.isStopped == answers.isStopped)
    }

    @Test func windowsDoNotAddUp() {
        let tokenGuard = Self.fed([(19, true, 0), (19, true, 60_000), (19, true, 120_000)])
        #expect(!tokenGuard.isStopped)
    }

    @Test func staysStoppedIntoTheNextWindowAndOpensAfterAGoodOne() {
        var tokenGuard = Self.fed([(20, true, 0)])
        #expect(tokenGuard.isStopped)
        for _ in 0..<50 { tokenGuard.answered(isSuspicious: false, nowMillis: 60_000) }
        #expect(tokenGuard.isStopped, "the window before was bad")
        tokenGuard.answered(isSuspicious: false, nowMillis: 120_000)
        #expect(!tokenGuard.isStopped, "a whole window was good")
    }

    @Test func aStillBadWindowKeepsItStopped() {
        var tokenGuard = Self.fed([(20, true, 0)])
        for _ in 0..<5 { tokenGuard.answered(isSuspicious: true, nowMillis: 60_000) }
        tokenGuard.answered(isSuspicious: true, nowMillis: 120_000)
        #expect(tokenGuard.isStopped)
    }
}
