import CommandSupport
import PushEngine
import PushInspection

/// Verdicts about an audience's event before it is handed to the members.
extension ExplainVerdict {
    static func audience(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let state = facts.state, let slot = state.slot, slot.isAudience else { return nil }
        let outcome = facts.newestForPhone.flatMap { facts.outcome(of: $0) } ?? facts.outcomes.first
        let sentence: String
        if !slot.updates.isEmpty {
            let since = MomentText.distance(millis: state.place.writtenMillis, nowMillis: facts.nowMillis)
            sentence = "The newest event of this audience waits to be handed on to its members (written down \(since))."
        } else if let outcome, outcome.outcome == "fanned-out" {
            let age = MomentText.distance(millis: outcome.place.writtenMillis, nowMillis: facts.nowMillis)
            let version = outcome.version.map { ", as version \($0)" } ?? ""
            sentence =
                "The newest event of this audience was handed on to all partitions with members, \(age)\(version)."
        } else if let verdict = Self.outcome(facts) {
            return Self.paused(facts, app: state.app, besides: verdict.sentence, next: verdict.next) ?? verdict
        } else {
            sentence = "This key is an audience, and nothing of it waits to be handed on."
        }
        let dates = facts.newestForPhone.flatMap(Self.dateHint).map { [$0] } ?? []
        let next =
            dates + [
                "Pushes to members are not followed here: \(facts.command("state dump --audience \(ShellWord.quoted(facts.key))")) shows versions, members, and what is paused.",
                "\(Self.tailOfAudience(facts, since: outcome)) counts what the members got.",
                Self.memberHint,
            ]
        return Self.paused(facts, app: state.app, besides: sentence, next: next)
            ?? ExplainVerdict(cause: .audience, sentence: sentence, next: next)
    }

    /// The command that shows what became of the audience's newest version.
    /// - Parameter outcome: the outcome of the event that became the version; `nil`: none is known.
    static func tailOfAudience(_ facts: ExplainFacts, since outcome: ExplainFacts.Outcome?) -> String {
        let millis = outcome.map { facts.nowMillis - $0.place.writtenMillis } ?? 0
        // Another minute allows for the clocks and for the time of the records. Hours are rounded up.
        let hours = max(0, millis + 60_000) / 3_600_000 + 1
        return facts.command("tail --key \(ShellWord.quoted(facts.key)) --since \(hours)h --no-follow")
    }

    /// Adds the question whether `to` was left out of the event. It is added if nothing is registered under the
    /// key, and an audience has the key as its id.
    mutating func nameForgottenAudience(_ facts: ExplainFacts) {
        guard [.waitsForToken, .unregistered, .nothingRegistered, .forgotten].contains(self.cause),
            facts.newestForPhone?.audience == nil,
            facts.outcomes.contains(where: { $0.outcome == "fanned-out" })
                || facts.events.contains(where: { $0.audience != nil && !$0.isMembership })
        else { return }
        let id = JSONTree.string(TerminalText.withoutTokens(facts.key)).text
        self.next.insert(
            "An audience has this id: did you leave out \"to\": {\"audience\": \(id)}?", at: 0)
    }

    /// Verdict for a paused audience. Whatever the event's outcome, its members receive nothing until the pause ends.
    /// - Parameters:
    ///   - sentence: about the newest event.
    ///   - next: what to do without the pause.
    private static func paused(
        _ facts: ExplainFacts, app: String, besides sentence: String, next: [String]
    ) -> ExplainVerdict? {
        guard let first = facts.pauses.first else { return nil }
        let since = MomentText.moment(millis: first.sinceMillis, nowMillis: facts.nowMillis)
        let whose = first.isOfApp ? "all audiences of \(app)" : "this audience"
        let commands = facts.pauses.map {
            facts.command(
                "audience resume \($0.isOfApp ? "--all" : ShellWord.quoted(facts.key)) --app \(ShellWord.quoted(app))")
        }
        return ExplainVerdict(
            cause: .audiencePaused,
            sentence: "The pushes to members of \(whose) are paused since \(since). \(sentence)",
            next: [
                "\(commands.joined(separator: " and ")) \(commands.count == 1 ? "lets" : "let") the pushes go on with the newest state."
            ] + next)
    }
}
