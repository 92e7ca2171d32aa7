import Testing

@testable import PushEngine

@Suite struct TokenRemovalGuardTests {
    /// A guard that has counted these answers. `g` shows a good token; `b` is suspicious.
    private static func fed(_ answers: String) -> TokenRemovalGuard {
        var tokenGuard = TokenRemovalGuard()
        for answer in answers { tokenGuard.count(isSuspicious: answer == "b") }
        return tokenGuard
    }

    @Test(arguments: [
        ("", true), ("g", false), ("b", true), ("bb", true),
        // A single bad answer is believed if enough good ones outweigh it.
        ("gb", true), ("ggb", true), ("gggb", false), ("bggg", false),
        ("gggggb", false), ("ggggggbb", false), ("gggggbbb", true), ("bbbggggg", true),
        ("bbbgggggg", true), ("bbbggggggggg", false),
        // Ordinary dead tokens cause single bad answers between good ones. Removal continues.
        ("gggbgggbgggb", false),
    ])
    func aLargeShareOfTheLastAnswersStopsRemoval(answers: String, isStopped: Bool) {
        #expect(Self.fed(answers).isStopped == isStopped, "\(answers)")
    }

    @Test(arguments: [(0, false), (6, false), (8, true), (22, true)]) func aLastingMixtureStopsRemoval(
        badOf22: Int, isStopped: Bool
    ) {
        // The bad answers are spread evenly, so that the last eight answers alone do not stop removal.
        var tokenGuard = TokenRemovalGuard()
        for index in 0..<220 { tokenGuard.count(isSuspicious: (index * badOf22) % 22 < badOf22) }
        for _ in 0..<6 { tokenGuard.count(isSuspicious: false) }
        #expect(tokenGuard.isStopped == isStopped)
    }

    /// APNs begins to call all tokens bad, after any number of good answers. At most two tokens are removed.
    @Test(arguments: [0, 1, 3, 7, 8, 20, 64, 10_000]) func aSuddenChangeCostsHardlyAToken(goodBefore: Int) {
        var tokenGuard = TokenRemovalGuard()
        for _ in 0..<goodBefore { tokenGuard.count(isSuspicious: false) }
        var removed = 0
        for _ in 0..<100 {
            tokenGuard.count(isSuspicious: true)
            if !tokenGuard.isStopped { removed += 1 }
        }
        #expect(removed <= 2)
    }

    @Test func goodAnswersOpenItAgain() {
        var tokenGuard = Self.fed(String(repeating: "b", count: 100))
        var count = 0
        while tokenGuard.isStopped, count < 1_000 {
            tokenGuard.count(isSuspicious: false)
            count += 1
        }
        #expect(count == 45, "of 64 answers 19 are suspicious then, less than 30 %")
    }
}
