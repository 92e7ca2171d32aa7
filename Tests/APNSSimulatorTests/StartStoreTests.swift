import DeviceModel
import Foundation
import PushModel
import Testing

@testable import APNSSimulator

/// Tests that compare the store of push-to-start with simple models. The tests use no sockets.
@Suite(.timeLimit(.minutes(5))) struct StartStoreTests {
    /// A start, as the simple model remembers it.
    private struct Start {
        var millis: Int64
        var isShown: Bool
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func theBudgetIsExact(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let rules = DeviceRules(
            startBudget: Int.random(in: 1...4, using: &random),
            startWindowSeconds: [10, 600, 3_600].randomElement(using: &random) ?? 10)
        var store = DeviceStore(devicesMax: 1_000)
        var model: [Int: [Start]] = [:]
        var millis: Int64 = 1_760_000_000_000
        for phone in 0..<3 { _ = store.findOrAdd([UInt8(phone)]) }
        for step in 0..<300 {
            millis += Int64.random(in: 0...600_000, using: &random)
            let phone = Int.random(in: 0..<3, using: &random)
            let body = Array(Bodies.start(stamp: Int64(step)).utf8)
            let content = try PayloadReader.read(body.span)
            let isOver = store.isOverStartBudget(phone, nowMillis: millis, rules: rules)
            let reaction = store.push(
                content, body: body.span, toToken: phone, app: nil, priority: 5, nowMillis: millis, rules: rules)
            let window = model[phone, default: []].filter { $0.millis > millis - rules.startWindowSeconds * 1_000 }
            let isShown = window.count { $0.isShown } < (rules.startBudget ?? 0)
            try #require(isOver == !isShown)
            try #require((reaction == .throttled) == isOver)
            model[phone, default: []].append(Start(millis: millis, isShown: isShown))
            let hour = model[phone, default: []].count { $0.millis > millis - 3_600_000 }
            try #require(store.simulatedStarts(ofToken: phone).last?.startsWithinHour == hour)
        }
        for (phone, starts) in model {
            let told = store.simulatedStarts(ofToken: phone)
            #expect(told.map { $0.card != nil } == starts.map(\.isShown))
            #expect(told.map(\.atMillis) == starts.map(\.millis))
            #expect(Int(store.simulatedDevice(phone).device.cardCount) == starts.count { $0.isShown })
        }
        #expect(store.startsOverBudgetCount == model.values.reduce(0) { $0 + $1.count { !$0.isShown } })
    }

    @Test(arguments: 1...100 as ClosedRange<UInt64>)
    func updateTokensComeInTheOrderTheyAreDue(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var feed = UpdateTokenFeed()
        var expected: [(due: Int64, start: Int32)] = []
        var toldBefore: [Int32] = []
        for step in 0..<100 as Range<Int64> {
            let due = step + Int64.random(in: 0...20, using: &random)
            feed.add(UpdateTokenFeed.Entry(dueMillis: due, token: Int32(step), start: Int32(step)))
            expected.append((due, Int32(step)))
            feed.report(nowMillis: step)
            let told = (0..<feed.reported.count).map { feed.reported[$0].start }
            #expect(told.starts(with: toldBefore), "what was told of stays where it is")
            #expect(Set(told) == Set(expected.filter { $0.due <= step }.map(\.start)))
            toldBefore = told
        }
        feed.report(nowMillis: .max)
        #expect(feed.reported.count == 100)
        #expect(feed.count == 100)
    }

    /// Two cards on one phone share its budget: pushes to either count for both.
    @Test func cardsOnOnePhoneShareItsBudget() throws {
        let rules = DeviceRules(budgetPerHour: 4)
        var store = DeviceStore(devicesMax: 10)
        func push(_ body: String, to token: [UInt8], atMillis: Int64) throws -> Device.Reaction? {
            let bytes = Array(body.utf8)
            let found = store.findOrAdd(token)
            let index = try #require(found)
            return store.push(
                try PayloadReader.read(bytes.span), body: bytes.span, toToken: index, app: nil, priority: 10,
                nowMillis: atMillis, rules: rules)
        }
        func spent(_ token: [UInt8], atMillis: Int64 = 10) throws -> Int {
            let found = store.findOrAdd(token)
            let index = try #require(found)
            return store.simulatedDevice(index).device.highPriorityCount(nowMillis: atMillis)
        }
        #expect(try push(Bodies.start(stamp: 1), to: [1], atMillis: 1) == .shown)
        store.rotate(from: [1], to: [11], oldStatus: TokenStatus(), nowMillis: 1)
        #expect(try push(Bodies.start(stamp: 2), to: [1], atMillis: 2) == .shownAsSecondCard)
        store.rotate(from: [1], to: [12], oldStatus: TokenStatus(), nowMillis: 2)
        #expect(try push(Bodies.update(stamp: 3), to: [11], atMillis: 3) == .shown)
        #expect(try [spent([11]), spent([12]), spent([1])] == [3, 3, 3])
        #expect(try push(Bodies.update(stamp: 4), to: [12], atMillis: 4) == .shown)
        #expect(try push(Bodies.update(stamp: 5), to: [11], atMillis: 5) == .throttled)
        #expect(try push(Bodies.update(stamp: 6), to: [12], atMillis: 6) == .throttled)
        // Another phone has its own budget.
        #expect(try push(Bodies.update(stamp: 6), to: [2], atMillis: 6) == .shown)
        #expect(try spent([2]) == 1)
        #expect(try spent([11], atMillis: 3_600_007) == 0)
    }

    /// When the store has no room for another card, a new card replaces the newest one.
    @Test func aFullStoreGoesOn() throws {
        var store = DeviceStore(devicesMax: 1)
        _ = store.findOrAdd([1])
        for stamp in 1...3 as ClosedRange<Int64> {
            let body = Array(Bodies.start(stamp: stamp, state: #"{"n":\#(stamp)}"#).utf8)
            let content = try PayloadReader.read(body.span)
            _ = store.push(
                content, body: body.span, toToken: 0, app: nil, priority: 5, nowMillis: stamp, rules: .phone)
        }
        #expect(store.devices.count == 1)
        #expect(store.simulatedDevice(0).device.cardCount == 3)
        #expect(store.simulatedDevice(0).device.contentState == Array(#"{"n":3}"#.utf8))
        #expect(store.addToken([2], device: 0) == nil)
    }

    @Test(arguments: [0, 1, 4_095, 4_096, 4_097, 10_000])
    func aChunkedArrayIsAnArray(count: Int) {
        var array = ChunkedArray<Int>()
        for value in 0..<count { array.append(value) }
        for index in stride(from: 0, to: count, by: 3) { array[index] += 1 }
        #expect(array.count == count)
        #expect((0..<count).allSatisfy { array[$0] == ($0 % 3 == 0 ? $0 + 1 : $0) })
    }

    /// Entries for tokens and starts are small, because a simulator holds a million of each.
    @Test func aTokenAndAStartAreSmall() {
        #expect(MemoryLayout<TokenTable.Entry>.stride <= 48)
        #expect(MemoryLayout<StartRecord>.stride <= 56)
    }

    /// The table finds tokens of all lengths. A token that does not fit into the rest of a block begins a new block.
    @Test func tokensOfAllLengthsAreFound() {
        var table = TokenTable()
        var random = SplitMix64(seed: 1)
        var tokens: [[UInt8]] = []
        for number in 0..<20_000 {
            let count = 4 + number % 252
            tokens.append(
                withUnsafeBytes(of: UInt32(number).bigEndian) { Array($0) }
                    + (4..<count).map { _ in UInt8.random(in: 0...255, using: &random) })
        }
        for token in tokens {
            let hash = TokenTable.hash(token.span)
            let index = table.insert(token.span, hash: hash, device: 0, status: TokenStatus())
            #expect(index != nil)
        }
        for (index, token) in tokens.enumerated() {
            #expect(table.find(token.span, hash: TokenTable.hash(token.span)) == index)
            #expect(Array(table.token(index)) == token)
        }
    }

    /// The journal keeps cards, budgets and update tokens for the next server.
    @Test func aJournalTellsOfStarts() async throws {
        let path = FileManager.default.temporaryDirectory.appendingPathComponent("journal-\(UUID().uuidString)").path
        defer { try? FileManager.default.removeItem(atPath: path) }
        var token = ""
        try await Bench.run {
            $0.journalPath = path
            $0.deviceRules.startBudget = 2
        } _: { bench in
            let client = try await bench.connectAndWarmUp()
            for stamp in 0..<3 as Range<Int64> {
                let start = Bodies.start(stamp: Bench.startSeconds + stamp, state: #"{"n":\#(stamp)}"#)
                _ = try await client.send(bench.push(token: "0a", body: start))
            }
            token = try #require(bench.simulator.updateTokens().tokens.first?.updateToken)
            let update = Bodies.update(stamp: Bench.startSeconds + 9, state: #"{"n":9}"#)
            _ = try await client.send(bench.push(token: token, body: update))
            await client.close()
        }
        try await Bench.run {
            $0.journalPath = path
            $0.deviceRules.startBudget = 2
        } _: { bench in
            let phone = try #require(bench.simulator.device(token: "0a"))
            let states = phone.starts.map { String(decoding: $0.card?.contentState ?? [], as: UTF8.self) }
            #expect(states == [#"{"n":9}"#, #"{"n":1}"#, ""])
            #expect(phone.starts.first?.updateToken == token)
            #expect(bench.simulator.updateTokens().tokens.map(\.activity) == [1, 2])
            #expect(bench.simulator.statistics().startsOverBudget == 1)
            // The next activity gets its own token.
            let client = try await bench.connectAndWarmUp()
            bench.advance(millis: 3_600_000)
            let start = Bodies.start(stamp: Bench.startSeconds + 3_600)
            _ = try await client.send(bench.push(token: "0a", body: start, jwt: try bench.jwt()))
            #expect(Set(bench.simulator.updateTokens().tokens.map(\.updateToken)).count == 3)
            await client.close()
        }
    }
}
