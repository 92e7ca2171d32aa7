import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests changes of the configuration while the engine runs. After every step the harness checks that events are
/// conserved.
@Suite struct ReconfigurationTests {
    // MARK: Budgets

    @Test func aLargerBudgetLetsGoWhatWasDeferred() throws {
        let h = BudgetHarness.alive(perHour: 3, reserve: 0, policy: .defer)
        #expect(BudgetHarness.spend(h, 3) == [10, 10, 10])
        let offset = h.update(9, priority: 10)
        h.advance(60_000)
        #expect(!h.hasReady())
        try h.reconfigure { $0.apps[0].budgetPerHour = 5 }
        #expect(h.deliver()?.priority == 10)
        #expect(h.outcome(of: offset)?.outcome == "delivered")
    }

    /// Units that were spent count against a smaller budget, too.
    @Test func aSmallerBudgetCountsWhatWasSpent() throws {
        let h = BudgetHarness.alive(perHour: 5, reserve: 0)
        #expect(BudgetHarness.spend(h, 3) == [10, 10, 10])
        try h.reconfigure { $0.apps[0].budgetPerHour = 2 }
        #expect(BudgetHarness.spend(h, 2) == [5, 5])
        h.advance(BudgetHarness.hour)
        #expect(BudgetHarness.spend(h, 3) == [10, 10, 5])
    }

    @Test func anotherPolicyHoldsForWhatWaits() throws {
        let h = BudgetHarness.alive(perHour: 1, reserve: 0, policy: .defer)
        #expect(BudgetHarness.spend(h, 1) == [10])
        h.update(9, priority: 10)
        h.advance(10_000)
        #expect(!h.hasReady())
        try h.reconfigure { $0.apps[0].budgetPolicy = .downgrade }
        #expect(h.deliver()?.priority == 5)
        h.advance(2_000)
        h.update(10, priority: 10)
        #expect(h.hasReady())
        try h.reconfigure { $0.apps[0].budgetPolicy = .defer }
        #expect(!h.hasReady())
    }

    // MARK: Windows and waits

    @Test func aShorterWindowEndsAWaitThatHasBegun() throws {
        let h = EngineHarness { $0.apps[0].lowPriorityWindowMillis = 60_000 }
        h.register()
        let offset = h.update(1)
        h.advance(5_000)
        #expect(!h.hasReady())
        try h.reconfigure { $0.apps[0].lowPriorityWindowMillis = 1_000 }
        #expect(h.deliver()?.n == 1)
        #expect(h.outcomes(of: offset) == ["delivered"])
    }

    @Test func aLongerWindowProlongsIt() throws {
        let h = EngineHarness()
        h.register()
        h.update(1)
        try h.reconfigure { $0.apps[0].lowPriorityWindowMillis = 10_000 }
        h.advance(9_999)
        #expect(!h.hasReady())
        h.advance(1)
        #expect(h.deliver()?.n == 1)
    }

    @Test func aShorterWaitForATokenGivesUp() throws {
        let h = EngineHarness()
        let offset = h.update(1)
        h.advance(10_000)
        #expect(h.outcomes(of: offset).isEmpty)
        try h.reconfigure { $0.apps[0].registrationWaitMillis = 5_000 }
        #expect(h.outcomes(of: offset) == ["unregistered"])
    }

    @Test func otherOutcomesArePublished() throws {
        let h = EngineHarness()
        h.register()
        let first = h.update(1, at: 10)
        try h.reconfigure { $0.settings.outcomePublication = .failures }
        h.update(2, at: 20)
        h.advance(2_000)
        h.deliver()
        #expect(h.outcomes(of: first).isEmpty)
        #expect(h.isCommitted())
        try h.reconfigure { $0.settings.outcomePublication = .all }
        h.advance(2_000)
        let third = h.update(3, at: 30)
        h.update(4, at: 40)
        #expect(h.outcomes(of: third) == ["superseded"])
    }

    @Test func aLowerLimitStopsReadingUntilThereIsRoom() throws {
        let h = EngineHarness()
        h.register()
        h.update(1, priority: 10)
        #expect(h.wantsRecords)
        try h.reconfigure { $0.settings.pendingMax = 1 }
        #expect(!h.wantsRecords)
        h.deliver()
        #expect(h.wantsRecords)
    }

    // MARK: Apps

