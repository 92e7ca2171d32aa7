import APNSSimulator
import DeviceModel
import TLSSession
import Testing

/// Tests of requests about channels, at their own port.
@Suite(.timeLimit(.minutes(5))) struct ChannelTests {
    @Test(arguments: ChannelStorage.allCases)
    func aChannelIsMadeReadListedAndDeleted(storage: ChannelStorage) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            #expect(try await client.send(bench.creation(Int(storage.rawValue))).summary == "201")
            let channel = try #require(bench.simulator.channels().first)
            #expect(channel.app == Bench.app)
            #expect(channel.storage == storage)
            let read = try await client.send(bench.question("GET", channel: channel.id))
            #expect(
                read.summary == #"200 {"message-storage-policy":\#(storage.rawValue),"push-type":"LiveActivity"}"#)
            let list = try await client.send(bench.question("GET", "all-channels"))
            #expect(list.summary == #"200 {"channels":["\#(channel.id)"]}"#)
            #expect(try await client.send(bench.question("DELETE", channel: channel.id)).summary == "204")
            let gone = #"400 {"reason":"ChannelNotRegistered"}"#
            #expect(try await client.send(bench.question("GET", channel: channel.id)).summary == gone)
            #expect(try await client.send(bench.question("DELETE", channel: channel.id)).summary == gone)
            #expect(try await client.send(bench.question("GET", "all-channels")).summary == #"200 {"channels":[]}"#)
            let statistics = bench.simulator.statistics()
            #expect(statistics.channelRequestsAccepted == 5)
            #expect(statistics.accepted == 0)
            #expect([statistics.channelsCreated, statistics.channelsDeleted, statistics.channels] == [1, 1, 0])
            #expect(statistics.connections.map(\.isForManagement) == [true])
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var expected: String
        var method = "POST"
        var place = "channels"
        var channel: String?
        var body = #"{"message-storage-policy":0,"push-type":"LiveActivity"}"#
        var changing: [String: String?] = [:]
        var adding: [(String, String)] = []
        var isViolation = true
        var testDescription: String { self.name }
    }

    static let refusals: [Refusal] = [
        Refusal(name: "PUT", expected: "405 MethodNotAllowed", method: "PUT"),
        Refusal(name: "POST a list", expected: "405 MethodNotAllowed", place: "all-channels"),
        Refusal(name: "another path", expected: "404 BadPath", place: "some-channels"),
        Refusal(name: "no bundle id", expected: "404 BadPath", changing: [":path": "/1/apps//channels"]),
        Refusal(name: "a push", expected: "404 BadPath", changing: [":path": "/3/device/00"]),
        Refusal(
            name: "a broadcast", expected: "404 BadPath", changing: [":path": "/4/broadcasts/apps/com.example.pizza"]),
        Refusal(
            name: "id twice", expected: "400 BadRequestParams",
            adding: [("apns-request-id", "123e4567-e89b-42d3-a456-426614174000")]),
        Refusal(name: "id in words", expected: "400 BadMessageId", changing: ["apns-request-id": "mine"]),
        Refusal(name: "no provider token", expected: "403 MissingProviderToken", changing: ["authorization": nil]),
        Refusal(
            name: "a bad provider token", expected: "403 InvalidProviderToken",
            changing: ["authorization": "bearer abc"]),
        Refusal(
            name: "a suffix", expected: "400 TopicDisallowed",
            changing: [":path": "/1/apps/com.example.pizza.push-type.liveactivity/channels"]),
        Refusal(
            name: "another app", expected: "403 TopicMismatch", changing: [":path": "/1/apps/com.example.x/channels"],
            isViolation: false),
        Refusal(
            name: "no capability", expected: "400 FeatureNotEnabled",
            changing: [":path": "/1/apps/com.example.plain/channels"], isViolation: false),
        Refusal(name: "no body", expected: "400 PayloadEmpty", body: ""),
        Refusal(
            name: "a large body", expected: "413 PayloadTooLarge", body: String(repeating: " ", count: 5_121)),
        Refusal(name: "no JSON", expected: "400 BadRequestPayload", body: "{"),
        Refusal(name: "no object", expected: "400 BadRequestPayload", body: "[]"),
        Refusal(name: "no policy", expected: "400 BadRequestPayload", body: #"{"push-type":"LiveActivity"}"#),
        Refusal(
            name: "policy 2", expected: "400 BadRequestPayload",
            body: #"{"message-storage-policy":2,"push-type":"LiveActivity"}"#),
        Refusal(
            name: "policy true", expected: "400 BadRequestPayload",
            body: #"{"message-storage-policy":true,"push-type":"LiveActivity"}"#),
        Refusal(name: "no push type", expected: "400 MissingPushType", body: #"{"message-storage-policy":0}"#),
        Refusal(
            name: "another push type", expected: "400 InvalidPushType",
            body: #"{"message-storage-policy":0,"push-type":"alert"}"#),
        Refusal(name: "read nothing", expected: "400 MissingChannelId", method: "GET", body: ""),
        Refusal(name: "delete nothing", expected: "400 MissingChannelId", method: "DELETE", body: ""),
        Refusal(name: "read no id", expected: "400 BadChannelId", method: "GET", channel: "a channel", body: ""),
        Refusal(name: "delete no id", expected: "400 BadChannelId", method: "DELETE", channel: "abc", body: ""),
        Refusal(
            name: "read a stranger", expected: "400 ChannelNotRegistered", method: "GET", channel: "YWJj", body: "",
            isViolation: false),
        Refusal(
            name: "delete a stranger", expected: "400 ChannelNotRegistered", method: "DELETE", channel: "YWJj",
            body: "", isViolation: false),
    ]

    @Test(arguments: Self.refusals)
    func aFaultyQuestionIsRefusedWithApplesReason(_ refusal: Refusal) async throws {
        try await Bench.run {
            $0.apps = ["com.example.pizza", "com.example.plain"]
            $0.appsWithoutBroadcasts = ["com.example.plain"]
        } _: { bench in
            let client = try await bench.connectToManagement()
            let request = bench.question(
                refusal.method, refusal.place, channel: refusal.channel, body: refusal.body,
                changing: refusal.changing, adding: refusal.adding)
            let parts = refusal.expected.split(separator: " ")
            #expect(try await client.send(request).summary == "\(parts[0]) {\"reason\":\"\(parts[1])\"}")
            #expect(bench.simulator.statistics().refused == [String(parts[1]): 1])
            #expect(bench.simulator.violations().map(\.kind) == (refusal.isViolation ? [.request] : []))
            #expect(bench.simulator.channels().isEmpty)
            await client.close()
        }
    }

    @Test(arguments: ["channels", "all-channels"])
    func thePortForPushesKnowsNoManagement(place: String) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let response = try await client.send(bench.question("GET", place, channel: "YWJj"))
            #expect(response.summary == #"404 {"reason":"BadPath"}"#)
            await client.close()
        }
    }

    @Test func anAppMayHaveSoManyChannels() async throws {
        try await Bench.run {
            $0.channelsPerAppMax = 2
        } _: { bench in
            let client = try await bench.connectToManagement()
            var summaries: [String] = []
            for _ in 0..<3 { summaries.append(try await client.send(bench.creation()).summary) }
            let full = #"400 {"reason":"CannotCreateChannelConfig"}"#
            #expect(summaries == ["201", "201", full])
            // Each app has its own limit. A deleted channel does not count against it.
            let other = bench.creation(changing: [":path": "/1/apps/com.example.other/channels"])
            #expect(try await client.send(other).status == 201)
            let oldest = try #require(bench.simulator.channels(app: Bench.app).first)
            bench.simulator.deleteChannel(id: oldest.id)
            #expect(try await client.send(bench.creation()).status == 201)
            #expect(try await client.send(bench.creation()).summary == full)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func howManyAnAppMayHaveCanChange() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            bench.simulator.setChannelsMax(1, app: Bench.app)
            #expect(try await client.send(bench.creation()).status == 201)
            #expect(try await client.send(bench.creation()).body == #"{"reason":"CannotCreateChannelConfig"}"#)
            let other = bench.creation(changing: [":path": "/1/apps/com.example.other/channels"])
            for _ in 0..<2 { #expect(try await client.send(other).status == 201) }
            bench.simulator.setChannelsMax(0, app: Bench.app)
            #expect(bench.simulator.channels(app: Bench.app).count == 1)
            bench.simulator.setChannelsMax(nil, app: Bench.app)
            #expect(try await client.send(bench.creation()).status == 201)
            await client.close()
        }
    }

    /// Production and development give different ids. The id of a deleted channel is not given again.
    @Test func idsAreNotSharedAndNotUsedAgain() async throws {
        var ids: [String] = []
        for environment in SimulatorConfiguration.Environment.allCases {
            try await Bench.run {
                $0.environment = environment
            } _: { bench in
                for _ in 0..<200 {
                    let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
                    ids.append(id)
                    bench.simulator.deleteChannel(id: id)
                }
            }
        }
        #expect(Set(ids).count == 400)
        // Ids have different lengths, so that no client relies on one length.
        #expect(Set(ids.map(\.utf8.count)).count > 1)
    }

    @Test func noChannelsMayBeListedWithoutABody() async throws {
        try await Bench.run {
            $0.listsNoChannelsWithoutBody = true
        } _: { bench in
            let client = try await bench.connectToManagement()
            #expect(try await client.send(bench.question("GET", "all-channels")).summary == "200")
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let list = try await client.send(bench.question("GET", "all-channels"))
            #expect(list.body == #"{"channels":["\#(id)"]}"#)
            await client.close()
        }
    }

    @Test func theCapabilityTakesItsChannelsAlong() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            _ = bench.simulator.createChannel(app: Bench.app, storage: .none)
            _ = bench.simulator.createChannel(app: "com.example.other", storage: .none)
            bench.simulator.setBroadcasts(false, app: Bench.app)
            #expect(try await client.send(bench.creation()).body == #"{"reason":"FeatureNotEnabled"}"#)
            #expect(bench.simulator.channels().map(\.app) == ["com.example.other"])
            bench.simulator.setBroadcasts(true, app: Bench.app)
            #expect(try await client.send(bench.question("GET", "all-channels")).body == #"{"channels":[]}"#)
            await client.close()
        }
    }

    @Test func theProviderTokensOfAQuestionAreChecked() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            bench.advance(millis: 3_601_000)
            #expect(try await client.send(bench.creation()).body == #"{"reason":"ExpiredProviderToken"}"#)
            let key = try ES256PrivateKey.generate()
            bench.simulator.register(
                RegisteredKey(
                    keyID: "OTHERKEY12", teamID: Bench.teamID, publicKey: try key.publicKey(),
                    apps: ["com.example.other"]))
            let jwt = try bench.jwt(keyID: "OTHERKEY12", key: key)
            let request = bench.creation(changing: ["authorization": "bearer \(jwt)"])
            #expect(try await client.send(request).body == #"{"reason":"TopicMismatch"}"#)
            await client.close()
        }
    }
}
