import CommandSupport
import PushEngine

/// Verdicts from dead letters, and what dead letters add to a verdict.
extension ExplainVerdict {
    /// Verdict for a newest event that is a dead letter. The phone may still show the event before it, so that one is
    /// judged, too.
    static func deadLettered(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard var verdict = Self.newestDeadLetter(facts) else { return nil }
        verdict.earlier = Self.beforeDeadLetters(facts)
        return verdict
    }

    private static func newestDeadLetter(_ facts: ExplainFacts) -> ExplainVerdict? {
        let event = facts.events.first {
            $0.isForPhone || $0.fault != nil || facts.isRefusedJoin($0)
        }
        guard let event else {
            // The event may have left the log. Its dead letter counts if no event followed.
            guard facts.events.isEmpty, let letter = facts.letters.first,
                facts.outcomes.first?.outcome == "dead-lettered" || facts.outcomes.isEmpty, facts.slot == nil
            else { return nil }
            return Self.deadLettered(letter, facts)
        }
        if let letter = facts.letter(of: event) { return Self.deadLettered(letter, facts) }
        if let outcome = facts.outcome(of: event), outcome.outcome == "dead-lettered" {
            return Self.deadLettered(
                ExplainFacts.Letter(
                    place: outcome.place, source: outcome.source, reason: outcome.reason ?? "no reason given"),
                isStored: false, facts)
        }
        guard let fault = event.fault else { return nil }
        return Self.deadLettered(
            ExplainFacts.Letter(place: event.place, source: event.source, reason: fault), isStored: false, facts)
    }

    /// - Parameter isStored: whether the letter was read. If not, an outcome or the event itself shows the reason.
    private static func deadLettered(
        _ letter: ExplainFacts.Letter, isStored: Bool = true, _ facts: ExplainFacts
    ) -> ExplainVerdict {
        let source = letter.source.map { " (\(ExplainText.position($0)))" } ?? ""
        if letter.isOfMember { return Self.memberRefused(letter, facts) }
        let repair = Self.repair(letter, isStored: isStored, facts)
        if let answer = DeadLetter.refusal(in: letter.reason) {
            return ExplainVerdict(
                cause: .refusedByAPNs,
                sentence:
                    "APNs refuses what is in the newest event\(source): \(SentenceText.closed(answer))",
                next: ["Correct what the reason names, and publish the event again.", repair])
        }
        let isOfApp = letter.reason.hasPrefix("app: ")
        let isOfSettings = DeadLetter.isOfSettings(reason: letter.reason)
        return ExplainVerdict(
            cause: .deadLettered,
            sentence: "The newest event\(source) cannot be processed: \(SentenceText.closed(letter.reason))",
            next: [
                "Correct the program that writes it. "
                    + (isOfSettings
                        ? "'mailboat check --config FILE' knows the apps and environments of the settings, and says the same before you publish."
                        : "'mailboat check' says the same before you publish."),
                repair,
            ] + (isOfApp ? [Self.severalAppsHint] : []))
    }

    /// The whole command that sends the letter back, or shows its event so that it can be corrected.
    private static func repair(
        _ letter: ExplainFacts.Letter, isStored: Bool, _ facts: ExplainFacts
    ) -> String {
        guard isStored else {
            let choice =
                letter.source.map {
                    " --source-topic \(ShellWord.quoted($0.topic)) --source-partition \($0.partition) --source-offsets \($0.offset)"
                } ?? ""
            return "\(facts.command("dead-letters list\(choice)")) shows the event as it came."
        }
        let place = "\(letter.place.position.partition):\(letter.place.position.offset)"
        guard letter.canBeSentBack else {
            return
                "\(facts.command("dead-letters list --letter \(place) --values")) shows the event as it came, to be corrected and published."
        }
        return
            "\(facts.command("dead-letters republish --letter \(place) --execute")) sends it back"
            + (["app", "environment"].contains(letter.field) && !facts.settings.hasFile
                ? ", if workers have its \(letter.field ?? "app") by now." : ": it would be taken now.")
    }

    private static let severalAppsHint =
        "With more than one app in the settings, each event must name its app: those without are refused."

