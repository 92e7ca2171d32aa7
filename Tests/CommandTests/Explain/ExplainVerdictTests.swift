import PushModel
import Testing

@testable import PushEngine
@testable import mailboat

/// Tests of the verdicts that `mailboat explain` draws from facts: why a phone does not change.
struct ExplainVerdictTests {
    typealias Facts = ExplainFacts
    typealias Cause = ExplainVerdict.Cause

    static let nowMillis: Int64 = 1_700_000_000_000
    static let hash = "099ac307b61d7d34"

    struct Case: Sendable, CustomTestStringConvertible {
        var cause: Cause
        var facts: Facts
        /// Words that the verdict or its remedy must contain.
        var words: [String]
        var testDescription: String { self.cause.rawValue }

        init(_ cause: Cause, _ facts: Facts, _ words: String...) {
            self.cause = cause
            self.facts = facts
            self.words = words
        }
    }

    // MARK: Pieces

    static func place(_ topic: String, _ offset: Int64, ago: Int64 = 40) -> Facts.Place {
        .init(
            position: .init(topic: "liveactivity.\(topic)", partition: 1, offset: offset),
            writtenMillis: Self.nowMillis - ago * 1_000)
    }

    static func event(
        _ kind: String = "update", offset: Int64 = 102, ago: Int64 = 40, priority: Int = 10,
        timestamp: Int64 = 1_699_999_960, _ change: (inout Facts.Event) -> Void = { _ in }
    ) -> Facts.Event {
        let place = Self.place("events", offset, ago: ago)
        var event = Facts.Event(
            place: place, source: place.position, event: kind, priority: priority, timestampSeconds: timestamp)
        change(&event)
        return event
    }

    static func outcome(
        _ outcome: String, of offset: Int64 = 102, _ change: (inout Facts.Outcome) -> Void = { _ in }
    ) -> Facts.Outcome {
        var record = Facts.Outcome(
            place: Self.place("outcomes", 7, ago: 39), outcome: outcome, source: Self.place("events", offset).position)
        change(&record)
        return record
    }

    static func slot(
        _ life: String = "alive", token: String? = hash,
        _ change: (inout StateRecordDescription.Slot) -> Void = { _ in }
    ) -> StateRecordDescription.Slot {
        var slot = StateRecordDescription.Slot(
            epoch: 0, life: life, environment: "production", frequentUpdates: false, tokenHash: token,
            tokenIsDead: false, lastTouchedMillis: Self.nowMillis, budgetUnitsOut: 0, updates: [])
        change(&slot)
        return slot
    }

    static func state(_ slot: StateRecordDescription.Slot?, unreadable: String? = nil) -> Facts.State {
        .init(place: Self.place("state", 55, ago: 38), app: "com.example.pizza", slot: slot, unreadable: unreadable)
    }

    static func pause(isOfApp: Bool = false) -> Facts.Pause {
        .init(place: Self.place("state", 40, ago: 100), sinceMillis: Self.nowMillis - 100_000, isOfApp: isOfApp)
    }

    static func update(
        _ event: String = "update", offset: Int64 = 102,
        _ change: (inout StateRecordDescription.Update) -> Void = { _ in }
    ) -> StateRecordDescription.Update {
        var update = StateRecordDescription.Update(
            event: event, priority: 10, timestampSeconds: 1_699_999_960, mergedCount: 1, openCount: 1, byteCount: 40,
            hasAlert: false, mayBeSent: false,
            newest: .init(topic: "liveactivity.events", partition: nil, offset: offset), contentState: "", alert: "")
        change(&update)
        return update
    }

    static func facts(
        _ events: [Facts.Event] = [event()], _ slot: StateRecordDescription.Slot? = nil,
        _ outcomes: [Facts.Outcome] = [], committed: Int64? = 103, _ change: (inout Facts) -> Void = { _ in }
    ) -> Facts {
        var facts = Facts(key: "order-7", nowMillis: Self.nowMillis)
        facts.events = events
        facts.state = slot.map { Self.state($0) }
        facts.outcomes = outcomes
        facts.progress = [
            .init(topic: "liveactivity.events", partition: 1, committed: committed, lowOffset: 10, endOffset: 103)
        ]
        change(&facts)
        return facts
    }

