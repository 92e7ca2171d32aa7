import APNSProtocol
import APNSSimulator
import DeviceModel
import HTTP2Session
import Testing

/// Tests of faults on demand for broadcasts and for requests about channels.
@Suite(.timeLimit(.minutes(5))) struct ChannelFaultTests {
    /// Makes a request of the given kind for the channel.
    private static func request(_ kind: RequestKind, _ bench: Bench, channel: String) -> TestRequest {
        switch kind {
        case .device: bench.push(token: "0a")
        case .broadcast: bench.broadcast(channel: channel)
        case .createChannel: bench.creation()
        case .readChannel: bench.question("GET", channel: channel)
        case .deleteChannel: bench.question("DELETE", channel: channel)
        case .listChannels: bench.question("GET", "all-channels")
        }
    }

    private static func isForPushes(_ kind: RequestKind) -> Bool { kind == .device || kind == .broadcast }

    @Test(arguments: RequestKind.allCases)
    func aFaultMayBeMeantForOneKindOfRequest(kind: RequestKind) async throws {
        try await Bench.run { bench in
            let (client, management) = (try await bench.connect(), try await bench.connectToManagement())
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let reason = Reason.serviceUnavailableInTwoWords
            let fault = bench.simulator.add(Fault(.answer(status: 503, reason: reason.rawValue), kind: kind))
            for other in RequestKind.allCases {
                // The last request asks for the list of channels, so it works although the request before it deletes
                // the channel.
                let request = Self.request(other, bench, channel: id)
                let response = try await (Self.isForPushes(other) ? client : management).send(request)
                if other == kind {
                    #expect(response.summary == #"503 {"reason":"Service Unavailable"}"#)
                } else {
                    #expect((200...204).contains(response.status), "\(other): \(response.summary)")
                }
            }
            #expect(bench.simulator.fired(fault) == 1)
            await client.close()
            await management.close()
        }
    }

    @Test(arguments: Reason.allCases, [RequestKind.broadcast, .createChannel])
    func everyReasonCanBeAskedFor(_ reason: Reason, kind: RequestKind) async throws {
        try await Bench.run { bench in
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            let client = try await (Self.isForPushes(kind) ? bench.connect() : bench.connectToManagement())
            bench.simulator.add(Fault(.answer(status: reason.status, reason: reason.rawValue), count: 1))
            let response = try await client.send(Self.request(kind, bench, channel: id))
            #expect(response.summary == "\(reason.status) {\"reason\":\"\(reason.rawValue)\"}")
            #expect(bench.simulator.channels().map(\.publishedCount) == [0])
            await client.close()
        }
    }

    @Test func aFaultMayBeMeantForOneChannel() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let (one, two) = (
                try #require(bench.simulator.createChannel(app: Bench.app, storage: .none)),
                try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            )
            bench.simulator.add(
                Fault(.answer(status: 429, reason: "TooManyRequests"), channelPrefix: String(two.prefix(8))))
            #expect(try await client.send(bench.broadcast(channel: one)).status == 200)
            #expect(try await client.send(bench.broadcast(channel: two)).status == 429)
            // A fault for a channel does not hit a push to a phone. A fault for a token does not hit a broadcast.
            #expect(try await client.send(bench.push(token: "0a")).status == 200)
            bench.simulator.clearFaults()
            bench.simulator.add(Fault(.answer(status: 503, reason: "Shutdown"), tokenPrefix: "0a"))
            #expect(try await client.send(bench.broadcast(channel: two)).status == 200)
            await client.close()
        }
    }

    @Test func aCreationCarriedOutTwiceMakesTwoChannels() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            bench.simulator.add(Fault(.twice, count: 1, kind: .createChannel))
            #expect(try await client.send(bench.creation()).status == 201)
            #expect(bench.simulator.channels().count == 2)
            #expect(try await client.send(bench.creation()).status == 201)
            #expect(bench.simulator.channels().count == 3)
            // A deletion is carried out twice. The second finds no channel, and its answer is sent.
            bench.simulator.add(Fault(.twice, count: 1, kind: .deleteChannel))
            let id = try #require(bench.simulator.channels().first?.id)
            let response = try await client.send(bench.question("DELETE", channel: id))
            #expect(response.body == #"{"reason":"ChannelNotRegistered"}"#)
            #expect(bench.simulator.channels().count == 2)
            await client.close()
        }
    }

    /// A fault can answer a creation with the id of another channel, or with an id that is malformed.
    @Test func aCreationMayBeAnsweredWithAForeignID() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            let other = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            for id in [other, "no-base64!"] {
                bench.simulator.add(Fault(.channelID(Array(id.utf8)), count: 1, kind: .createChannel))
                let response = try await client.send(bench.creation())
                #expect(response.status == 201 && response.channelID == id)
            }
            #expect(bench.simulator.channels().count == 3, "what was asked for was made all the same")
            await client.close()
        }
    }

    @Test func aBroadcastCarriedOutTwiceIsShownOnce() async throws {
        try await Bench.run { bench in
            let client = try await bench.connect()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.setListening(token: "0a", channel: id)
            bench.simulator.add(Fault(.twice, count: 1))
            #expect(try await client.send(bench.broadcast(channel: id)).status == 200)
            #expect(bench.simulator.channel(id: id)?.publishedCount == 2)
            #expect(bench.simulator.statistics().broadcastReactions == ["shown": 1, "ignoredRepeat": 1])
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    /// A list that lags behind does not have new channels yet, and still has deleted ones.
    @Test func aListMayLag() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            let old = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.advance(millis: 30_000)
            let new = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.deleteChannel(id: old)
            func list() async throws -> String {
                try await client.send(bench.question("GET", "all-channels")).body
            }
            #expect(try await list() == #"{"channels":["\#(new)"]}"#)
            bench.simulator.setListLag(millis: 20_000)
            #expect(try await list() == #"{"channels":["\#(old)"]}"#)
            bench.advance(millis: 19_999)
            #expect(try await list() == #"{"channels":["\#(old)"]}"#)
            bench.advance(millis: 1)
            #expect(try await list() == #"{"channels":["\#(new)"]}"#)
            bench.simulator.deleteChannel(id: new)
            #expect(try await list() == #"{"channels":["\#(new)"]}"#)
            // Only the list lags. A question about the deleted channel is refused, and the channel no longer counts
            // against the limit.
            #expect(try await client.send(bench.question("GET", channel: new)).status == 400)
            bench.simulator.clearFaults()
            #expect(try await list() == #"{"channels":[]}"#)
            await client.close()
        }
    }

    /// A fault can lose the answer to a creation although the channel was made. Then a client learns the id only from
    /// the list.
    @Test func aCreationMayLoseItsAnswer() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectToManagement()
            #expect(try await client.send(bench.question("GET", "all-channels")).status == 200)
            _ = try await client.first { $0.streamsMax > 1 ? true : nil }
            bench.simulator.add(Fault(.stall(applied: true), count: 1, kind: .createChannel))
            async let lost = client.send(bench.creation())
            _ = try await bench.simulator.wait { $0.unanswered == 1 }
            #expect(bench.simulator.statistics().unansweredApplied == 1)
            let id = try #require(bench.simulator.channels().first?.id)
            let list = try await client.send(bench.question("GET", "all-channels"))
            #expect(list.body == #"{"channels":["\#(id)"]}"#)
            await bench.simulator.performAndWait(.cut)
            #expect(try await lost.failure == .connectionEnded)
        }
    }
}
