import APNSSimulator
import DeviceModel
import Testing

/// Tests of push-to-start over real sockets: cards, budget, and update tokens that come back.
@Suite(.timeLimit(.minutes(5))) struct StartTests {
    private static let now = Bench.startSeconds
    private static let phone = "5a57"

    private static func content(_ device: Device?) -> String {
        String(decoding: device?.contentState ?? [], as: UTF8.self)
    }

    @Test func aStartPutsUpACardThatItsUpdateTokenChanges() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            let start = Bodies.start(stamp: Self.now)
            #expect(try await client.send(bench.push(token: Self.phone, body: start)).status == 200)
            let (tokens, next) = bench.simulator.updateTokens()
            let token = try #require(tokens.first)
            #expect(tokens.count == 1 && next == 1)
            #expect(token.startToken == Self.phone)
            #expect(token.messageID == "123e4567-e89b-42d3-a456-426614174000")
            #expect(token.activity == 1)
            #expect(token.atMillis == Self.now * 1_000)
            let update = Bodies.update(stamp: Self.now + 1, state: #"{"home":1}"#)
            #expect(try await client.send(bench.push(token: token.updateToken, body: update)).status == 200)

            let phone = try #require(bench.simulator.device(token: Self.phone))
            #expect(phone.kind == .start)
            #expect(Self.content(phone.device) == #"{"home":1}"#)
            #expect(phone.starts.map(\.messageID) == ["123e4567-e89b-42d3-a456-426614174000"])
            #expect(phone.starts.map(\.stampSeconds) == [Self.now])
            #expect(phone.starts.map(\.updateToken) == [token.updateToken])
            #expect(bench.simulator.device(token: token.updateToken)?.kind == .update)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func aSecondStartPutsUpASecondCard() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for stamp in [0, 1] as [Int64] {
                let start = Bodies.start(stamp: Self.now + stamp, state: #"{"n":\#(stamp)}"#)
                #expect(try await client.send(bench.push(token: Self.phone, body: start)).status == 200)
            }
            let tokens = bench.simulator.updateTokens().tokens
            #expect(tokens.map(\.activity) == [1, 2])
            #expect(
                try await client.send(
                    bench.push(token: tokens[0].updateToken, body: Bodies.end(stamp: Self.now + 2))
                ).status == 200)
            let phone = try #require(bench.simulator.device(token: Self.phone))
            #expect(phone.starts.map { Self.content($0.card) } == [#"{"n":0}"#, #"{"n":1}"#])
            #expect(phone.starts.map(\.card?.phase) == [.ended, .active])
            #expect(phone.starts.map(\.card?.alertCount) == [1, 1])
            #expect(phone.starts.map(\.startsWithinHour) == [1, 2])
            #expect(phone.device.cardCount == 2)
            #expect(bench.simulator.statistics().reactions["shownAsSecondCard"] == 1)
            #expect(bench.simulator.violations().map(\.kind) == [.startedTwice])
            #expect(bench.simulator.summary().phonesByCards == [2: 1])
            await client.close()
        }
    }

    @Test func aStartAfterTheEndIsNoSecondCardUnlessAnotherLives() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for round in 0..<3 as Range<Int64> {
                let start = Bodies.start(stamp: Self.now + round)
                #expect(try await client.send(bench.push(token: Self.phone, body: start)).status == 200)
                let token = try #require(bench.simulator.updateTokens().tokens.last)
                let end = Bodies.end(stamp: Self.now + round)
                #expect(try await client.send(bench.push(token: token.updateToken, body: end)).status == 200)
            }
            #expect(bench.simulator.violations().isEmpty)
            #expect(bench.simulator.device(token: Self.phone)?.starts.count == 3)
            await client.close()
        }
    }

    @Test(arguments: [false, true]) func theBudgetOfAStartTokenIsSilent(refuses: Bool) async throws {
        try await Bench.run {
            $0.deviceRules.startBudget = 3
            $0.deviceRules.startWindowSeconds = 600
            $0.refusesStartsOverBudget = refuses
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            func start(_ token: String) async throws -> Int {
                let response = try await client.send(
                    bench.push(token: token, body: Bodies.start(stamp: bench.nowSeconds)))
                bench.advance(millis: 1_000)
                return response.status
            }
            for _ in 0..<3 { #expect(try await start(Self.phone) == 200) }
            #expect(try await start(Self.phone) == (refuses ? 429 : 200))
            #expect(try await start("0b") == 200, "another phone has a budget of its own")
            let over = try #require(bench.simulator.device(token: Self.phone))
            #expect(over.starts.count { $0.card != nil } == 3)
            #expect(over.starts.count == (refuses ? 3 : 4))
            #expect(over.device.cardCount == 3)
            #expect(bench.simulator.statistics().startsOverBudget == (refuses ? 0 : 1))
            #expect(bench.simulator.updateTokens().tokens.count == 4)
            // The first start is now outside the time window, so another start is allowed.
            bench.advance(millis: 595_000)
            #expect(try await start(Self.phone) == 200)
            #expect(bench.simulator.device(token: Self.phone)?.device.cardCount == 4)
            await client.close()
        }
    }

    @Test func tenStartsAnHourAreThePhonesBudget() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for number in 0..<12 as Range<Int64> {
                _ = try await client.send(bench.push(token: Self.phone, body: Bodies.start(stamp: Self.now + number)))
            }
            let summary = bench.simulator.summary()
            #expect(summary.phonesByCards == [10: 1])
            #expect(summary.startsOverBudget == 2)
            #expect(summary.mostStartsPerHour == DeviceSummary.Extreme(value: 12, token: Self.phone))
            await client.close()
        }
    }

    @Test func anUpdateTokenComesBackLaterOrNever() async throws {
        try await Bench.run {
            $0.updateTokens = SimulatorConfiguration.UpdateTokenReturn(share: 0.5, delayMillis: 1_000...3_000)
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            for number in 0..<100 {
                let token = "aa" + String(number + 1_000)
                _ = try await client.send(bench.push(token: token, body: Bodies.start(stamp: Self.now)))
            }
            #expect(bench.simulator.updateTokens().tokens.isEmpty)
            bench.advance(millis: 999)
            #expect(bench.simulator.updateTokens().tokens.isEmpty)
            bench.advance(millis: 1_001)
            let (first, next) = bench.simulator.updateTokens(limit: 5)
            #expect(first.count == 5 && next == 5)
            bench.advance(millis: 1_000)
            let (rest, end) = bench.simulator.updateTokens(since: next)
            let all = first + rest
            #expect((30...70).contains(all.count), "half of a hundred, give or take")
            #expect(end == all.count)
            #expect(all.map(\.atMillis) == all.map(\.atMillis).sorted())
            #expect(Set(all.map(\.atMillis)).count > 10)
            #expect(Set(all.map(\.updateToken)).count == all.count)
            #expect(bench.simulator.updateTokens(since: end).tokens.isEmpty)
            #expect(bench.simulator.updateTokens(since: .max).next == end)
            #expect(bench.simulator.statistics().updateTokens == all.count)
            await client.close()
        }
    }

    @Test func whatIsForTheOtherKindShowsNothing() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            #expect(bench.simulator.setTokenKind("0a", .start))
            #expect(bench.simulator.setTokenKind("0b", .update))
            #expect(!bench.simulator.setTokenKind("0", .update))
            let pushes = [
                ("0a", Bodies.update(stamp: Self.now)), ("0a", Bodies.end(stamp: Self.now)),
                ("0b", Bodies.start(stamp: Self.now)), ("0a", Bodies.start(stamp: Self.now)),
                ("0b", Bodies.update(stamp: Self.now)),
            ]
            for (token, body) in pushes {
                #expect(try await client.send(bench.push(token: token, body: body)).status == 200)
            }
            #expect(bench.simulator.violations().map(\.kind) == Array(repeating: .tokenOfOtherKind, count: 3))
            #expect(bench.simulator.violations().map(\.token) == ["0a", "0a", "0b"])
            #expect(bench.simulator.device(token: "0a")?.device.shownCount == 1)
            #expect(bench.simulator.device(token: "0a")?.device.ignoredCount == 2)
            #expect(bench.simulator.device(token: "0b")?.device.cardCount == 0)
            await client.close()
        }
    }

    /// A token whose kind was not declared takes starts and updates. So a test may use a single token.
    @Test func aTokenOfNoKindTakesAll() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for body in [Bodies.start(stamp: Self.now), Bodies.update(stamp: Self.now + 1, state: #"{"n":5}"#)] {
                #expect(try await client.send(bench.push(token: "0a", body: body)).status == 200)
            }
            #expect(Self.content(bench.simulator.device(token: "0a")?.device) == #"{"n":5}"#)
            #expect(bench.simulator.violations().isEmpty)
            await client.close()
        }
    }

    @Test func aTokenSetByHandIsToldOfAsOneThatCameBack() async throws {
        try await Bench.run {
            $0.updateTokens.share = 0
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            _ = try await client.send(bench.push(token: "0a", body: Bodies.start(stamp: Self.now)))
            #expect(bench.simulator.updateTokens().tokens.isEmpty)
            bench.simulator.rotateToken(from: "0a", to: "0b", keepsOld: true)
            bench.simulator.rotateToken(from: "0b", to: "0c")
            #expect(bench.simulator.updateTokens().tokens.map(\.updateToken) == ["0b", "0c"])
            #expect(bench.simulator.device(token: "0a")?.starts.first?.updateToken == "0c")
            #expect(bench.simulator.device(token: "0a")?.status.state == .alive)
            await client.close()
        }
    }

    /// A phone that is off gets no push for any of its cards. A push that APNs keeps for one card reaches that card
    /// later.
    @Test func aPhoneIsAwayWithAllItsCards() async throws {
        try await Bench.run { bench in
            let client = try await bench.connectAndWarmUp()
            for stamp in [0, 1] as [Int64] {
                _ = try await client.send(bench.push(token: "0a", body: Bodies.start(stamp: Self.now + stamp)))
            }
            let tokens = bench.simulator.updateTokens().tokens.map(\.updateToken)
            bench.simulator.setOnline(token: tokens[1], false)
            for token in tokens {
                let update = Bodies.update(stamp: Self.now + 5, state: #"{"n":5}"#)
                let push = bench.push(token: token, body: update, changing: ["apns-expiration": "\(Self.now + 60)"])
                #expect(try await client.send(push).status == 200)
                #expect(Self.content(bench.simulator.device(token: token)?.device) == #"{"n":0}"#)
                #expect(bench.simulator.device(token: token)?.isOnline == false)
            }
            bench.simulator.setOnline(token: "0a", true)
            for token in tokens {
                #expect(Self.content(bench.simulator.device(token: token)?.device) == #"{"n":5}"#)
            }
            await client.close()
        }
    }
}
