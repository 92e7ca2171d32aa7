import CommandSupport
import PushEngine

/// Verdicts from the outcome of the newest event.
extension ExplainVerdict {
    static func outcome(_ facts: ExplainFacts) -> ExplainVerdict? {
        let event = facts.newestForPhone
        // The event itself may have left the log. Then the newest outcome is used instead.
        guard
            let outcome = event.map({ facts.outcome(of: $0) })
                ?? facts.outcomes.first(where: { $0.outcome != "applied" })
        else { return nil }
        let age = MomentText.distance(millis: outcome.place.writtenMillis, nowMillis: facts.nowMillis)
        let reason = outcome.reason.map { " (\($0))" } ?? ""
        switch outcome.outcome {
        case "delivered": return Self.accepted(facts, event: event, outcome: outcome)
        case "superseded": return Self.superseded(facts, outcome, age: age)
        case "late":
            return ExplainVerdict(
                cause: .late,
                sentence: "The newest event arrived \(age) after the activity's end, and was not sent\(reason).",
                next: [
                    Self.newLifeHint(facts),
                    "If the end was not intended, find the program that publishes it.",
                ] + Self.unshownEndHints(facts))
        case "duplicate":
            return ExplainVerdict(
                cause: .duplicate, sentence: "The newest event changes nothing and was not sent, \(age)\(reason).",
                next: ["An existing card is updated with 'update'. For a second card use another key."])
        case "expired":
            return ExplainVerdict(
                cause: .expired, sentence: "The newest event was not sent in time, \(age)\(reason).",
                next: [
                    "Are expires, or the stale-date of a start, too short, or in the past when it is published?",
                    "Was there no token, or no budget, for that long? Is the worker behind (mailboat_push_event_to_accepted_seconds)?",
                ])
        case "rejected", "unregistered": return Self.refused(facts, outcome, age: age, reason: reason)
        case "unknown":
            return ExplainVerdict(
                cause: .unknown,
                sentence:
                    "It is unknown whether the newest event reached the phone, \(age)\(reason). It is not sent again.",
                next: Self.unknownHints(event: event, outcome, facts))
        case "dead-lettered":
            return ExplainVerdict(
                cause: .deadLettered, sentence: "The newest event cannot be processed\(reason).",
                next: ["\(facts.command("dead-letters list")) shows the record. Correct the program that writes it."])
        default: return nil
        }
    }

    /// How a new life of the key begins after its end.
    static func newLifeHint(_ facts: ExplainFacts) -> String {
        facts.slot?.isAudience == true
            ? "A new life of an audience begins with a start for it, and only so. A new id for each is safer."
            : "A new life of this key begins with a start, or with the registration of another token. A new key for each card is safer."
    }

    /// What to do about an event that may have reached the phone.
    /// - Parameter event: the newest event; `nil`: it has left the log.
    private static func unknownHints(
        event: ExplainFacts.Event?, _ outcome: ExplainFacts.Outcome, _ facts: ExplainFacts
    ) -> [String] {
        let aboutStarts = [
            "A start that got no answer may have put up the card: it has, if an update token is reported. A start with another key may put up a second one.",
            "start.on-unknown: resend would send such starts again.",
        ]
        if event?.event == "start" { return aboutStarts }
        let lacksToken =
            !outcome.isBroadcast && facts.slot?.channel == nil && facts.slot?.isAudience != true
            && facts.slot?.tokenHash == nil
        return [
            lacksToken
                ? "No token is registered now: publish the activity's current token as 'register' under this key, then the newest state again."
                : "Publish the newest state again: if the phone has it already, nothing changes there."
        ] + (event == nil ? aboutStarts : [])
    }

