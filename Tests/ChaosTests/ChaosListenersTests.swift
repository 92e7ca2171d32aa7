import APNSSimulator
import DeviceModel
import Testing

@testable import ChaosTesting

struct ChaosListenersTests {
    private static func update(_ goal: Int, stamp: Int) -> [UInt8] {
        Array("{\"aps\":{\"event\":\"update\",\"timestamp\":\(stamp),\"content-state\":{\"goal\":\(goal)}}}".utf8)
    }

    private static func broadcast(_ goal: Int, atMillis: Int64 = 1_000) -> JournalEntry {
        .broadcast(
            atMillis: atMillis, channel: "AAAA", priority: 5, expirationSeconds: 0,
            body: Self.update(goal, stamp: 100 + goal))
    }

    /// Cases: entries with the same time, or with times that go back, and what the phone shows. The order of the
    /// entries decides.
    private static let orders: [([JournalEntry], content: String)] = [
        ([Self.broadcast(1)], "{\"goal\":1}"),
        ([Self.broadcast(1), Self.gone, Self.broadcast(2)], "{\"goal\":1}"),
        ([Self.gone, Self.broadcast(1), Self.back, Self.broadcast(2)], "{\"goal\":2}"),
        ([Self.broadcast(1), Self.gone, Self.back, Self.broadcast(2, atMillis: 900)], "{\"goal\":2}"),
        ([Self.gone, Self.broadcast(1), Self.back], ""),
        ([Self.broadcast(1), .listening(token: "0a", channel: nil), Self.broadcast(2)], "{\"goal\":1}"),
    ]
    private static let gone = JournalEntry.presence(atMillis: 1_000, token: "0a", isOnline: false)
    private static let back = JournalEntry.presence(atMillis: 1_000, token: "0a", isOnline: true)

    @Test(arguments: Self.orders)
    func theOrderOfTheJournalDecides(entries: [JournalEntry], content: String) throws {
        var (listeners, phones) = (ChaosListeners(), JournaledPhones())
        let opening: [JournalEntry] = [
            .channel(atMillis: 1_000, id: "AAAA", app: "com.example.pizza", storage: .none),
            .listening(token: "0a", channel: "AAAA"),
        ]
        for entry in opening + entries {
            listeners.take(entry)
            phones.apply(entry)
        }
        let channel = try #require(listeners.channels["AAAA"])
        let listener = try #require(listeners.listeners["0a"])
        let phone = phones.device(token: "0a")?.device ?? Device()
        #expect(String(decoding: phone.contentState, as: UTF8.self) == content)
        #expect(channel.history.firstFault(of: phone, listener: listener.history, rules: .phone) == nil)
        // A fault is found in a phone with any other content.
        var other = Device()
        try other.push(body: Self.update(9, stamp: 99), priority: 5, nowMillis: 0)
        #expect(channel.history.firstFault(of: other, listener: listener.history, rules: .phone) != nil)
    }

    @Test func whatABroadcastIsIsNoted() {
        var listeners = ChaosListeners()
        listeners.take(.channel(atMillis: 1, id: "AAAA", app: "com.example.pizza", storage: .none))
        for goal in [2, 2, 1] { listeners.take(Self.broadcast(goal)) }
        listeners.take(
            .broadcast(atMillis: 2_000, channel: "AAAA", priority: 5, expirationSeconds: 7, body: Array("{}".utf8)))
        let broadcasts = listeners.channels["AAAA"]?.broadcasts ?? []
        #expect(broadcasts.map(\.reaction) == [.shown, .ignoredRepeat, .ignoredOlder, nil])
        #expect(broadcasts.map(\.stampSeconds) == [102, 102, 101, nil])
        #expect(broadcasts.last?.expirationSeconds == 7 && listeners.broadcastCount == 4)
    }
}
