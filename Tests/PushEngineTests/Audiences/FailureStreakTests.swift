import Testing

@testable import PushEngine

struct FailureStreakTests {
    /// In a case, `d` means that APNs said that the token died before the member joined; `f` is any other failure.
    /// Failures are counted up to 20. An `f` ends the count of deaths, and a `d` that follows an `f` begins both counts
    /// anew.
    @Test(
        arguments: [
            ("", 0, 0), ("f", 1, 0), ("ff", 2, 0), ("d", 1, 1), ("ddd", 3, 3), ("fffd", 1, 1), ("ddf", 3, 0),
            ("ddfd", 1, 1), (String(repeating: "f", count: 30), 20, 0), ("ddddddd", 7, 7),
        ] as [(String, UInt8, UInt8)])
    func itCountsFailuresAndEarlierDeaths(failures: String, count: UInt8, earlierDeaths: UInt8) {
        let streak = failures.reduce(FailureStreak.none) { $0.next(isEarlierDeath: $1 == "d") }
        #expect(streak.count == count && streak.earlierDeaths == earlierDeaths)
        #expect(streak.isNone == failures.isEmpty)
    }
}