    /// What is known of the newest valid event, judged without the dead letters; `nil`: nothing.
    private static func beforeDeadLetters(_ facts: ExplainFacts) -> Earlier? {
        if let newest = facts.events.first(where: { $0.isForPhone || $0.fault != nil || facts.isRefusedJoin($0) }) {
            // APNs refused the event for one member. The event itself is not a dead letter.
            guard facts.isDeadLetter(newest) else { return nil }
        }
        var rest = facts
        rest.events.removeAll { facts.isDeadLetter($0) }
        rest.letters.removeAll { !$0.isOfMember && $0.event != "register" }
        rest.outcomes.removeAll { $0.outcome == "dead-lettered" }
        let isKnown =
            rest.newestForPhone != nil || rest.slot?.lastAcceptedSeconds != nil || rest.slot?.updates.isEmpty == false
            || rest.outcomes.contains { $0.outcome != "applied" }
            || (rest.state == nil && rest.events.first?.isMembership == true)
        guard isKnown else { return nil }
        var verdict = Self.firstCause(rest)
        verdict.nameRefusedRegistration(rest)
        verdict.nameForgottenAudience(rest)
        return Earlier(
            cause: verdict.cause, sentence: verdict.sentence.replacing("newest event", with: "newest valid event"),
            next: verdict.next.map { $0.replacing("newest event", with: "newest valid event") })
    }

    /// Verdict for an audience's event that APNs refused for a member. A letter is written once for each reason,
    /// however many members were refused.
    static func memberRefused(_ letter: ExplainFacts.Letter, _ facts: ExplainFacts) -> ExplainVerdict {
        let source = letter.source.map { " (\(ExplainText.position($0)))" } ?? ""
        let answer = DeadLetter.refusal(in: letter.reason) ?? letter.reason
        return ExplainVerdict(
            cause: .refusedByAPNs,
            sentence:
                "APNs refused the push of the newest event\(source) to one member of the audience, or more: \(SentenceText.closed(answer))",
            next: [
                "\(Self.tailOfAudience(facts, since: facts.outcomes.first)) counts what the members got: the outcome 'audience' has how many failed, and why.",
                "If only a few failed, do not publish the event again: it would go to all members, its alert included.",
                "If all failed, correct what the reason names, and publish the event again.",
            ])
    }

    /// Adds the refused registration to a verdict that says that nothing is registered.
    mutating func nameRefusedRegistration(_ facts: ExplainFacts) {
        guard [.waitsForToken, .unregistered, .nothingRegistered, .forgotten].contains(self.cause),
            let letter = facts.refusedRegistration
        else { return }
        let source = letter.source.map { "\(ExplainText.position($0)): " } ?? ""
        self.sentence += " A registration was refused: \(source)\(SentenceText.closed(letter.reason))"
        self.next.removeAll { $0 == Self.registrationHints[0] }
        let check =
            DeadLetter.isOfSettings(reason: letter.reason)
            ? "'mailboat check --config FILE' knows the apps and environments of the settings, and says the same"
            : "'mailboat check' says the same"
        self.next.insert("Correct the registration and publish it again: \(check) before you publish.", at: 0)
        self.next.insert(Self.repair(letter, isStored: true, facts), at: 1)
    }
}

extension ExplainFacts {
    /// Whether the event is a refused join of an audience, and its key has no record in `state`.
    func isRefusedJoin(_ event: Event) -> Bool {
        self.state == nil && event.isMembership && self.isDeadLetter(event)
    }

    /// The newest registration that became a dead letter, unless a registration or its withdrawal was taken later.
    var refusedRegistration: Letter? {
        guard let letter = self.letters.first(where: { $0.event == "register" }) else { return nil }
        // The events that are newer than the letter. The list has the newest first, so it is cut at the letter's own
        // event. If that event was not read, times decide.
        let later =
            self.events.firstIndex { $0.source == letter.source }.map { self.events[..<$0] }
            ?? self.events.prefix { $0.place.writtenMillis > letter.place.writtenMillis }
        let isOver = later.contains {
            ["register", "unregister"].contains($0.event) && self.letter(of: $0) == nil
        }
        return isOver ? nil : letter
    }
}
