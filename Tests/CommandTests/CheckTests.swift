import ArgumentParser
import ChildProcesses
import CommandSupport
import Foundation
import PushModel
import Testing

@testable import mailboat

@Suite struct CheckTests {
    private static func reports(_ text: String) -> [Check.Report] {
        var splitter = JSONValueSplitter()
        var items: [JSONValueSplitter.Item] = []
        splitter.feed(Array(text.utf8), into: &items)
        splitter.finish(into: &items)
        var check = EventCheck(app: "com.example.pizza", nowSeconds: 1_700_000_000)
        return items.map { Check.answer(to: $0, check: &check) }
    }

    @Test func anAppThatIsNotConfiguredIsRefusedWhereAppsAreKnown() throws {
        let text = #"{"key":"order-7","value":{"event":"end","app":"com.example.piza"}}"#
        let record = try RecordText(Array(text.utf8))
        var check = EventCheck(app: "", nowSeconds: 1_700_000_000)
        guard case .taken = check.check(record) else {
            Issue.record("refused without a configuration")
            return
        }
        check.apps = ["com.example.pizza"]
        guard case .refused(let rejection) = check.check(record) else {
            Issue.record("taken")
            return
        }
        #expect(rejection.field == "app" && rejection.reason.hasSuffix("expected com.example.pizza"))
    }

    /// A worker with several apps cannot tell to which app an event without `app` belongs. So the event is refused.
    @Test func anEventWithoutAnAppIsRefusedWhereSeveralAreKnown() throws {
        let record = try RecordText(Array(#"{"key":"order-7","value":{"event":"end"}}"#.utf8))
        var check = EventCheck(app: "", nowSeconds: 1_700_000_000)
        check.apps = ["com.example.pizza"]
        guard case .taken = check.check(record) else {
            Issue.record("refused although there is one app")
            return
        }
        check.apps = ["com.example.pizza", "com.example.game"]
        #expect(
            check.check(record)
                == .refused(
                    EventRejection(
                        field: "app", reason: "is missing: expected a bundle id, as 2 apps are configured")))
    }

    @Test func theAppsOfAConfigurationAreKnown() throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("mailboat-\(UUID().uuidString)").path
        let yaml = """
            kafka.bootstrap: localhost:9092
            apns: {team-id: SIMULATEAM, key-id: SIMULATOR1, key-file: key.p8}
            apps: [com.example.pizza]
            """
        try yaml.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        let check = try Check.parse(["--config", path]).judge()
        #expect(check.apps == ["com.example.pizza"] && check.app == "com.example.pizza")
        let without = try Check.parse([]).judge()
        #expect(without.apps == nil && without.app == "com.example.app")
        #expect(throws: CommandFailure.self) { try Check.parse(["--config", path + "-none"]).judge() }
    }

