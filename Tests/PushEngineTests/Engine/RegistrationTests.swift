import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests which token gets a push, what a verdict means for that token, and how long an update waits for a token
/// (contract: Registrations, Dead tokens).
@Suite struct RegistrationTests {
    private static func dead(_ sinceMillis: Int64?) -> PushAnswer.Result {
        .response(PushResponse(status: 410, reason: "Unregistered", timestampMillis: sinceMillis))
    }
    private static let bad: PushAnswer.Result = .response(PushResponse(status: 400, reason: "BadDeviceToken"))

    @Test func theNewestTokenIsUsedAtOnce() {
        let h = EngineHarness()
        h.register(token: "AA01")
        h.update(1, priority: 10)
        h.register(token: "bb02")
        #expect(h.deliver()?.token == "bb02")
    }

    @Test(arguments: [("production", 0), ("development", 1)] as [(String, UInt16)])
    func aTokenBelongsToItsEnvironment(environment: String, route: UInt16) {
        let h = EngineHarness()
        h.update(1, priority: 10)
        h.register(environment: environment)
        #expect(h.take(route: 1 - route) == nil)
        #expect(h.deliver(route: route) != nil)
    }

    @Test func aTokenMayComeWithTheEvent() {
        let h = EngineHarness()
        h.update(1, priority: 10, more: #""to":{"token":"CC03"}"#)
        #expect(h.deliver()?.token == "cc03")
        h.advance(2_000)
        h.update(2, priority: 10, more: #""to":{"token":"dd04","environment":"development"}"#)
        #expect(h.deliver(route: 1)?.token == "dd04")
        h.advance(2_000)
        h.update(3, priority: 10)
        #expect(h.deliver(route: 1)?.token == "dd04", "it is remembered")
    }

    @Test func aTokenThatComesWithAnOlderEventIsKeptToo() {
        let h = EngineHarness()
        h.register()
        h.update(1, at: 10, priority: 10)
        h.deliver()
        h.advance(2_000)
        let older = h.update(2, at: 5, more: #""to":{"token":"cc03"}"#)
        #expect(h.outcomes(of: older) == ["superseded"])
        h.advance(200)
        h.crash()
        h.update(3, at: 11, priority: 10)
        h.advance(2_000)
        #expect(h.deliver()?.token == "cc03")
    }

    // MARK: No token yet

    @Test func withoutATokenUpdatesWaitMergingFromTheFirst() {
        let h = EngineHarness()
        let first = h.update(1)
        h.advance(200_000)
        let second = h.update(2)
        h.advance(100_000 - 1)
        #expect(h.outcomes(of: second).isEmpty)
        h.advance(1)
        #expect(h.outcome(of: first)?.into == second)
        #expect(h.outcomes(of: second) == ["unregistered"])
        h.advance(200)
        #expect(h.isCommitted())
    }

    @Test func aRegistrationInTimeTakesTheNewest() {
        let h = EngineHarness()
        h.update(1, alert: "one")
        h.update(2)
        h.advance(299_000)
        h.register()
        let push = h.deliver()
        #expect(push?.n == 2)
        #expect(push?.alert == "one")
    }

    @Test func anEndThatFindsNoTokenLetsTheActivityLiveOn() {
        let h = EngineHarness()
        let end = h.end(1)
        h.advance(300_000)
        #expect(h.outcomes(of: end) == ["unregistered"])
        h.register()
        h.update(2, priority: 10)
        h.advance(1_000)
        #expect(h.deliver()?.n == 2)
    }

    @Test func unregisterTakesTheToken() {
        let h = EngineHarness()
        h.register()
        h.unregister()
        let update = h.update(1, priority: 10)
        #expect(h.take() == nil)
        h.advance(300_000)
        #expect(h.outcomes(of: update) == ["unregistered"])
    }

    @Test func unregisterOfAnotherTokenLeavesTheNewestAlone() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.register(token: "bb02")
        h.consume(key: "a", value: #"{"event":"unregister","token":"AA01"}"#)
        h.update(1, priority: 10)
        #expect(h.deliver()?.token == "bb02")
    }

    @Test func unregisterOfWhatIsNotKnownMakesNoSlot() {
        let h = EngineHarness()
        let offset = h.unregister("nobody")
        #expect(h.outcomes(of: offset) == ["applied"])
        #expect(h.counters.slots == 0)
        #expect(h.isCommitted())
    }

    /// A push is in flight for longer than an update behind it would wait for a token. The engine must not report the
    /// end of that wait as a deadline again and again.
    @Test func waitingBehindAPushInFlightIsNotADeadline() {
        let h = EngineHarness { $0.apps[0].registrationWaitMillis = 1_000 }
        h.start(1)
        let push = h.take()!
        let update = h.update(2)
        h.advance(10_000)
        #expect(h.outcomes(of: update).isEmpty)
        h.answer(push, .accepted)
        h.register()
        h.advance(1_000)
        #expect(h.deliver()?.n == 2)
    }

    // MARK: A verdict concerns the token in that request

    @Test func aVerdictOnAReplacedTokenSendsThePushToTheNewerOne() {
        let h = EngineHarness()
        h.register(token: "aa01")
        let update = h.update(1, at: 0, priority: 10)
        let push = h.take()!
        h.register(token: "bb02")
        h.answer(push, Self.dead(h.now.wallMillis))
        h.advance(1_000)
        let again = h.deliver()
        #expect(again?.token == "bb02")
        #expect(again?.stamp == 0, "unchanged content keeps its stamp")
        #expect(h.outcomes(of: update) == ["delivered"])
        #expect(h.counters.tokensDead == 0)
    }

    @Test(arguments: [true, false])
    func aDeadTokensUpdateWaitsThenIsRejected(newTokenComes: Bool) {
        let h = EngineHarness()
        h.register(token: "aa01")
        let update = h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(h.now.wallMillis + 1))
        h.advance(299_000)
        #expect(h.outcomes(of: update).isEmpty)
        if newTokenComes {
            h.register(token: "bb02")
            #expect(h.deliver()?.token == "bb02")
            #expect(h.outcomes(of: update) == ["delivered"])
        } else {
            h.advance(1_000)
            #expect(h.outcomes(of: update) == ["rejected"])
            h.advance(200)
            #expect(h.isCommitted())
        }
    }

    @Test func aDeadTokenIsRememberedAcrossARestart() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(h.now.wallMillis + 1))
        h.advance(2_000)
        h.crash()
        h.advance(2_000)
        #expect(h.take() == nil)
        h.register(token: "bb02")
        #expect(h.deliver()?.token == "bb02")
    }

