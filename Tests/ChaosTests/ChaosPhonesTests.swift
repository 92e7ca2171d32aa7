import DeviceModel
import Foundation
import Testing

@testable import APNSSimulator
@testable import ChaosTesting

struct ChaosPhonesTests {
    /// The judge counts what came both over the channel and by token. It looks up the token that a phone has at the
    /// end.
    @Test func aPhoneHasListenedUnderItsNewToken() throws {
        let path = NSTemporaryDirectory() + "mailboat-phones-\(UInt64.random(in: 0...UInt64.max))"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var journal: [UInt8] = []
        let entries: [JournalEntry] = [
            .listening(token: "0a", channel: "a"), .rotation(old: "0a", new: "0b", .init()),
            .rotation(old: "1a", new: "1b", .init()),
        ]
        for entry in entries { entry.append(to: &journal) }
        try Data(journal).write(to: URL(fileURLWithPath: path))
        var phones = try ChaosPhones(journalPath: path, distanceMillis: 1_000)
        try phones.follow { _, _, _ in }
        #expect(phones.listened == ["0a", "0b"])
    }
}