    @Test func aRegistrationIsUsedByTheUpdatesAfterIt() {
        let token = String(repeating: "80e0", count: 40)
        let reports = Self.reports(
            """
            {"key":"order-7","value":{"event":"register","token":"\(token)","environment":"development","frequent-updates":true}}
            {"key":"order-7","value":{"event":"update","content-state":{"a": 1.50},"alert":{"title":"t","body":"b"},"timestamp":1699999990}}
            {"key":"order-7","value":{"event":"unregister"}}
            {"key":"order-7","value":{"event":"end","expires":1700000060},"timestamp":1699999000000}
            """)
        #expect(
            reports == [
                .taken(
                    line: 1,
                    lines: ["activity “order-7” gets token 80e080e0…(160 digits) (development, frequent updates)"]),
                .taken(
                    line: 2,
                    lines: [
                        "POST https://api.sandbox.push.apple.com/3/device/80e080e0…(160 digits)",
                        "authorization: bearer (provider token)", "apns-push-type: liveactivity",
                        "apns-topic: com.example.pizza.push-type.liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000900",
                        "apns-id: (a new UUID)", "",
                        #"{"aps":{"event":"update","timestamp":1699999990,"content-state":{"a": 1.50},"alert":{"title":"t","body":"b"}}}"#,
                        "(110 of 4096 bytes)",
                    ]),
                .taken(line: 3, lines: ["activity “order-7” no longer has a token"]),
                .taken(
                    line: 4,
                    lines: [
                        "POST https://api.push.apple.com/3/device/(the token registered for activity “order-7”)",
                        "authorization: bearer (provider token)", "apns-push-type: liveactivity",
                        "apns-topic: com.example.pizza.push-type.liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000060",
                        "apns-id: (a new UUID)", "", #"{"aps":{"event":"end","timestamp":1699999000}}"#,
                        "(46 of 4096 bytes)",
                    ]),
            ])
    }

    /// A number that looks like a date causes a warning. Servers count seconds from 1970, but Swift decodes a `Date`
    /// from seconds since 2001.
    @Test func aValueThatLooksLikeADateIsWarnedOf() {
        let event =
            #"{"event":"update","content-state":{"eta":1700000600,"at":"2023-11-14T22:13:20Z","ok":721692800,"minutes":12}}"#
        guard case .taken(1, let lines) = Self.reports(event).first else {
            Issue.record("not taken")
            return
        }
        #expect(
            lines.filter { $0.contains("warning") } == [
                "(warning: eta = 1700000600 (seconds since 1970; send 721693400) looks like a date, and Swift's Date is a number of seconds since 2001)",
                #"(warning: at = "2023-11-14T22:13:20Z" (a text; send 721692800) looks like a date, and Swift's Date is a number of seconds since 2001)"#,
            ])
    }

    @Test(arguments: ["mailboat.yaml", "events.ndjson"]) func settingsAreNoEvents(name: String) throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "mailboat-check-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let path = folder.appending(path: name).path
        try Data("kafka.bootstrap: localhost:9092\napps: [com.example.pizza]\n".utf8).write(
            to: URL(fileURLWithPath: path))
        var lineCount = 0
        let input = try RecordInput(path: path)
        if name.hasSuffix(".yaml") {
            let failure = #expect(throws: CommandFailure.self) { try input.forEach { _ in lineCount += 1 } }
            #expect(failure?.description.contains("mailboat run --check --config \(path)") == true)
            #expect(lineCount == 0)
        } else {
            try input.forEach { _ in lineCount += 1 }
            #expect(lineCount == 2)
        }
    }

    @Test func aFileThatIsNotThereIsNamed() {
        let failure = #expect(throws: CommandFailure.self) { try RecordInput(path: "nofile") }
        #expect(failure?.description == "nofile cannot be read: No such file or directory")
    }

    /// No output contains a whole token, because the output may end up in the public log of a build.
    @Test func aTokenInTheContentIsCut() {
        let token = String(repeating: "80e0", count: 16)
        let event = #"{"event":"update","content-state":{"\#(token)":"\#(token)"},"timestamp":1699999990}"#
        guard case .taken(1, let lines) = Self.reports(event).first else {
            Issue.record("not taken")
            return
        }
        #expect(!lines.joined().contains(token.prefix(33)))
        #expect(lines.contains { $0.contains(#""content-state":{"80e080e0…(64 digits)":"80e080e0…(64 digits)"}"#) })
        #expect(lines.last == "(201 of 4096 bytes)", "of the payload as it would be sent")
    }

    @Test func anEventAloneNeedsNoKey() {
        let reports = Self.reports(
            #"{"event":"update","app":"com.example.match","content-state":{},"to":{"token":"00ff"},"timestamp":1700000000}"#
        )
        guard case .taken(1, let lines) = reports.first else {
            Issue.record("\(reports)")
            return
        }
        #expect(lines[0] == "POST https://api.push.apple.com/3/device/00ff")
        #expect(lines[3] == "apns-topic: com.example.match.push-type.liveactivity")
        #expect(lines[4] == "apns-priority: 5")
    }

    @Test func anEventForAChannelIsABroadcast() {
        let reports = Self.reports(
            """
            {"key":"dHN0+/8=","value":{"event":"update","content-state":{"score":1},"priority":1,"timestamp":1699999990,"to":{"channel":"dHN0+/8=","environment":"development"}}}
            {"event":"end","alert":null,"timestamp":1699999995,"expires":1700000060,"to":{"channel":"dHN0+/8="}}
            """)
        #expect(
            reports == [
                .taken(
                    line: 1,
                    lines: [
                        "POST https://api.sandbox.push.apple.com/4/broadcasts/apps/com.example.pizza",
                        "authorization: bearer (provider token)", "apns-channel-id: dHN0+/8=",
                        "apns-push-type: liveactivity", "apns-priority: 1",
                        "apns-expiration: 1700000900, or 0 if the channel stores nothing",
                        "apns-request-id: (a new UUID)", "",
                        #"{"aps":{"event":"update","timestamp":1699999990,"content-state":{"score":1}}}"#,
                        "(77 of 5120 bytes)",
                    ]),
                .taken(
                    line: 2,
                    lines: [
                        "POST https://api.push.apple.com/4/broadcasts/apps/com.example.pizza",
                        "authorization: bearer (provider token)", "apns-channel-id: dHN0+/8=",
                        "apns-push-type: liveactivity", "apns-priority: 10",
                        "apns-expiration: 1700000060, or 0 if the channel stores nothing",
                        "apns-request-id: (a new UUID)", "", #"{"aps":{"event":"end","timestamp":1699999995}}"#,
                        "(46 of 5120 bytes)", "(an alert that has not been sent yet is withdrawn)",
                    ]),
            ])
    }

    @Test func membersJoinAndLeave() {
        let token = String(repeating: "80e0", count: 40)
        let other = String(repeating: "c0ffee42", count: 8)
        let reports = Self.reports(
            """
            {"key":"\(token)","value":{"event":"register","audience":"match-7","frequent-updates":true,"channel":"dHN0+/8="}}
            {"key":"\(other)","value":{"event":"register","audience":"match-7","token-type":"update","environment":"development"}}
            {"key":"\(other)","value":{"event":"unregister","audience":"match-7"}}
            {"key":"\(token)","value":{"event":"unregister"}}
            {"key":"order-7","value":{"event":"unregister"}}
            {"event":"register","audience":"match-7"}
            {"key":"00ff","value":{"event":"register","audience":"match-7","token-type":"start","channel-capable":true}}
            """)
        let lines = reports.map { report in
            if case .taken(_, let lines) = report { lines } else { ["\(report)"] }
        }
        #expect(
            lines == [
                [
                    "token 80e080e0…(160 digits) joins audience “match-7” (to update an activity, production, frequent updates, "
                        + "listens on channel dHN0+/8=)"
                ],
                ["token c0ffee42…(64 digits) joins audience “match-7” (to update an activity, development)"],
                ["token c0ffee42…(64 digits) leaves audience “match-7”"],
                ["token 80e080e0…(160 digits) leaves every audience"],
                ["activity “order-7” no longer has a token"],
                ["the token that the key spells joins audience “match-7” (to update an activity, production)"],
                ["token 00ff joins audience “match-7” (to start activities, production, channel-capable)"],
            ])
    }

    @Test func anEventForAnAudienceGoesToEachMember() {
        let reports = Self.reports(
            """
            {"key":"match-7","value":{"event":"update","content-state":{"home":1},"timestamp":1699999990,"to":{"audience":"match-7"}}}
            {"event":"end","to":{"audience":"match-7"}}
            {"event":"start","to":{"audience":"match-7"},"attributes-type":"Match","attributes":{},"content-state":{},"alert":{"title":"","body":""}}
            """)
        guard reports.count == 3, case .taken(1, let update) = reports[0], case .taken(2, let end) = reports[1],
            case .taken(3, let start) = reports[2]
        else {
            Issue.record("\(reports)")
            return
        }
        #expect(update[0] == "POST https://api.push.apple.com/3/device/(each update token in audience “match-7”)")
        #expect(update[4] == "apns-priority: 5")
        #expect(update[8] == #"{"aps":{"event":"update","timestamp":1699999990,"content-state":{"home":1}}}"#)
        #expect(update[9] == "(76 of 4096 bytes)")
        #expect(end[0] == update[0])
        #expect(end[4] == "apns-priority: 10")
        #expect(
            start[0] == "POST https://api.push.apple.com/3/device/(each push-to-start token in audience “match-7”)")
        #expect(start.last == "(its update members get the content as an update, at priority 5 and without the alert)")
    }

    @Test(arguments: [
        (
            #"{"key":"order-7","value":{"event":"register","audience":"a"}}"#,
            "“key” is not hexadecimal at character 1 of 7: expected the member's token, in the digits 0-9 and a-f only"
        ),
        (
            #"{"key":"00FF","value":{"event":"unregister","audience":"a"}}"#,
            "“key” has an upper-case letter at character 3 of 4: expected the member's token in lower case"
        ),
        (
            #"{"key":"b","value":{"event":"end","to":{"audience":"a"}}}"#,
            "“to.audience” \"a\" differs from the record's key: expected the same audience id"
        ),
        ("{", "the text is not valid JSON: it ends too early"),
        (
            #"{"key":"a","value":{"event":"end","to":{"channel":"AAAA"}}}"#,
            "“to.channel” \"AAAA\" differs from the record's key: expected the same channel id"
        ),
        (
            #"{"event":"update","to":{"channel":"AAAA"},"content-state":{"a":"\#(String(repeating: "a", count: 4_089))"}}"#,
            "“content-state” has 4097 bytes: a Live Activity takes at most 4096, also by broadcast"
        ),
        (#"{"event":"update"}"#, "“content-state” is missing: “update” needs it"),
        (#"{"key":"a","value":null}"#, "“value” is null: expected one JSON object"),
        (
            #"{"key":null,"value":{"event":"end"}}"#,
            "“key” is missing: expected the activity, audience or channel id, or a member's token"
        ),
        (
            #"{"key":"","value":{"event":"end"}}"#,
            "“key” is empty: expected the activity, audience or channel id, or a member's token"
        ),
        (#"{"key":"a"}"#, "“value” is missing: expected the event, or null"),
        (
            #"{"key":"a","value":{"event":"end","to":{"activity":"b"}}}"#,
            "“to.activity” \"b\" differs from the record's key: expected the same activity id"
        ),
        (
            #"{"event":"end","timestamp":1700000301}"#,
            "“timestamp” 1700000301 is 301 s ahead of this worker's clock (1700000000): at most 300 s are allowed, "
                + "because the phone would ignore everything after it"
        ),
        (
            #"{"event":"end","dismissal-date":721692800}"#,
            "“dismissal-date” is 721692800: expected whole seconds since 1970; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
        ),
        (
            #"{"event":"update","content-state":{"a":"\#(String(repeating: "a", count: 4_096))"}}"#,
            "“payload” would have 4170 bytes: APNs takes at most 4096 (of these: content-state 4104)"
        ),
    ])
    func refusals(text: String, reason: String) {
        #expect(Self.reports(text) == [.refused(line: 1, reason: reason)])
    }

    /// Any dismissal date is accepted, and a past one means "now". One kind is refused: a date that would be within a
    /// day of now if its seconds counted from 2001.
    @Test(arguments: [
        -62_135_596_800, -1, 0, 1, 721_692_800 - 86_401, 721_692_800 + 86_401, 1_600_000_000, 9_999_999_999,
    ])
    func otherDismissalDatesAreTaken(seconds: Int64) {
        guard case .taken = Self.reports(#"{"event":"end","to":{"token":"ab"},"dismissal-date":\#(seconds)}"#).first
        else {
            Issue.record("\(seconds) is refused")
            return
        }
    }

    @Test func whatTheAppCannotDecodeIsRefused() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data("struct ContentState { var minutes: Int; var at: Int? }".utf8).write(to: URL(fileURLWithPath: path))
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["check", "--quiet", "--content-schema", path, "-"],
            input: """
                {"event":"update","content-state":{"minutes":12,"at":1795840000}}
                {"event":"end"}
                {"event":"update","content-state":{"Minutes":12}}
                """)
        #expect(
            ended.lines == [
                "line 3: refused: “content-state” does not fit --content-schema: “minutes” is missing, and the app requires it; "
                    + "“Minutes” is there, which is another key for Swift"
            ])
        #expect(ended.status == 1 && ended.errors.contains("3 events, 1 refused\n"), "\(ended.errors)")
    }

    /// `check` refuses a start whose type is not the app's, or whose attributes the app's type cannot decode. iOS would
    /// show no card for it.
    @Test func aStartThatTheAppCannotDecodeIsRefused() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).swift").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        let type = "struct Pizza: ActivityAttributes { struct ContentState { var minutes: Int }; var order: String }"
        try Data(type.utf8).write(to: URL(fileURLWithPath: path))
        func start(_ type: String, _ attributes: String) -> String {
            #"{"event":"start","to":{"start-token":"ab"},"attributes-type":"\#(type)","attributes":\#(attributes),"#
                + #""content-state":{"minutes":1},"alert":{"title":"a","body":"b"}}"#
        }
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["check", "--quiet", "--content-schema", path, "-"],
            input: [start("Pizza", #"{"order":"7"}"#), start("Order", #"{"order":"7"}"#), start("Pizza", "{}")]
                .joined(separator: "\n"))
        #expect(
            ended.lines == [
                "line 2: refused: “attributes” does not fit --content-schema: attributes-type is the string \"Order\", and your type is Pizza",
                "line 3: refused: “attributes” does not fit --content-schema: “attributes.order” is missing, and the app requires it",
            ])
        #expect(ended.status == 1, "\(ended.errors)")
    }

    @Test func warningsAreCounted() {
        var tally = Check.Tally()
        for report in Self.reports(
            #"""
            {"event":"end"}
            {"event":"wave"}
            """#)
        { tally.count(report) }
        #expect(tally.text == "2 events, 1 refused")
        let doubtful = Self.reports(
            #"{"event":"update","content-state":{"at":1795840000,"eta":1795840000}} {"event":"update","content-state":{"at":1795840000}}"#
        )
        for report in doubtful { tally.count(report) }
        #expect(tally.text == "4 events, 1 refused, 3 warnings" && !tally.isGood(isStrict: false))
        #expect(doubtful[1].warnings.first?.hasPrefix("warning: at = 1795840000 (") == true)
    }

    /// A warning changes the exit status only where that is asked for.
    @Test(arguments: [
        (1_795_840_000, [String](), 0), (1_795_840_000, ["--strict"], 1), (12, ["--strict"], 0),
        (1_795_840_000, ["--strict", "--quiet", "--format", "json"], 1),
    ])
    func warningsFailOnlyIfThatIsAskedFor(number: Int, words: [String], status: Int32) async throws {
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["check", "-"] + words,
            input: #"{"event":"update","content-state":{"at":\#(number)}}"#)
        #expect(ended.status == status, "\(ended)")
    }

    /// Under `--quiet`, warnings and the summary go to standard error. Standard output then has only refused events.
    @Test func quietKeepsWarnings() async throws {
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["check", "--quiet", "-"],
            input: #"{"event":"update","content-state":{"at":1795840000}}"#)
        #expect(ended.output.isEmpty && ended.status == 0)
        #expect(ended.errors.contains("line 1: warning: ") && ended.errors.contains("1 event, 0 refused, 1 warning"))
    }

    @Test func aProgramGetsAnObjectForEachEvent() {
        #expect(
            Check.Report.taken(line: 3, lines: ["POST /3/device", ""]).json
                == #"{"line":3,"text":["POST /3/device",""],"verdict":"taken","warnings":[]}"#)
        #expect(
            Check.Report.taken(line: 3, lines: ["POST /3/device", "(warning: “a” looks like a date)"]).json
                .hasSuffix(#""verdict":"taken","warnings":["“a” looks like a date"]}"#))
        #expect(
            Check.Report.refused(line: 4, reason: "“event” is \"wave\"").json
                == #"{"line":4,"reason":"“event” is \"wave\"","verdict":"refused"}"#)
    }
}
