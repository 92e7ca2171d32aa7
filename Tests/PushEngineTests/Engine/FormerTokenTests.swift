import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Tests an activity's former token. It is used if APNs calls the newest token dead before any push to that token was
/// accepted (contract: Dead tokens).
@Suite struct FormerTokenTests {
    static let living = "aa01"
    static let newest = "bb02"

    /// How APNs says that a token is dead.
    enum Verdict: String, CaseIterable {
        case dead, earlier, doubted

        func result(_ now: EngineTime) -> PushAnswer.Result {
            switch self {
            case .dead:
                .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: now.wallMillis + 1))
            case .earlier:
                .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: 1_600_000_000_000))
            // One of two answers is suspicious, so the token removal guard keeps the token.
            case .doubted: .response(PushResponse(status: 400, reason: "BadDeviceToken"))
            }
        }
    }

    /// An activity for whose token APNs has accepted a push.
    private static func harness(_ configure: (inout EngineConfiguration) -> Void = { _ in }) -> EngineHarness {
        let h = EngineHarness(configure)
        h.register(token: Self.living)
        h.update(1, priority: 10)
        h.deliver()
        h.advance(2_000)
        return h
    }
    /// An activity whose newest token is dead and whose former token lives. APNs has refused an update for the newest
    /// token.
    private static func refused(_ verdict: Verdict = .dead) throws -> (h: EngineHarness, update: Int64) {
        let h = Self.harness()
        h.register(token: Self.newest)
        let update = h.update(2, priority: 10)
        let push = try #require(h.take())
        #expect(push.token == Self.newest, "the newest is used at once")
        h.answer(push, verdict.result(h.now))
        h.advance(1_500)
        return (h, update)
    }
    private static func isToFormer(_ outcome: OutcomeRecord?) -> Bool {
        outcome?.fields["token"] as? String == "former"
    }

    @Test(arguments: Verdict.allCases) func whatWaitsGoesToTheOneBefore(verdict: Verdict) throws {
        let (h, update) = try Self.refused(verdict)
        #expect(h.deliver()?.token == Self.living)
        #expect(Self.isToFormer(h.outcome(of: update)))
        // Later updates go to the former token, too, and no other token is tried.
        for n in 3..<6 {
            h.advance(60_000)
            let later = h.update(n, priority: 10)
            #expect(h.deliver()?.token == Self.living)
            #expect(Self.isToFormer(h.outcome(of: later)))
        }
        #expect(h.counters.tokensDead == 1)
        #expect(h.counters.tokenRemovalsStopped == (verdict == .doubted ? 1 : 0))
        #expect(h.engine.core.memory.formerTokens.count == 0)
    }

    @Test func theRegistrationSaysThatItReplacesALivingToken() throws {
        let h = Self.harness()
        let hash = try #require(h.outcomes.last { $0.outcome == "delivered" }?.fields["token-hash"] as? String)
        let again = h.register(token: Self.living)
        #expect(h.outcome(of: again)?.fields["replaced-token-hash"] == nil, "it is the same")
        let other = h.register(token: Self.newest)
        #expect(h.outcome(of: other)?.fields["replaced-token-hash"] as? String == hash)
        let third = h.register(token: "cc03")
        #expect(h.outcome(of: third)?.fields["replaced-token-hash"] == nil, "nothing is known of the one before")
    }

    @Test func aDeliveryToTheNewestSaysNothing() throws {
        let h = Self.harness()
        h.register(token: Self.newest)
        let update = h.update(2, priority: 10)
        #expect(h.deliver()?.token == Self.newest)
        let said = try #require(h.outcome(of: update))
        #expect(said.fields["token"] == nil)
        #expect(h.engine.core.memory.formerTokens.count == 0, "once accepted, the newest needs no other")
    }

    /// APNs has accepted a push for the newest token. When that token dies later, the former one is not used.
    @Test func onceTheNewestWasAcceptedTheOneBeforeIsForgotten() {
        let h = Self.harness()
        h.register(token: Self.newest)
        h.update(2, priority: 10)
        h.deliver()
        h.advance(2_000)
        let update = h.update(3, priority: 10)
        h.answer(h.take()!, Verdict.dead.result(h.now))
        h.advance(400_000)
        #expect(h.outcomes(of: update) == ["rejected"])
    }

    /// Cases in which the former token is not kept. The update is refused for the newest token, and waits for a token
    /// that never comes.
    @Test(arguments: ["never accepted", "other environment", "refused", "unregistered", "restart", "no room"])
    func theOneBeforeIsNotUsed(why: String) throws {
        let h = why == "never accepted" ? EngineHarness() : Self.harness()
        if why == "never accepted" { h.register(token: Self.living) }
        var route: UInt16 = 0
        switch why {
        case "other environment":
            h.register(token: Self.newest, environment: "development")
            route = 1
        case "refused":
            h.update(2, priority: 10)
            let push = h.take()!
            h.register(token: Self.newest)
            h.answer(push, Verdict.dead.result(h.now))
            h.advance(2_000)
        case "unregistered":
            h.register(token: Self.newest)
            h.consume(key: "a", value: #"{"event":"unregister","token":"\#(Self.living)"}"#)
        case "no room":
            for number in 0..<FormerTokens.countMax {
                h.engine.core.memory.formerTokens.keep(
                    FormerToken(
                        role: .former, bytes: [1], generation: 0, registeredWallMillis: 0, earlierDeaths: 0),
                    of: SlotID(rawValue: Int32(1_000_000 + number)))
            }
            h.register(token: Self.newest)
        default: h.register(token: Self.newest)
        }
        if why == "restart" {
            h.advance(2_000)
            h.crash()
            h.advance(2_000)
        }
        let update = h.update(3, priority: 10)
        let push = try #require(h.take(route: route))
        #expect(push.token == Self.newest)
        h.answer(push, Verdict.dead.result(h.now))
        h.advance(400_000)
        #expect(h.outcomes(of: update) == ["rejected"])
    }

    /// If the former token is in use at a restart, it is the activity's only token afterwards.
    @Test func aRestartGoesOnWithTheTokenInUse() throws {
        let (h, _) = try Self.refused()
        h.deliver()
        h.advance(2_000)
        h.crash()
        let update = h.update(3, priority: 10)
        h.advance(2_000)
        #expect(h.deliver()?.token == Self.living)
        #expect(!Self.isToFormer(h.outcome(of: update)), "a restart does not know that there was a newer one")
    }

    /// A restart comes while the former token waits to be tried. `state` names the newest token until APNs has
    /// certainly called it dead.
    @Test(arguments: Verdict.allCases) func aRestartDoesNotLoseTheNewest(verdict: Verdict) throws {
        let h = Self.harness()
        h.register(token: Self.newest)
        let registeredMillis = h.now.wallMillis
        let update = h.update(2, priority: 10)
        h.answer(try #require(h.take()), verdict.result(h.now))
        h.advance(2_000)
        h.crash()
        h.advance(2_000)
        let push = try #require(h.take())
        guard verdict != .dead else {
            #expect(push.token == Self.living)
            return
        }
        #expect(push.token == Self.newest)
        // The token was registered after the time that this 410 names, so the 410 is about the past.
        h.answer(
            push, .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: registeredMillis - 1)))
        h.advance(15_000)
        #expect(h.deliver()?.token == Self.newest)
        #expect(h.outcomes(of: update) == ["delivered"])
    }

    @Test(arguments: [false, true]) func aRegistrationEndsIt(ofTheSame: Bool) throws {
        let (h, _) = try Self.refused()
        h.deliver()
        h.advance(2_000)
        h.register(token: ofTheSame ? Self.living : "cc03")
        let update = h.update(3, priority: 10)
        #expect(h.deliver()?.token == (ofTheSame ? Self.living : "cc03"))
        #expect(!Self.isToFormer(h.outcome(of: update)))
    }

    @Test func unregisterTakesBoth() throws {
        let (h, _) = try Self.refused(.doubted)
        h.unregister()
        let update = h.update(3, priority: 10)
        #expect(h.take() == nil)
        h.advance(400_000)
        #expect(h.outcomes(of: update) == ["unregistered"])
        #expect(h.engine.core.memory.formerTokens.count == 0)
    }

    @Test func anAcceptedEndForgetsIt() {
        let h = Self.harness()
        h.end(2)
        let push = h.take()!
        h.register(token: Self.newest)
        #expect(h.engine.core.memory.formerTokens.count == 1)
        h.answer(push, .accepted)
        #expect(h.engine.core.memory.formerTokens.count == 0)
    }

    @Test func theEndGoesToTheOneBefore() throws {
        let h = Self.harness()
        h.register(token: Self.newest)
        let end = h.end(2)
        h.answer(try #require(h.take()), Verdict.earlier.result(h.now))
        h.advance(1_500)
        #expect(h.deliver()?.token == Self.living)
        #expect(h.outcomes(of: end) == ["delivered"])
    }

    /// APNs' answer left in doubt whether the newest token is dead. When the former token turns out to be dead, the
    /// newest is used again.
    @Test(arguments: [Verdict.earlier, .doubted]) func theNewestComesBack(verdict: Verdict) throws {
        let (h, update) = try Self.refused(verdict)
        let push = try #require(h.take())
        #expect(push.token == Self.living)
        h.answer(push, Verdict.dead.result(h.now))
        if verdict == .doubted {
            h.advance(400_000)
            #expect(h.outcomes(of: update) == ["rejected"], "APNs asks that it not be tried again with this one")
            h.update(3, priority: 10)
        } else {
            h.advance(15_000)
        }
        #expect(h.deliver()?.token == Self.newest)
        #expect(h.counters.tokensDead == 1)
        #expect(h.engine.core.memory.formerTokens.count == 0)
    }

    /// A second token is registered while the first push to the first token is in flight. The first token is kept only
    /// if APNs accepts that push.
    @Test(arguments: [false, true]) func theAnswerDecidesWhetherTheOneBeforeIsKept(isAccepted: Bool) throws {
        let h = EngineHarness()
        h.register(token: Self.living)
        h.update(1, priority: 10)
        let first = try #require(h.take())
        h.register(token: Self.newest)
        h.answer(first, isAccepted ? .accepted : .unknown(detail: "lost"))
        h.advance(15_000)
        let update = h.update(2, priority: 10)
        h.answer(try #require(h.take()), Verdict.dead.result(h.now))
        h.advance(15_000)
        if isAccepted { #expect(h.deliver()?.token == Self.living) } else { #expect(h.take() == nil) }
        #expect(h.outcomes(of: update) == (isAccepted ? ["delivered"] : []))
    }

    @Test func nothingIsLeftOfAForgottenActivity() {
        let h = Self.harness()
        h.register(token: Self.newest)
        #expect(h.engine.core.memory.formerTokens.count == 1)
        h.engine.forget(partition: 0)
        #expect(h.engine.core.memory.formerTokens.count == 0)
    }

    // MARK: Random order

    /// Tokens are registered, live and die at random. Nothing is rejected while the last accepted token lives and all
    /// later ones are dead. Nothing goes to a token that was certainly refused. Outcomes say when the former token was
    /// used.
    @Test(arguments: 0..<40) func anyOrder(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        let h = EngineHarness()
        var app = PlayedApp()
        for step in 0..<120 {
            let (living, rejected) = (app.living, Self.count("rejected", h))
            switch Int.random(in: 0..<10, using: &random) {
            case 0, 1: h.register(token: app.draw(&random))
            case 2 where Int.random(in: 0..<4, using: &random) == 0:
                if let token = app.tokens.randomElement(using: &random) { app.dead.insert(token) }
            case 3: h.advance(Int64.random(in: 1...40_000, using: &random))
            default: h.update(step, priority: 10)
            }
            h.advance(1_100)
            while let push = h.take() {
                #expect(!app.refused.contains(push.token), "seed \(seed): \(push.token) was refused")
                let newest = app.tokens.last
                // The newest token may change while a push is in flight.
                if Int.random(in: 0..<8, using: &random) == 0 { h.register(token: app.draw(&random)) }
                if app.dead.contains(push.token) {
                    let verdict: Verdict = Bool.random(using: &random) ? .dead : .earlier
                    if verdict == .dead { app.refused.insert(push.token) }
                    h.answer(push, verdict.result(h.now))
                } else {
                    app.accepted.insert(push.token)
                    h.answer(push, .accepted)
                    let said = h.written.last { $0.topic == .outcomes && $0.valueText.contains("\"delivered\"") }
                    let isToFormer = said?.valueText.contains("\"token\":\"former\"")
                    #expect(isToFormer == (push.token != newest), "seed \(seed): \(push.token), newest \(newest ?? "")")
                }
                h.advance(1_100)
            }
            #expect(h.engine.core.memory.formerTokens.count <= 2)
            if let living, living == app.living {
                #expect(Self.count("rejected", h) == rejected, "seed \(seed), step \(step): \(living) lives")
            }
        }
    }

    private static func count(_ outcome: String, _ h: EngineHarness) -> Int {
        h.written.count { $0.topic == .outcomes && $0.valueText.hasPrefix("{\"outcome\":\"\(outcome)\"") }
    }

    /// An app that reports tokens. Some are dead, and some are reported again.
    private struct PlayedApp {
        /// Tokens in the order of their last registration.
        var tokens: [String] = []
        var dead: Set<String> = []
        /// Tokens that APNs has called dead since they were registered.
        var refused: Set<String> = []
        /// Tokens for which APNs has accepted a push since they became the newest.
        var accepted: Set<String> = []
        private var count = 0

        /// The last accepted token, if it lives and every token registered after it is dead.
        var living: String? {
            guard let index = self.tokens.lastIndex(where: { self.accepted.contains($0) }) else { return nil }
            let behind = self.tokens[index...].dropFirst()
            return !self.dead.contains(self.tokens[index]) && behind.allSatisfy { self.dead.contains($0) }
                ? self.tokens[index] : nil
        }

        /// Draws the next token that the app reports.
        mutating func draw(_ random: inout SplitMix64) -> String {
            var token = "aa\(1_000 + self.count)"
            if Int.random(in: 0..<4, using: &random) == 0, let known = self.tokens.randomElement(using: &random) {
                token = known
            } else {
                self.count += 1
                if !self.tokens.isEmpty, Int.random(in: 0..<3, using: &random) > 0 { self.dead.insert(token) }
            }
            if token != self.tokens.last { self.accepted.remove(token) }
            self.tokens.removeAll { $0 == token }
            self.tokens.append(token)
            self.refused.remove(token)
            return token
        }
    }
}
