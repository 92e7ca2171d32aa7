import APNSSimulator
import ArgumentParser
import ChildProcesses
import DeviceModel
import Foundation
import Testing
import Upstream

@testable import mailboat

/// Tests of `mailboat doctor`, `tail`, `token` and `send` beside a worker, with real sockets.
@Suite(.timeLimit(.minutes(10)))
struct ToolsTests {
    /// Runs `body` in a house with a worker. The house's APNs has a management port for channels.
    private static func with(_ body: (TestHouse, WorkerProcess) async throws -> Void) async throws {
        var configuration = SimulatorConfiguration()
        configuration.managementPort = 0
        try await TestHouse.with(simulator: configuration) { house in
            let port = try #require(house.simulator.managementPort)
            let worker = try await house.startWorker(
                settings: "apns.production.manage-host: 127.0.0.1\napns.production.manage-port: \(port)")
            try await worker.ready()
            try await body(house, worker)
        }
    }

    private static func findings(_ worker: WorkerProcess, _ words: String...) async throws -> [DoctorFinding] {
        var findings: [DoctorFinding] = []
        try await Doctor.parse(["--config", worker.configurationPath, "--replication", "1"] + words).examine {
            findings.append($0)
        }
        return findings
    }

    // MARK: doctor

    @Test func aHealthyHouseIsSaidToBeOne() async throws {
        try await Self.with { house, worker in
            let findings = try await Self.findings(worker, "--push-probe")
            // The topics of a real broker may have other settings, so the doctor may warn about them.
            #expect(
                findings.allSatisfy { $0.level == .ok || ($0.check == .topics && $0.level == .warn) },
                "\(findings.map(\.line))")
            // These checks do not run here. Nothing is traced, and only some real brokers need a login.
            let untried: Set<DoctorFinding.Check> =
                WorkerYAML.login(house.kafka.settings).isEmpty ? [.login, .tracing] : [.tracing]
            #expect(Set(findings.map(\.check)) == Set(DoctorFinding.Check.allCases).subtracting(untried))
            #expect(findings.filter { $0.check == .connection }.count == 2)
            #expect(house.violations().isEmpty)
            // The command runs as a user would run it.
            let run = try await CommandRun.mailboat(
                "doctor", "--config", worker.configurationPath, "--replication", "1", "--format", "json")
            #expect(run.status == 0, "\(run)")
            #expect(run.lines.allSatisfy { !$0.contains("\"level\":\"fail\"") } && !run.lines.isEmpty)
            #expect(
                run.errors.contains(
                    "0 fail\ntried: configuration, key, connection, kafka, topics, group, offsets, state\n")
                    && run.errors.contains("not tried: clock, credentials: "), "\(run)")
            #expect(
                run.errors.contains("'mailboat doctor --config \(worker.configurationPath) --push-probe' tries them"))
        }
    }

    @Test func whatIsWrongIsNamed() async throws {
        try await Self.with { house, worker in
            house.simulator.revokeKey(id: "TESTKEY123")
            let revoked = try await Self.findings(worker, "--push-probe").filter { $0.level == .fail }
            #expect(revoked.map(\.check) == [.credentials])
            #expect(revoked.first?.found.contains("InvalidProviderToken") == true)

            // The settings name an authority that did not sign the simulator's certificate.
            let text = try String(contentsOfFile: worker.configurationPath, encoding: .utf8)
            let path = "\(house.directory)/other.yaml"
            let other = try CredentialDirectory(
                path: "\(house.directory)/other", keyID: "OTHERKEY12", names: ["127.0.0.1"],
                nowSeconds: Int64(Date().timeIntervalSince1970))
            try text.replacing("\(house.directory)/ca.pem", with: other.authorityPath)
                .write(toFile: path, atomically: true, encoding: .utf8)
            let run = try await CommandRun.mailboat("doctor", "--config", path, "--timeout", "5")
            #expect(run.status == 1)
            #expect(
                run.lines.contains { $0.hasPrefix("fail  connection") && $0.contains("certificate is not accepted") },
                "\(run)")
            #expect(run.lines.contains { $0.hasPrefix("ok    kafka") })
        }
    }

    /// The doctor compares the date of APNs' answer with this machine's clock.
    @Test func aWrongClockIsNamed() async throws {
        try await Self.with { house, worker in
            func clock(date: String) async throws -> DoctorFinding {
                // The fault replaces one answer of the simulator to the doctor's probe, a push without a token.
                house.simulator.add(
                    Fault(.answer(status: 400, reason: "MissingDeviceToken", date: date), count: 1))
                return try #require(try await Self.findings(worker, "--push-probe").first { $0.check == .clock })
            }
            let cases: [(serverAheadSeconds: Int, level: DoctorFinding.Level)] = [
                (0, .ok), (-90, .warn), (90, .warn), (-4_000, .fail), (4_000, .fail),
            ]
            for (ahead, level) in cases {
                let finding = try await clock(date: Self.httpDate(Date(timeIntervalSinceNow: Double(ahead))))
                #expect(finding.subject == "127.0.0.1")
                #expect(finding.level == level, "\(finding.line)")
                #expect((finding.remedy == nil) == (level == .ok), "\(finding.line)")
                // A few seconds may pass between choosing the date and comparing it.
                let seconds = try #require(finding.found.split(separator: " ").compactMap { Int($0) }.first)
                #expect(abs(seconds - abs(ahead)) <= 10, "\(finding.line)")
                let direction = ahead > 0 ? "behind the server's" : "ahead of the server's"
                #expect(ahead == 0 || finding.found.hasSuffix(direction), "\(finding.line)")
            }
            // The date in the answer cannot be read.
            let none = try await clock(date: "tomorrow")
            #expect(none.level == .ok && none.found == "not compared: the answer's date is “tomorrow”")
            // The command runs as a user would run it. A clock that is an hour off is an error.
            house.simulator.add(
                Fault(
                    .answer(
                        status: 400, reason: "MissingDeviceToken",
                        date: Self.httpDate(Date(timeIntervalSinceNow: -3_600))), count: 1))
            let run = try await CommandRun.mailboat(
                "doctor", "--config", worker.configurationPath, "--replication", "1", "--push-probe")
            #expect(run.status == 1)
            #expect(run.lines.contains { $0.hasPrefix("fail  clock") && $0.contains("ahead of") }, "\(run)")
        }
    }

    private static func httpDate(_ date: Date) -> String {
        let format = DateFormatter()
        format.locale = Locale(identifier: "en_US_POSIX")
        format.timeZone = TimeZone(identifier: "GMT")
        format.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        return format.string(from: date)
    }

    // MARK: send, token

    @Test func aPushGoesStraightToThePhone() async throws {
        try await Self.with { house, worker in
            let token = Tokens.make(1)
            let now = Int64(Date().timeIntervalSince1970)
            let payload = "{\"aps\":{\"timestamp\":\(now),\"event\":\"update\",\"content-state\":{\"step\":\"sent\"}}}"
            let words = ["send", "--config", worker.configurationPath, "--token", token, "--payload", "-"]
            let sent = try await CommandRun.mailboat(
                words[0], words[1], words[2], words[3], words[4], words[5], words[6], input: payload)
            #expect(sent.status == 0, "\(sent)")
            #expect(sent.lines.first?.hasPrefix("200  apns-id ") == true)
            #expect(!sent.output.contains(token) && sent.errors.isEmpty)
            let shown = house.simulator.device(token: token)?.device.contentState ?? []
            #expect(String(decoding: shown, as: UTF8.self) == "{\"step\":\"sent\"}")

            house.simulator.setToken(token, .dead)
            let refused = try await CommandRun.mailboat(
                words[0], words[1], words[2], words[3], words[4], words[5], words[6], input: "{}")
            #expect(refused.status == 1)
            #expect(refused.lines.first?.hasPrefix("410 ExpiredToken, since ") == true, "\(refused)")
            #expect(refused.errors.contains("note: the payload has no object “aps”"))

            let printed = try await CommandRun.mailboat("token", "--config", worker.configurationPath)
            #expect(printed.status == 0 && printed.lines.count == 1)
            #expect(printed.lines.first?.split(separator: ".").count == 3)
            #expect(printed.errors.contains("good until") && printed.errors.contains("curl"))
        }
    }

    // MARK: tail

    @Test func outcomesAreFollowedUntilSomebodyStopsIt() async throws {
        try await Self.with { house, worker in
            let publisher = try TestPublisher(house.kafka)
            let tail = try ChildProcess(
                name: "tail", executable: BuiltExecutable.besideThisOne("mailboat"),
                arguments: ["tail", "--config", worker.configurationPath, "--since", "1h", "--outcome", "delivered"],
                logPath: "\(house.directory)/tail.log")
            try publisher.register("order", token: Tokens.make(1))
            try publisher.update("order", "preparing", priority: 10)
            try await publisher.flush()
            func text() throws -> String { try String(contentsOfFile: tail.logPath, encoding: .utf8) }
            try await until("the outcome is shown") { try text().contains("delivered") }
            // A file gets no colours.
            #expect(try text().contains("\(TestPublisher.app) order  priority 10") && !text().contains("\u{1b}"))
            #expect(try !text().contains("applied"))
            tail.terminate()
            try await until("it ends") { !tail.isRunning }
            #expect(tail.status == 0)

            // `tail` ends when its reader has gone, even if no further outcome comes.
            let piped = try await CommandRun.shell(
                "\"$MAILBOAT\" tail --config '\(worker.configurationPath)' --since 1h --key order --format json | head -n 1"
            )
            #expect(piped.lines.count == 1)
            #expect(piped.output.contains("\"record\":{\"outcome\":"))
        }
    }
}
