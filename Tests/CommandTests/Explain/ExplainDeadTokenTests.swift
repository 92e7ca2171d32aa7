import PushModel
import Testing

@testable import PushEngine
@testable import mailboat

/// Tests of what `mailboat explain` says about tokens that APNs calls dead.
struct ExplainDeadTokenTests {
    typealias Facts = ExplainFacts
    typealias Table = ExplainVerdictTests

    /// If APNs answered 410 for a time before the registration, the verdict says so, and why the token is kept. Without
    /// such an answer the push counts as unanswered.
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
}
