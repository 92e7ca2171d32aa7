import ArgumentParser
import ChildProcesses
import Foundation
import Testing

@testable import mailboat

/// Tests of `mailboat doctor` when many things are wrong. `ToolsTests` has the case where all is well.
@Suite(.timeLimit(.minutes(2)))
struct DoctorTests {
    private static func findings(_ yaml: String, _ words: [String] = []) async throws -> [DoctorFinding] {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml").path
        try yaml.write(toFile: path, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(atPath: path) }
        var findings: [DoctorFinding] = []
        try await Doctor.parse(["--config", path, "--timeout", "2"] + words).examine { findings.append($0) }
        return findings
    }

    @Test func everyCheckIsMadeAlthoughTheOneBeforeFails() async throws {
        // Nothing listens on port 1.
        let findings = try await Self.findings(
            """
            kafka.bootstrap: 127.0.0.1:1
            apns:
              team-id: TESTTEAM12
              key-id: TESTKEY123
              key-file: /nowhere/key.p8
              production: {host: 127.0.0.1, port: 1, manage-host: 127.0.0.1, manage-port: 1}
            apps: [com.example.pizza]
            """, ["--push-probe"])
        #expect(
            findings.map { "\($0.level) \($0.check)" } == [
                "ok configuration", "fail key", "fail connection", "warn connection", "fail kafka",
            ], "\(findings.map(\.line))")
        #expect(findings[1].found.contains("No such file"))
        #expect(findings[1].line.ranges(of: "/nowhere/key.p8").count == 1)
        #expect(findings[2].found.contains("Connection refused"))
        #expect(findings.allSatisfy { $0.level == .ok || $0.remedy != nil })
    }

    /// The last lines say which checks were tried, and which were not and why.
    @Test(arguments: [
        (
            Array(DoctorFinding.Check.allCases), true,
            [
                "tried: configuration, key, connection, clock, credentials, login, tracing, kafka, topics, group, offsets, state"
            ]
        ),
        (
            [.configuration, .key, .connection, .kafka, .topics, .group, .offsets, .state], false,
            [
                "tried: configuration, key, connection, kafka, topics, group, offsets, state",
                "not tried: clock, credentials: whether APNs accepts each key and bundle id, and this machine's clock",
                "'mailboat doctor --config FILE --push-probe' tries them, with pushes that reach no phone",
            ]
        ),
        (
            [.configuration, .key, .connection, .kafka], true,
            [
                "tried: configuration, key, connection, kafka",
                "not tried: clock, credentials, topics, group, offsets, state, because of what failed above",
            ]
        ),
    ])
    func whatWasTriedIsSaid(tried: [DoctorFinding.Check], isProbing: Bool, expected: [String]) {
        let findings = tried.map { DoctorFinding(level: .ok, check: $0, subject: "s", found: "f") }
        let lines = DoctorSummary(findings, isProbing: isProbing).lines
        #expect(lines == ["\(tried.count) ok, 0 warn, 0 fail"] + expected)
    }

    /// A good configuration may still have a wrong bundle id. Without `--push-probe`, the finding says that APNs was
    /// not asked about the bundle id.
    @Test(arguments: [(["--push-probe"], false), ([], true)])
    func aGoodConfigurationDoesNotSeemToMeanAGoodBundleID(words: [String], isSaid: Bool) async throws {
        let yaml =
            "kafka.bootstrap: 127.0.0.1:1\napns: {team-id: TESTTEAM12, key-id: TESTKEY123, key-file: /nowhere/k.p8, production: {host: 127.0.0.1, port: 1}}\napps: [com.exmaple.pizza]\n"
        let findings = try await Self.findings(yaml, words)
        let first = try #require(findings.first)
        #expect(first.check == .configuration && first.found.contains("com.exmaple.pizza"))
        #expect(first.found.hasSuffix("(APNs was not asked about it)") == isSaid, "\(first.line)")
    }

    /// The finding about `state` has a check name of its own, so that a program can tell it from other findings.
    @Test func whatIsSaidOfStateHasANameOfItsOwn() {
        let finding = DoctorJudge.state(topic: "s", [], group: "g", hasCommits: true)
        #expect(finding.check == .state && finding.line.hasPrefix("ok    state "))
    }

    @Test func settingsThatAreWrongAreNamedAndNothingElseIsTried() async throws {
        let findings = try await Self.findings("kafka.bootstrap: localhost:9092\nbudget.per-hours: 3\n")
        #expect(!findings.isEmpty && findings.allSatisfy { $0.level == .fail && $0.check == .configuration })
        #expect(findings.contains { $0.found.contains("did you mean budget.per-hour?") })
        // The message names the file with the line, and only once.
        #expect(findings.contains { $0.subject.hasSuffix(".yaml:2") && $0.found.hasPrefix("budget.per-hours: ") })
        #expect(findings.allSatisfy { $0.line.ranges(of: ".yaml").count == 1 })
    }
}
