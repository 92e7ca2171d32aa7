import PushModel
import Testing

@testable import PushEngine
@testable import mailboat

/// Tests of what `mailboat explain` says about tokens that APNs calls dead.
struct ExplainDeadTokenTests {
    typealias Facts = ExplainFacts
    typealias Table = ExplainVerdictTests

    /// A 410 answer of APNs says since when the token has been dead. If that time is before the token's registration,
    /// the verdict says so, and why the token is kept. Without such an answer the push counts as unanswered.
    @Test func aTokenThatDiedBeforeItsRegistrationIsNamed() {
        func decide(_ deaths: Int?, _ change: (inout Facts) -> Void = { _ in }) -> ExplainVerdict {
            ExplainVerdict.decide(
                Table.facts(
                    [Table.event()],
                    Table.slot {
                        $0.registeredMillis = Table.nowMillis - 50_000
                        $0.updates = [Table.update { $0.mayBeSent = true }]
                    }
                ) {
                    $0.state?.earlierDeaths = deaths
                    change(&$0)
                })
        }
        let once = decide(1)
        #expect(once.cause == .deadBeforeRegistration)
        #expect(
            once.sentence
                == "APNs has answered 410 to the update's token, for a time before the token was registered 50 s ago (written down 38 s ago): the registration is newer than that, so the token is kept and the push is tried again."
        )
        #expect(once.next[1].contains("kept for 7 such answers in a row; the next one is believed, in about 2 min"))
        #expect(once.next[2].contains("token-hash=\(Table.hash)") && once.next[2].contains("/activities/order-7"))
        let often = decide(7) { $0.settings.retryBackoffMaxMillis = 20_000 }
        #expect(often.sentence.contains("answered 410 7 times in a row to"))
        #expect(often.next[1].contains("in about 20 s at the latest"))
        #expect(decide(nil).cause == .unanswered)
        let lines = ExplainReport(Table.facts([Table.event()], Table.slot()) { $0.state?.earlierDeaths = 2 }).lines
        #expect(lines.contains { $0.contains("410 2 times, for a time before the registration") })
    }

    /// APNs refuses many tokens, this one too. While the update waits and after it was given up, `explain` names what is
    /// probably wrong, and does not advise to forget the token.
    @Test func aDoubtedTokenIsKept() {
        let slot = Table.slot { $0.updates = [Table.update { $0.mayBeSent = true }] }
        let waiting = ExplainVerdict.decide(Table.facts([Table.event()], slot) { $0.state?.tokenIsDoubted = true })
        #expect(waiting.cause == .tokenDoubted && waiting.sentence.contains("as it refuses many tokens now"))
        #expect(waiting.next[0].contains("after APNs refused the token"))
        #expect(waiting.next[1].contains("environment or app is wrong (registered for production)"))
        let outcome = Table.outcome("rejected") {
            $0.tokenIsDoubted = true
            $0.tokenHash = Table.hash
        }
        let givenUp = ExplainVerdict.decide(Table.facts([Table.event()], Table.slot(), [outcome]))
        #expect(givenUp.cause == .tokenDoubted && !givenUp.next.contains { $0.contains("Forget") })
        #expect(givenUp.next.contains { $0.hasPrefix("Keep the token") })
    }

    /// The server has published `unregister`, as `explain` advises. An update that still waits is no fault.
    @Test func anUpdateThatWaitsAfterAnUnregistrationIsExplained() {
        let slot = Table.slot("awaiting", token: nil) { $0.updates = [Table.update()] }
        let verdict = ExplainVerdict.decide(Table.facts([Table.event("unregister"), Table.event(ago: 90)], slot))
        #expect(verdict.cause == .waitsForToken && verdict.sentence.contains("ends as `unregistered`"))
        #expect(verdict.next[0].contains("nothing needs to be done"))
    }

    /// An end waits for its card's token, as long as the activity lives if a start has put the card up.
    @Test func anEndWithoutATokenNamesBothWaits() {
        let slot = Table.slot("ending", token: nil) { $0.updates = [Table.update("end")] }
        let verdict = ExplainVerdict.decide(Table.facts([Table.event("end")], slot))
        #expect(verdict.next[0].contains("as long as the activity lives; otherwise 5 min (registration-wait)"))
    }

    /// A date that phones misread is named for an audience's event, too.
    @Test func aWrongDateOfAnAudiencesEventIsNamed() {
        let event = Table.event { $0.doubtfulDates = ["eta = 1795632500 (seconds since 1970; send 817325300)"] }
        let outcome = Table.outcome("fanned-out") { $0.version = 1_699_999_961 }
        let verdict = ExplainVerdict.decide(Table.facts([event], Table.slot { $0.isAudience = true }, [outcome]))
        #expect(verdict.cause == .audience && verdict.next[0].hasPrefix("In content-state, eta = 1795632500"))
    }

    /// The time of a token's death is that of the oldest record in the newest run of records with a dead token. Later
    /// records of that run may have been written for other reasons.
    @Test func theOldestRecordOfADeadTokenSaysSinceWhen() throws {
        func record(_ ago: Int64, _ change: (inout StateRecordDescription.Slot) -> Void) -> Facts.State {
            .init(place: Table.place("state", 55, ago: ago), app: "a.b", slot: Table.slot("alive", change))
        }
        let records = [
            record(7) { $0.tokenIsDead = true }, record(300) { $0.tokenIsDead = true }, record(310) { _ in },
            record(900) { $0.tokenIsDead = true },
        ]
        let newest = try #require(Facts.State.newest(of: records))
        #expect(newest.place == records[0].place && newest.deadSinceMillis == records[1].place.writtenMillis)
        #expect(Facts.State.newest(of: [records[2]])?.deadSinceMillis == nil)
        #expect(Facts.State.newest(of: []) == nil)
    }

    /// A verdict about an update that waits because APNs refused its token.
    private static func waiting(
        _ outcomes: [Facts.Outcome] = [], acceptedSeconds: Int64? = nil
    ) -> ExplainVerdict {
        let slot = Table.slot {
            $0.tokenIsDead = true
            $0.lastAcceptedSeconds = acceptedSeconds
            $0.updates = [Table.update()]
        }
        return ExplainVerdict.decide(Table.facts([Table.event()], slot, outcomes))
    }

    /// APNs may have refused the token because it belongs to the other environment. While the update waits, `explain`
    /// names APNs' reason if it is known. Otherwise it names a wrong environment and a token that died as possible
    /// causes.
    @Test func aTokenOfAnotherEnvironmentIsThoughtOfAtOnce() throws {
        let elsewhere = "environment or app is wrong (registered for production)"
        let unknown = Self.waiting()
        #expect(unknown.cause == .tokenDead)
        #expect(unknown.next[1].contains(elsewhere) && unknown.next[2].contains("follow the stream"), "\(unknown)")
        let used = Self.waiting(acceptedSeconds: 1_699_999_000)
        #expect(used.next[1].contains("follow the stream") && used.next[2].contains(elsewhere), "\(used)")
        let earlier = Table.outcome("rejected", of: 90) {
            $0.reason = "BadDeviceToken"
            $0.tokenHash = Table.hash
        }
        let foreign = Self.waiting([earlier])
        #expect(foreign.sentence.contains("the token is dead (BadDeviceToken)"), "\(foreign)")
        #expect(foreign.next[1].hasPrefix("BadDeviceToken: \(elsewhere)"), "\(foreign)")
        var dead = earlier
        dead.reason = "Unregistered"
        #expect(!Self.waiting([dead]).next.contains { $0.contains(elsewhere) })
        dead.tokenHash = "ffffffffffffffff"
        #expect(Self.waiting([dead]).next.contains { $0.contains(elsewhere) }, "the reason is another token's")
    }

    /// If the card is gone, no token comes, whatever the app does. A start that became a duplicate is named, because it
    /// was meant to put up a new card.
    @Test func whatToDoIfTheCardIsGoneIsSaid() {
        let gone =
            #"If the card or the app is gone, no token will come: publish {"event": "unregister"} with this key; a new card needs a start."#
        #expect(Self.waiting().next.last == gone)
        func decide(_ updates: [StateRecordDescription.Update]) -> ExplainVerdict {
            let slot = Table.slot {
                $0.tokenIsDead = true
                $0.updates = updates
            }
            let duplicate = Table.outcome("duplicate", of: 103) { $0.reason = "the activity was already started" }
            let events = [Table.event("start", offset: 103, ago: 5), Table.event()]
            return ExplainVerdict.decide(Table.facts(events, slot, [duplicate], committed: 104))
        }
        for verdict in [decide([Table.update()]), decide([])] {
            #expect(verdict.cause == .tokenDead && verdict.next.contains(gone))
            #expect(
                verdict.next.last
                    == "The newest start became duplicate (the activity was already started), because workers do not know that the card is gone: publish it again after the unregister."
            )
        }
    }

    /// A card may be up although APNs accepted its end. A channel has no token that could be registered again.
    @Test func anEndThatThePhoneDidNotTakeIsThoughtOf() {
        func decide(_ change: (inout StateRecordDescription.Slot) -> Void = { _ in }) -> [ExplainVerdict] {
            ["delivered", "late"].map { name in
                ExplainVerdict.decide(
                    Table.facts([Table.event("end")], Table.slot("ended", change), [Table.outcome(name)]))
            }
        }
        #expect(
            decide().allSatisfy { $0.next.last?.hasPrefix("If the card is still up, the phone did not take") == true })
        #expect(decide { $0.isAudience = true }.allSatisfy { !$0.next.contains { $0.contains("is still up") } })
    }

    /// A token that APNs calls bad never was a good one. The advice after the event was given up is that of the wait. A
    /// card that has gone from the phone is thought of first only if the token has been good, or has died.
    @Test func aTokenOfAnotherEnvironmentIsThoughtOfAfterTheWait() {
        func next(_ reason: String?, status: Int? = nil, acceptedSeconds: Int64? = nil) -> [String] {
            let slot = Table.slot {
                $0.tokenIsDead = true
                $0.lastAcceptedSeconds = acceptedSeconds
            }
            let outcome = Table.outcome("rejected") { ($0.reason, $0.status) = (reason, status) }
            let verdict = ExplainVerdict.decide(Table.facts([Table.event()], slot, [outcome]))
            #expect(verdict.cause == .tokenDead)
            return verdict.next
        }
        let givenUp = "the token is dead and no other was registered in time"
        let elsewhere = "environment or app is wrong"
        let bad = next("BadDeviceToken", status: 400)
        #expect(bad[0].contains(elsewhere) && !bad.contains { $0.contains("nothing needs to be done") }, "\(bad)")
        #expect(next(givenUp)[0].contains(elsewhere) && next(givenUp)[2].contains("swiped"), "\(next(givenUp))")
        let used = next(givenUp, acceptedSeconds: 1_699_999_000)
        #expect(used[0].contains("swiped") && used[2].contains(elsewhere), "\(used)")
        for dead in [next("Unregistered"), next(nil, status: 410)] {
            #expect(dead[0].contains("swiped") && !dead.contains { $0.contains(elsewhere) }, "\(dead)")
        }
    }

    /// A start has its environment in `to`, where other events rely on the registration.
    @Test(arguments: [
        ("start", true, "BadDeviceToken", "environment in the event's 'to'", "current push-to-start token"),
        ("update", true, "no reason", "environment in the event's 'to'", "current token"),
        ("update", false, "BadDeviceToken", "environment in 'register'", "current token"),
        ("start", true, "Unregistered", "The token is dead. Forget it", "current push-to-start token"),
    ])
    func theEnvironmentIsWhereTheTokenIs(
        kind: String, bringsToken: Bool, reason: String, place: String, token: String
    ) {
        let event = Table.event(kind) { $0.bringsToken = bringsToken }
        let outcome = Table.outcome("rejected") { $0.reason = reason }
        let verdict = ExplainVerdict.decide(Table.facts([event], nil, [outcome]))
        #expect(verdict.cause == .rejected && verdict.next.count == 1)
        #expect(verdict.next[0].contains(place) && verdict.next[0].contains(token), "\(verdict)")
    }

    /// After a takeover the wait for a token begins again. So the end that `explain` computes from the records is only
    /// the earliest possible one.
    @Test func theEndOfAWaitIsTheEarliest() {
        func text(ago: Int64) -> String {
            let slot = Table.slot("awaiting", token: nil) { $0.updates = [Table.update()] }
            return ExplainVerdict.decide(Table.facts([Table.event(ago: ago)], slot)).next[0]
        }
        #expect(text(ago: 100).contains("given up not before 2023-11-14T22:16:40Z (in 3 min), 5 min after it arrived"))
        #expect(text(ago: 100).hasSuffix("/activities/order-7 how long is left."))
        for ago in [299, 300, 340] as [Int64] {
            #expect(text(ago: ago).contains("are over") && text(ago: ago).contains("its wait began again"), "\(ago)")
        }
    }
}
