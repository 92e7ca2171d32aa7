import Testing

@testable import PushWorker

struct RepeatLimitTests {
    private static func limit(kindCountMax: Int = 8) -> RepeatLimit<String, Int> {
        RepeatLimit(intervalMillis: 1_000, kindCountMax: kindCountMax)
    }

    @Test func theFirstGoesThroughAndTheRestIsCounted() {
        var limit = Self.limit()
        var admitted: [Int64: Int] = [:]
        for nowMillis in stride(from: 0, to: 3_000, by: 100) as StrideTo<Int64> {
            if let count = limit.admit(0, of: "FAIL", nowMillis: nowMillis) { admitted[nowMillis] = count }
        }
        #expect(admitted == [0: 0, 1_000: 9, 2_000: 9])
    }

    @Test func kindsDoNotHoldEachOtherBack() {
        var limit = Self.limit()
        let answers = ["a", "b", "a"].map { limit.admit(0, of: $0, nowMillis: 5) }
        #expect(answers == [0, 0, nil])
    }

    @Test func whatIsKeptBackIsToldInTheEnd() {
        var limit = Self.limit()
        for line in 0..<5 { _ = limit.admit(line, of: "FAIL", nowMillis: Int64(line)) }
        let early = limit.takeDue(nowMillis: 999)
        #expect(early.isEmpty)
        let due = limit.takeDue(nowMillis: 1_000)
        #expect(due.map(\.line) == [4] && due.map(\.count) == [4] && due.map(\.kind) == ["FAIL"])
        // A line that `takeDue` returned counts as admitted, so the next line must wait.
        let answer = limit.admit(9, of: "FAIL", nowMillis: 1_500)
        #expect(answer == nil)
        let rest = limit.takeDue(nowMillis: 2_000)
        #expect(rest.map(\.line) == [9] && rest.map(\.count) == [1])
        let nothing = limit.takeDue(nowMillis: 9_000)
        #expect(nothing.isEmpty)
    }

    @Test func onlySoManyKindsAreRemembered() {
        var limit = Self.limit(kindCountMax: 2)
        for (kind, nowMillis) in [("a", 0), ("b", 1), ("c", 2)] as [(String, Int64)] {
            _ = limit.admit(0, of: kind, nowMillis: nowMillis)
        }
        let answers = ["b", "c", "a"].map { limit.admit(0, of: $0, nowMillis: 3) }
        #expect(answers == [nil, nil, 0])
    }
}
