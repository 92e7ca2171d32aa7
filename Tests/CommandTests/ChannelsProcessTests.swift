import APNSProtocol
import APNSSimulator
import ChildProcesses
import Foundation
import KafkaLog
import TLSSession
import Testing

/// `mailboat channels` as somebody runs it, against the simulated APNs.
@Suite(.timeLimit(.minutes(5)))
struct ChannelsProcessTests {
    private struct Ended {
        var status: Int32
        var output: String
        var errors: String
        var lines: [String] { self.output.split(separator: "\n").map(String.init) }
    }

    private struct House {
        var simulator: APNSSimulator
        var configurationPath: String

        /// Runs the command. The process is waited for on a thread of its own.
        func run(_ words: String...) async throws -> Ended {
            let arguments = ["channels", words[0], "--config", self.configurationPath] + words.dropFirst()
            return try await NamedThread.run("mailboat") {
                Result { () -> Ended in
                    let (process, output, errors) = (Process(), Pipe(), Pipe())
                    process.executableURL = BuiltExecutable.besideThisOne("mailboat")
                    process.arguments = arguments
                    process.standardInput = FileHandle.nullDevice
                    process.standardOutput = output
                    process.standardError = errors
                    try process.run()
                    // Both are shorter than what a pipe holds.
                    let (told, complained) = (
                        try output.fileHandleForReading.readToEnd() ?? Data(),
                        try errors.fileHandleForReading.readToEnd() ?? Data()
                    )
                    process.waitUntilExit()
                    return Ended(
                        status: process.terminationStatus, output: String(decoding: told, as: UTF8.self),
                        errors: String(decoding: complained, as: UTF8.self))
                }
            }.get()
        }
    }

    private static func with(
        _ change: (inout SimulatorConfiguration) -> Void = { _ in }, _ body: (House) async throws -> Void
    ) async throws {
        let directory = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        let credentials = try CredentialDirectory(
            path: directory, keyID: "TESTKEY123", names: ["localhost", "127.0.0.1"],
            nowSeconds: Int64(Date().timeIntervalSince1970))
        defer { try? FileManager.default.removeItem(atPath: directory) }
        let key = RegisteredKey(
            keyID: "TESTKEY123", teamID: "TESTTEAM12", publicKey: try credentials.providerKey.publicKey())
        var settings = SimulatorConfiguration()
        settings.managementPort = 0
        change(&settings)
        let simulator = try await APNSSimulator.start(settings, credentials: credentials.credentials, keys: [key])
        let port = try #require(simulator.managementPort)
        let path = directory + "/mailboat.yaml"
        try """
        kafka.bootstrap: nobody.invalid:9092
        apns:
          team-id: TESTTEAM12
          key-id: TESTKEY123
          key-file: \(credentials.providerKeyPath)
          request-timeout: 2s
          production: {manage-host: 127.0.0.1, manage-port: \(port), ca-file: \(credentials.authorityPath)}
        apps: [com.example.pizza]
        """.write(toFile: path, atomically: true, encoding: .utf8)
        let result: Result<Void, any Error>
        do {
            result = .success(try await body(House(simulator: simulator, configurationPath: path)))
        } catch { result = .failure(error) }
        await simulator.stop()
        try result.get()
    }

    @Test func aChannelsLife() async throws {
        try await Self.with { house in
            let made = try await house.run("create", "--storage", "most-recent")
            #expect(made.status == 0, "\(made)")
            let channel = try #require(made.lines.first)
            #expect(made.lines.count == 1)
            #expect(house.simulator.channels().map(\.id) == [channel])
            #expect(made.errors.contains("com.example.pizza (production) with storage most-recent"))

            let shown = try await house.run("show", channel)
            #expect(shown.status == 0)
            #expect(shown.lines == ["\(channel)  com.example.pizza (production)  storage most-recent"])

            let json = try await house.run("create", "--storage", "none", "--format", "json")
            #expect(json.lines.count == 1 && json.output.contains("\"storage\":\"none\""), "\(json)")

            let list = try await house.run("list", "--app", "com.example.pizza", "--environment", "production")
            #expect(list.lines.count == 2 && list.lines.contains(channel))
            #expect(list.errors.contains("2 channels of com.example.pizza (production); there may be 10000"))
            let details = try await house.run("list", "--details")
            #expect(details.lines.contains("\(channel)  storage most-recent"), "\(details)")

            // It goes on after one that is not there, says which, and ends with 1.
            let other = try #require(list.lines.first { $0 != channel })
            let deleted = try await house.run("delete", channel, "bm90aGluZw==", other)
            #expect(deleted.status == 1)
            #expect(
                deleted.lines == [
                    "deleted  \(channel)  com.example.pizza (production)",
                    "deleted  \(other)  com.example.pizza (production)",
                ])
            #expect(deleted.errors.contains("channel bm90aGluZw== of com.example.pizza (production) was not deleted"))
            #expect(deleted.errors.contains("2 deleted of com.example.pizza (production), 1 not deleted"))
            #expect(house.simulator.channels().isEmpty)
        }
    }

    @Test func anAppWithoutBroadcastsIsToldWhichBox() async throws {
        try await Self.with({ $0.appsWithoutBroadcasts = ["com.example.pizza"] }) { house in
            let made = try await house.run("create", "--storage", "none", "--format", "json")
            #expect(made.status == 1)
            #expect(made.output.contains("\"kind\":\"feature-not-enabled\""), "\(made)")
            #expect(made.errors.contains("Broadcast Capability"))
            #expect(made.errors.contains("the App ID com.example.pizza"))
        }
    }

    @Test func aCreationWithoutAnAnswerSaysHowToLook() async throws {
        try await Self.with { house in
            house.simulator.add(Fault(.cut(applied: true), count: 1, kind: .createChannel))
            let made = try await house.run("create", "--storage", "none")
            #expect(made.status == 1)
            #expect(made.output.isEmpty)
            #expect(made.errors.contains("a channel may exist"), "\(made)")
            #expect(made.errors.contains("mailboat channels list"))
            #expect(house.simulator.channels().count == 1)
        }
    }

    @Test(
        arguments: [
            (["show", "--environment", "development", "YQ=="], "--environment is development"),
            (["list", "--app", "com.example.tea"], "--app is com.example.tea: expected one of com.example.pizza"),
            (["create"], "--storage"),
        ])
    func aWrongCommandLineEndsWith64(words: [String], says: String) async throws {
        try await Self.with { house in
            let ended =
                switch words.count {
                case 1: try await house.run(words[0])
                case 3: try await house.run(words[0], words[1], words[2])
                default: try await house.run(words[0], words[1], words[2], words[3])
                }
            #expect(ended.status == 64, "\(ended)")
            #expect(ended.errors.contains(says), "\(ended)")
        }
    }
}
