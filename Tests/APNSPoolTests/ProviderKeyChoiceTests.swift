import PushModel
import Testing

@testable import APNSPool

/// Tests of the choice of a key, and of the next choice when APNs refuses the key.
struct ProviderKeyChoiceTests {
    @Test func theFirstIsUsedUntilANewerAppears() {
        var choice = ProviderKeyChoice([1, 2])
        #expect(choice.current == 1 && choice.isOnTrial)
        expectEqual(choice.accepted(1), true)
        expectEqual(choice.accepted(1), false, "known already")
        #expect(!choice.isOnTrial)
        choice.appeared(3)
        #expect(choice.current == 3 && choice.keys == [3, 1, 2] && choice.isOnTrial)
    }

    @Test func theOneThatIsWantedIsUsed() {
        var choice = ProviderKeyChoice([1, 2])
        expectEqual(choice.accepted(1), true)
        expectEqual(choice.wanted(2), true)
        #expect(choice.current == 2 && choice.keys == [2, 1] && choice.isOnTrial)
        expectEqual(choice.currentRefused(nowMillis: 0), true)
        #expect(choice.current == 1)
        // The operator wants the key again, so it is tried once more.
        expectEqual(choice.wanted(2), true)
        #expect(choice.current == 2 && choice.acceptance(2) == .untried)
        expectEqual(choice.wanted(1), true)
        #expect(choice.current == 1 && choice.acceptance(1) == .accepted)
        expectEqual(choice.wanted(3), false)
        #expect(choice.current == 1)
    }

    @Test func aLoneKeyIsOnNoTrialAndStays() {
        var choice = ProviderKeyChoice([1])
        #expect(!choice.isOnTrial)
        expectEqual(choice.currentRefused(nowMillis: 0), false)
        expectEqual(choice.currentRefused(nowMillis: 10_000_000), false)
        #expect(choice.current == 1)
    }

    /// Cases: the acceptance of the two older keys, newest first, and the key that is used after APNs has refused the
    /// newest key.
    @Test(
        arguments: [
            ("accepted, untried", 1), ("untried, accepted", 2), ("untried, untried", 1), ("refused, untried", 2),
            ("refused, refused", nil), ("refused, accepted", 2), ("refused long ago, refused", 1),
            ("refused, refused long ago", 2), ("refused long ago, untried", 2), ("accepted, accepted", 1),
        ] as [(String, Int?)])
    func theNextIsTheNewestThatMayDo(others: String, expected: Int?) {
        let standings = others.split(separator: ", ").map(String.init)
        let (long, lately): (Int64, Int64) = (
            3_600_000 - ProviderKeyChoice.refusedMillis, 3_600_001 - ProviderKeyChoice.refusedMillis
        )
        // Only the current key can be refused, so each older key is the current one for a moment.
        var choice = ProviderKeyChoice([2])
        self.give(&choice, standings[1], long: long, lately: lately)
        choice.appeared(1)
        self.give(&choice, standings[0], long: long, lately: lately)
        choice.appeared(0)
        let isAnother = choice.currentRefused(nowMillis: 3_600_000)
        #expect(isAnother == (expected != nil))
        #expect(choice.current == expected ?? 0)
        #expect(choice.acceptance(0) == .refused(sinceMillis: 3_600_000))
    }

    /// Gives the current key the acceptance that the case names.
    private func give(_ choice: inout ProviderKeyChoice, _ acceptance: String, long: Int64, lately: Int64) {
        let key = choice.current
        switch acceptance {
        case "accepted": _ = choice.accepted(key)
        case "refused", "refused long ago":
            _ = choice.currentRefused(nowMillis: acceptance == "refused" ? lately : long)
        default: break
        }
    }

    @Test func aForgottenKeyIsNotGoneBackTo() {
        var choice = ProviderKeyChoice([1])
        _ = choice.accepted(1)
        choice.appeared(2)
        choice.forget(2)
        #expect(choice.keys == [2, 1], "the one in use is not forgotten")
        choice.forget(1)
        #expect(choice.keys == [2] && !choice.isOnTrial)
        expectEqual(choice.currentRefused(nowMillis: 0), false)
    }

    /// APNs refuses keys at random. Each refused key is tried again at most once in `refusedMillis`.
    @Test(arguments: 1...50 as ClosedRange<UInt64>) func refusedKeysAreExchangedSeldom(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var choice = ProviderKeyChoice([0, 1, 2])
        var exchanges = 0
        for second in 0..<3_600 as Range<Int64> {
            if Int.random(in: 0..<3, using: &random) == 0, choice.currentRefused(nowMillis: second * 1_000) {
                exchanges += 1
            }
            #expect(choice.acceptance(choice.current) != nil)
        }
        // At first both other keys are tried. Then each of the three keys is tried at most once in ten minutes.
        #expect(exchanges <= 2 + 3 * 6)
        #expect(exchanges > 2)
    }
}
