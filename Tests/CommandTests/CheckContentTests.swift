import ChildProcesses
import PushInspection
import Testing

@testable import mailboat

/// Tests of what `mailboat check` says about the content that an app decodes.
struct CheckContentTests {
    private static func warnings(_ event: String, _ check: inout EventCheck) -> [String] {
        Check.answer(to: .value(line: 1, bytes: Array(event.utf8)), check: &check).warnings
    }

    /// With the app's type, each date that is not in seconds since 2001 is named as what it is.
    @Test(arguments: [
        (
            "1700000600000",
            "at = 1700000600000 (milliseconds since 1970; send 721693400) looks like a date, and Swift's Date is a number of seconds since 2001"
        ),
        (
            "721693400000",
            "at = 721693400000 (milliseconds since 2001; send 721693400) looks like a date, and Swift's Date is a number of seconds since 2001"
        ),
        (
            "1700000600123456",
            "at = 1700000600123456 (microseconds since 1970; send 721693400) looks like a date, and Swift's Date is a number of seconds since 2001"
        ),
        (
            "1700000600123456000",
            "at = 1700000600123456000 (nanoseconds since 1970; send 721693400) looks like a date, and Swift's Date is a number of seconds since 2001"
        ),
        (
            "42",
            "at = 42 as a Date is 2001-01-01 00:00:42 UTC: expected seconds since 2001, which are 721692800 now"
        ),
        ("0", "at = 0 as a Date is 2001-01-01 00:00:00 UTC: expected seconds since 2001, which are 721692800 now"),
        (
            "300000000000",
            "at = 300000000000 as a Date is the year 11507: expected seconds since 2001, which are 721692800 now"
        ),
        (
            "1e30", "at = 1e30 as a Date is no year of a calendar: expected seconds since 2001, which are 721692800 now"
        ),
    ])
    func aNumberWhereTheAppHasADateIsNamed(number: String, warning: String) throws {
        var check = EventCheck(app: "com.example.pizza", nowSeconds: 1_700_000_000)
        check.schema = try ContentSchema(swift: "struct ContentState: Codable { var at: Date }")
        let event = #"{"event":"update","content-state":{"at":\#(number)}}"#
        #expect(Self.warnings(event, &check) == ["warning: \(warning)"])
    }

    @Test func datesInAttributesAreWarnedOf() {
        let event =
            #"{"event":"start","to":{"start-token":"ab"},"attributes-type":"P","attributes":{"placed":1700000600},"#
            + #""content-state":{"at":721692800},"alert":{"title":"a","body":"b"}}"#
        var check = EventCheck(app: "com.example.pizza", nowSeconds: 1_700_000_000)
        let warnings = Self.warnings(event, &check)
        #expect(
            warnings.count == 1 && warnings[0].hasPrefix("warning: attributes.placed = 1700000600 ("), "\(warnings)")
    }

    /// Without the app's type, a misspelt name and a text for a number pass. So the summary names the option.
    @Test(arguments: [
        ([String](), #"{"event":"update","content-state":{"driver_name":"Anne"}}"#, true),
        (["--quiet"], #"{"event":"update","content-state":{"driver_name":"Anne"}}"#, false),
        ([], #"{"event":"end"}"#, false),
    ])
    func theOptionForTheAppsTypeIsNamed(words: [String], event: String, isNamed: Bool) async throws {
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["check", "-"] + words, input: event)
        #expect(ended.errors.contains("--content-schema YourAttributes.swift") == isNamed, "\(ended.errors)")
    }
}