    private static func superseded(
        _ facts: ExplainFacts, _ outcome: ExplainFacts.Outcome, age: String
    ) -> ExplainVerdict {
        guard let into = outcome.into else {
            var times = ""
            // Outcome records of earlier releases lack the times.
            let isSaid = outcome.reason?.contains("its timestamp is") == true
            if !isSaid, let event = facts.newestForPhone, event.source == outcome.source,
                let accepted = facts.slot?.lastAcceptedSeconds, event.timestampSeconds < accepted
            {
                times = ": its timestamp is \(event.timestampSeconds), and \(accepted) was accepted before"
            }
            return ExplainVerdict(
                cause: .older,
                sentence:
                    SentenceText.closed(
                        "The newest event was not sent, \(age): \(outcome.reason ?? "it is older than what the phone shows")\(times)"
                    ),
                next: ["Are the clocks of all publishers right? Leave timestamp out, and the record's time counts."])
        }
        return ExplainVerdict(
            cause: .superseded,
            sentence:
                "The newest event was merged into \(ExplainText.position(into)), \(age), and is sent with it.",
            next: ["The outcome of that event decides what the phone shows: a larger --depth or --outcomes finds it."])
    }

    private static func refused(
        _ facts: ExplainFacts, _ outcome: ExplainFacts.Outcome, age: String, reason: String
    ) -> ExplainVerdict {
        let hasToken = facts.slot.map { $0.tokenHash != nil && !$0.tokenIsDead } ?? false
        if hasToken, facts.slot?.tokenHash != outcome.tokenHash {
            return ExplainVerdict(
                cause: .rejectedThenRegistered,
                sentence:
                    "The newest event was given up \(age)\(reason). A token has been registered since, and nothing was published for it.",
                next: ["Publish the newest state again."])
        }
        guard outcome.outcome == "rejected" else {
            return ExplainVerdict(
                cause: .unregistered,
                sentence:
                    "Nothing was registered under this key in time: the newest event was given up \(age)\(reason).",
                next: Self.registrationHints + ["Then publish the newest state again."])
        }
        guard facts.slot?.channel == nil, !outcome.isBroadcast else {
            return Self.broadcastRefused(outcome, age: age, reason: reason)
        }
        if outcome.tokenIsDoubted {
            return ExplainVerdict(
                cause: .tokenDoubted, sentence: "The newest event was given up \(age)\(reason).",
                next: Self.doubtedTokenHints(facts) + ["Then publish the newest state again."])
        }
        return ExplainVerdict(
            cause: .rejected, sentence: "APNs refuses the newest event's token: given up \(age)\(reason).",
            next: [Self.refusedTokenHint(facts.newestForPhone, outcome)])
    }

    /// What to do about a token that APNs has refused. A start, or an event with a token in its `to`, says itself where
    /// the token belongs. The token of any other event was registered.
    private static func refusedTokenHint(_ event: ExplainFacts.Event?, _ outcome: ExplainFacts.Outcome) -> String {
        let isStart = event?.event == "start"
        let place = event?.bringsToken == true ? "in the event's 'to'" : "in 'register'"
        let elsewhere =
            "belongs to the other environment (environment \(place), apns.environments) or to another app (app)"
        let forget = "Forget it; the app has to report its current \(isStart ? "push-to-start token" : "token")."
        return switch Self.isForeignToken(outcome) {
        case true?: "The token \(elsewhere): a build from Xcode has tokens of development. \(forget)"
        case false?: "The token is dead. \(forget)"
        case nil: "The token is dead, or it \(elsewhere). \(forget)"
        }
    }

    private static func broadcastRefused(
        _ outcome: ExplainFacts.Outcome, age: String, reason: String
    ) -> ExplainVerdict {
        // APNs' answer about a channel, or a worker's repetition of an earlier answer.
        let isGone =
            ["ChannelNotRegistered", "BadChannelId"].contains(outcome.reason)
            || outcome.reason?.contains("the channel does not exist") == true
        guard isGone else {
            return ExplainVerdict(
                cause: .rejected, sentence: "The newest event was not broadcast: given up \(age)\(reason).",
                next: [
                    "Correct what the reason names, and publish the newest state again. Events for an audience whose channel is kept go to the audience (to.audience)."
                ])
        }
        return Self.channelGone(
            "The newest event was given up \(age)\(reason): APNs says that the channel does not exist.")
    }

    // MARK: Events that APNs has