    private static func waiting(
        _ update: StateRecordDescription.Update, life: String = "alive", token: String? = hash,
        _ change: (inout StateRecordDescription.Slot) -> Void = { _ in }
    ) -> Facts {
        Self.facts(
            [Self.event()],
            Self.slot(life, token: token) {
                $0.updates = [update]
                change(&$0)
            }, committed: 102)
    }

    // MARK: The table

    static let cases: [Case] = [
        Case(
            .unknownKey, facts([]) { $0.searches = [.init(topic: "liveactivity.events", partition: 1)] }, "no event",
            "murmur2"),
        Case(
            .unknownKey,
            facts([]) { $0.searches = [.init(topic: "liveactivity.events", partition: 1, isWhole: false)] },
            "in what was read", "--depth"),
        Case(
            .audience, facts([], slot { $0.isAudience = true }), "nothing of it waits", "state dump --audience order-7"),
        Case(
            .audience,
            facts([event()], slot { $0.isAudience = true }, [outcome("fanned-out") { $0.version = 1_699_999_961 }]),
            "39 s ago", "version 1699999961"),
        Case(
            .audience,
            facts(
                [event()],
                slot {
                    $0.isAudience = true
                    $0.updates = [update()]
                }), "waits to be handed on"),
        Case(.expired, facts([event()], slot { $0.isAudience = true }, [outcome("expired")]), "not sent in time"),
        Case(
            .deadBeforeRegistration,
            facts([event()], slot { $0.updates = [update { $0.mayBeSent = true }] }) { $0.state?.earlierDeaths = 1 },
            "410", "the token is kept"),
        Case(
            .tokenDoubted,
            facts([event()], slot { $0.updates = [update { $0.mayBeSent = true }] }) {
                $0.state?.tokenIsDoubted = true
            },
            "refuses many tokens", "The token is kept"),
        Case(
            .audiencePaused,
            facts([event()], slot { $0.isAudience = true }, [outcome("fanned-out") { $0.version = 1_699_999_961 }]) {
                $0.pauses = [pause()]
            }, "members of this audience are paused since 2023-11-14T22:11:40Z (100 s ago)", "version 1699999961",
            "'mailboat audience resume order-7 --app com.example.pizza' lets the pushes"),
        Case(
            .audiencePaused,
            facts([event()], slot { $0.isAudience = true }, [outcome("expired")]) {
                $0.pauses = [pause(), pause(isOfApp: true)]
            }, "not sent in time", "resume order-7", "resume --all --app com.example.pizza"),
        Case(
            .audiencePaused,
            facts([], slot { $0.isAudience = true }) { $0.pauses = [pause(isOfApp: true)] },
            "all audiences of com.example.pizza are paused"),
        Case(.neverRead, facts([event()], slot { $0.isAudience = true }, committed: nil), "no worker"),
        Case(
            .member,
            facts([
                event("register") {
                    $0.isMembership = true
                    $0.audience = "the match"
                }
            ]), "member", "state dump --audience 'the match'"),
        Case(
            .stateUnreadable,
            facts { $0.state = state(nil, unreadable: "of version 9, which this release does not know") },
            "liveactivity.state[1]@55", "version 9"),

        // No worker has taken the event.
        Case(.justPublished, facts([event(ago: 3)], committed: 102), "published 3 s ago"),
        Case(.neverRead, facts(committed: nil), "no worker of the group mailboat", "/readyz", "--group"),
        Case(.notTaken, facts(committed: 62), "is 40 records before it", "mailboat_kafka_lag_records"),
        Case(.notTaken, facts(committed: 102), "the next that the group mailboat has to commit"),
        Case(.offsetOutsideLog, facts(committed: 9), "is at 9", "10 to 103", "offsets reset"),
        Case(
            .offsetOutsideLog,
            facts([event(offset: 2)], committed: 104) {
                $0.progress[0].endOffset = 3; $0.progress[0].committed = 1; $0.progress[0].lowOffset = 2
            }, "is at 1"),

        // The event cannot be taken.
        Case(
            .deadLettered,
            facts([event("") { $0.fault = "contentState: is not a field" }]) {
                $0.letters = [
                    .init(
                        place: place("dead-letters", 3), source: event().source, reason: "contentState: is not a field")
                ]
            }, "liveactivity.events[1]@102", "contentState: is not a field", "mailboat check"),
        Case(.deadLettered, facts([event("") { $0.fault = "event: is missing" }]), "event: is missing"),
        Case(
            .deadLettered,
            facts([event()], slot(), [outcome("dead-lettered") { $0.reason = "app: is not configured" }]),
            "app: is not configured", "mailboat check --config", "must name its app"),
        Case(
            .refusedByAPNs,
            facts([event()], slot(), [outcome("dead-lettered")]) {
                $0.letters = [
                    .init(
                        place: place("dead-letters", 3), source: event().source,
                        reason: "APNs refused the push: 413 PayloadTooLarge")
                ]
            }, "413 PayloadTooLarge"),
        Case(
            .deadLettered,
            facts([]) {
                $0.letters = [.init(place: place("dead-letters", 3), source: event().source, reason: "no JSON")]
            },
            "no JSON"),

        // The event waits.
        Case(.waitsForToken, waiting(update(), life: "awaiting", token: nil), "T22:17:40Z (in 4 min), 5 min after it"),
        Case(.waitsForToken, waiting(update(), life: "started", token: nil), "as long as the activity lives"),
        Case(.tokenDead, waiting(update()) { $0.tokenIsDead = true }, "22:17:42Z (in 4 min), 5 min after APNs"),
        Case(
            .channelGone,
            waiting(update(), token: nil) {
                $0.channel = .init(throttleSteps: 0, notBeforeMillis: 0)
                $0.tokenIsDead = true
            }, "channel does not exist"),
        Case(.unanswered, waiting(update { $0.mayBeSent = true }), "got no answer"),
        Case(.startUnderWay, waiting(update("start"), life: "starting"), "start is on its way"),
        Case(
            .paced,
            waiting(update(), token: nil) {
                $0.channel = .init(throttleSteps: 0, notBeforeMillis: nowMillis + 9_000)
            }, "in 9 s"),
        Case(.waits, waiting(update()), "waits to be sent", "mailboat doctor"),

        // The activity is over.
        Case(.ended, facts([event("end")], slot("ended"), [outcome("delivered")]), "has ended", "another token"),
        Case(.ended, facts([event()], slot("ended"), [outcome("late")]), "arrived too late"),
        Case(
            .tokenDead,
            facts([event()], slot { $0.tokenIsDead = true }, [outcome("rejected") { $0.reason = "ExpiredToken" }]),
            "has been dead since 2023-11-14T22:12:42Z (38 s ago) at the latest (ExpiredToken)", "swiped"),
        Case(.late, facts([event()], nil, [outcome("late")]), "after the activity's end"),
        Case(
            .older,
            facts([event()], slot { $0.lastAcceptedSeconds = 1_699_999_990 }, [outcome("superseded")]),
            "its timestamp is 1699999960, and 1699999990 was accepted before"),
        Case(
            .nothingRegistered, facts([event()], slot(token: nil)) { $0.otherApp = "com.example.other" },
            "live token under another app, com.example.other", "right app"),
        // The producer's client uses another hash, so the event was in the wrong partition.
        Case(
            .accepted,
            facts([event { $0.source.partition = 5 }], slot(), [outcome("delivered") { $0.source?.partition = 5 }]),
            "forwarded from liveactivity.events[5]@102", "partitioner=murmur2_random"),
        Case(
            .accepted, facts([event { $0.doubtfulDates = ["eta = 1 (x)"] }], slot(), [outcome("delivered")]),
            "but a phone does not read eta = 1 (x) as that date"),
        Case(.duplicate, facts([event("start")], slot(), [outcome("duplicate")]), "changes nothing"),
        // A worker died, and the next one read the event again.
        Case(
            .accepted, facts([event()], slot(), [outcome("duplicate"), outcome("delivered")]), "APNs accepted"),
        Case(.late, facts([event()], nil, [outcome("duplicate"), outcome("late")]), "after the activity's end"),
        Case(.expired, facts([event()], slot(), [outcome("expired")]), "not sent in time"),
        Case(
            .rejected, facts([event()], slot(token: nil), [outcome("rejected") { $0.reason = "BadDeviceToken" }]),
            "BadDeviceToken", "other environment"),
        // A channel has no token, so the remedy must not advise to register one.
        Case(
            .channelGone,
            facts(
                [event()], nil,
                [
                    outcome("rejected") {
                        $0.reason = "ChannelNotRegistered"
                        $0.isBroadcast = true
                    }
                ]), "39 s ago (ChannelNotRegistered): APNs says that the channel does not exist", "channels create"),
        Case(
            .channelGone,
            facts(
                [event()], slot(token: nil) { $0.channel = .init(throttleSteps: 0, notBeforeMillis: 0) },
                [outcome("rejected") { $0.reason = "APNs has said that the channel does not exist" }]),
            "channels list"),
        Case(
            .rejected,
            facts(
                [event()], nil,
                [
                    outcome("rejected") {
                        $0.reason =
                            "to.channel names a channel that is kept for an audience: expected to.audience"
                        $0.isBroadcast = true
                    }
                ]), "was not broadcast", "expected to.audience"),
        Case(
            .rejectedThenRegistered,
            facts([event()], slot(token: "ffffffffffffffff"), [outcome("rejected") { $0.tokenHash = hash }]),
            "Publish the newest state again"),
        Case(.unregistered, facts([event()], slot("awaiting", token: nil), [outcome("unregistered")]), "in time"),
        Case(.rejectedThenRegistered, facts([event()], slot(), [outcome("unregistered")]), "registered since"),
        Case(.unknown, facts([event("start")], nil, [outcome("unknown")]), "It is unknown", "start.on-unknown"),
        Case(
            .older,
            facts(
                [event()], slot { $0.lastAcceptedSeconds = 1_699_999_999 },
                [outcome("superseded") { $0.reason = "older: its timestamp is 9, and 10 was accepted before" }]),
            "39 s ago: older: its timestamp is 9, and 10 was accepted before.", "clocks"),
        Case(
            .superseded,
            facts([event()], slot(), [outcome("superseded") { $0.into = place("events", 103).position }]),
            "liveactivity.events[1]@103"),
        Case(
            .older, facts([event()], slot { $0.lastAcceptedSeconds = 1_699_999_999 }), "1699999960", "1699999999",
            "outcomes.publish: all"),

        // APNs has accepted the event.
        Case(
            .accepted, facts([event()], slot(), [outcome("delivered") { $0.priority = 10 }]),
            "39 s ago at priority 10", "decode", "swiped"),
        Case(
            .acceptedDowngraded,
            facts([event()], slot { $0.budgetUnitsOut = 15 }, [outcome("delivered") { $0.priority = 5 }]),
            "priority 5, instead of 10", "15 of 15"),
        Case(
            .accepted,
            facts(
                [event(priority: 5) { $0.doubtfulDates = ["eta = 1700000000 (seconds since 1970; send 721692800)"] }],
                slot(),
                [outcome("delivered") { $0.priority = 5 }]),
            "when power allows", "eta = 1700000000", "send 721692800"),
        Case(
            .accepted, facts([event { $0.staleDateSeconds = 1_699_999_990 }], slot(), [outcome("delivered")]),
            "stale-date was 10 s ago"),
        Case(
            .accepted, facts([event("start")], slot("started", token: nil), [outcome("delivered")]), "attributes-type",
            "No update token"),
        // The outcomes topic has no record of the delivery, but `state` remembers it.
        Case(.accepted, facts([event()], slot { $0.lastAcceptedSeconds = 1_699_999_960 }), "as workers remember"),
        // Kafka has deleted the event from its log.
        Case(.accepted, facts([], slot(), [outcome("delivered")]), "accepted"),
        Case(.accepted, facts([event("register")], slot { $0.lastAcceptedSeconds = 5 }), "accepted"),

        // The newest event causes no push.
        Case(.nothingPublished, facts([event("register")], slot()), "no event for the phone"),
        Case(.nothingRegistered, facts([event("unregister")], slot("awaiting", token: nil)), "until another"),
        Case(.nothingRegistered, facts([event("register")], slot("awaiting", token: nil)), "Nothing is registered"),
        Case(.nothingRegistered, facts([event("unregister")], nil), "unregistered 40 s ago"),
        // The newest event decides, although APNs accepted an earlier one.
        Case(
            .nothingRegistered,
            facts(
                [event("unregister", offset: 103), event()], slot("awaiting", token: nil), [outcome("delivered")],
                committed: 104), "unregistered 40 s ago", "which program publishes 'unregister'"),
        Case(
            .accepted,
            facts(
                [event("register", offset: 103), event()], slot(token: "ffffffffffffffff"),
                [outcome("delivered") { $0.tokenHash = hash }], committed: 104),
            "#ffffffffffffffff, not #\(hash)"),
        Case(.forgotten, facts([event("register")]) { $0.state = state(nil) }, "forgotten", "12 h"),
        Case(.noTrace, facts([event()], slot()), "was taken", "outcomes.publish"),
        Case(.noTrace, facts([event()]), "--depth"),
    ]

