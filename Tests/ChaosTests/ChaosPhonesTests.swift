import DeviceModel
import Foundation
import Testing

@testable import APNSSimulator
@testable import ChaosTesting

struct ChaosPhonesTests {
    /// The judge counts contents that came both over a channel and by push. It finds a phone by its last token, so that
    /// token must count as one that listened.
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
