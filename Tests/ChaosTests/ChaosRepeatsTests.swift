import APNSSimulator
import DeviceModel
import Testing

@testable import ChaosTesting

struct ChaosRepeatsTests {
    private static func broadcast(_ stamp: Int64, on channel: String = "a", priority: Int = 10) -> JournalEntry {
        let body = "{\"aps\":{\"event\":\"update\",\"timestamp\":\(stamp),\"content-state\":{}}}"
        return .broadcast(
            atMillis: stamp * 1_000, channel: channel, priority: priority, expirationSeconds: 0, body: Array(body.utf8))
    }

    /// Cases: broadcasts after a phone has begun to listen, and the number of repeats that count. The phone already
    /// shows the version of second 20.
    @Test(
        arguments: [
            ([ChaosRepeatsTests.broadcast(20)], 1),
            ([ChaosRepeatsTests.broadcast(19)], 1),
            ([ChaosRepeatsTests.broadcast(21)], 0),
            // Only the first broadcast after the phone began to listen may count.
            ([ChaosRepeatsTests.broadcast(21), ChaosRepeatsTests.broadcast(20)], 0),
            ([ChaosRepeatsTests.broadcast(20, priority: 5)], 0),
            ([ChaosRepeatsTests.broadcast(20, on: "b")], 0),
            ([.listening(token: "0a", channel: nil), ChaosRepeatsTests.broadcast(20)], 0),
            ([.listening(token: "0a", channel: "b"), ChaosRepeatsTests.broadcast(20)], 0),
        ] as [([JournalEntry], Int)])
    func theFirstBroadcastMayBringItAgain(entries: [JournalEntry], count: Int) {
        var repeats = ChaosRepeats()
        for entry in [.listening(token: "0a", channel: "a")] + entries {
            repeats.take(entry) { $0 == "0a" ? 20 : nil }
        }
        #expect(repeats.counts["0a", default: 0] == count)
    }

    private static func push(_ stamp: Int64, priority: Int = 10) -> JournalEntry {
        let body = "{\"aps\":{\"event\":\"update\",\"timestamp\":\(stamp),\"content-state\":{}}}"
        return .push(atMillis: stamp * 1_000, token: "0b", topic: "t", priority: priority, body: Array(body.utf8))
    }

    /// Cases: pushes to a phone's new token, and the number of repeats that count. The phone already shows the version
    /// of second 20.
    @Test(
        arguments: [
            ([ChaosRepeatsTests.push(20)], 1), ([ChaosRepeatsTests.push(21)], 0),
            ([ChaosRepeatsTests.push(20), ChaosRepeatsTests.push(20)], 1),
            ([ChaosRepeatsTests.push(21), ChaosRepeatsTests.push(20)], 0),
            ([ChaosRepeatsTests.push(20, priority: 5)], 0),
        ] as [([JournalEntry], Int)])
    func theFirstPushToANewTokenMayBringItAgain(entries: [JournalEntry], count: Int) {
        var repeats = ChaosRepeats()
        for entry in [.rotation(old: "0a", new: "0b", .init())] + entries {
            repeats.take(entry) { $0 == "0b" ? 20 : nil }
        }
        #expect(repeats.counts["0b", default: 0] == count)
    }

    /// Repeats on a phone count for the token that it has at the end.
    @Test func aNewTokenKeepsTheCountOfTheOneBefore() {
        var repeats = ChaosRepeats()
        let entries: [JournalEntry] = [
            .listening(token: "0a", channel: "a"), Self.broadcast(20), .rotation(old: "0a", new: "0b", .init()),
            Self.push(20),
        ]
        for entry in entries { repeats.take(entry) { _ in 20 } }
        #expect(repeats.counts["0b"] == 2)
    }

    /// A phone that gets a new token before its first broadcast still counts as one that has begun to listen.
    @Test func aBeginnerWithANewTokenIsABeginner() {
        var repeats = ChaosRepeats()
        let entries: [JournalEntry] = [
            .listening(token: "0a", channel: "a"), .rotation(old: "0a", new: "0b", .init()), Self.broadcast(20),
        ]
        for entry in entries { repeats.take(entry) { _ in 20 } }
        #expect(repeats.counts["0b"] == 1)
    }
}
