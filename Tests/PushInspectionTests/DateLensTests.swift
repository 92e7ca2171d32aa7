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

    private static let texts: [(String, String?)] = [
        ("2026-11-27T17:05:00Z", "send 817491900."), ("2026-11-27T18:05:00+01:00", "send 817491900."),
        ("2026-11-27 17:05", "send 817491900 (taken as UTC)."),
        ("2026-11-27T17:05:00", "send 817491900 (taken as UTC)."), ("2026-11-27T12:05:00-05:00", "send 817491900."),
        ("2026-11-27T17:05:00.250Z", "send 817491900."),
        ("1795816269", "your app shows nothing of this push: send 817509069."), ("1795816269000", "send 817509069."),
        ("1795816269.123456", "send 817509069."), ("20261127T170500Z", "send 817491900."),
        ("Fri, 27 Nov 2026 17:05:00 +0000", "send 817491900."), ("27 Nov 2026 18:05 +0100", "send 817491900."),
        ("Fri, 27 Nov 2026 17:05:00 GMT", "send 817491900."), ("2026-11-27 17:05:00 UTC", "send 817491900."),
        ("2026-11-27 18:05:00 +0100", "send 817491900."), ("2026-11-27 17:05:00 +0000 UTC", "send 817491900."),
        ("2026-11-27T18:05:00+01:00[Europe/Berlin]", "send 817491900."), ("2026-11-27 17:05:00+00", "send 817491900."),
        ("817509069", nil), ("4915112345678", nil), ("2026-11-27", nil), ("1999-11-27T17:05:00Z", nil),
        ("2026-13-27T17:05:00Z", nil), ("On its way", nil), ("Fri, 27 Foo 2026 17:05:00 GMT", nil),
        ("27.11.2026 17:05", nil), ("1795816269123456", nil), ("817491900000", nil), ("20261127", nil),
    ]

    @Test(arguments: Self.texts)
    func aDateIsNoText(text: String, advice: String?) {
        let findings = DateLens.findings(in: .object([.init("note", .string(text))]))
        #expect(findings.map(\.meaning) == (advice == nil ? [] : [.text]))
        if let advice { #expect(findings.first?.advice.hasSuffix(advice) == true, "\(findings)") }
    }

    private static let named: [(String, String, DateLens.Meaning?)] = [
        ("estimatedDeliveryTime", "817588800000", .millisecondsSince2001),
        ("eta", "1795896000123456", .microsecondsSince1970),
        ("arrives_at", "1795896000123456000", .nanosecondsSince1970),
        ("ETA", "\"1795896000123456\"", .text), ("matchDate", "\"2026-11-28\"", .text),
        ("kickoff", "\"817588800000\"", .text),
        ("phone", "447911123456", nil), ("tweet", "1860000000000000000", nil), ("account", "1795896000123456", nil),
        ("timeID", "817588800000", nil), ("lookAtMe", "817588800000", nil), ("season", "\"2026-11-28\"", nil),
        ("remainingTime", "42", nil), ("timestamp", "\"4915112345678\"", nil), ("time", "\"20:00\"", nil),
    ]

    /// Identifiers and phone numbers have as many digits as a date in small units. Such a number, and a day alone, count
    /// as dates only if the name says so.
    @Test(arguments: Self.named)
    func aNameSaysThatANumberIsADate(name: String, value: String, meaning: DateLens.Meaning?) throws {
        let content = try JSONTree.parse(Array("{\"\(name)\":[\(value)]}".utf8))
        let findings = DateLens.findings(in: content)
        #expect(findings.map(\.meaning) == (meaning.map { [$0] } ?? []))
        guard let finding = findings.first else { return }
        #expect(finding.path == "\(name)[0]")
        #expect(finding.sendSeconds == (value.contains("-") ? 817_516_800 : 817_588_800), "\(finding)")
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
        #expect(meanings("785692800000") == [.millisecondsSince2001])
        #expect(meanings("1764000000123456") == [.microsecondsSince1970])
        #expect(meanings("1764000000123456000") == [.nanosecondsSince1970])
        #expect(
            advice("12")
                == "The app decodes a Date here, and reads 2001-01-01 00:00:12 UTC: it counts seconds from 2001.")
        #expect(advice("300000000000").contains("reads the year 11507:"), "\(advice("300000000000"))")
        #expect(findings("1764000000123456").first?.momentSeconds == nil, "no calendar has that year")
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
