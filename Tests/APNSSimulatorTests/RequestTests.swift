import APNSSimulator
import DeviceModel
import HTTP2Session
import TLSSession
import Testing

/// Tests of APNs' answers to requests, over real TLS sockets.
@Suite(.timeLimit(.minutes(5))) struct RequestTests {
    @Test func aGoodPushIsAcceptedAndShown() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let response = try await client.send(
                bench.push(token: "00ff", body: Bodies.update(stamp: 5, state: #"{"driver":"Anne"}"#)))
            #expect(response == TestResponse(status: 200))
            let device = try #require(bench.simulator.device(token: "00FF"))
            #expect(String(decoding: device.device.contentState, as: UTF8.self) == #"{"driver":"Anne"}"#)
            #expect(device.topic == Bench.topic)
            #expect(device.accepted == 1)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    struct Refusal: Sendable, CustomTestStringConvertible {
        var name: String
        var expected: String
        var changing: [String: String?] = [:]
        var adding: [(String, String)] = []
        var body = Bodies.update(stamp: 1)
        var testDescription: String { self.name }
    }

    static let refusals: [Refusal] = [
        Refusal(name: "GET", expected: "405 MethodNotAllowed", changing: [":method": "GET"]),
        Refusal(name: "another path", expected: "404 BadPath", changing: [":path": "/2/device/00"]),
        Refusal(name: "no token", expected: "400 MissingDeviceToken", changing: [":path": "/3/device/"]),
        Refusal(name: "odd hex digits", expected: "400 BadDeviceToken", changing: [":path": "/3/device/abc"]),
        Refusal(name: "no hex", expected: "400 BadDeviceToken", changing: [":path": "/3/device/zz"]),
        Refusal(name: "topic twice", expected: "400 DuplicateHeaders", adding: [("apns-topic", Bench.topic)]),
        Refusal(
            name: "id twice", expected: "400 DuplicateHeaders",
            adding: [("apns-id", "123e4567-e89b-42d3-a456-426614174000")]),
        Refusal(
            name: "id in capitals", expected: "400 BadMessageId",
            changing: ["apns-id": "123E4567-E89B-42D3-A456-426614174000"]),
        Refusal(
            name: "id without dashes", expected: "400 BadMessageId",
            changing: ["apns-id": "123e4567e89b42d3a456426614174000"]),
        Refusal(name: "no provider token", expected: "403 MissingProviderToken", changing: ["authorization": nil]),
        Refusal(
            name: "basic authorization", expected: "403 MissingProviderToken",
            changing: ["authorization": "basic abcdef"]),
        Refusal(name: "no JWT", expected: "403 InvalidProviderToken", changing: ["authorization": "bearer abc"]),
        Refusal(name: "no topic", expected: "400 MissingTopic", changing: ["apns-topic": nil]),
        Refusal(name: "topic without suffix", expected: "400 BadTopic", changing: ["apns-topic": "com.example.pizza"]),
        Refusal(
            name: "topic with a space", expected: "400 BadTopic",
            changing: ["apns-topic": "com.example. pizza.push-type.liveactivity"]),
        Refusal(
            name: "topic beyond ASCII", expected: "400 BadTopic",
            changing: ["apns-topic": "com.example.pizzá.push-type.liveactivity"]),
        Refusal(
            name: "topic of 1,000 bytes", expected: "400 BadTopic",
            changing: ["apns-topic": String(repeating: "a", count: 976) + ".push-type.liveactivity"]),
        Refusal(name: "gzip", expected: "400 PayloadEmpty", adding: [("content-encoding", "gzip")]),
        Refusal(
            name: "unknown app", expected: "400 TopicDisallowed",
            changing: ["apns-topic": "com.example.other.push-type.liveactivity"]),
        Refusal(name: "no push type", expected: "400 InvalidPushType", changing: ["apns-push-type": nil]),
        Refusal(name: "alert push type", expected: "400 InvalidPushType", changing: ["apns-push-type": "alert"]),
        Refusal(name: "priority 1", expected: "400 BadPriority", changing: ["apns-priority": "1"]),
        Refusal(name: "priority 010", expected: "400 BadPriority", changing: ["apns-priority": "010"]),
        Refusal(name: "expiration in words", expected: "400 BadExpirationDate", changing: ["apns-expiration": "soon"]),
        Refusal(name: "expiration below 0", expected: "400 BadExpirationDate", changing: ["apns-expiration": "-1"]),
        Refusal(
            name: "long collapse id", expected: "400 BadCollapseId",
            adding: [("apns-collapse-id", String(repeating: "x", count: 65))]),
        Refusal(name: "no body", expected: "400 PayloadEmpty", body: ""),
        Refusal(name: "no JSON", expected: "400 PayloadEmpty", body: "{"),
        Refusal(
            name: "4,097 bytes", expected: "413 PayloadTooLarge",
            body: Bodies.update(stamp: 1, byteCount: 4_097)),
    ]

    @Test(arguments: Self.refusals)
    func aFaultyRequestIsRefusedWithApplesReason(_ refusal: Refusal) async throws {
        try await Bench.run {
            $0.apps = ["com.example.pizza"]
        } _: { bench in
            let client = try await bench.connect()
            let request = bench.push(
                token: "00ff", body: refusal.body, changing: refusal.changing, adding: refusal.adding)
            let response = try await client.send(request)
            let parts = refusal.expected.split(separator: " ")
            #expect(response.summary == "\(parts[0]) {\"reason\":\"\(parts[1])\"}")
            #expect(bench.simulator.statistics().refused == [String(parts[1]): 1])
            await client.close()
        }
    }

    struct Malformed: Sendable, CustomTestStringConvertible {
        var name: String
        var changing: [String: String?] = [:]
        var adding: [(String, String)] = []
        var testDescription: String { self.name }
    }

    static let malformed: [Malformed] = [
        Malformed(name: "connection", adding: [("connection", "keep-alive")]),
        Malformed(name: "transfer-encoding", adding: [("transfer-encoding", "chunked")]),
        Malformed(name: "te", adding: [("te", "gzip")]),
        Malformed(name: "no :method", changing: [":method": nil]),
        Malformed(name: "no :scheme", changing: [":scheme": nil]),
        Malformed(name: "no :path", changing: [":path": nil]),
        Malformed(name: ":path twice, and last", adding: [(":path", "/3/device/00")]),
        Malformed(name: "an unknown pseudo-header", changing: [":token": "00"]),
        Malformed(name: "content-length 1", adding: [("content-length", "1")]),
        Malformed(name: "content-length 1000000", adding: [("content-length", "1000000")]),
        Malformed(name: "content-length -1", adding: [("content-length", "-1")]),
        Malformed(
            name: "a line's end in the topic", changing: ["apns-topic": "com.example\n.push-type.liveactivity"]),
        Malformed(
            name: "an escape in the topic", changing: ["apns-topic": "com\u{1B}[2J.push-type.liveactivity"]),
    ]

    /// A request that HTTP/2 forbids is reset (RFC 9113 §8.1.1). It reaches no phone, and the connection stays open.
    @Test(arguments: Self.malformed)
    func aMalformedRequestIsReset(_ malformed: Malformed) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let request = bench.push(token: "00ff", changing: malformed.changing, adding: malformed.adding)
            let response = try await client.send(request)
            #expect(response == TestResponse(failure: .resetByPeer(.protocolError)))
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            #expect(bench.simulator.violations().map(\.kind) == [.http2])
            #expect(bench.simulator.violations().first?.detail.hasPrefix("malformed request: ") == true)
            #expect(bench.simulator.device(token: "00ff") == nil)
            await client.close()
        }
    }

    /// A field name in capitals makes the request malformed. The project's own client cannot send one, so the bytes are
    /// written by hand.
    @Test func aNameInCapitalsIsReset() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let fields = bench.push(token: "00ff").fields + [("Apns-Topic", Bench.topic)]
            // The fields are literals without indexing and without Huffman coding (RFC 7541 §6.2.2). Lengths from 127
            // on take two bytes.
            func text(_ text: String) -> [UInt8] {
                let count = text.utf8.count
                let length =
                    count < 127 ? [UInt8(count)] : [127, UInt8((count - 127) % 128 | 128), UInt8((count - 127) / 128)]
                return length + Array(text.utf8)
            }
            var block: [UInt8] = []
            for (name, value) in fields { block += [0] + text(name) + text(value) }
            try await client.sendRaw(
                [0, UInt8(block.count >> 8), UInt8(block.count & 255), 1, 5, 0, 0, 0, 101] + block)
            _ = try await bench.simulator.wait { _ in !bench.simulator.violations().isEmpty }
            #expect(bench.simulator.violations().map(\.kind) == [.http2])
            #expect(bench.simulator.device(token: "00ff") == nil)
            await client.close()
        }
    }

    @Test func teTrailersAndTheRightLengthAreTaken() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let body = Bodies.update(stamp: 1)
            let adding = [
                ("te", "trailers"), ("content-length", "\(body.utf8.count)"), ("content-encoding", "identity"),
                ("content-type", "application/json"), ("user-agent", "test"),
            ]
            #expect(try await client.send(bench.push(token: "00", body: body, adding: adding)).status == 200)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    /// The announced SETTINGS_MAX_HEADER_LIST_SIZE is 8,000. A larger field list is refused.
    @Test(arguments: [(6_000, 200), (8_000, 431), (15_000, 431), (20_000, 431)])
    func aFieldListAboveTheAnnouncedSizeIsRefused(byteCount: Int, status: Int) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let request = bench.push(
                token: "00ff",
                adding: (0..<byteCount / 1_000).map { ("x-filler-\($0)", String(repeating: "x", count: 1_000)) })
            #expect(try await client.send(request).status == status)
            #expect(bench.simulator.violations().map(\.kind) == (status == 431 ? [.http2] : []))
            #expect((bench.simulator.device(token: "00ff") == nil) == (status == 431))
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            await client.close()
        }
    }

    @Test func aBodyOf4096BytesIsTaken() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let body = Bodies.update(stamp: 1, byteCount: 4_096)
            #expect(body.utf8.count == 4_096)
            #expect(try await client.send(bench.push(token: "00", body: body)).status == 200)
            await client.close()
        }
    }

    @Test func optionalFieldsMayBeAbsentAndPriorityIsTenThen() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let request = bench.push(
                token: "00", changing: ["apns-priority": nil, "apns-expiration": nil, "apns-id": nil])
            #expect(try await client.send(request).status == 200)
            #expect(bench.simulator.device(token: "00")?.device.highPriorityPeak == 1)
            await client.close()
        }
    }

    @Test(arguments: [
        (TokenState.rotated, "410 Unregistered"), (.dead, "410 ExpiredToken"), (.unknown, "400 BadDeviceToken"),
    ])
    func tokensThatAreNoLongerGoodAreRefused(state: TokenState, expected: String) async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            #expect(bench.simulator.setToken("0a0b", state, sinceMillis: 1_700_000_000_123))
            let response = try await client.send(bench.push(token: "0a0b"))
            let parts = expected.split(separator: " ")
            let timestamp = parts[0] == "410" ? ",\"timestamp\":1700000000123" : ""
            #expect(response.summary == "\(parts[0]) {\"reason\":\"\(parts[1])\"\(timestamp)}")
            #expect(bench.simulator.violations().isEmpty)
            // After the first refusal the provider should know that the token is dead. So the second use is a
            // violation.
            _ = try await client.send(bench.push(token: "0a0b"))
            #expect(bench.simulator.violations().map(\.kind) == [.deadTokenUsedAgain])
            await client.close()
        }
    }

    @Test func aRotatedTokenLeadsToTheSameDevice() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            _ = try await client.send(bench.push(token: "aa", body: Bodies.update(stamp: 10, state: #"{"n":1}"#)))
            bench.simulator.rotateToken(from: "aa", to: "bb")
            #expect(try await client.send(bench.push(token: "aa")).status == 410)
            // Both tokens belong to one phone, so this update is older than what the phone shows.
            #expect(
                try await client.send(bench.push(token: "bb", body: Bodies.update(stamp: 9, state: #"{"n":2}"#))).status
                    == 200)
            #expect(bench.simulator.device(token: "bb")?.device.contentState == Array(#"{"n":1}"#.utf8))
            #expect(bench.simulator.violations().map(\.kind) == [.stampOlder])
            await client.close()
        }
    }

    @Test func unknownTokensCanBeRefused() async throws {
        try await Bench.run {
            $0.unknownTokens = .reject
        } _: { bench in
            let client = try await bench.connect()
            bench.simulator.setToken("01", .alive)
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            #expect(try await client.send(bench.push(token: "02")).body == #"{"reason":"BadDeviceToken"}"#)
            await client.close()
        }
    }

    @Test func aTokenBelongsToOneTopic() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            #expect(try await client.send(bench.push(token: "01")).status == 200)
            let other = bench.push(token: "01", changing: ["apns-topic": "com.example.game.push-type.liveactivity"])
            #expect(try await client.send(other).body == #"{"reason":"DeviceTokenNotForTopic"}"#)
            await client.close()
        }
    }

    @Test func pushesInARowToOneDeviceAreLimitedWhenConfigured() async throws {
        try await Bench.run {
            $0.devicePushesPerMinuteMax = 2
        } _: { bench in
            let client = try await bench.connect()
            var statuses: [Int] = []
            for stamp in 1...4 {
                statuses.append(
                    try await client.send(bench.push(token: "01", body: Bodies.update(stamp: Int64(stamp)))).status)
            }
            bench.advance(millis: 30_000)
            statuses.append(try await client.send(bench.push(token: "01", body: Bodies.update(stamp: 9))).status)
            #expect(statuses == [200, 200, 429, 429, 200])
            await client.close()
        }
    }

    @Test func aMeaninglessPayloadIsTakenAndRecorded() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let body = #"{"aps":{"timestamp":1,"event":"start","content-state":{}}}"#
            #expect(try await client.send(bench.push(token: "01", body: body)).status == 200)
            #expect(bench.simulator.device(token: "01")?.device.phase == .untouched)
            #expect(
                bench.simulator.violations().map(\.detail) == [
                    "aps.attributes-type: missing, an event 'start' requires it"
                ])
            await client.close()
        }
    }

    @Test func budgetAndSpacingAreWatched() async throws {
        try await Bench.run {
            $0.watchedBudgetPerHour = 2
            $0.watchedSpacingMillis = 1_000
        } _: { bench in
            let client = try await bench.connect()
            for stamp in 1...3 {
                _ = try await client.send(bench.push(token: "01", body: Bodies.update(stamp: Int64(stamp))))
                bench.advance(millis: stamp == 1 ? 999 : 1_000)
            }
            #expect(bench.simulator.violations().map(\.kind) == [.pushedTooSoon, .budgetExceeded])
            await client.close()
        }
    }
}
