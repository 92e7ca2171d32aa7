import PushModel
import Testing
import Upstream

@testable import PushEngine
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

    /// Only a start can put up a second card. An update whose push got no answer can be published again.
    @Test(arguments: ["update", "end"])
    func anUpdateThatIsUnknownGetsNoAdviceAboutStarts(kind: String) {
        func next(_ slot: StateRecordDescription.Slot?) -> [String] {
            let verdict = ExplainVerdict.decide(Table.facts([Table.event(kind)], slot, [Table.outcome("unknown")]))
            #expect(verdict.cause == .unknown)
            return verdict.next
        }
        #expect(next(Table.slot()).first?.hasPrefix("Publish the newest state again") == true)
        #expect(next(Table.slot(token: nil)).first?.hasPrefix("No token is registered now") == true)
        for text in next(Table.slot()) + next(Table.slot(token: nil)) { #expect(!text.contains("start"), "\(text)") }
    }

    /// What the members got is in records with other keys. The advice is the command that finds those of this audience,
    /// from before its event on.
    @Test(arguments: [(39, "1h"), (3_530, "1h"), (3_600, "2h"), (86_400, "25h")] as [(Int64, String)])
    func theRecordsOfOneAudienceAreLookedFor(ago: Int64, since: String) {
        let outcome = Table.outcome("fanned-out") { $0.place = Table.place("outcomes", 7, ago: ago) }
        let verdict = ExplainVerdict.decide(
            Table.facts([Table.event()], Table.slot { $0.isAudience = true }, [outcome]))
        #expect(verdict.cause == .audience)
        #expect(verdict.next[1].contains("tail --key order-7 --since \(since) --no-follow"), "\(verdict)")
    }

    /// An audience that has ended is not revived by a registration.
    @Test func aNewLifeOfAnAudienceBeginsWithAStart() {
        func text(isAudience: Bool) -> String {
            let slot = Table.slot("ended") { $0.isAudience = isAudience }
            return ExplainVerdict.decide(Table.facts([Table.event()], slot, [Table.outcome("late")])).next
                .joined(separator: "\n")
        }
        #expect(text(isAudience: true).contains("begins with a start for it"))
        #expect(!text(isAudience: true).contains("registration of another token"))
        #expect(text(isAudience: false).contains("registration of another token"))
    }

    /// An event for an audience that lacks `to` waits for the token of an activity with the audience's id.
    @Test func aForgottenAudienceIsNamed() {
        func next(_ outcomes: [ExplainFacts.Outcome]) -> [String] {
            ExplainVerdict.decide(
                Table.facts(
                    [Table.event()], Table.slot("awaiting", token: nil) { $0.updates = [Table.update()] }, outcomes)
            ).next
        }
        let hint = "An audience has this id: did you leave out \"to\": {\"audience\": \"order-7\"}?"
        #expect(next([Table.outcome("fanned-out", of: 90)]).first == hint)
        #expect(!next([]).contains(hint))
    }

    /// A refused join makes no member. The report does not show its key, which is a token.
    @Test(arguments: [false, true]) func aRefusedJoinIsNoMember(wasMember: Bool) {
        let token = String(repeating: "80E0", count: 16)
        let join = Table.event("register") { ($0.isMembership, $0.audience) = (true, "match") }
        let before = Table.event("register", offset: 90) { ($0.isMembership, $0.audience) = (true, "match") }
        let reason = "environment: \"development\" is not configured for this app: expected \"production\""
        let facts = Table.facts(wasMember ? [join, before] : [join]) {
            $0.key = token
            $0.letters = [
                .init(
                    place: Table.place("dead-letters", 3), source: join.source, reason: reason, field: "environment",
                    event: "register")
            ]
        }
        let report = ExplainReport(facts)
        let verdict = report.verdict
        #expect(verdict.cause == .deadLettered, "\(verdict)")
        #expect(verdict.sentence.contains("cannot be processed: environment: ") && !verdict.sentence.contains("member"))
        #expect(verdict.next.contains { $0.contains("dead-letters list --letter 1:3 --values") }, "\(verdict)")
        #expect(verdict.next[0].contains("'mailboat check --config FILE' knows the apps and environments"))
        #expect(verdict.earlier?.cause == (wasMember ? .member : nil))
        #expect(!report.json.contains(token) && !report.lines.joined().contains(token))
    }
}