    static func accepted(
        _ facts: ExplainFacts, event: ExplainFacts.Event?, outcome: ExplainFacts.Outcome?
    ) -> ExplainVerdict {
        var sentence = "APNs accepted the newest event"
        if let outcome {
            sentence += " \(MomentText.distance(millis: outcome.place.writtenMillis, nowMillis: facts.nowMillis))"
            if let priority = outcome.priority { sentence += " at priority \(priority)" }
        } else if let accepted = facts.slot?.lastAcceptedSeconds {
            sentence += " (timestamp \(accepted)), as workers remember"
        }
        let isDowngraded = outcome?.priority == 5 && event?.priority == 10
        if isDowngraded {
            let (limit, out) = facts.budget
            sentence +=
                ", instead of 10, because its budget is used up (\(out) of \(limit) an hour, \(facts.settings.budgetReserve) kept for alerts and ends): the phone shows it when power allows."
        } else {
            let dates = event?.doubtfulDates ?? []
            sentence +=
                dates.isEmpty
                ? ": the rest happens on the phone."
                : ", but a phone does not read \(dates[0]) as that date, unless the app's type does."
        }
        return ExplainVerdict(
            cause: isDowngraded ? .acceptedDowngraded : .accepted, sentence: sentence,
            next: (isDowngraded ? ["Send at priority 10 only what must arrive at once."] : [])
                + Self.phoneHints(facts, event: event, outcome: outcome))
    }

    /// What is wrong with the dates of an event, as a phone reads them; `nil`: nothing is.
    static func dateHint(_ event: ExplainFacts.Event) -> String? {
        let dates = event.doubtfulDates
        guard !dates.isEmpty else { return nil }
        let isOfStart = dates.contains { $0.hasPrefix(DoubtfulDates.attributesStart) }
        return
            "In content-state\(isOfStart ? " and attributes" : ""), \(dates.joined(separator: ", ")) \(dates.count == 1 ? "looks" : "look") like a date as the phone does not read it: JSONDecoder takes a Date as seconds since 2001, unless the type decodes it otherwise. What cannot be decoded shows nothing."
    }

    /// What can be wrong although APNs answered 200, the likeliest first.
    private static func phoneHints(
        _ facts: ExplainFacts, event: ExplainFacts.Event?, outcome: ExplainFacts.Outcome?
    ) -> [String] {
        var hints: [String] = []
        if let hint = event.flatMap(Self.dateHint) { hints.append(hint) }
        if let stale = event?.staleDateSeconds, stale * 1_000 <= facts.nowMillis {
            hints.append(
                "Its stale-date was \(MomentText.distance(millis: stale * 1_000, nowMillis: facts.nowMillis)): the card shows itself as outdated."
            )
        }
        if let hash = facts.slot?.tokenHash, let pushed = outcome?.tokenHash, hash != pushed, event?.event != "start" {
            hints.append(
                "Another token was registered after this push (#\(hash), not #\(pushed)): if the card is behind, publish the newest state again."
            )
        }
        if event?.event == "start" {
            if facts.slot?.tokenHash == nil {
                hints.append("No update token has been reported yet: updates wait for one.")
            }
            hints.append(
                "A start needs iOS 17.2, attributes-type as the Swift type is called, and attributes that the app can decode. Starts have a budget of their own, and five activities of an app run at a time; an input-push-channel needs iOS 18 and a channel that exists."
            )
        }
        hints.append(
            "Does the app decode this content-state? Names are those of the Swift properties; APNs looks at none of it. Let a test of the app decode what you publish."
        )
        if outcome?.priority == 5, event?.priority != 10 {
            hints.append("Priority 5 is shown when power allows: publish at priority 10 what must arrive at once.")
        }
        if let budget = facts.slot?.budgetUnitsOut, budget > 0 {
            hints.append(
                "\(budget == 1 ? "1 push" : "\(budget) pushes") at priority 10 in the last hour: over its own budget, which Apple does not publish, the phone may drop updates although APNs says 200."
            )
        }
        hints.append(
            "Is the activity still on the phone? A dead token may be answered with 200, and nothing reports when a card is swiped away."
        )
        hints.append(
            "A phone that is off gets it later, if APNs has kept it. Another push with a later timestamp, from somewhere else, hides this one."
        )
        return hints
    }
}
