import DeviceModel
import Synchronization
import Testing

@testable import APNSSimulator

/// Tests of what an observer of the simulator gets.
@Suite(.timeLimit(.minutes(5))) struct ObservedPushTests {
    private static let now = Bench.startSeconds

    /// The pushes that the observer got, in order.
    private final class Watch: Sendable {
        let seen = Mutex<[ObservedPush]>([])
        var pushes: [ObservedPush] { self.seen.withLock { $0 } }
    }

    @Test func everyPushIsToldWithItsFate() async throws {
        let watch = Watch()
        try await Bench.run({ configuration in
            configuration.deviceRules.budgetPerHour = 3
            configuration.contentFault = { content, body, app in
                let isWrong = body.extracting(content.contentState).count > 7
                return isWrong ? "“n” of \(app()) is missing" : nil
            }
            configuration.onPush = { push in watch.seen.withLock { $0.append(push) } }
        }) { bench in
            let client = try await bench.connect()
            let bodies = [
                Bodies.update(stamp: Self.now), Bodies.update(stamp: Self.now - 1),
                Bodies.update(stamp: Self.now + 1, state: #"{"wrong":1}"#),
                Bodies.update(stamp: Self.now + 2),
            ]
            for body in bodies { #expect(try await client.send(bench.push(token: "0A1b", body: body)).status == 200) }
            bench.simulator.setToken("dead", .dead)
            #expect(try await client.send(bench.push(token: "dead", priority: 5)).status == 410)
            #expect(try await client.send(bench.push(token: "ef", body: #"{"aps":{"event":"update"}}"#)).status == 200)
            await client.close()

            let pushes = watch.pushes
            #expect(pushes.map(\.token) == ["0a1b", "0a1b", "0a1b", "0a1b", "dead", "ef"])
            #expect(pushes.map(\.status) == [200, 200, 200, 200, 410, 200])
            #expect(pushes.map(\.priority) == [10, 10, 10, 10, 5, 10])
            #expect(pushes.map(\.reason) == ["", "", "", "", "ExpiredToken", ""])
            #expect(
                pushes.prefix(5).map(\.phone) == [
                    .took(.shown), .took(.ignoredOlder), .couldNotDecode("“n” of \(Bench.app) is missing"),
                    .took(.throttled),
                    .notReached,
                ])
            guard case .couldNotDecode(let fault)? = pushes.last?.phone else {
                return #expect(Bool(false), "\(pushes)")
            }
            #expect(fault.hasPrefix("aps."))
            #expect(pushes.map(\.stampBeforeSeconds) == [nil, Self.now, Self.now, Self.now, nil, nil])
            #expect(
                pushes.allSatisfy { $0.topic == Bench.topic && $0.messageID == "123e4567-e89b-42d3-a456-426614174000" })
            #expect(pushes.first?.body == Array(bodies[0].utf8))
            // The card does not show content that the app could not decode.
            #expect(bench.simulator.device(token: "0a1b")?.device.contentState == Array(#"{"n":1}"#.utf8))
            #expect(bench.simulator.device(token: "0a1b")?.device.ignoredCount == 3)
        }
    }

    @Test func aPushThatWaitedIsToldAgainWhenThePhoneGetsIt() async throws {
        let watch = Watch()
        try await Bench.run({ configuration in
            configuration.onPush = { push in watch.seen.withLock { $0.append(push) } }
        }) { bench in
            let client = try await bench.connect()
            #expect(bench.simulator.setOnline(token: "0a", false))
            let kept: [String: String?] = ["apns-expiration": "\(Self.now + 600)"]
            #expect(try await client.send(bench.push(token: "0a", changing: kept)).status == 200)
            await client.close()
            #expect(watch.pushes.map(\.phone) == [.isAway])
            #expect(bench.simulator.setOnline(token: "0a", true))
            let late = try #require(watch.pushes.last)
            #expect(watch.pushes.count == 2)
            #expect((late.phone, late.status, late.hadWaited) == (.took(.shown), nil, true))
            #expect(
                late.messageID == watch.pushes[0].messageID && late.topic == Bench.topic
                    && late.body == watch.pushes[0].body)
        }
    }

    @Test func aBroadcastIsToldWithWhoListens() async throws {
        let seen = Mutex<[ObservedBroadcast]>([])
        try await Bench.run({ configuration in
            configuration.onPush = { _ in }
            configuration.onBroadcast = { broadcast in seen.withLock { $0.append(broadcast) } }
        }) { bench in
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            for token in ["0a", "0b", "0c"] { #expect(bench.simulator.setListening(token: token, channel: id)) }
            #expect(bench.simulator.setOnline(token: "0c", false))
            let client = try await bench.connect()
            let body = Bodies.update(stamp: Self.now)
            #expect(try await client.send(bench.broadcast(channel: id, body: body)).status == 200)
            #expect(bench.simulator.deleteChannel(id: id))
            #expect(try await client.send(bench.broadcast(channel: id, body: body)).status == 400)
            await client.close()

            let broadcasts = seen.withLock { $0 }
            #expect(broadcasts.map(\.status) == [200, 400])
            #expect(broadcasts.map(\.reason) == ["", "ChannelNotRegistered"])
            let first = try #require(broadcasts.first)
            #expect(first.channel == id && first.app == Bench.app && first.priority == 5)
            #expect(first.listenerCount == 3 && first.awayCount == 1)
            #expect(first.body == Array(body.utf8) && !first.messageID.isEmpty)
        }
    }

    @Test func cardsAreSeenInPassing() async throws {
        try await Bench.run { bench in
            let references = bench.simulator.references(tokens: ["0a", "0b", "no token", "0c"])
            #expect(references.map { $0 == nil } == [false, false, true, false])
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "0a", body: Bodies.update(stamp: Self.now))).status == 200)
            await client.close()
            #expect(bench.simulator.setOnline(token: "0b", false))
            bench.simulator.setToken("0c", .dead)
            let glances = bench.simulator.glances(references.compactMap { $0 })
            #expect(glances.map(\.card) == [.active, .untouched, .untouched])
            #expect(glances.map(\.stampSeconds) == [Self.now, nil, nil])
            #expect(glances.map(\.isOnline) == [true, false, true])
            #expect(glances.map(\.isTokenAlive) == [true, true, false])
            #expect(glances[0].contentHash == bench.simulator.device(token: "0a")?.device.contentHash)
        }
    }

    @Test func oneThatIsNeverAnsweredIsToldToo() async throws {
        let watch = Watch()
        try await Bench.run({ configuration in
            configuration.onPush = { push in watch.seen.withLock { $0.append(push) } }
        }) { bench in
            bench.simulator.add(Fault(.cut(applied: true), tokenPrefix: "0b"))
            let client = try await bench.connect()
            _ = try? await client.send(bench.push(token: "0b"))
            await client.close()
            #expect(watch.pushes.map(\.status) == [nil])
            #expect(watch.pushes.map(\.phone) == [.took(.shown)])
            #expect(watch.pushes.map(\.messageID) == ["123e4567-e89b-42d3-a456-426614174000"])
        }
    }
}
