import CommandSupport

/// What dead letters add to a verdict.
extension ExplainVerdict {
    /// Verdict for an audience's event that APNs refused for a member. A letter is written once for each reason,
    /// however many members were refused.
    static func memberRefused(_ letter: ExplainFacts.Letter, _ facts: ExplainFacts) -> ExplainVerdict {
        let source = letter.source.map { " (\(ExplainText.position($0)))" } ?? ""
        let answer = DeadLetter.refusal(in: letter.reason) ?? letter.reason
        return ExplainVerdict(
            cause: .refusedByAPNs,
            sentence:
                "APNs refused the push of the newest event\(source) to one member of the audience, or more: \(MomentText.sentence(answer))",
            next: [
                "\(facts.command("tail --outcome audience --outcome pass --since 1h")) counts what the members got: the outcome 'audience' has how many failed, and why.",
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
        self.sentence += " A registration was refused: \(source)\(MomentText.sentence(letter.reason))"
        self.next.removeAll { $0 == Self.registrationHints[0] }
        let check =
            letter.reason.hasPrefix("app: ")
            ? "'mailboat check --config FILE' knows the apps of the settings, and says the same"
            : "'mailboat check' says the same"
        self.next.insert("Correct the registration and publish it again: \(check) before you publish.", at: 0)
    }
}

extension ExplainFacts {
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
