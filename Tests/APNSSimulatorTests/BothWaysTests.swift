import APNSSimulator
import DeviceModel
import Foundation
import Testing

/// Tests of phones that APNs reaches both over a channel and by their token. Judges of audiences with such phones rely
/// on what is counted here.
@Suite(.timeLimit(.minutes(5))) struct BothWaysTests {
    private static let now = Bench.startSeconds

    /// One push or broadcast to a phone, and what the card shows afterwards.
    struct Step: Sendable {
        var channel: Bool
        /// Second of the push's stamp. The content contains the same number.
        var second: Int64
        var shows: Int64
        /// Number of updates that have come both ways so far.
        var bothWays = 0
        var isEnd = false
    }

    struct Story: Sendable, CustomTestStringConvertible {
        var name: String
        var steps: [Step]
        var testDescription: String { self.name }
    }

    static let stories: [Story] = [
        Story(
            name: "the newest wins, whichever way it comes",
            steps: [
                Step(channel: true, second: 1, shows: 1), Step(channel: false, second: 3, shows: 3),
                Step(channel: true, second: 2, shows: 3), Step(channel: true, second: 4, shows: 4),
                Step(channel: false, second: 2, shows: 4),
            ]),
        Story(
            name: "the same both ways is counted, once more than it was needed",
            steps: [
                Step(channel: true, second: 1, shows: 1), Step(channel: false, second: 1, shows: 1, bothWays: 1),
                Step(channel: false, second: 2, shows: 2, bothWays: 1),
                Step(channel: true, second: 2, shows: 2, bothWays: 2),
            ]),
        Story(
            name: "the same way again is a retry",
            steps: [
                Step(channel: true, second: 1, shows: 1), Step(channel: true, second: 1, shows: 1),
                Step(channel: false, second: 2, shows: 2), Step(channel: false, second: 2, shows: 2),
            ]),
        Story(
            name: "an end by token after that of the channel",
            steps: [
                Step(channel: false, second: 1, shows: 1),
                Step(channel: true, second: 2, shows: 2, isEnd: true),
                Step(channel: false, second: 2, shows: 2, bothWays: 1, isEnd: true),
                Step(channel: false, second: 3, shows: 2, bothWays: 1),
            ]),
    ]

    @Test(arguments: Self.stories) func aCardGetsContentEitherWay(_ story: Story) async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.setListening(token: "0a", channel: id)
            for step in story.steps {
                let stamp = Self.now + step.second
                let state = #"{"n":\#(step.second)}"#
                let body =
                    step.isEnd
                    ? Bodies.end(stamp: stamp, rest: #","content-state":\#(state)"#)
                    : Bodies.update(stamp: stamp, state: state)
                let request =
                    step.channel ? bench.broadcast(channel: id, body: body) : bench.push(token: "0a", body: body)
                #expect(try await client.send(request).status == 200)
                let phone = try #require(bench.simulator.device(token: "0a"))
                #expect(String(decoding: phone.device.contentState, as: UTF8.self) == #"{"n":\#(step.shows)}"#)
                #expect(phone.bothWays == step.bothWays)
                #expect(bench.simulator.statistics().bothWays == step.bothWays)
            }
            #expect(bench.simulator.device(token: "0a")?.messages == story.steps.count { $0.channel })
            await client.close()
        }
    }

    /// A broadcast that repeats a push from before the phone listened does not count as an update that came both ways.
    @Test func whatCameBeforeItListenedIsNotCounted() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            _ = try await client.send(bench.push(token: "0a", body: Bodies.update(stamp: Self.now)))
            bench.simulator.setListening(token: "0a", channel: id)
            _ = try await client.send(bench.broadcast(channel: id, body: Bodies.update(stamp: Self.now)))
            #expect(bench.simulator.statistics().broadcastReactions == ["ignoredRepeat": 1])
            #expect(bench.simulator.device(token: "0a")?.bothWays == 0)
            await client.close()
        }
    }

    @Test func aJournalKeepsThem() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString).path
        defer { try? FileManager.default.removeItem(atPath: path) }
        try await Bench.run {
            $0.journalPath = path
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            bench.simulator.setListening(token: "0a", channel: id)
            _ = try await client.send(bench.broadcast(channel: id, body: Bodies.update(stamp: Self.now)))
            _ = try await client.send(bench.push(token: "0a", body: Bodies.update(stamp: Self.now)))
            await client.close()
        }
        var phones = JournaledPhones()
        var reader = try JournalReader(path: path)
        try phones.read(&reader)
        let phone = try #require(phones.device(token: "0a"))
        #expect((phone.messages, phone.bothWays) == (1, 1))
    }

    @Test func aSummaryTellsWhoListensAndWhoGotItTwice() async throws {
        try await ControlTests.run { bench, port in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            for token in ["0a", "0b"] { bench.simulator.setListening(token: token, channel: id) }
            let body = Bodies.update(stamp: Self.now)
            _ = try await client.send(bench.broadcast(channel: id, body: body))
            for token in ["0b", "0c"] { _ = try await client.send(bench.push(token: token, body: body)) }
            func ask(_ path: String) async throws -> String {
                try await TextExchange.request(port: port, "GET", path).body
            }
            let summary = try await ask("/summary?prefix=0&bothWays=0")
            #expect(summary.contains(#""listening":2,"messages":2,"pushes":2,"#))
            #expect(summary.hasSuffix(#""differingCount":1,"differing":[{"token":"0b","ways":["bothWays"]}]}"# + "\n"))
            for path in ["/summary?prefix=0", "/summary?prefix=0&bothWays=1"] {
                #expect(try await ask(path).hasSuffix(#""differingCount":0,"differing":[]}"# + "\n"))
            }
            #expect(try await ask("/devices/0b").contains(#""messages":1,"bothWays":1,"#))
            #expect(try await !ask("/devices/0c").contains("messages"))
            #expect(try await ask("/stats").contains("\"bothWays\" : 1"))
            await client.close()
        }
    }

    /// An update token that comes back is reported with its card's channel. The app needs the channel when it joins an
    /// audience with the token.
    @Test func anUpdateTokenTellsTheChannelOfItsCard() async throws {
        try await ControlTests.run { bench, port in
            let client = try await bench.connectAndWarmUp()
            let id = try #require(bench.simulator.createChannel(app: Bench.app, storage: .none))
            _ = try await client.send(bench.push(token: "0a", body: Bodies.start(stamp: Self.now, channel: id)))
            _ = try await client.send(bench.push(token: "0b", body: Bodies.start(stamp: Self.now)))
            #expect(bench.simulator.updateTokens().tokens.map(\.channel) == [id, nil])
            let told = try await TextExchange.request(port: port, "GET", "/update-tokens").body
            #expect(told.contains(#","channel":"\#(id)","activity":1,"#))
            await client.close()
        }
    }
}
