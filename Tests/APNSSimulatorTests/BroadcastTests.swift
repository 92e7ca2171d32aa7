import APNSSimulator
import DeviceModel
import TLSSession
import Testing

/// Tests of broadcasts to channels, at the port for pushes.
@Suite(.timeLimit(.minutes(5))) struct BroadcastTests {
    @Test(arguments: ["liveactivity", "LiveActivity", "Liveactivity"], [10, 5, 1])
    func aGoodBroadcastIsTaken(pushType: String, priority: Int) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let response = try await client.send(
                bench.broadcast(channel: id, priority: priority, changing: ["apns-push-type": pushType]))
            #expect(response == TestResponse(status: 200))
            let channel = try #require(bench.simulator.channel(id: id))
            #expect(channel.publishedCount == 1)
            #expect(channel.witness.contentState == Array(#"{"n":1}"#.utf8))
            #expect(channel.storedBody.isEmpty)
            #expect(bench.simulator.statistics().broadcasts == 1)
            #expect(bench.simulator.statistics().accepted == 1)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var expected: String
        var storage = ChannelStorage.none
        var body = Bodies.update(stamp: Bench.startSeconds)
        var changing: [String: String?] = [:]
        var adding: [(String, String)] = []
        var violations: [Violation.Kind] = [.request]
        var testDescription: String { self.name }
    }

    private static let path = ":path"
    private static let eightHours = Bench.startSeconds + 8 * 3_600

    static let refusals: [Refusal] = [
        Refusal(name: "GET", expected: "405 MethodNotAllowed", changing: [":method": "GET"]),
        Refusal(name: "no bundle id", expected: "404 BadPath", changing: [path: "/4/broadcasts/apps/"]),
        Refusal(name: "a path below", expected: "404 BadPath", changing: [path: "/4/broadcasts/apps/a/b"]),
        Refusal(name: "another path", expected: "404 BadPath", changing: [path: "/4/broadcasts"]),
        Refusal(
            name: "a suffix", expected: "400 TopicDisallowed",
            changing: [path: "/4/broadcasts/apps/com.example.pizza.push-type.liveactivity"]),
        Refusal(
            name: "another app", expected: "403 TopicMismatch", changing: [path: "/4/broadcasts/apps/com.example.x"],
            violations: []),
        Refusal(
            name: "no capability", expected: "400 FeatureNotEnabled",
            changing: [path: "/4/broadcasts/apps/com.example.plain"], violations: []),
        Refusal(name: "priority twice", expected: "400 BadRequestParams", adding: [("apns-priority", "5")]),
        Refusal(name: "id in capitals", expected: "400 BadMessageId", changing: ["apns-request-id": "A"]),
        Refusal(name: "apns-id in words", expected: "400 BadMessageId", adding: [("apns-id", "mine")]),
        Refusal(name: "no provider token", expected: "403 MissingProviderToken", changing: ["authorization": nil]),
        Refusal(
            name: "a bad provider token", expected: "403 InvalidProviderToken",
            changing: ["authorization": "bearer abc"]),
        Refusal(name: "no channel", expected: "400 MissingChannelId", changing: ["apns-channel-id": nil]),
        Refusal(name: "no base64", expected: "400 BadChannelId", changing: ["apns-channel-id": "a channel id"]),
        Refusal(name: "no padding", expected: "400 BadChannelId", changing: ["apns-channel-id": "YWI"]),
        Refusal(name: "an empty channel", expected: "400 BadChannelId", changing: ["apns-channel-id": ""]),
        Refusal(
            name: "a stranger", expected: "400 ChannelNotRegistered", changing: ["apns-channel-id": "YWJj"],
            violations: []),
        Refusal(name: "no push type", expected: "400 MissingPushType", changing: ["apns-push-type": nil]),
        Refusal(name: "alert push type", expected: "400 InvalidPushType", changing: ["apns-push-type": "alert"]),
        Refusal(name: "no priority", expected: "400 BadPriority", changing: ["apns-priority": nil]),
        Refusal(name: "priority 7", expected: "400 BadPriority", changing: ["apns-priority": "7"]),
        Refusal(name: "no expiration", expected: "400 BadExpirationDate", changing: ["apns-expiration": nil]),
        Refusal(
            name: "no expiration, storing", expected: "400 BadExpirationDate", storage: .mostRecent,
            changing: ["apns-expiration": nil]),
        Refusal(name: "expiration in words", expected: "400 BadExpirationDate", changing: ["apns-expiration": "soon"]),
        Refusal(
            name: "expiration where nothing is stored", expected: "400 BadExpirationDate",
            changing: ["apns-expiration": "\(Bench.startSeconds + 60)"]),
        Refusal(
            name: "over 8 hours ahead", expected: "400 BadExpirationDate", storage: .mostRecent,
            changing: ["apns-expiration": "\(eightHours + 1)"]),
        Refusal(name: "no body", expected: "400 PayloadEmpty", body: ""),
        Refusal(
            name: "5,121 bytes", expected: "413 PayloadTooLarge",
            body: Bodies.update(stamp: Bench.startSeconds, byteCount: 5_121)),
        Refusal(
            name: "no JSON", expected: "400 BadRequestPayload", body: "{", violations: [.payload, .request]),
        Refusal(name: "gzip", expected: "400 BadRequestPayload", adding: [("content-encoding", "gzip")]),
        Refusal(
            name: "a start", expected: "400 BadRequestPayload", body: Bodies.start(stamp: Bench.startSeconds),
            violations: [.payload, .request]),
    ]

    @Test(arguments: Self.refusals)
    func aFaultyBroadcastIsRefusedWithApplesReason(_ refusal: Refusal) async throws {
        try await Bench.run {
            $0.apps = ["com.example.pizza", "com.example.plain"]
            $0.appsWithoutBroadcasts = ["com.example.plain"]
        } _: { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: refusal.storage))
            let request = bench.broadcast(
                channel: id, body: refusal.body, changing: refusal.changing, adding: refusal.adding)
            let parts = refusal.expected.split(separator: " ")
            #expect(try await client.send(request).summary == "\(parts[0]) {\"reason\":\"\(parts[1])\"}")
            #expect(bench.simulator.statistics().refused == [String(parts[1]): 1])
            #expect(bench.simulator.violations().map(\.kind) == refusal.violations)
            #expect(bench.simulator.channel(id: id)?.publishedCount == 0)
            await client.close()
        }
    }

    @Test(arguments: [0, Bench.startSeconds - 1, Bench.startSeconds + 1, Bench.startSeconds + 8 * 3_600])
    func aStoringChannelTakesExpirationsUpTo8Hours(expiration: Int64) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .mostRecent))
            #expect(try await client.send(bench.broadcast(channel: id, expiration: expiration)).status == 200)
            let isStored = bench.simulator.channel(id: id)?.storedBody.isEmpty == false
            #expect(isStored == (expiration > Bench.startSeconds))
            await client.close()
        }
    }

    @Test func aBroadcastOf5120BytesIsTakenAndTooMuchContentIsRecorded() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let body = Bodies.update(stamp: Bench.startSeconds, byteCount: 5_120)
            #expect(try await client.send(bench.broadcast(channel: id, body: body)).status == 200)
            let violation = try #require(bench.simulator.violations().first)
            #expect(violation.kind == .payload)
            #expect(violation.channel == id)
            #expect(violation.detail.hasSuffix("ActivityKit takes 4096"))
            await client.close()
        }
    }

    @Test func channelsOfAnotherAppAndDeletedOnesAreNotRegistered() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let other = try #require(bench.simulator.createChannel(app: "com.example.other", storage: .none))
            let deleted = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.deleteChannel(id: deleted)
            for id in [other, deleted] {
                let response = try await client.send(bench.broadcast(channel: id))
                #expect(response.body == #"{"reason":"ChannelNotRegistered"}"#)
            }
            await client.close()
        }
    }

    @Test func moreThanFourAMinuteAreTooMany() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let other = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            var statuses: [Int] = []
            func send(_ id: String) async throws {
                let body = Bodies.update(stamp: Bench.startSeconds + Int64(statuses.count))
                statuses.append(try await client.send(bench.broadcast(channel: id, body: body)).status)
            }
            for _ in 0..<5 { try await send(id) }
            try await send(other)
            bench.advance(millis: 14_999)
            try await send(id)
            bench.advance(millis: 1)
            try await send(id)
            #expect(statuses == [200, 200, 200, 200, 429, 200, 429, 200])
            #expect(bench.simulator.statistics().refused == ["TooManyRequests": 2])
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func theRateMayBeWithoutLimit() async throws {
        try await Bench.run {
            $0.channelPushesPerMinuteMax = nil
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let responses = try await client.send(
                (0..<50).map { bench.broadcast(channel: id, body: Bodies.update(stamp: Bench.startSeconds + $0)) })
            #expect(responses.allSatisfy { $0.status == 200 })
            await client.close()
        }
    }

    @Test func stampsAndEndsOfAChannelAreWatched() async throws {
        try await Bench.run {
            $0.channelPushesPerMinuteMax = nil
            $0.watchedBudgetPerHour = 1
        } _: { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let now = Bench.startSeconds
            let steps: [(body: String, priority: Int, kinds: [Violation.Kind])] = [
                (Bodies.update(stamp: now), 10, []),
                (Bodies.update(stamp: now), 5, []),
                (Bodies.update(stamp: now, state: #"{"n":2}"#), 5, [.stampNotIncreasing]),
                (Bodies.update(stamp: now - 1), 5, [.stampOlder]),
                (Bodies.update(stamp: now + 9 * 3_600), 5, [.payload]),
                (Bodies.update(stamp: now + 1), 10, [.budgetExceeded]),
                (#"{"aps":{"timestamp":1,"event":"update"}}"#, 5, [.payload]),
                (Bodies.end(stamp: now + 2), 5, []),
                // An end may be repeated, because phones that were off have not got the first end.
                (Bodies.end(stamp: now + 2), 5, []),
                (Bodies.update(stamp: now + 3), 5, [.afterEnd]),
            ]
            var expected: [Violation.Kind] = []
            for step in steps {
                let request = bench.broadcast(channel: id, body: step.body, priority: step.priority)
                #expect(try await client.send(request).status == 200)
                expected += step.kinds
                #expect(bench.simulator.violations().map(\.kind) == expected, "after \(step.body)")
            }
            #expect(bench.simulator.violations().allSatisfy { $0.channel == id })
            await client.close()
        }
    }

    @Test func theSpacingOfAChannelIsWatched() async throws {
        try await Bench.run {
            $0.watchedChannelSpacingMillis = 1_000
        } _: { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            for step in 1...3 as ClosedRange<Int64> {
                let body = Bodies.update(stamp: Bench.startSeconds + step)
                #expect(try await client.send(bench.broadcast(channel: id, body: body)).status == 200)
                bench.advance(millis: step == 1 ? 999 : 1_000)
            }
            #expect(bench.simulator.violations().map(\.kind) == [.pushedTooSoon])
            await client.close()
        }
    }

    @Test func theSinkTakesBroadcasts() async throws {
        try await Bench.run {
            $0.mode = .sink
        } _: { bench in
            let client = try await bench.connect()
            let responses = try await client.send((0..<100).map { _ in bench.broadcast(channel: "YWJj") })
            #expect(responses.allSatisfy { $0 == TestResponse(status: 200) })
            #expect(bench.simulator.statistics().accepted == 100)
            await client.close()
        }
    }
}
