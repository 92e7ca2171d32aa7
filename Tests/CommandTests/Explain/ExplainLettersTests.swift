import KafkaLog
import PushEngine
import PushModel
import Testing

@testable import mailboat

/// Tests of what dead letters add to the verdicts of `mailboat explain`.
struct ExplainLettersTests {
    typealias Facts = ExplainFacts
    typealias Table = ExplainVerdictTests

    private static let refused = "tokn: is not a field of an event. Did you mean “token”?"

    /// The letter of a registration at offset 101.
    private static func letter(_ reason: String = refused, event: String? = "register") -> Facts.Letter {
        .init(
            place: Table.place("dead-letters", 3, ago: 50), source: Table.place("events", 101).position, reason: reason,
            event: event)
    }

    private static func text(_ facts: Facts) -> String {
        let verdict = ExplainVerdict.decide(facts)
        return ([verdict.sentence] + verdict.next).joined(separator: "\n")
    }

    /// An update that waits for a token, after a registration that was refused.
    private static func waiting(_ letter: Facts.Letter, later: [Facts.Event] = []) -> Facts {
        Table.facts(
            later + [Table.event(), Table.event("") { $0.source.offset = 101 }],
            Table.slot("awaiting", token: nil) { $0.updates = [Table.update()] }
        ) { $0.letters = [letter] }
    }

    @Test func aRefusedRegistrationIsNamed() {
        let text = Self.text(Self.waiting(Self.letter()))
        #expect(
            text.contains(
                "nothing is registered under this key. A registration was refused: liveactivity.events[1]@101: tokn: is not a field of an event. Did you mean “token”?\n"
            ), "\(text)")
        #expect(text.contains("Correct the registration and publish it again: 'mailboat check'"))
        #expect(!text.contains("was it published as 'register'"))
        #expect(
            Self.text(Self.waiting(Self.letter("app: x is not configured"))).contains("'mailboat check --config FILE'"))
    }

    /// The report links a dead letter and the event that was republished from it, in both directions.
    @Test func whatWasSentBackIsNamed() {
        let facts = Self.waiting(Self.letter(), later: [Table.event("register", offset: 102, ago: 20)])
        #expect(!ExplainReport(facts).lines.contains { $0.contains("sent back") })
        var sentBack = facts
        sentBack.events[0].republishedFrom = "1:3"
        sentBack.events[0].eventID = "order-7-token"
        let lines = ExplainReport(sentBack).lines
        #expect(
            lines.contains { $0.hasPrefix("event") && $0.contains("id order-7-token, sent back from dead letter 1:3") },
            "\(lines)")
        #expect(
            lines.contains { $0.hasPrefix("letter") && $0.hasSuffix(", sent back as liveactivity.events[1]@102") },
            "\(lines)")
    }

    @Test func aRefusedRegistrationIsNamedForAnUpdateThatWasGivenUp() {
        let facts = Table.facts([Table.event()], Table.slot("awaiting", token: nil), [Table.outcome("unregistered")]) {
            $0.letters = [Self.letter()]
        }
        #expect(ExplainVerdict.decide(facts).cause == .unregistered)
        #expect(Self.text(facts).contains("A registration was refused: "))
    }

    /// A letter explains nothing if it is about another kind of event, or if a later registration was taken.
    @Test func anotherLetterIsNotNamed() {
        #expect(!Self.text(Self.waiting(Self.letter(event: "update"))).contains("was refused"))
        #expect(!Self.text(Self.waiting(Self.letter(event: nil))).contains("was refused"))
        let later = Table.event("register", offset: 102, ago: 20)
        #expect(!Self.text(Self.waiting(Self.letter(), later: [later])).contains("was refused"))
        let registered = Table.facts([Table.event()], Table.slot(), [Table.outcome("delivered")]) {
            $0.letters = [Self.letter()]
        }
        #expect(!Self.text(registered).contains("was refused"))
    }

    /// The verdict does not advise to publish the event again. All other members would get the event and its alert a
    /// second time.
    @Test func aMembersRefusalDoesNotAdviseToPublishAgain() {
        let facts = Table.facts(
            [Table.event()], Table.slot { $0.isAudience = true }, [Table.outcome("fanned-out")]
        ) {
            var letter = Self.letter("APNs refused the push: 413 PayloadTooLarge", event: "update")
            letter.source = Table.event().source
            letter.isOfMember = true
            $0.letters = [letter]
        }
        let verdict = ExplainVerdict.decide(facts)
        #expect(verdict.cause == .refusedByAPNs)
        #expect(verdict.sentence.hasSuffix("to one member of the audience, or more: 413 PayloadTooLarge."))
        #expect(verdict.next[0].contains("--outcome audience"))
        #expect(verdict.next[1].contains("do not publish the event again"))
    }

    @Test func aLetterTellsItsEventAndWhoseItIs() throws {
        func letter(_ value: String, _ reason: String) throws -> Facts.Letter {
            let records = ExplainRecords(key: Array("final-1".utf8), app: nil, nowMillis: 0)
            return try #require(
                records.letter(
                    OwnedRecord(
                        partition: 0, offset: 3, timestampMillis: 0, key: Array("final-1".utf8),
                        value: Array(value.utf8),
                        headers: [.init(name: RecordHeader.reason.text, value: Array(reason.utf8))]),
                    topic: "liveactivity.dead-letters"))
        }
        #expect(try letter(#"{"event":"register","tokn":"aa"}"#, Self.refused).event == "register")
        #expect(try letter("no JSON", "value: is not JSON").event == nil)
        let update = #"{"event":"update","to":{"audience":"final-1"},"content-state":{}}"#
        #expect(try letter(update, "APNs refused the push: 413 PayloadTooLarge").isOfMember)
        #expect(try !letter(update, "app: is not configured").isOfMember)
    }
}
