import Testing

@testable import PushWorker

struct DurationTextTests {
    @Test(
        arguments: [
            ("0ms", 0), ("250ms", 250), ("1s", 1_000), ("90s", 90_000), ("5m", 300_000), ("2h", 7_200_000),
            ("30d", 2_592_000_000),
            ("007s", 7_000),
        ] as [(String, Int64)])
    func durationsAreANumberAndAUnit(text: String, millis: Int64) { #expect(DurationText.parse(text) == millis) }

    @Test(arguments: [
        "", "5", "s", "ms", "-1s", "+1s", "1.5s", "1 s", " 1s", "1s ", "1S", "1min", "1m30s", "0x10s", "١s",
        "99999999999999999999s",
        "9223372036854775807d",
    ])
    func anythingElseIsNone(text: String) { #expect(DurationText.parse(text) == nil) }

    @Test(
        arguments: [(0, "0s"), (250, "250ms"), (1_000, "1s"), (1_500, "1500ms"), (60_000, "1m"), (86_400_000, "1d")]
            as [(Int64, String)])
    func whatIsWrittenIsShort(millis: Int64, text: String) {
        #expect(DurationText.format(millis: millis) == text)
        #expect(DurationText.parse(text) == millis)
    }
}

struct NearSpellingTests {
    private static let names = [
        "kafka.group", "kafka.bootstrap", "budget.per-hour", "placement", "start-from", "admin.port",
    ]

    @Test(arguments: [
        ("kafka.grup", "kafka.group"), ("kafka.bootstarp", "kafka.bootstrap"), ("Placement", "placement"),
        ("startfrom", "start-from"),
        ("budget.per_hour", "budget.per-hour"), ("per-hour", "budget.per-hour"),
    ])
    func aSlipOfThePenIsRecognised(name: String, meant: String) {
        #expect(NearSpelling.of(name, among: Self.names) == meant)
    }

    @Test(arguments: ["x", "kafka", "something.else", "budget"])
    func anotherWordIsNot(name: String) { #expect(NearSpelling.of(name, among: Self.names) == nil) }

    @Test(arguments: [("", "", 0), ("a", "", 1), ("ab", "ba", 1), ("abc", "adc", 1), ("kitten", "sitting", 3)])
    func distancesCountEdits(left: String, right: String, edits: Int) {
        #expect(NearSpelling.distance(Array(left), Array(right)) == edits)
    }
}
