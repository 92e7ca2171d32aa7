import ArgumentParser
import CommandSupport
import Foundation
import Logging
import Synchronization
import Testing

@testable import mailboat

struct DevCommandTests {
    @Test(arguments: [
        ["--host", "0.0.0.0"], ["--host", "192.168.1.5"], ["--port", "65536"], ["--kafka-port", "-1"],
        ["--phone-budget", "0"],
    ])
    func whatIsNotAllowedIsRefused(arguments: [String]) {
        #expect(throws: (any Error).self) { try DevCommand.parse(arguments) }
    }

    @Test(arguments: [
        [], ["--host", "::1"], ["--host", "localhost", "--port", "0"], ["--host", "0.0.0.0", "--expose"],
        ["--no-phones"],
        ["--app", "com.example.one", "--app", "com.example.two"], ["--kafka-port", "0", "--phone-budget", "16"],
    ])
    func whatMakesSenseIsTaken(arguments: [String]) throws { _ = try DevCommand.parse(arguments) }

    /// Records in the wrong partition cause a warning in the log of `mailboat dev`. The worker forwards these records,
    /// so without the warning a developer would not notice that a client uses another hash.
    @Test func recordsOnTheWrongPartitionAreToldOf() {
        let lines = Mutex<[String]>([])
        let logger = Logger(label: "test") { _ in DevLog { line in lines.withLock { $0.append(line) } } }
        logger.info("the worker has begun")
        logger.warning("a route is in trouble", metadata: ["remedy": "wait"])
        logger.warning("records of e lie on the wrong partition", metadata: ["belongs-to": "3", "remedy": "murmur2"])
        logger.critical("it ends")
        #expect(
            lines.withLock { $0 } == [
                "warning: records of e lie on the wrong partition. Remedy: murmur2", "critical: it ends",
            ])
    }

    @Test func templatesThatCannotBeUsedEndTheCommandBeforeItBegins() async throws {
        let name = "template-\(UUID().uuidString).json"
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(name).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(#"{"titel": "status"}"#.utf8).write(to: URL(fileURLWithPath: path))
        let command = try DevCommand.parse(["--port", "0", "--template", path])
        let failure = await #expect(throws: CommandFailure.self) { try await command.run() }
        #expect("\(try #require(failure))".contains("“titel” is not a field"))
    }

    @Test func aSchemaThatCannotBeUsedEndsTheCommandBeforeItBegins() async throws {
        let command = try DevCommand.parse(["--port", "0", "--content-schema", "/nowhere/schema.json"])
        await #expect(throws: CommandFailure.self) { try await command.run() }
    }

    /// The message also shows a file name without a folder, because the name may be misspelt.
    @Test(arguments: ["nofile.swift", "nofile"]) func aFileThatIsNotThereIsNamed(name: String) async throws {
        let command = try DevCommand.parse(["--port", "0", "--content-schema", name])
        let failure = await #expect(throws: CommandFailure.self) { try await command.run() }
        #expect("\(try #require(failure))".contains("\(name) cannot be read: No such file or directory"))
    }
}
