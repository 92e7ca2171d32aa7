import CommandSupport
import PushModel

/// What to try next when no outcome has the key or the event id that was asked for.
struct TailAdvice {
    /// The id that was asked for.
    var eventID: String
    /// Which outcomes workers write; `nil`: no configuration was given.
    var publication: OutcomePublication?
    /// The key that was asked for; `nil`: any.
    var key: String?
    /// The records that were read. None of them matched.
    var vain: ReadInVain

    /// Lines for standard error if no record that was read matches: what was read, and what to try next.
    /// - Parameters:
    ///   - publication: which outcomes workers write; `nil`: no configuration was given.
    ///   - source: where the records are stored.
    ///   - since: the moment from which on records were read.
    ///   - command: a command for the same cluster, quoted for a sentence.
    static func lines(
        _ filter: TailFilter, _ publication: OutcomePublication?, _ vain: ReadInVain, in source: String, since: String?,
        command: (String) -> String
    ) -> [String] {
        if let eventID = filter.eventID {
            let advice = TailAdvice(eventID: eventID, publication: publication, key: filter.key, vain: vain)
            return [vain.sentence(asked: filter.asked, in: source, since: since)] + advice.lines(command: command)
        }
        // An outcome of the key was read, so the key is right, and another option lets nothing through.
        guard let key = filter.key, vain.outcomes.isEmpty, !vain.isForeign else {
            return [vain.sentence(asked: filter.asked, in: source, since: since)]
        }
        // A key that waits resembles others that have outcomes, so the names that were perhaps meant come last.
        return [
            vain.sentence(asked: filter.asked, in: source, since: since, isNear: false),
            "The key may have no outcome yet: \(command("explain \(Self.word(key))")) says what it waits for.",
        ] + vain.near(filter.asked)
    }

    /// Lines for standard error. Each applies to what was read.
    /// - Parameter command: a command for the same cluster, quoted for a sentence.
    func lines(command: (String) -> String) -> [String] {
        let shown = TerminalText.withoutTokens(self.eventID)
        let explain = command("explain \(self.key.map(Self.word) ?? "KEY")")
        var lines = [
            "The event may still wait, and has no outcome then. \(explain) shows the events of a key with their ids."
        ]
        // An id that resembles one that was read is probably misspelt. The command has said so.
        guard !vain.hasNear(self.eventID, of: "--event-id") else { return lines }
        let count = self.vain.refusedWithoutIDCount
        if count > 0 {
            let outcome = count == 1 ? "has no id in its outcome" : "have no id in their outcomes"
            let list = command("dead-letters list --event-id \(Self.word(self.eventID))")
            lines.append("\(NumberText.count(count, "refused event")) \(outcome). \(list) looks for \(shown).")
        }
        if let unwritten = self.unwritten { lines.append(unwritten) }
        return lines
    }

    /// Says which outcomes workers do not write; `nil`: they write all.
    private var unwritten: String? {
        func names(_ publication: OutcomePublication) -> [String] {
            Outcome.allCases.filter { !publication.includes($0) }.map { "\($0.name)" }
        }
        if let publication {
            let names = names(publication)
            guard let last = names.last else { return nil }
            let others = names.dropLast().joined(separator: ", ")
            return "outcomes.publish is \(publication.rawValue): workers do not write \(others) and \(last)."
        }
        guard self.vain.readCount > 0, self.vain.outcomes.isDisjoint(with: names(.pushes)) else { return nil }
        return "No outcome read is applied or superseded: workers write these only with outcomes.publish: all."
    }

    private static func word(_ text: String) -> String { ShellWord.quoted(TerminalText.withoutTokens(text)) }
}
