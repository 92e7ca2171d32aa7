import DeviceModel
import Foundation
import Testing

@testable import APNSSimulator

@Suite(.timeLimit(.minutes(5)))
struct JournalTests {
    private static let entries: [JournalEntry] = [
        .push(
            atMillis: 1_000, token: "0a", topic: "com.example.pizza.push-type.liveactivity", priority: 10,
            body: Array("{\"aps\":{\"event\":\"update\",\"timestamp\":1,\"content-state\":{\"a\":\n1}}}".utf8)),
        .status(token: "0b", TokenStatus(state: .dead, sinceMillis: 7)),
        .rotation(old: "0a", new: "0c", TokenStatus(state: .rotated, sinceMillis: 8)),
        .push(
            atMillis: 3_000, token: "0c", topic: "com.example.pizza.push-type.liveactivity", priority: 5,
            body: Array("{\"aps\":{\"event\":\"update\",\"timestamp\":2,\"content-state\":{\"a\":2}}}".utf8)),
        .channel(atMillis: 4_000, id: "YWJj/+8=", app: "com.example.pizza", storage: .mostRecent),
        .listening(token: "0b", channel: "YWJj/+8="),
        .presence(atMillis: 5_000, token: "0b", isOnline: false),
        .broadcast(
            atMillis: 6_000, channel: "YWJj/+8=", priority: 1, expirationSeconds: 9,
            body: Array("{\"aps\":{\"event\":\"update\",\"timestamp\":2,\"content-state\":{\"a\":\n2}}}".utf8)),
        .presence(atMillis: 7_000, token: "0b", isOnline: true), .listening(token: "0b", channel: nil),
        .channelDeletion(atMillis: 8_000, id: "YWJj/+8="),
    ]

    private static func withFile(_ body: (String) throws -> Void) throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try body(path)
    }

    private static func write(_ entries: [JournalEntry], to path: String) throws {
        var writer = try JournalWriter(path: path, keeping: 0)
        for entry in entries { writer.append(entry) }
        writer.flush()
        writer.close()
    }

    @Test func whatIsWrittenIsRead() throws {
        try Self.withFile { path in
            try Self.write(Self.entries, to: path)
            var reader = try JournalReader(path: path)
            for expected in Self.entries {
                let entry = try reader.next()
                #expect(entry == expected)
            }
            let end = try reader.next()
            #expect(end == nil)
        }
    }

    @Test func aRotatedTokenLeadsToTheSamePhone() throws {
        try Self.withFile { path in
            try Self.write(Self.entries, to: path)
            var phones = JournaledPhones()
            var reader = try JournalReader(path: path)
            try phones.read(&reader)
            let phone = try #require(phones.device(token: "0c"))
            #expect(phone.device.contentState == Array("{\"a\":2}".utf8))
            #expect(phone.device.shownCount == 2)
            #expect(phone.device.highPriorityPeak == 1)
            #expect(phones.device(token: "0a")?.status.state == .rotated)
            #expect(phones.device(token: "0b")?.status == TokenStatus(state: .dead, sinceMillis: 7))
        }
    }

    /// The process was killed during a write, so the last entry is incomplete. The next process cuts it off and
    /// continues after the last complete entry.
    @Test func anUnfinishedEntryIsCutOff() throws {
        try Self.withFile { path in
            try Self.write(Self.entries, to: path)
            let whole = try Data(contentsOf: URL(fileURLWithPath: path))
            for byteCount in stride(from: 0, to: whole.count, by: 5) {
                try whole.prefix(byteCount).write(to: URL(fileURLWithPath: path))
                var reader = try JournalReader(path: path)
                var count = 0
                while let entry = try reader.next() {
                    #expect(entry == Self.entries[count])
                    count += 1
                }
                var writer = try JournalWriter(path: path, keeping: reader.entriesByteCount)
                for entry in Self.entries[count...] { writer.append(entry) }
                writer.flush()
                writer.close()
                #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == whole)
            }
        }
    }

    /// A reader that is faster than the writer waits at the last complete entry. It continues when more entries come.
    @Test func aReaderFollows() throws {
        try Self.withFile { path in
            var writer = try JournalWriter(path: path, keeping: 0)
            var reader = try JournalReader(path: path)
            for expected in Self.entries {
                let before = try reader.next()
                #expect(before == nil)
                writer.append(expected)
                writer.flush()
                let entry = try reader.next()
                #expect(entry == expected)
            }
            writer.close()
        }
    }

    @Test(arguments: [
        "push 1 0a topic 10 -1\n", "tokens 0a 0 0\n", "token 0a 9 0\n", "\n", "rotate 0a 0b 0\n",
        "channel 1 YWJj app 2\n", "broadcast 1 YWJj 5 0 -1\n", "listen 0a\n", "online soon 0a\n", "delete-channel 1\n",
    ])
    func whatIsNoJournalIsNamed(text: String) throws {
        try Self.withFile { path in
            try Data("token 0b 2 7\n\(text)".utf8).write(to: URL(fileURLWithPath: path))
            var reader = try JournalReader(path: path)
            _ = try reader.next()
            do {
                _ = try reader.next()
                Issue.record("'\(text)' was read")
            } catch { #expect("\(error)".hasPrefix("\(path): byte 13: expected an entry of a journal")) }
        }
    }

    @Test func aFileThatIsNotThereIsNamed() {
        do {
            _ = try JournalReader(path: "/nowhere/phones")
            Issue.record("it was opened")
        } catch { #expect("\(error)" == "/nowhere/phones: cannot be opened (No such file or directory)") }
    }
}
