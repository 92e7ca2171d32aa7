import PushEngine
import PushModel
import Testing
import Upstream

@testable import mailboat

/// Tests that the advice of `mailboat explain` fits the configured settings and the given key.
struct ExplainAdviceTests {
    typealias Table = ExplainVerdictTests

    /// The advice to set `outcomes.publish: all` is left out if the configuration file already does so.
    @Test(arguments: [(true, "all", false), (true, "pushes", true), (false, "all", true)])
    func missingOutcomesAreExplainedBySettingsThatLeaveThemOut(hasFile: Bool, publish: String, isAdvised: Bool) {
        for slot in [Table.slot(), Table.slot { $0.lastAcceptedSeconds = 1_699_999_999 }] {
            let verdict = ExplainVerdict.decide(
                Table.facts([Table.event()], slot) {
                    ($0.settings.hasFile, $0.settings.outcomesPublish) = (hasFile, publish)
                })
            #expect([.older, .noTrace].contains(verdict.cause))
            #expect(verdict.next.contains { $0.contains("outcomes.publish") } == isAdvised, "\(verdict)")
        }
    }

    /// If an event has several outcomes, the verdict uses the one that the rule on the page Outcomes selects.
    @Test(arguments: [
        (["delivered", "superseded", "duplicate"], "delivered"),
        (["unknown", "fanned-out", "duplicate"], "fanned-out"),
        (["superseded", "unknown", "duplicate"], "superseded"), (["rejected", "expired", "unknown"], "expired"),
        (["duplicate", "unknown", "duplicate"], "unknown"), (["duplicate"], "duplicate"),
    ])
    func ofSeveralOutcomesOneCounts(inOrderOfTheLog names: [String], expected: String) {
        let event = Table.event()
        let facts = Table.facts([event], Table.slot(), names.reversed().map { Table.outcome($0) })
        #expect(facts.outcome(of: event)?.outcome == expected)
        if case .counts(let counting) = OutcomeAgreement(names) { #expect(counting == expected) }
    }

    /// For an unknown key, the advice is a command that looks for an event with that text as its id.
    @Test func anUnknownKeyIsInTheCommandThatLooksForAnID() {
        let verdict = ExplainVerdict.decide(Table.facts([]))
        #expect(verdict.cause == .unknownKey)
        #expect(verdict.next.contains { $0.contains("tail --event-id order-7 --since 1d --no-follow") }, "\(verdict)")
    }
}