    private static func other(_ change: (inout AppConfiguration) -> Void = { _ in }) -> AppConfiguration {
        var app = AppConfiguration(bundleID: "com.example.game")
        app.productionRoute = 2
        change(&app)
        return app
    }

    private static func value(_ fields: String) -> String { "{\"app\":\"com.example.game\",\(fields)}" }

    @Test func anAppIsAdded() throws {
        let h = EngineHarness()
        h.register()
        let early = h.consume(key: "g", value: Self.value(#""event":"register","token":"cc03""#))
        #expect(h.outcomes(of: early) == ["dead-lettered"])
        try h.reconfigure { $0.apps.append(Self.other()) }
        let registration = h.consume(key: "g", value: Self.value(#""event":"register","token":"cc03""#))
        #expect(h.outcomes(of: registration) == ["applied"])
        let offset = h.consume(
            key: "g", value: Self.value(#""event":"update","priority":10,"content-state":{"n":7}"#))
        #expect(!h.hasReady(route: 0))
        #expect(h.deliver(route: 2)?.n == 7)
        #expect(h.outcome(of: offset)?.fields["app"] as? String == "com.example.game")
        // With two apps an event has to name its app.
        #expect(h.outcomes(of: h.update(1)) == ["dead-lettered"])
        // The next owner finds the state of the new app.
        h.advance(5_000)
        h.crash()
        let later = h.consume(
            key: "g", value: Self.value(#""event":"update","priority":10,"content-state":{"n":8}"#))
        h.advance(2_000)
        #expect(h.deliver(route: 2)?.n == 8)
        #expect(h.outcomes(of: later) == ["delivered"])
    }

    /// A waiting update takes the new route. A push in flight is answered on the old route.
    @Test func anAppIsLedByAnotherRoute() throws {
        let h = EngineHarness()
        h.register()
        h.register(of: "b")
        let first = h.update(1, priority: 10)
        let second = h.update(2, of: "b", priority: 10)
        let inFlight = try #require(h.take())
        try h.reconfigure { $0.apps[0].productionRoute = 5 }
        #expect(!h.hasReady(route: 0))
        #expect(h.deliver(route: 5) != nil)
        h.answer(inFlight, .accepted)
        #expect(h.outcomes(of: first) == ["delivered"])
        #expect(h.outcomes(of: second) == ["delivered"])
    }

    @Test func whatCannotBeTakenIsRefusedAndNothingChanges() throws {
        let h = EngineHarness { $0.apps.append(Self.other()) }
        let refused: [((inout EngineConfiguration) -> Void, [String])] = [
            ({ $0.apps.removeLast() }, ["apps.com.example.game is gone: it needs a restart"]),
            (
                { $0.apps.swapAt(0, 1) },
                [
                    "apps.com.example.pizza is gone: it needs a restart",
                    "apps.com.example.game is gone: it needs a restart",
                ]
            ),
            (
                { $0.apps[0].developmentRoute = nil },
                ["apps.com.example.pizza.apns.environments is gone: it needs a restart"]
            ),
            (
                { $0.apps[1].audienceChannel = .auto },
                [
                    "apps.com.example.game has another value for something that cannot change in a running worker: it needs a restart"
                ]
            ),
            (
                { $0.settings.placement = .check },
                [
                    "the engine has another value for something that cannot change in a running worker: it needs a restart"
                ]
            ),
            (
                { $0.inputTopics.insert("more", at: 0) },
                [
                    "the engine has another value for something that cannot change in a running worker: it needs a restart"
                ]
            ),
        ]
        for (change, texts) in refused {
            #expect {
                try h.reconfigure { configuration in
                    configuration.apps[0].budgetPerHour = 99
                    change(&configuration)
                }
            } throws: { error in
                (error as? ReconfigurationRefusal)?.faults.map { "\($0.name) \($0.text)" } == texts
            }
            #expect(h.engine.configuration.apps[0].budgetPerHour == 15)
            #expect(h.engine.configuration.apps.count == 2)
        }
    }

    /// A worker took the partition over before it knew of an app, and skipped the app's records in `state`. It must
    /// refuse to add the app.
    @Test func anAppWhoseStateWasPassedOverIsRefused() throws {
        let h = EngineHarness { $0.apps.append(Self.other()) }
        h.consume(key: "g", value: Self.value(#""event":"register","token":"cc03""#))
        h.advance(2_000)
        var known = h.configuration
        known.apps.removeLast()
        h.crash(by: known)
        #expect {
            try h.reconfigure { $0.apps.append(Self.other()) }
        } throws: { error in
            (error as? ReconfigurationRefusal)?.faults
                == [ReconfigurationFault(app: "com.example.game", cause: .passedOver)]
        }
        // `state` has nothing of this app.
        try h.reconfigure { $0.apps.append(Self.other { $0.bundleID = "com.example.chess" }) }
    }

    // MARK: FanOut

    /// Members that listen to a channel wait for a broadcast that fails. A shorter `channelFallbackMillis` shortens
    /// that wait, too.
    @Test func lessPatienceWithAChannelHoldsForWhoWaits() throws {
        let (h, _) = AudienceChannelTests.harness { $0.channelFallbackMillis = 3_600_000 }
        h.join(2, channel: AudienceChannelTests.channel)
        h.deliverAll()
        h.advance(3_000)
        h.audienceUpdate(2)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(1)])
        let broadcast = try #require(h.take(route: 2))
        h.answer(
            broadcast, .response(PushResponse(status: 503, reason: "ServiceUnavailable", retryAfterSeconds: 1_800)))
        h.advance(120_000)
        #expect(h.deliverAll().isEmpty && h.counters.channelFallbacks == 0)
        try h.reconfigure { $0.apps[0].channelFallbackMillis = 60_000 }
        h.advance(1)
        h.carryBus()
        h.advance(1_000)
        #expect(h.deliverAll().map(\.token) == [EngineHarness.memberToken(2)] && h.counters.channelFallbacks == 1)
    }

    /// The next pass waits for the minimum distance. A shorter distance shortens that wait, too.
    @Test func aShorterDistanceLetsMembersGo() throws {
        let h = EngineHarness { $0.apps[0].minimumDistanceMillis = 60_000 }
        h.join(1)
        h.audienceUpdate(1)
        h.advance(65_000)
        #expect(h.deliverAll().map(\.n) == [1])
        h.audienceUpdate(2)
        h.advance(10_000)
        #expect(h.deliverAll().isEmpty)
        try h.reconfigure { $0.apps[0].minimumDistanceMillis = 1_000 }
        h.advance(1)
        #expect(h.deliverAll().map(\.n) == [2])
    }

    // MARK: Under load

    /// Events, answers, time and configurations come in any order. Nothing is lost or counted twice, and every event
    /// gets an outcome.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func nothingIsLostUnderLoad(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let h = EngineHarness(seed: seed)
        let activities = (0..<12).map { "activity-\($0)" }
        for activity in activities { h.register(of: activity) }
        var inFlight: [Push] = []
        for step in 0..<300 {
            switch Int.random(in: 0..<10, using: &random) {
            case 0..<5:
                let activity = activities.randomElement(using: &random) ?? ""
                h.update(step, of: activity, priority: Bool.random(using: &random) ? 10 : 5)
            case 5, 6:
                if let push = h.take() { inFlight.append(push) }
            case 7:
                guard !inFlight.isEmpty else { continue }
                let push = inFlight.remove(at: Int.random(in: 0..<inFlight.count, using: &random))
                h.answer(push, Bool.random(using: &random) ? .accepted : .notProcessed)
            case 8: h.advance(Int64.random(in: 0...3_000, using: &random))
            default:
                try h.reconfigure { configuration in
                    configuration.apps[0].budgetPerHour = Int.random(in: 3...20, using: &random)
                    configuration.apps[0].budgetPolicy = Bool.random(using: &random) ? .defer : .downgrade
                    configuration.apps[0].lowPriorityWindowMillis = Int64.random(in: 0...5_000, using: &random)
                    configuration.apps[0].minimumDistanceMillis = Int64.random(in: 1_000...5_000, using: &random)
                    configuration.settings.pendingMax = Int.random(in: 5...100, using: &random)
                    configuration.settings.outcomePublication = OutcomePublication.allCases.randomElement(
                        using: &random)!
                }
            }
        }
        for push in inFlight { h.answer(push, .accepted) }
        try h.reconfigure { $0.apps[0].budgetPolicy = .downgrade }
        for _ in 0..<40 {
            h.advance(5_000)
            while let push = h.take() { h.answer(push, .accepted) }
        }
        #expect(h.counters.pending == 0)
        #expect(h.isCommitted())
    }
}