    @Test func theSameTokenRegisteredAgainLives() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(h.now.wallMillis + 1))
        h.advance(2_000)
        h.register(token: "aa01")
        #expect(h.deliver()?.token == "aa01")
    }

    /// A 410 says when APNs found the token dead. The token is kept only if its registration is newer than that.
    @Test(arguments: [(-1, true), (0, false), (1, false)] as [(Int64, Bool)])
    func a410OlderThanTheRegistrationKeepsTheToken(deadAfterRegistrationMillis: Int64, isKept: Bool) {
        let h = EngineHarness()
        let registered = h.now.wallMillis
        h.register(token: "aa01")
        h.advance(3_000)
        h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(registered + deadAfterRegistrationMillis))
        h.advance(60_000)
        #expect(h.counters.tokensDead == (isKept ? 0 : 1))
        #expect((h.take()?.token == "aa01") == isKept)
    }

    /// APNs says that a token died before its registration. Either a dead token was registered, or the registration's
    /// clock runs ahead. After several such answers the token is removed.
    @Test func aDeathFromBeforeTheRegistrationIsBelievedWhenItIsSaidAgainAndAgain() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        var count = 0
        for _ in 0..<100 where h.counters.tokensDead == 0 {
            if let push = h.take() {
                count += 1
                h.answer(push, Self.dead(h.now.wallMillis - 3_600_000_000))
            }
            h.advance(15_000)
        }
        #expect(h.counters.tokensDead == 1 && count == 8)
        h.register(token: "aa02")
        #expect(h.deliver()?.token == "aa02", "the update has waited")
    }

    /// The outcome of an update for a dead token says that the token is dead, and gives the token's hash.
    @Test func theOutcomeOfADeadTokenNamesIt() throws {
        let h = EngineHarness()
        let registration = h.register()
        let hash = try #require(h.outcome(of: registration)?.fields["token-hash"] as? String)
        let refused = h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(nil))
        h.advance(301_000)
        // The next owner reads in `state` that the token is dead.
        h.crash()
        let later = h.update(2, priority: 10)
        h.advance(301_000)
        for offset in [refused, later] {
            let outcome = try #require(h.outcome(of: offset))
            #expect(outcome.outcome == "rejected" && outcome.fields["token"] as? String == "dead")
            #expect(outcome.fields["token-hash"] as? String == hash)
        }
    }

    @Test func a410WithoutATimeIsBelieved() {
        let h = EngineHarness()
        h.register()
        h.update(1, priority: 10)
        h.answer(h.take()!, Self.dead(nil))
        h.advance(60_000)
        #expect(h.take() == nil)
        #expect(h.counters.tokensDead == 1)
    }

    // MARK: Too many dead at once

    /// A small app has a wrong environment. Each update is refused and no token is lost. The app's next updates arrive
    /// when the environment is right again.
    @Test(arguments: [1, 3, 30]) func aWrongEnvironmentCostsNoToken(activities: Int) {
        let h = EngineHarness()
        var updates: [Int64] = []
        for number in 0..<activities {
            h.register(token: "aa\(10 + number)", of: "a\(number)")
            updates.append(h.update(1, of: "a\(number)", priority: 10))
        }
        while let push = h.take() { h.answer(push, Self.bad) }
        #expect(h.counters.tokensDead == 0)
        #expect(h.counters.tokenRemovalsStopped == UInt64(activities))
        h.advance(299_000)
        #expect(!h.hasReady(), "APNs asks not to try it again")
        h.advance(1_000)
        for update in updates {
            #expect(h.outcomes(of: update) == ["rejected"])
            let outcome = h.outcome(of: update)
            #expect(outcome?.fields["token"] as? String == "doubted", "it is tried again")
            #expect(outcome?.reason?.contains("dead") == false)
        }
        for number in 0..<activities { h.update(2, of: "a\(number)", priority: 10) }
        var delivered = 0
        while let push = h.take() {
            h.answer(push, .accepted)
            delivered += 1
        }
        #expect(delivered == activities)
    }

    /// A newer event tries a doubted token again, with the alert of the refused update. The event does not wait for the
    /// end of `registration-wait`.
    @Test(arguments: [false, true]) func aNewerEventTriesADoubtedToken(isEnd: Bool) throws {
        let h = EngineHarness()
        h.register(token: "aa01")
        let refused = h.update(1, priority: 10, alert: "goal")
        h.answer(try #require(h.take()), Self.bad)
        h.advance(100_000)
        let newer = isEnd ? h.end(2) : h.update(2, priority: 10)
        let push = try #require(h.deliver())
        #expect(push.n == 2 && push.token == "aa01" && push.alert == "goal")
        #expect(h.outcomes(of: refused) == ["superseded"] && h.outcomes(of: newer) == ["delivered"])
        #expect(h.counters.isConserved)
    }

    /// The newer event replaces the refused update as a whole, by the short way that most events of a backlog take.
    @Test func anEventThatReplacesTheRefusedOneTriesItsToken() throws {
        let h = EngineHarness { $0.settings.outcomePublication = .pushes }
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(try #require(h.take()), Self.bad)
        h.advance(6_000)
        h.update(2, priority: 10)
        #expect(h.deliver()?.n == 2)
    }

    /// A refused update may expire before a newer event tries the update's token again.
    @Test func anExpiredUpdateLeavesItsDoubtedTokenToTheNext() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10, more: #""expires":\#(h.now.wallSeconds + 10)"#)
        h.answer(h.take()!, Self.bad)
        h.advance(100_000)
        h.update(2, priority: 10)
        #expect(h.deliver()?.n == 2)
    }

    /// Events that come one after another do not all go to a token that APNs has just refused. The attempts are further
    /// apart each time.
    @Test func aDoubtedTokenIsNotTriedWithEveryEvent() {
        let h = EngineHarness()
        h.register(token: "aa01")
        var attempts: [Int64] = []
        for n in 1...200 {
            h.update(n, priority: 10)
            if let push = h.take() {
                attempts.append(h.now.steadyMillis)
                h.answer(push, Self.bad)
            }
            h.advance(1_000)
        }
        #expect((6...12).contains(attempts.count), "\(attempts)")
        h.update(201, priority: 10)
        h.advance(61_000)
        #expect(h.deliver()?.n == 201)
    }

    /// APNs has called the activity's token bad, so the update waits for a new token. The old token is registered again
    /// instead. The update is then sent to it at once.
    @Test func aDoubtedTokenThatIsRegisteredAgainIsTried() throws {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(try #require(h.take()), Self.bad)
        h.advance(0)
        h.register(token: "aa01")
        h.advance(1_000)
        #expect(h.deliver()?.n == 1)
    }

    /// A record of `state` says that its token is doubted, for those who read the records.
    @Test func stateSaysThatATokenIsDoubted() throws {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(try #require(h.take()), Self.bad)
        h.advance(6_000)
        let header = RecordHeader.tokenDoubted.text
        #expect(h.written.last { $0.topic == .state }?.headers[header] == "1")
        h.update(2, priority: 10)
        h.deliver()
        h.advance(6_000)
        let accepted = try #require(h.written.last { $0.topic == .state })
        #expect(accepted.headers[header] == nil)
    }

    @Test func aDoubtedTokenIsTriedAfterARestart() {
        let h = EngineHarness()
        h.register(token: "aa01")
        h.update(1, priority: 10)
        h.answer(h.take()!, Self.bad)
        h.advance(1_000)
        h.crash()
        h.advance(1_000)
        #expect(h.deliver()?.token == "aa01")
    }

    @Test func aTokenThatDiesAmongGoodOnesIsRemoved() {
        let h = EngineHarness()
        for number in 0..<10 {
            h.register(token: "aa\(10 + number)", of: "a\(number)")
            h.update(1, of: "a\(number)", priority: 10)
        }
        var count = 0
        while let push = h.take() {
            h.answer(push, count == 7 ? Self.bad : .accepted)
            count += 1
        }
        #expect(h.counters.tokensDead == 1)
        #expect(h.counters.tokenRemovalsStopped == 0)
    }

    /// Answers that are not about the token do not show that a token is good. So a wrong environment is noticed even
    /// while APNs has other trouble.
    @Test(arguments: [(503, "ServiceUnavailable"), (413, "PayloadTooLarge"), (403, "InvalidProviderToken")])
    func whatIsNotAboutTheTokenDoesNotLiftTheGuard(status: UInt16, reason: String) {
        let h = EngineHarness()
        for number in 0..<40 {
            h.register(token: "aa\(10 + number)", of: "a\(number)")
            h.update(1, of: "a\(number)", priority: 10)
        }
        let other = PushAnswer.Result.response(PushResponse(status: status, reason: reason))
        for count in 0..<40 { if let push = h.take() { h.answer(push, count % 4 == 3 ? Self.bad : other) } }
        #expect(h.counters.tokensDead == 0)
        #expect(h.counters.tokenRemovalsStopped == 10)
    }

    @Test func a410IsAboutTheTokenAndNeverStopsRemoval() {
        let h = EngineHarness()
        for number in 0..<60 {
            h.register(token: "aa\(10 + number)", of: "a\(number)")
            h.update(1, of: "a\(number)", priority: 10)
        }
        while let push = h.take() { h.answer(push, Self.dead(h.now.wallMillis + 1)) }
        #expect(h.counters.tokensDead == 60)
        #expect(h.counters.tokenRemovalsStopped == 0)
    }

    @Test func oneAppsDeadTokensDoNotStopAnothersRemoval() {
        let h = EngineHarness {
            var other = AppConfiguration(bundleID: "com.example.other")
            other.productionRoute = 0
            $0.apps.append(other)
        }
        func consume(_ app: String, _ number: Int) {
            let app = #""app":"com.example.\#(app)""#
            h.consume(key: "\(number)", value: #"{"event":"register","token":"aa\#(10 + number)",\#(app)}"#)
            h.consume(key: "\(number)", value: #"{"event":"update","content-state":{},"priority":10,\#(app)}"#)
        }
        for number in 0..<40 { consume("pizza", number) }
        for number in 40..<80 { consume("other", number) }
        var others = 0
        while let push = h.take() {
            if push.app == 1 { others += 1 }
            h.answer(push, push.app == 0 || others.isMultiple(of: 8) ? Self.bad : .accepted)
        }
        #expect(others == 40)
        #expect(h.counters.tokensDead == 5, "those of the other app, and only those")
        #expect(h.counters.tokenRemovalsStopped == 40)
    }
}
