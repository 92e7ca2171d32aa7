import ArgumentParser
import Foundation
import CommandSupport
import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

/// Tests of `mailboat audience pause|resume`, which writes a record to each partition of the routed topic.
@Suite(.timeLimit(.minutes(5)))
struct AudienceCommandTests {
    private static let app = ["--app", "com.example.pizza"]

    @Test func everyPartitionIsTold() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.routed", partitionCount: 3)])
        defer { kafka.stop() }
        let cluster = ["--bootstrap", kafka.bootstrap] + Self.app
        try await AudienceCommand.Pause.parse(["match-7"] + cluster).run()
        try await AudienceCommand.Resume.parse(["--all"] + cluster).run()
        let expected = [
            PauseRecord.make(bundleID: "com.example.pizza", audience: "match-7", isPaused: true),
            PauseRecord.make(bundleID: "com.example.pizza", audience: nil, isPaused: false),
        ]
        var read: [Int32: [OwnedRecord]] = [:]
        let options = try KafkaOptions.parse(["--bootstrap", kafka.bootstrap])
        try options.forEachRecord(of: "liveactivity.routed", partitions: [0, 1, 2]) {
            read[$0.partition, default: []].append($0)
        }
        #expect(read.count == 3)
        for records in read.values {
            #expect(records.map { $0.key ?? [] } == expected.map(\.key))
            #expect(records.map { $0.value ?? [] } == expected.map(\.value))
            #expect(records.allSatisfy { $0.text(of: .kind) == "pause" })
        }
    }

    @Test func aTopicThatIsNotThereIsNamed() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.events", partitionCount: 1)])
        defer { kafka.stop() }
        let command = try AudienceCommand.Pause.parse(["match-7", "--bootstrap", kafka.bootstrap] + Self.app)
        let error = await #expect(throws: CommandFailure.self) { try await command.run() }
        #expect(error.map { "\($0)".contains("liveactivity.routed") } == true)
    }

    /// An app that is not in the configuration is refused. Workers with that configuration would silently ignore the
    /// pause.
    @Test func anAppThatTheConfigurationDoesNotHaveIsRefused() async throws {
        let kafka = try EmbeddedKafka(topics: [.init("liveactivity.routed", partitionCount: 1)])
        defer { kafka.stop() }
        let file = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID().uuidString).yaml")
        try """
        kafka.bootstrap: \(kafka.bootstrap)
        apns: {team-id: TEAM567890, key-id: ABCDE12345, key-file: AuthKey_ABCDE12345.p8}
        apps: {com.example.pizza: {}, com.example.football: {}}
        """.write(to: file, atomically: true, encoding: .utf8)
        defer { try? FileManager.default.removeItem(at: file) }
        let misspelt = ["match-7", "--app", "com.example.piza"]
        let known = ["match-7", "--config", file.path] + Self.app
        for isPaused in [true, false] {
            let words = misspelt + ["--config", file.path]
            let order = try AudienceCommand.Order.parse(words)
            await #expect {
                try await order.give(isPaused: isPaused)
            } throws: {
                "\($0)"
                    == "--app is “com.example.piza”: expected an app of --config: com.example.football, com.example.pizza; nothing was written"
            }
            try await AudienceCommand.Order.parse(known).give(isPaused: isPaused)
        }
        // Without a configuration the command does not know the apps, so it accepts any app.
        try await AudienceCommand.Order.parse(misspelt + ["--bootstrap", kafka.bootstrap]).give(isPaused: true)
    }

    @Test(arguments: [
        (["--all", "match-7", "--app", "a.b"], "an id and --all"), (["--app", "a.b"], "an audience's id, or --all"),
        (["match-7"], "--app"), (["match-7", "--app", "a/b"], "expected a bundle id"),
        ([String(repeating: "m", count: 257), "--app", "a.b"], "at most 256"),
    ])
    func aWrongCommandLineSaysWhatWasExpected(arguments: [String], expected: String) {
        #expect {
            _ = try AudienceCommand.Pause.parse(["--bootstrap", "localhost:1"] + arguments)
        } throws: {
            AudienceCommand.Pause.message(for: $0).contains(expected)
        }
    }
}
