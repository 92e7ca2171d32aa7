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

    /// The dead letter of the record at offset 101, by default a refused registration.
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

    // MARK: A dead letter behind a valid event

    /// A valid event at offset 102, and a newer one that became the dead letter 1:3.
    private static func behind(
        _ slot: StateRecordDescription.Slot? = Table.slot(), _ outcomes: [Facts.Outcome] = [Table.outcome("delivered")],
        _ change: (inout Facts) -> Void = { _ in }
    ) -> Facts {
        Table.facts(
            [Table.event("", offset: 103, ago: 20) { $0.fault = Self.refused }, Table.event()], slot,
            [Table.outcome("dead-lettered", of: 103) { $0.reason = Self.refused }] + outcomes, committed: 104
        ) {
            var letter = Self.letter(event: "update")
            letter.source = Table.place("events", 103).position
            $0.letters = [letter]
            change(&$0)
        }
    }

    /// The verdict covers the dead letter and also the newest valid event before it, because the phone still shows that
    /// event.
    @Test func theNewestValidEventIsJudgedToo() throws {
        let verdict = ExplainVerdict.decide(Self.behind())
        #expect(verdict.cause == .deadLettered)
        #expect(verdict.sentence.hasPrefix("The newest event (liveactivity.events[1]@103) cannot be processed: tokn"))
        let earlier = try #require(verdict.earlier)
        #expect(earlier.cause == .accepted)
        #expect(earlier.sentence.hasPrefix("APNs accepted the newest valid event 39 s ago"))
        let report = ExplainReport(Self.behind())
        #expect(report.lines[1] == earlier.sentence && report.lines[2].isEmpty)
        #expect(report.lines.contains("About the newest valid event:"))
        #expect(report.json.contains(#""earlier":{"cause":"accepted""#), "\(report.json)")
    }

    @Test func theNewestValidEventMayWaitOrBeRefused() {
        let waiting = Self.behind(Table.slot("awaiting", token: nil) { $0.updates = [Table.update()] }, [])
        #expect(ExplainVerdict.decide(waiting).earlier?.cause == .waitsForToken)
        let refused = Self.behind(Table.slot(), [Table.outcome("rejected") { $0.tokenHash = Table.hash }])
        #expect(ExplainVerdict.decide(refused).earlier?.cause == .rejected)
        let passed = Self.behind(Table.slot(), [])
        #expect(ExplainVerdict.decide(passed).earlier?.sentence.hasPrefix("The newest valid event (update") == true)
    }

    /// If the key has no valid event, the verdict is about the dead letter alone.
    @Test func withoutAValidEventNothingElseIsJudged() {
        let alone = Self.behind(Table.slot(), []) { $0.events.removeLast() }
        #expect(ExplainVerdict.decide(alone).cause == .deadLettered)
        #expect(ExplainVerdict.decide(alone).earlier == nil)
        let gone = Self.behind(nil, []) { $0.events = [] }
        #expect(ExplainVerdict.decide(gone).cause == .deadLettered && ExplainVerdict.decide(gone).earlier == nil)
    }

    /// The newest valid event is judged even if the key has more letters, here a refused registration and a member's
    /// refusal.
    @Test func otherLettersOfTheKeyDoNotHideTheValidEvent() {
        let facts = Self.behind { facts in
            var ofMember = Self.letter("APNs refused the push: 413 PayloadTooLarge", event: "update")
            (ofMember.source, ofMember.isOfMember) = (Table.event().source, true)
            facts.letters = [Self.letter(), facts.letters[0], ofMember]
        }
        let verdict = ExplainVerdict.decide(facts)
        #expect(verdict.cause == .deadLettered && verdict.earlier?.cause == .refusedByAPNs)
    }

    // MARK: Advice

    /// The advice contains a whole command that can be copied and concerns this letter alone.
    @Test func theAdviceIsTheWholeCommand() {
        let shows = Self.text(Self.behind { $0.reach = "--config mailboat.yaml" })
        #expect(
            shows.contains("'mailboat dead-letters list --letter 1:3 --values --config mailboat.yaml' shows the event"),
            "\(shows)")
        let sends = Self.text(
            Self.behind {
                ($0.reach, $0.letters[0].canBeSentBack) = ("--bootstrap k:9092", true)
            })
        #expect(
            sends.contains(
                "'mailboat dead-letters republish --letter 1:3 --execute --bootstrap k:9092' sends it back: "))
        let ofApp = Self.text(
            Self.behind { ($0.letters[0].canBeSentBack, $0.letters[0].field) = (true, "app") })
        #expect(ofApp.contains("sends it back, if workers have its app by now."))
        // The letter itself was not found.
        let unseen = Self.text(Self.behind { $0.letters = [] })
        #expect(
            unseen.contains(
                "'mailboat dead-letters list --source-topic liveactivity.events --source-partition 1 --source-offsets 103'"
            ), "\(unseen)")
    }

    @Test func aRefusedRegistrationHasItsCommand() {
        #expect(
            Self.text(Self.waiting(Self.letter())).contains("'mailboat dead-letters list --letter 1:3 --values' shows"))
    }

    // MARK: Punctuation

    /// No verdict has two punctuation marks in a row, even if it quotes a message that ends with one.
    @Test(arguments: ["Did you mean “token”?", "It ends.", "It ends!"])
    func quotedMessagesBringTheirOwnEnd(message: String) {
        let outcomes = ["late", "duplicate", "expired", "rejected", "unregistered", "unknown", "superseded"]
        var all = outcomes.map { name in
            Table.facts([Table.event()], Table.slot(), [Table.outcome(name) { $0.reason = message }])
        }
        all.append(Self.behind { $0.letters[0].reason = message })
        all.append(Self.behind { $0.letters = [] })
        all.append(Self.behind(nil, []) { ($0.events[0].fault, $0.letters, $0.outcomes) = (message, [], []) })
        all.append(Self.waiting(Self.letter(message)))
        all.append(
            Table.facts { $0.state = Table.state(nil, unreadable: message) })
        all.append(
            Table.facts([Table.event("register") { $0.isMembership = true }]) {
                $0.outcomes = [Table.outcome("rejected") { $0.reason = message }]
            })
        for facts in all {
            for line in ExplainReport(facts).lines {
                #expect(line.firstMatch(of: /[.?!][.?!,;:]/) == nil, "\(line)")
            }
        }
    }

    @Test func aRefusedRegistrationIsNamedForAnUpdateThatWasGivenUp() {
        let facts = Table.facts([Table.event()], Table.slot("awaiting", token: nil), [Table.outcome("unregistered")]) {
            $0.letters = [Self.letter()]
        }
        #expect(ExplainVerdict.decide(facts).cause == .unregistered)
        #expect(Self.text(facts).contains("A registration was refused: "))
    }

    /// The verdict leaves a dead letter out if it is about another kind of event, or if a later registration was taken.
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

    /// If APNs refused an audience's event for one member, the verdict does not advise to publish the event again. All
    /// other members would get the event and its alert a second time.
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
        #expect(verdict.next[0].contains("tail --key order-7 --since 1h --no-follow"))
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
        #expect(try letter(#"{"event":"register","tokn":"aa","id":"e-7"}"#, Self.refused).eventID == "e-7")
        #expect(try letter("no JSON", "value: is not JSON").event == nil)
        let update = #"{"event":"update","to":{"audience":"final-1"},"content-state":{}}"#
        #expect(try letter(update, "APNs refused the push: 413 PayloadTooLarge").isOfMember)
        #expect(try !letter(update, "app: is not configured").isOfMember)
    }
}
