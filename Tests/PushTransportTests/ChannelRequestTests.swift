import APNSPool
import APNSProtocol
import HTTP2Session
import PushModel
import Testing

@testable import PushTransport

/// Tests of broadcasts and requests about channels, over real sockets, TLS and HTTP/2, against a scripted server.
@Suite(.timeLimit(.minutes(2)))
struct ChannelRequestTests {
    /// A kind of request, with the fields and the body that only this kind has.
    struct Shape: Sendable, CustomTestStringConvertible {
        var kind: RequestKind
        var priority = PushPriority.low
        var fields: [String: String]
        var body = ""
        var testDescription: String { "\(self.kind) \(self.priority)" }
    }

    static let channel = "dHN0LXNyY2gtY2hubA=="
    static let requestID = "01234567-89ab-4def-8000-0000000000ff"

    static let shapes: [Shape] =
        [(PushPriority.high, "10"), (.low, "5"), (.lowest, "1")].map { priority, value in
            Shape(
                kind: .broadcast, priority: priority,
                fields: [
                    ":method": "POST", ":path": "/4/broadcasts/apps/com.example.pizza", "apns-channel-id": Self.channel,
                    "apns-push-type": "liveactivity", "apns-priority": value, "apns-expiration": "1700000000",
                    "apns-request-id": Self.requestID,
                ], body: "{\"aps\":{}}")
        } + [
            Shape(
                kind: .createChannel,
                fields: [
                    ":method": "POST", ":path": "/1/apps/com.example.pizza/channels", "apns-request-id": Self.requestID,
                ], body: "{\"aps\":{}}"),
            Shape(
                kind: .readChannel,
                fields: [
                    ":method": "GET", ":path": "/1/apps/com.example.pizza/channels", "apns-channel-id": Self.channel,
                    "apns-request-id": Self.requestID,
                ]),
            Shape(
                kind: .deleteChannel,
                fields: [
                    ":method": "DELETE", ":path": "/1/apps/com.example.pizza/channels", "apns-channel-id": Self.channel,
                    "apns-request-id": Self.requestID,
                ]),
            Shape(
                kind: .listChannels,
                fields: [
                    ":method": "GET", ":path": "/1/apps/com.example.pizza/all-channels",
                    "apns-request-id": Self.requestID,
                ]),
        ]

    static func request(_ kind: RequestKind, priority: PushPriority = .low) -> PushRequest {
        var request = PushRequest()
        request.kind = kind
        request.priority = priority
        request.expirationSeconds = 1_700_000_000
        request.apnsID = (0x0123_4567_89ab_4def, 0x8000_0000_0000_00ff)
        request.target = Array(Self.channel.utf8)
        request.body = Array("{\"aps\":{}}".utf8)
        return request
    }

    /// Each request is sent twice: the second uses the header table that the first has filled.
    @Test(arguments: Self.shapes) func aRequestHasExactlyTheFieldsOfItsKind(shape: Shape) async throws {
        try await withServer({ _ in .ok }) { server, bench in
            let request = Self.request(shape.kind, priority: shape.priority)
            _ = try await bench.ask([request])
            _ = try await bench.ask([request])
            let requests = try await server.requests()
            #expect(requests.count == 2)
            for seen in requests {
                var fields = seen.fields
                #expect(fields.removeValue(forKey: "authorization")?.hasPrefix("bearer ey") == true)
                #expect(fields.removeValue(forKey: ":scheme") == "https")
                #expect(fields.removeValue(forKey: ":authority") == "127.0.0.1:\(server.port)")
                #expect(fields == shape.fields)
                #expect(String(decoding: seen.body, as: UTF8.self) == shape.body)
            }
        }
    }

    @Test func everyKindIsInTheTable() {
        #expect(Set(Self.shapes.map(\.kind)) == Set(RequestKind.allCases).subtracting([.device]))
    }

