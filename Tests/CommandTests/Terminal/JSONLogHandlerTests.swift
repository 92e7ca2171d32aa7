import ChildProcesses
import CommandSupport
import Foundation
import Logging
import Synchronization
import Testing

@testable import mailboat

/// Tests of the lines of `log.format: json`, as a program reads them.
@Suite(.timeLimit(.minutes(2)))
struct JSONLogHandlerTests {
    private final class Lines: Sendable {
        let all = Mutex<[String]>([])
    }

    private static func object(_ line: String) throws -> [String: Any] {
        #expect(!line.contains { $0.isNewline })
        return try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any], "\(line)")
    }

    /// A log line as it is written to standard error, decoded.
    private static func line(_ message: String, _ metadata: Logger.Metadata = [:], error: (any Error)? = nil) throws
        -> [String: Any]
    {
        var handler = JSONLogHandler(label: "mailboat")
        handler.metadata = ["route": "production/KEY1234567"]
        let event = LogEvent(
            level: .warning, message: "\(message)", error: error, metadata: metadata, source: nil, file: "a/b",
            function: "c", line: 1)
        return try Self.object(
            TerminalText.escaped(handler.line(event, at: Date(timeIntervalSince1970: 1_795_633_981.25))))
    }

    @Test func everyLineHasTheSameFields() throws {
        let fields = try Self.line(
            "cannot connect", ["cause": "\"quoted\"\nand broken\u{202e}", "partitions": ["1", "2"]])
        #expect(fields["time"] as? String == "2026-11-25T19:13:01.250Z")
        #expect(fields["level"] as? String == "warning" && fields["logger"] as? String == "mailboat")
        #expect(fields["message"] as? String == "cannot connect")
        #expect(fields["cause"] as? String == "\"quoted\"\nand broken\u{202e}")
        #expect(fields["route"] as? String == "production/KEY1234567")
        #expect(fields["partitions"] as? [String] == ["1", "2"] && fields.count == 7)
        let fault = try Self.line("x", error: CommandFailure("it is not there"))
        #expect(fault["error.message"] as? String == "it is not there")
    }

    @Test func metadataTakesNoFieldsPlace() throws {
        let metadata: Logger.Metadata = ["time": "noon", "level": "high", "message": "none", "logger": ["a": "b"]]
        let fields = try Self.line("said", metadata)
        #expect(fields["level"] as? String == "warning" && fields["message"] as? String == "said")
        #expect(fields["metadata.time"] as? String == "noon")
        #expect(fields["metadata.logger"] as? [String: String] == ["a": "b"])
    }

    @Test func tokensAreCutAndNothingIsLong() throws {
        let token = String(repeating: "ab", count: 32)
        let fields = try Self.line(
            "key \(token)", ["key": "\(token)", token: "x", "long": "\(String(repeating: "é", count: 9_000))"])
        #expect(fields["message"] as? String == "key abababab…(64 digits)")
        #expect(fields["key"] as? String == "abababab…(64 digits)")
        #expect(fields["abababab…(64 digits)"] as? String == "x")
        let long = try #require(fields["long"] as? String)
        #expect(long.utf8.count < 4_200 && long.hasSuffix("…(18000 bytes)"))
        let many = try Self.line("x", ["many": .array((0..<500).map { "\($0)" })])
        #expect((many["many"] as? [String])?.count == JSONLogHandler.elementCountMax)
    }

    @Test func aLoggerWritesOneLineEach() throws {
        let lines = Lines()
        var logger = Logger(label: "mailboat") { label in
            JSONLogHandler(label: label) { line in lines.all.withLock { $0.append(line) } }
        }
        logger[metadataKey: "shard"] = "3"
        logger.debug("not written")
        logger.notice("one")
        logger.error("two", metadata: ["shard": "4"])
        let objects = try lines.all.withLock { $0 }.map(Self.object)
        #expect(objects.compactMap { $0["shard"] as? String } == ["3", "4"])
    }

    /// Faults of the settings are also JSON lines, whether the format is chosen in the file or by a variable.
    @Test(arguments: ["log.format: json\nbudget.per-hour: many\n", "log: {format: json}\nkafka.bootstrap: [\n", nil])
    func faultsAreWrittenInTheFormatThatIsAskedFor(text: String?) async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("\(UUID()).yaml").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try text?.write(toFile: path, atomically: true, encoding: .utf8)
        let isReadable = text?.contains("[") == false
        let ended = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["run", "--config", path],
            environment: isReadable ? [:] : ["MAILBOAT_LOG_FORMAT": "json"])
        #expect(ended.status == 1)
        let objects = try ended.errors.split(separator: "\n").map { try Self.object(String($0)) }
        #expect(objects.count >= 2 && objects.last?["level"] as? String == "critical")
        // `run --check` is for a person, so it prints plain text.
        let checked = try await EndedProcess.run(
            BuiltExecutable.besideThisOne("mailboat"), ["run", "--config", path, "--check"],
            environment: ["MAILBOAT_LOG_FORMAT": "json"])
        #expect(checked.status == 1 && !checked.errors.hasPrefix("{"))
    }
}
