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
        Row(spelling: "785692800", meaning: .secondsSince2001, advice: "right for a Date in Swift"),
        Row(spelling: "785692800.5", meaning: .secondsSince2001, advice: "right for a Date in Swift"),
        Row(
            spelling: "1764000000000", meaning: .millisecondsSince1970,
            advice: "This looks like milliseconds since 1970 (2025-11-24 16:00 UTC). A Date in Swift reads the year"),
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

    @Test(arguments: [
        ("2026-11-27T17:05:00Z", "send 817491900." as String?), ("2026-11-27T18:05:00+01:00", "send 817491900."),
        ("2026-11-27 17:05", "send 817491900 (taken as UTC)."),
        ("2026-11-27T17:05:00", "send 817491900 (taken as UTC)."), ("2026-11-27T12:05:00-05:00", "send 817491900."),
        ("2026-11-27T17:05:00.250Z", "send 817491900."),
        ("1795816269", "your app shows nothing of this push: send 817509069."), ("1795816269000", "send 817509069."),
        ("817509069", nil), ("4915112345678", nil), ("2026-11-27", nil), ("1999-11-27T17:05:00Z", nil),
        ("2026-13-27T17:05:00Z", nil), ("On its way", nil),
    ])
    func aDateIsNoText(text: String, advice: String?) {
        let findings = DateLens.findings(in: .object([.init("eta", .string(text))]))
        #expect(findings.map(\.meaning) == (advice == nil ? [] : [.text]))
        if let advice { #expect(findings.first?.advice.hasSuffix(advice) == true, "\(findings)") }
    }

    /// A date in an array has the path that a message about its type has.
    @Test func aDateInAnArrayHasThePathOfItsFault() throws {
        let source = "struct ContentState: Codable { var stops: [Stop] }\nstruct Stop: Codable { var arrival: Date }"
        let schema = try ContentSchema(swift: source)
        let late = try JSONTree.parse(Array(#"{"stops":[{"arrival":1},{"arrival":1764000000}]}"#.utf8))
        #expect(DateLens.findings(in: late, schema: schema).map(\.path) == ["stops[0].arrival", "stops[1].arrival"])
        let text = try JSONTree.parse(Array(#"{"stops":[{"arrival":1},{"arrival":"soon"}]}"#.utf8))
        #expect(schema.fault(in: text)?.hasPrefix("“stops[1].arrival” is the string") == true)
        let changes = ContentDifference.changes(from: text, to: late)
        #expect(changes.map(\.path) == ["stops[1].arrival"])
    }

    /// The dates of a start's attributes are found by the app's own type, or guessed.
    @Test func datesOfAttributesAreFound() throws {
        let source =
            "struct P: ActivityAttributes { struct ContentState { var minutes: Int }\nvar orderedAt: Date\nvar serial: Int }"
        let attributes: JSONTree = ["orderedAt": .number("1795894000"), "serial": .number("1795894000")]
        let known = DateLens.findings(inAttributes: attributes, schema: try ContentSchema(swift: source))
        #expect(known.map(\.path) == ["attributes.orderedAt"] && known.first?.isInAttributes == true)
        #expect(known.first?.advice.hasSuffix("it counts from 2001: send 817586800.") == true, "\(known)")
        #expect(
            DateLens.findings(inAttributes: attributes).map(\.path) == ["attributes.orderedAt", "attributes.serial"])
        let content = try ContentSchema(swift: "struct ContentState { var minutes: Int }")
        #expect(DateLens.findings(inAttributes: attributes, schema: content).count == 2, "its attributes are not known")
    }

    /// A value is shown as a date only if the app's Swift type has a date there.
    @Test func aTypeSaysWhatIsADate() throws {
        let schema = try ContentSchema(swift: "struct ContentState: Codable { var at: Date; var serial: Int }")
        func findings(_ at: String) -> [DateLens.Finding] {
            DateLens.findings(
                in: ["at": .number(at), "serial": .number("1764000000"), "note": "2026-11-27T17:05:00Z"], schema: schema
            )
        }
        func meanings(_ at: String) -> [DateLens.Meaning] { findings(at).map(\.meaning) }
        func advice(_ at: String) -> String { findings(at).first?.advice ?? "" }
        #expect(meanings("817491900") == [.secondsSince2001])
        #expect(meanings("1764000000") == [.secondsSince1970])
        #expect(meanings("12") == [.farAway])
        #expect(
            advice("1764000000")
                == "The app decodes a Date here, and reads the year 2056, because it counts from 2001: send 785692800.")
        #expect(advice("1764000000000").hasSuffix("it counts seconds from 2001. Send 785692800."))
        #expect(meanings("1e300") == [.farAway])
        let isSaid = schema.fault(in: ["at": "2026-11-27T17:05:00", "serial": .number("1")])
        #expect(isSaid?.hasSuffix(": send 817491900 (taken as UTC)") == true, "\(isSaid ?? "")")
        let text = try ContentSchema(["at": "soon"])
        #expect(
            DateLens.findings(in: ["at": "2026-11-27T17:05:00Z"], schema: text).isEmpty, "the sample has text there")
    }
}
