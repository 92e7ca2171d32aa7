import PushInspection
import Testing

struct DateLensTests {
    struct Row {
        var spelling: String
        var meaning: DateLens.Meaning?
        var advice = ""
    }

    @Test(arguments: [
        Row(
            spelling: "1764000000", meaning: .secondsSince1970,
            advice: "2056, because it counts from 2001. If this is a Date, send 785692800."),
        Row(spelling: "785692800", meaning: .secondsSince2001, advice: "reads the year 2025."),
        Row(spelling: "785692800.5", meaning: .secondsSince2001, advice: "reads the year 2025."),
        Row(spelling: "1764000000000", meaning: .millisecondsSince1970, advice: "send 785692800."),
        Row(spelling: "1.764e9", meaning: .secondsSince1970, advice: "2056"),
        Row(spelling: "12", meaning: nil), Row(spelling: "-1764000000", meaning: nil),
        Row(spelling: "1e300", meaning: nil), Row(spelling: "1e999", meaning: nil),
        Row(spelling: "20251124", meaning: nil),
    ])
    func aNumberIsReadBothWays(row: Row) throws {
        let findings = DateLens.findings(in: .object([.init("eta", .number(row.spelling))]))
        #expect(findings.map(\.meaning) == (row.meaning.map { [$0] } ?? []))
        if let finding = findings.first {
            #expect(finding.path == "eta")
            #expect(finding.advice.contains(row.advice), "\(finding.advice)")
        }
    }
}
