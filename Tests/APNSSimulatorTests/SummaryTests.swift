import APNSSimulator
import DeviceModel
import Testing

/// Tests of the summary that judges get about many phones.
@Suite(.timeLimit(.minutes(5))) struct SummaryTests {
    private static let now = Bench.startSeconds

    private static func token(_ number: Int) -> String { String(0xA000 + number, radix: 16) }

    @Test func manyAreCountedAndFewAreNamed() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let goal = Bodies.update(
                stamp: Self.now + 1, state: #"{"home":1}"#, rest: #","alert":{"title":"Goal","body":"1:0"}"#)
            let pushes = (0..<50).map { bench.push(token: Self.token($0), body: goal) }
            #expect(try await client.send(pushes).allSatisfy { $0.status == 200 })
            bench.advance(millis: 1_500)
            // Three phones now differ: they missed something, or got too much.
            let late = Bodies.update(stamp: Self.now + 1, state: #"{"home":1}"#)
            _ = try await client.send(bench.push(token: Self.token(50), body: late, priority: 5))
            let next = Bodies.update(stamp: Self.now + 2, state: #"{"home":2}"#)
            _ = try await client.send(bench.push(token: Self.token(3), body: next))
            bench.simulator.setToken(Self.token(7), .dead)

            var query = SummaryQuery()
            query.prefix = "A"
            query.leastDistanceMillis = 1_501
            let summary = bench.simulator.summary(query)
            #expect(summary.tokens == 51)
            #expect(summary.states == [.alive: 50, .dead: 1])
            #expect(summary.cards == 50)
            #expect(summary.shown.map(\.cards) == [49, 1])
            #expect(summary.shown.map(\.stampSeconds) == [Self.now + 1, Self.now + 2])
            #expect(
                summary.shown.map { String(decoding: $0.contentState, as: UTF8.self) } == [
                    #"{"home":1}"#, #"{"home":2}"#,
                ])
            #expect(summary.shown.map(\.card) == [.active, .active])
            #expect(summary.alerts.map(\.cards) == [49, 1])
            #expect(summary.alerts.map(\.alerts) == [1, 0])
            #expect(summary.alerts.first?.newest == Array(#"{"title":"Goal","body":"1:0"}"#.utf8))
            #expect(summary.pushes == 51)
            #expect(summary.mostPushes == DeviceSummary.Extreme(value: 2, token: Self.token(3)))
            #expect(summary.leastDistanceMillis == DeviceSummary.Extreme(value: 1_500, token: Self.token(3)))
            #expect(summary.mostHighPriorityPerHour == DeviceSummary.Extreme(value: 2, token: Self.token(3)))
            #expect(
                summary.differing == [
                    DeviceSummary.Differing(token: Self.token(3), ways: [.shown, .distance]),
                    DeviceSummary.Differing(token: Self.token(50), ways: [.alerts]),
                ])
            #expect(summary.differingCount == 2)
            await client.close()
        }
    }

    @Test func theAnswerIsBounded() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let pushes = (0..<40).map {
                bench.push(
                    token: Self.token($0), body: Bodies.update(stamp: Self.now, state: #"{"n":\#(max(4, $0))}"#))
            }
            _ = try await client.send(pushes)
            var query = SummaryQuery()
            query.prefix = "a0"
            query.groupsMax = 3
            query.differingMax = 7
            let summary = bench.simulator.summary(query)
            #expect(summary.shown.map(\.cards) == [5, 1, 1])
            #expect(summary.cardsShownOtherwise == 33)
            #expect(summary.differing.count == 7)
            #expect(summary.differingCount == 35)
            #expect(summary.differing.first?.token == Self.token(5))
            await client.close()
        }
    }

    /// A card that a start brought counts once, even if several tokens lead to it.
    @Test func cardsAreCountedOnce() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for number in 0..<4 {
                _ = try await client.send(bench.push(token: Self.token(number), body: Bodies.start(stamp: Self.now)))
            }
            let tokens = bench.simulator.updateTokens().tokens.map(\.updateToken)
            let update = Bodies.update(stamp: Self.now + 1, state: #"{"n":5}"#)
            for token in tokens.dropLast() { _ = try await client.send(bench.push(token: token, body: update)) }
            // The fifth card comes from the push that warmed up the connection.
            #expect(bench.simulator.summary().cards == 5)
            #expect(bench.simulator.summary().phonesByCards == [1: 4])
            var query = SummaryQuery()
            for kind in [TokenKind.start, .update] {
                query.kind = kind
                let summary = bench.simulator.summary(query)
                #expect(summary.tokens == 4)
                #expect(summary.shown.map(\.cards) == [3, 1])
                #expect(summary.pushes == (kind == .start ? 4 : 3))
            }
            // A phone with a new start token is still the same phone. If its start token is dead, its card still has an
            // update token.
            bench.simulator.rotateToken(from: Self.token(0), to: "abab")
            bench.simulator.setToken(Self.token(1), .dead)
            #expect(bench.simulator.device(token: "abab")?.starts.count == 1)
            #expect(bench.simulator.summary().cards == 5)
            #expect(bench.simulator.summary().phonesByCards == [1: 3])
            let asked = bench.simulator.summary(tokens: [tokens[0], tokens[3], "ab", "no token"])
            #expect(asked.tokens == 2)
            #expect(asked.unknownTokens == 2)
            #expect(asked.cards == 2)
            await client.close()
        }
    }

    /// The summary counts pushes in flight to one phone. Two are in flight when the second arrives before the first is
    /// answered.
    @Test func pushesInFlightAreCounted() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            func update(_ stamp: Int64) -> String { Bodies.update(stamp: Self.now + stamp, state: #"{"n":\#(stamp)}"#) }
            for stamp in 1...3 as ClosedRange<Int64> {
                _ = try await client.send(bench.push(token: "0a", body: update(stamp)))
            }
            #expect(bench.simulator.device(token: "0a")?.inFlightPeak == 1)
            _ = try await client.send([
                bench.push(token: "0b", body: update(1)), bench.push(token: "0b", body: update(2)),
            ])
            #expect(bench.simulator.device(token: "0b")?.inFlightPeak == 2)
            bench.simulator.setLatency(Latency(fixedMillis: 20, jitterMillis: 0))
            for stamp in 4...6 as ClosedRange<Int64> {
                _ = try await client.send([
                    bench.push(token: "0a", body: update(stamp)), bench.push(token: "0c", body: update(stamp)),
                ])
            }
            #expect(bench.simulator.device(token: "0a")?.inFlightPeak == 1)
            #expect(bench.simulator.device(token: "0c")?.inFlightPeak == 1)
            let summary = bench.simulator.summary()
            #expect(summary.mostInFlight == DeviceSummary.Extreme(value: 2, token: "0b"))
            #expect(summary.differing.filter { $0.ways.contains(.inFlight) }.map(\.token) == ["0b"])
            await client.close()
        }
    }
}