    @Test func whatIsNoPushIsAnsweredWithWhatCame() async throws {
        let created: [[String]] = [["apns-request-id", Self.requestID], ["apns-channel-id", Self.channel]]
        let settings = Array("{\"message-storage-policy\":1,\"push-type\":\"LiveActivity\"}".utf8)
        try await withServer({ request in
            switch request.fields[":method"] {
            case "POST": .answer(status: 201, fields: created)
            case "DELETE": .answer(status: 204)
            default: .answer(status: 200, body: settings)
            }
        }) { _, bench in
            let answers = try await bench.ask([
                Self.request(.createChannel), Self.request(.readChannel), Self.request(.deleteChannel),
            ])
            #expect(
                answers == [
                    .channel(ChannelAnswer(status: 201, channelID: Array(Self.channel.utf8), body: [])),
                    .channel(ChannelAnswer(status: 200, channelID: [], body: settings)),
                    .channel(ChannelAnswer(status: 204, channelID: [], body: [])),
                ])
            let responses = try await bench.counters().responses
            #expect(responses.status201 == 1 && responses.status200 == 1 && responses.status204 == 1)
        }
    }

    /// One connection carries all kinds of requests, and each request gets its own answer.
    @Test func pushesAndBroadcastsAreAccepted() async throws {
        try await withServer({ _ in .answer(status: 200, body: Array("{}".utf8)) }, pool: one) { _, bench in
            let kinds: [RequestKind] = [.device, .broadcast, .listChannels, .broadcast, .device]
            let answers = try await bench.ask(kinds.map { Self.request($0) })
            let listed = PushAnswer.Result.channel(
                ChannelAnswer(status: 200, channelID: [], body: Array("{}".utf8)))
            #expect(answers == [.accepted, .accepted, listed, .accepted, .accepted])
        }
    }

    @Test(arguments: [RequestKind.broadcast, .createChannel, .readChannel, .deleteChannel, .listChannels])
    func aRefusalIsAResponse(kind: RequestKind) async throws {
        try await withServer({ _ in .refuse(status: 400, reason: "FeatureNotEnabled") }) { _, bench in
            let answers = try await bench.ask([Self.request(kind)])
            #expect(answers == [.response(PushResponse(status: 400, reason: "FeatureNotEnabled"))])
        }
    }

    /// A list of the maximum number of channels arrives completely, though it is larger than the window. Other answers
    /// are cut at a lower limit.
    @Test func aListComesWhole() async throws {
        let ids = (0..<ChannelRequest.countMax).map { "\"channel-of-forty-characters-\(100_000_000_000 + $0)\"" }
        let list = Array("{\"channels\":[\(ids.joined(separator: ","))]}".utf8)
        #expect(list.count > 400_000)
        try await withServer({ _ in .answer(status: 200, body: list) }) { _, bench in
            let answers = try await bench.ask([Self.request(.listChannels), Self.request(.readChannel)])
            #expect(answers[0] == .channel(ChannelAnswer(status: 200, channelID: [], body: list)))
            let start = Array(list[..<ChannelRequest.answerByteCountMax])
            #expect(answers[1] == .channel(ChannelAnswer(status: 200, channelID: [], body: start, isCut: true)))
        }
    }

    /// A broadcast of the maximum size is sent completely.
    @Test func aBodyOfTheGreatestLengthIsSent() async throws {
        try await withServer({ _ in .ok }) { server, bench in
            var request = Self.request(.broadcast)
            request.body = Array(repeating: UInt8(ascii: "x"), count: PayloadWriter.broadcastByteCountMax)
            let answers = try await bench.ask([request])
            #expect(answers == [.accepted])
            let byteCount = try await server.requests()[0].body.count
            #expect(byteCount == PayloadWriter.broadcastByteCountMax)
        }
    }

    /// A creation whose answer is lost is not repeated, because a channel may exist. The caller decides what to do.
    @Test func aCreationWhoseAnswerIsLostIsUnknownAndNotRepeated() async throws {
        try await withServer({ request in request.number == 1 ? .ok : .drop }, pool: one) { server, bench in
            _ = try await bench.ask([Self.request(.device)])
            let answers = try await bench.ask([Self.request(.createChannel)])
            guard case .unknown = answers[0] else {
                Issue.record("\(answers)")
                return
            }
            let requestCount = try await server.requests().count
            #expect(requestCount == 2)
        }
    }
}