    @Test(arguments: cases)
    func factsHaveAVerdict(_ one: Case) {
        let verdict = ExplainVerdict.decide(one.facts)
        #expect(verdict.cause == one.cause, "\(verdict.sentence)")
        let text = ([verdict.sentence] + verdict.next).joined(separator: "\n")
        for word in one.words { #expect(text.contains(word), "\(word) is not in: \(text)") }
        #expect(verdict.sentence.hasSuffix(".") || verdict.sentence.hasSuffix("?"))
        #expect(!verdict.next.isEmpty)
    }

    /// An update waits for the budget only under the policy `defer`. Alerts and ends have reserved units.
    @Test(arguments: [
        ("defer", 13, false, "update", Cause.budgetUsedUp), ("defer", 12, false, "update", .waits),
        ("defer", 13, true, "update", .waits), ("defer", 13, false, "end", .waits),
        ("downgrade", 15, false, "update", .waits),
    ])
    func anUpdateWaitsForItsBudget(policy: String, out: Int, hasAlert: Bool, event: String, cause: Cause) {
        var facts = Self.waiting(
            Self.update(event) { $0.hasAlert = hasAlert }
        ) {
            $0.budgetUnitsOut = out
            $0.budgetReturnsMillis = Self.nowMillis + 600_000
        }
        facts.settings.budgetPolicy = policy
        let verdict = ExplainVerdict.decide(facts)
        #expect(verdict.cause == cause)
        guard cause == .budgetUsedUp else { return }
        #expect(verdict.sentence.contains("may leave at 2023-11-14T22:23:20Z (in 10 min)"))
    }

    @Test func everyCauseIsInTheTable() {
        let named = Set(Self.cases.map(\.cause)).union([.budgetUsedUp])
        #expect(Cause.allCases.filter { !named.contains($0) } == [])
    }

    /// Every outcome leads to a verdict, so a new outcome needs a new case. `applied` and `fanned-out` are excluded,
    /// because they decide nothing alone.
    @Test func everyOutcomeDecides() {
        for outcome in Outcome.allCases where outcome != .applied && outcome != .fannedOut {
            let facts = Self.facts([Self.event()], Self.slot(), [Self.outcome("\(outcome.name)")])
            #expect(ExplainVerdict.outcome(facts) != nil, "\(outcome)")
        }
    }

    /// Each of these facts alone shows that a worker has taken the event.
    @Test(arguments: [
        facts([event()], slot { $0.applied = .init(topic: "liveactivity.events", offset: 102) }, committed: nil),
        facts([event()], nil, [outcome("delivered")], committed: nil),
        facts([event()], slot { $0.updates = [update()] }, committed: nil), facts(),
        facts(
            [event { $0.place = place("routed", 4) }], slot { $0.appliedRoutedOffset = 4 }, committed: nil),
    ])
    func anEventThatIsTakenLeavesATrace(facts: Facts) { #expect(facts.isTaken(facts.events[0])) }

    @Test(arguments: [
        facts([event()], slot { $0.applied = .init(topic: "liveactivity.events", offset: 101) }, committed: nil),
        facts([event()], slot { $0.applied = .init(topic: "liveactivity.others", offset: 102) }, committed: nil),
        facts([event()], nil, [outcome("delivered", of: 101)], committed: 102),
    ])
    func oneThatIsNotTakenLeavesNone(facts: Facts) { #expect(!facts.isTaken(facts.events[0])) }

    // MARK: What is shown

    @Test func aReportNamesEachRecordAndWhatToDo() {
        var facts = Self.facts(
            [Self.event()], Self.slot { $0.budgetUnitsOut = 3 },
            [Self.outcome("delivered") { ($0.priority, $0.merged, $0.apnsMillis) = (10, 2, 12) }])
        facts.searches = [
            .init(
                topic: "liveactivity.outcomes", partition: 1, recordCount: 100, fromOffset: 5, endOffset: 105,
                isWhole: false),
            .init(topic: "liveactivity.dead-letters", partition: -1, problem: "not authorized"),
        ]
        let lines = ExplainReport(facts).lines
        #expect(lines[0] == "APNs accepted the newest event 39 s ago at priority 10: the rest happens on the phone.")
        let starts = [
            "event     liveactivity.events[1]@102  2023-11-14T22:12:40Z (40 s ago)  update, priority 10",
            "state     liveactivity.state[1]@55  2023-11-14T22:12:42Z (38 s ago)  com.example.pizza, alive, production, token #\(Self.hash)",
            "outcome   liveactivity.outcomes[1]@7  2023-11-14T22:12:41Z (39 s ago)  delivered, priority 10, 2 events, APNs took 12 ms",
            "group     mailboat has committed liveactivity.events[1] up to 103",
            "settings  budget 15 an hour",
            "read      liveactivity.outcomes[1]: 100 records from 5 on, the log ends at 105",
            "read      NOT READ: liveactivity.dead-letters: not authorized", "What to do:",
        ]
        for start in starts { #expect(lines.contains { $0.hasPrefix(start) }, "\(start) in \(lines)") }
        #expect(lines.contains { $0.contains("budget 3 of 15 used, 12 left") })
    }

    /// The verdict also uses facts that the report does not show.
    @Test func aVerdictRestsOnMoreThanIsShown() {
        let facts = Self.facts(
            [Self.event("register", offset: 103), Self.event()], Self.slot(),
            [Self.outcome("applied", of: 103), Self.outcome("delivered")], committed: 104)
        let report = ExplainReport(facts, shownMax: 1)
        #expect(report.verdict.cause == .accepted)
        #expect(report.facts.events.count == 1 && report.facts.outcomes.count == 1)
    }

    /// Merging keeps the order of offsets within a topic, because a producer may write any timestamp.
    @Test func eventsOfSeveralTopicsAreInOrder() {
        let one = [Self.event(offset: 9, ago: 50), Self.event(offset: 8, ago: 10)]
        let other = [Self.event(offset: 3, ago: 20), Self.event(offset: 2, ago: 60)]
        let merged = NewestFirst.merge([one, other, []]) { $0.place.writtenMillis }
        #expect(merged.map(\.place.position.offset) == [3, 9, 8, 2])
        #expect(NewestFirst.merge([[Facts.Event]]()) { $0.place.writtenMillis } == [])
    }

    @Test func aProgramGetsTheSameFacts() throws {
        let json = ExplainReport(Self.facts([Self.event()], Self.slot(), [Self.outcome("delivered")])).json
        #expect(json.contains("\"cause\":\"accepted\""))
        #expect(json.contains("\"tokenHash\":\"\(Self.hash)\""))
    }

    /// A member's key is its token, so the report does not show the key.
    @Test func aTokenAsAKeyIsNotShown() {
        let token = String(repeating: "0a", count: 32)
        var facts = Self.facts([Self.event("register") { $0.isMembership = true }])
        facts.key = token
        let report = ExplainReport(facts)
        #expect(report.verdict.cause == .member)
        #expect(!report.json.contains(token))
        #expect(!report.lines.joined().contains(token))
    }
}
