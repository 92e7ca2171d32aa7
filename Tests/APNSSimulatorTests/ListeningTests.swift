import DeviceModel
import Foundation
import PushModel
import Testing

@testable import APNSSimulator

/// Tests of phones that listen to channels, and of phones that are off.
@Suite(.timeLimit(.minutes(5))) struct ListeningTests {
    private static let now = Bench.startSeconds

    private static func content(_ bench: Bench, _ token: String) -> String {
        String(decoding: bench.simulator.device(token: token)?.device.contentState ?? [], as: UTF8.self)
    }

    @Test func aStartMakesItsPhoneListenUntilTheEnd() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            for token in ["0a", "0b"] {
                let start = Bodies.start(stamp: Self.now, channel: id)
                #expect(try await client.send(bench.push(token: token, body: start)).status == 200)
            }
            #expect(try await client.send(bench.push(token: "0c", body: Bodies.start(stamp: Self.now))).status == 200)
            #expect(bench.simulator.channel(id: id)?.listenerCount == 2)
            #expect(bench.simulator.device(token: "0a")?.channel == id)

            let update = Bodies.update(stamp: Self.now + 1, state: #"{"n":1}"#)
            #expect(try await client.send(bench.broadcast(channel: id, body: update)).status == 200)
            #expect(["0a", "0b", "0c"].map { Self.content(bench, $0) } == [#"{"n":1}"#, #"{"n":1}"#, #"{"n":0}"#])
            #expect(bench.simulator.statistics().broadcastReactions == ["shown": 2])

            let end = Bodies.end(stamp: Self.now + 2)
            for _ in 0..<2 { #expect(try await client.send(bench.broadcast(channel: id, body: end)).status == 200) }
            #expect(bench.simulator.device(token: "0b")?.device.phase == .ended)
            #expect(bench.simulator.device(token: "0b")?.channel == nil)
            #expect(bench.simulator.channel(id: id)?.listenerCount == 0)

            // The end of the first card does not affect the card of the next start.
            let again = Bodies.start(stamp: Self.now + 3, channel: id)
            #expect(try await client.send(bench.push(token: "0a", body: again)).status == 200)
            let more = Bodies.update(stamp: Self.now + 4, state: #"{"n":4}"#)
            #expect(try await client.send(bench.broadcast(channel: id, body: more)).status == 200)
            #expect(Self.content(bench, "0a") == #"{"n":4}"#)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func aStartThatNamesNoChannelOfItsAppDoesNotStart() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let other = try #require(bench.simulator.createChannel(app: "com.example.other", storage: .none))
            let deleted = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.deleteChannel(id: deleted)
            for (token, channel) in [("0a", other), ("0b", deleted), ("0c", "YWJj"), ("0d", "no id")] {
                let start = Bodies.start(stamp: Self.now, channel: channel)
                #expect(try await client.send(bench.push(token: token, body: start)).status == 200)
                #expect(bench.simulator.device(token: token)?.device.phase == .untouched)
            }
            #expect(bench.simulator.violations().map(\.kind) == Array(repeating: .payload, count: 4))
            #expect(bench.simulator.statistics().reactions == ["undecodable": 4])
            await client.close()
        }
    }

    @Test func anAppMayListenByItself() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let (one, two) = (
                try #require(bench.simulator.createChannel(app: Bench.app, storage: .none)),
                try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            )
            #expect(!bench.simulator.setListening(token: "0a", channel: "YWJj"))
            #expect(!bench.simulator.setListening(token: "zz", channel: one))
            for token in ["0a", "0b", "0c"] { #expect(bench.simulator.setListening(token: token, channel: one)) }
            // One listener moves to another channel, and one stops listening. The listeners after them move up in the
            // channel's list.
            #expect(bench.simulator.setListening(token: "0a", channel: two))
            #expect(bench.simulator.setListening(token: "0c", channel: nil))
            #expect([one, two].map { bench.simulator.channel(id: $0)?.listenerCount } == [1, 1])
            for (id, n) in [(one, 1), (two, 2)] {
                let update = Bodies.update(stamp: Self.now, state: #"{"n":\#(n)}"#)
                #expect(try await client.send(bench.broadcast(channel: id, body: update)).status == 200)
            }
            #expect(["0a", "0b", "0c"].map { Self.content(bench, $0) } == [#"{"n":2}"#, #"{"n":1}"#, ""])
            await client.close()
        }
    }

    struct Return: Sendable, CustomTestStringConvertible {
        var name: String
        var storage = ChannelStorage.mostRecent
        /// How many seconds APNs keeps the message that came while the phone was off. 0 means that APNs does not store
        /// it.
        var keptSeconds: Int64 = 600
        var awaySeconds: Int64 = 60
        var deletesChannel = false
        var expected: String
        var testDescription: String { self.name }
    }

    static let returns: [Return] = [
        Return(name: "stored", expected: #"{"n":2}"#),
        Return(name: "no storage", storage: .none, keptSeconds: 0, expected: #"{"n":1}"#),
        Return(name: "not to be stored", keptSeconds: 0, expected: #"{"n":1}"#),
        Return(name: "expired", keptSeconds: 60, expected: #"{"n":1}"#),
        Return(name: "8 hours", keptSeconds: 28_800, awaySeconds: 28_799, expected: #"{"n":2}"#),
        Return(name: "the channel is gone", deletesChannel: true, expected: #"{"n":2}"#),
    ]

    @Test(arguments: Self.returns)
    func aPhoneThatComesBackGetsWhatWasStored(_ given: Return) async throws {
        try await Bench.run {
            // The phone may be off for a day, which is longer than a card may live. So these rules have no limit.
            $0.deviceRules = DeviceRules()
        } _: { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: given.storage))
            bench.simulator.setListening(token: "0a", channel: id)
            let first = Bodies.update(stamp: Self.now, state: #"{"n":1}"#)
            #expect(try await client.send(bench.broadcast(channel: id, body: first)).status == 200)
            #expect(bench.simulator.setOnline(token: "0a", false))
            #expect(bench.simulator.device(token: "0a")?.isOnline == false)
            let second = Bodies.update(stamp: Self.now + 1, state: #"{"n":2}"#)
            let expiration = given.keptSeconds == 0 ? 0 : Self.now + given.keptSeconds
            let request = bench.broadcast(channel: id, body: second, expiration: expiration)
            #expect(try await client.send(request).status == 200)
            #expect(Self.content(bench, "0a") == #"{"n":1}"#)
            if given.deletesChannel { bench.simulator.deleteChannel(id: id) }
            bench.advance(millis: given.awaySeconds * 1_000)
            #expect(bench.simulator.setOnline(token: "0a", true))
            #expect(Self.content(bench, "0a") == given.expected)
            #expect(bench.simulator.device(token: "0a")?.isOnline == true)
            await client.close()
        }
    }

    /// While a phone is off, APNs keeps only the newest push for it, until that push expires.
    @Test func aPushWaitsForAPhoneThatIsAway() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            bench.simulator.setOnline(token: "0a", false)
            func push(_ n: Int64, expiration: String?) async throws {
                let body = Bodies.update(stamp: Self.now + n, state: #"{"n":\#(n)}"#)
                let request = bench.push(token: "0a", body: body, changing: ["apns-expiration": expiration])
                #expect(try await client.send(request).status == 200)
            }
            try await push(1, expiration: nil)
            try await push(2, expiration: "\(Self.now + 60)")
            try await push(3, expiration: "0")
            #expect(bench.simulator.device(token: "0a")?.device.phase == .untouched)
            bench.simulator.setOnline(token: "0a", true)
            #expect(Self.content(bench, "0a") == #"{"n":2}"#)
            bench.simulator.setOnline(token: "0a", false)
            try await push(4, expiration: "\(Self.now + 60)")
            bench.advance(millis: 60_000)
            bench.simulator.setOnline(token: "0a", true)
            #expect(Self.content(bench, "0a") == #"{"n":2}"#)
            #expect(bench.simulator.statistics().reactions == ["shown": 1])
            await client.close()
        }
    }

    /// The journal keeps phones and channels for the next server. A reader of the journal sees the same phones as the
    /// server.
    @Test func theJournalTellsOfChannelsToo() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var (one, two) = ("", "")
        try await Bench.run {
            $0.journalPath = path
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            one = try #require(bench.simulator.createChannel(app: Bench.app, storage: .mostRecent))
            two = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let start = Bodies.start(stamp: Self.now, channel: one)
            #expect(try await client.send(bench.push(token: "0a", body: start)).status == 200)
            for token in ["0b", "0c"] { bench.simulator.setListening(token: token, channel: one) }
            bench.simulator.setListening(token: "0c", channel: nil)
            for token in ["0a", "0b"] { bench.simulator.setOnline(token: token, false) }
            let update = Bodies.update(stamp: Self.now + 1, state: "{\"n\":\n1}")
            #expect(
                try await client.send(bench.broadcast(channel: one, body: update, expiration: Self.now + 60)).status
                    == 200)
            bench.simulator.setOnline(token: "0a", true)
            bench.simulator.deleteChannel(id: two)
            for token in ["0a", "0b", "0c"] {
                var phones = JournaledPhones()
                var reader = try JournalReader(path: path)
                try phones.read(&reader)
                let (live, told) = (bench.simulator.device(token: token), phones.device(token: token))
                #expect(told?.device.contentState == live?.device.contentState)
                #expect(told?.channel == live?.channel)
                #expect(told?.isOnline == live?.isOnline)
            }
            #expect(Self.content(bench, "0a") == "{\"n\":\n1}")
            await client.close()
        }
        try await Bench.run {
            $0.journalPath = path
        } _: { bench in
            #expect(bench.simulator.channels().map(\.id) == [one])
            #expect(bench.simulator.channel(id: one)?.listenerCount == 2)
            bench.simulator.setOnline(token: "0b", true)
            #expect(Self.content(bench, "0b") == "{\"n\":\n1}")
        }
    }

    /// In random runs, the simulator's phones show what the judge expects.
    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func theJudgeAgrees(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let storage: ChannelStorage = Bool.random(using: &random) ? .none : .mostRecent
        var store = DeviceStore(devicesMax: 100)
        let number = store.channels.add(id: Array("YWJj".utf8), app: Bench.app, storage: storage, atMillis: 0)
        var history = ChannelHistory(storage: storage)
        var listeners: [Int: ListenerHistory] = [:]
        for phone in 0..<8 { _ = store.findOrAdd([UInt8(phone)]) }
        for step in 1...200 as ClosedRange<Int64> {
            let phone = Int.random(in: 0..<8, using: &random)
            let millis = step * 1_000
            switch Int.random(in: 0..<6, using: &random) {
            case 0 where listeners[phone] == nil:
                var listener = ListenerHistory(beginning: store.devices[phone], beganMillis: millis)
                if !store.isOnline(phone) { listener.leave(atMillis: millis) }
                listeners[phone] = listener
                store.listen(phone, to: number)
            case 1:
                store.leave(phone)
                listeners[phone]?.leave(atMillis: millis)
            case 2:
                _ = store.comeBack(phone, nowMillis: millis, rules: DeviceRules())
                listeners[phone]?.comeBack(atMillis: millis)
            case 3 where Int.random(in: 0..<4, using: &random) == 0 && listeners[phone]?.stoppedMillis == .max:
                store.stopListening(phone)
                listeners[phone]?.stop(atMillis: millis)
            default:
                let isEnd = step > 190
                let body = isEnd ? Bodies.end(stamp: step) : Bodies.update(stamp: step, state: #"{"n":\#(step)}"#)
                let bytes = Array(body.utf8)
                let expiration =
                    storage == .none ? 0 : step + Int64([0, 5, 50].randomElement(using: &random) ?? 0)
                _ = store.publish(
                    try PayloadReader.read(bytes.span), body: bytes, to: number, priority: 5,
                    expirationSeconds: expiration, nowMillis: millis, rules: DeviceRules())
                history.publish(body: bytes, atMillis: millis, expirationSeconds: expiration)
            }
            for (phone, listener) in listeners {
                let fault = history.firstFault(of: store.devices[phone], listener: listener)
                try #require(fault == nil, "seed \(seed), step \(step), phone \(phone): \(fault ?? "")")
            }
        }
    }
}
