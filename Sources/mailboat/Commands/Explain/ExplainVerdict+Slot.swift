import PushEngine

/// Verdicts from the record in `state`.
extension ExplainVerdict {
    /// Verdict for an event that waits, or was on its way when the record was written.
    static func waiting(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let state = facts.state, let slot = state.slot, let update = slot.updates.last else { return nil }
        // An outcome of the same event shows that the record is out of date.
        let isOver = facts.outcomes.contains {
            $0.source?.topic == update.newest.topic && $0.source?.offset == update.newest.offset
        }
        guard !isOver else { return nil }
        let what = "The \(update.event) (timestamp \(update.timestampSeconds))"
        var since = MomentText.distance(millis: state.place.writtenMillis, nowMillis: facts.nowMillis)
        if slot.tokenIsDead {
            since = MomentText.distance(
                millis: state.deadSinceMillis ?? state.place.writtenMillis, nowMillis: facts.nowMillis)
            guard slot.channel == nil else { return Self.deadToken(facts) }
            return ExplainVerdict(
                cause: .tokenDead,
                sentence:
                    "APNs says that the token is dead\(Self.tokenRefusal(facts)?.reason.map { " (\($0))" } ?? "") (written down \(since)), and the \(update.event) waits for another: the app has to register the new one.",
                next: [Self.waitText(facts)] + Self.deadTokenHints(facts) + Self.goneHints(facts))
        }
        if slot.tokenHash == nil, slot.channel == nil, update.event != "start", slot.life != "starting" {
            if let newest = facts.events.first, newest.event == "unregister" {
                let age = MomentText.distance(millis: newest.place.writtenMillis, nowMillis: facts.nowMillis)
                return ExplainVerdict(
                    cause: .waitsForToken,
                    sentence:
                        "The token was unregistered \(age). The \(update.event) that still waits ends as `unregistered` when registration-wait is over, unless a token is registered.",
                    next: [
                        "If the card or the app is gone, nothing needs to be done. A new start need not wait for that outcome."
                    ])
            }
            return ExplainVerdict(
                cause: .waitsForToken,
                sentence: "\(what) waits for a token: nothing is registered under this key.",
                next: [Self.waitText(facts)] + Self.registrationHints)
        }
        if let deaths = state.earlierDeaths, slot.channel == nil {
            return Self.deadBeforeRegistration(deaths, slot, update.event, since: since, facts)
        }
        if state.tokenIsDoubted, slot.channel == nil {
            return ExplainVerdict(
                cause: .tokenDoubted,
                sentence:
                    "APNs refuses the token of the \(update.event) (written down \(since)), as it refuses many tokens now: a setting is probably wrong. The token is kept, and the \(update.event) waits for a registration or a newer event.",
                next: [Self.waitText(facts)] + Self.doubtedTokenHints(facts))
        }
        if update.mayBeSent {
            return ExplainVerdict(
                cause: .unanswered,
                sentence:
                    "An attempt to push the \(update.event) got no answer, or was refused for now (written down \(since)): it is sent again.",
                next: [
                    "The worker's admin port says at /activities/\(facts.keyInURL) what the next attempt waits for; its log has what APNs answers.",
                    "/readyz of the worker says whether APNs can be reached; 'mailboat doctor --config FILE' tries it from here.",
                ])
        }
        if slot.life == "starting" {
            return ExplainVerdict(
                cause: .startUnderWay,
                sentence: "The start is on its way or waits to be sent (written down \(since)).",
                next: Self.routeHints)
        }
        if update.priority == 10, facts.settings.budgetPolicy == "defer", facts.isBudgetUsedUp, !update.hasAlert,
            update.event == "update", slot.channel == nil
        {
            let (limit, out) = facts.budget
            let back = slot.budgetReturnsMillis.map {
                MomentText.moment(millis: $0, nowMillis: facts.nowMillis)
            }
            return ExplainVerdict(
                cause: .budgetUsedUp,
                sentence:
                    "The budget is used up (\(out) of \(limit) an hour, \(facts.settings.budgetReserve) of them kept for alerts and ends): the next push at priority 10 may leave"
                    + (back.map { " at \($0) at the earliest." } ?? " when the first unit is back."),
                next: [
                    "Publish at priority 5 what need not arrive at once: it spends no budget.",
                    "With budget.policy downgrade it would go out now, at priority 5.",
                    "Apps with NSSupportsLiveActivitiesFrequentUpdates may register with frequent-updates: true, which has a larger budget.",
                ])
        }
        if let channel = slot.channel, channel.notBeforeMillis > facts.nowMillis {
            return ExplainVerdict(
                cause: .paced,
                sentence:
                    "\(what) keeps its distance from the previous broadcast: it may leave at \(MomentText.moment(millis: channel.notBeforeMillis, nowMillis: facts.nowMillis)).",
                next: ["channel.minimum-distance sets the distance; APNs' refusals stretch it."])
        }
        return ExplainVerdict(
            cause: .waits, sentence: "\(what) waits to be sent (written down \(since)).", next: Self.routeHints)
    }

    /// Verdict for a push that is tried again because APNs' answer is about the time before the registration.
    private static func deadBeforeRegistration(
        _ deaths: Int, _ slot: StateRecordDescription.Slot, _ event: String, since: String, _ facts: ExplainFacts
    ) -> ExplainVerdict {
        let ignoredMax = TokenRefusalNotice.earlierDeathsIgnoredMax
        let settings = facts.settings
        // Each attempt waits twice as long as the one before, up to the maximum.
        let leftMillis = (min(deaths, ignoredMax)...ignoredMax).reduce(Int64(0)) { sum, answer in
            sum + min(settings.retryBackoffMaxMillis, settings.retryBackoffMinMillis << Int64(answer - 1))
        }
        let registered = slot.registeredMillis.map {
            " \(MomentText.distance(millis: $0, nowMillis: facts.nowMillis))"
        }
        let times = deaths == 1 ? "" : " \(deaths) times in a row"
        return ExplainVerdict(
            cause: .deadBeforeRegistration,
            sentence:
                "APNs has answered 410\(times) to the \(event)'s token, for a time before the token was registered\(registered ?? "") (written down \(since)): the registration is newer than that, so the token is kept and the push is tried again.",
            next: [
                "Did the app report the token that its activity has now? A token that was dead when it was registered looks the same. Another registration gets the push at once.",
                "The token is kept for \(ignoredMax) such answers in a row; the next one is believed, in about \(MomentText.span(millis: leftMillis)) at the latest. Then the \(event) waits for another token.",
                "The worker's log has a line 'APNs says that a token died before it was registered' with both times\(slot.tokenHash.map { " and token-hash=\($0)" } ?? ""); its admin port says at /activities/\(facts.keyInURL) when the next attempt is.",
                "Is the clock of the program that publishes registrations right? Their record time counts.",
            ])
    }

    static func ended(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let state = facts.state, let slot = state.slot, slot.life == "ended" else { return nil }
        let age = MomentText.distance(millis: state.place.writtenMillis, nowMillis: facts.nowMillis)
        let isLate = facts.newestForPhone.flatMap { facts.outcome(of: $0) }?.outcome == "late"
        return ExplainVerdict(
            cause: .ended,
            sentence:
                "The activity has ended: APNs accepted its end (written down \(age)), and the phone ignores later pushes"
                + (isLate ? "; the newest event arrived too late." : "."),
            next: [
                Self.newLifeHint(facts),
                "An ended card leaves the Dynamic Island at once, and the Lock Screen at dismissal-date, after 4 hours at the latest.",
            ] + Self.unshownEndHints(facts))
    }

    /// Verdict for an unregistered activity, to which nothing can be pushed.
    static func unregistered(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let event = facts.events.first, event.event == "unregister", facts.slot?.tokenHash == nil else {
            return nil
        }
        let age = MomentText.distance(millis: event.place.writtenMillis, nowMillis: facts.nowMillis)
        return ExplainVerdict(
            cause: .nothingRegistered,
            sentence: "The token was unregistered \(age): nothing can be pushed until another is registered.",
            next: ["If the card is still shown: which program publishes 'unregister' for this key?"]
                + Self.registrationHints)
    }

    static func deadToken(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let state = facts.state, let slot = state.slot, slot.tokenIsDead else { return nil }
        let since = MomentText.moment(
            millis: state.deadSinceMillis ?? state.place.writtenMillis, nowMillis: facts.nowMillis)
        if slot.channel != nil {
            return Self.channelGone("APNs says that the channel does not exist (written down at \(since)).")
        }
        let reason = Self.tokenRefusal(facts)?.reason.map { " (\($0))" } ?? ""
        return ExplainVerdict(
            cause: .tokenDead,
            sentence:
                "The token has been dead since \(since) at the latest\(reason): the app has to register the new one.",
            next: Self.deadTokenHints(facts, isGivenUp: true) + Self.goneHints(facts))
    }

    /// What to do if the card or the app is gone, so that no other token comes.
    private static func goneHints(_ facts: ExplainFacts) -> [String] {
        let hint =
            #"If the card or the app is gone, no token will come: publish {"event": "unregister"} with this key; a new card needs a start."#
        guard let start = facts.newestForPhone, start.event == "start", let outcome = facts.outcome(of: start),
            outcome.outcome == "duplicate"
        else { return [hint] }
        let reason = outcome.reason.map { " (\($0))" } ?? ""
        return [
            hint,
            "The newest start became duplicate\(reason), because workers do not know that the card is gone: publish it again after the unregister.",
        ]
    }

    /// What to do if an end that APNs accepted was not shown. Empty for a channel and an audience, whose keys have no
    /// token of their own.
    static func unshownEndHints(_ facts: ExplainFacts) -> [String] {
        guard facts.slot?.channel == nil, facts.slot?.isAudience != true else { return [] }
        return [
            "If the card is still up, the phone did not take the end, for instance because the app cannot decode it: register its token under a new key, and publish the corrected end there."
        ]
    }

    /// The newest outcome that says that APNs refused the key's present token; `nil`: none was read.
    private static func tokenRefusal(_ facts: ExplainFacts) -> ExplainFacts.Outcome? {
        facts.outcomes.first {
            $0.outcome == "rejected" && ($0.tokenHash == nil || $0.tokenHash == facts.slot?.tokenHash)
        }
    }

    /// Reasons of APNs for a token that it has never known, or that is of another app.
    private static let foreignTokenReasons = ["BadDeviceToken", "DeviceTokenNotForTopic"]

    /// Whether APNs has refused the token because it belongs elsewhere, not because it has died; `nil`: the outcome
    /// does not say. When a worker gives up a waiting event, the outcome has the worker's own reason, and not APNs'.
    static func isForeignToken(_ outcome: ExplainFacts.Outcome?) -> Bool? {
        let reason = outcome?.reason ?? ""
        if Self.foreignTokenReasons.contains(where: { reason.contains($0) }) { return true }
        let isDead = outcome?.status == 410 || ["ExpiredToken", "Unregistered"].contains { reason.contains($0) }
        return isDead ? false : nil
    }

    /// What to check about a dead token, the likeliest first. Only APNs' reason tells a token that has died from one
    /// that belongs elsewhere, and the reason is not always known.
    /// - Parameter isGivenUp: whether no event waits for another token.
    private static func deadTokenHints(_ facts: ExplainFacts, isGivenUp: Bool = false) -> [String] {
        let swiped =
            isGivenUp
            ? [
                "Most often the activity has ended on the phone, or the user has swiped it away: then nothing needs to be done."
            ] : []
        let follow =
            "Does the app follow the stream of its activity's tokens, and does your service publish each as 'register' under this key?"
        let refusal = Self.tokenRefusal(facts)
        let environment = facts.slot.map { " (registered for \($0.environment))" } ?? ""
        let elsewhere =
            "environment or app is wrong\(environment): a build from Xcode has tokens of development, and a token belongs to one app."
        switch Self.isForeignToken(refusal) {
        case true?: return ["\(refusal?.reason ?? "This reason"): \(elsewhere)", follow]
        case false?: return swiped + [follow]
        case nil:
            let both = "BadDeviceToken or DeviceTokenNotForTopic in the worker's log: \(elsewhere)"
            // A token that has never taken a push may never have been a good one.
            return facts.slot?.lastAcceptedSeconds == nil ? [both, follow] + swiped : swiped + [follow, both]
        }
    }

    /// What to do about a token that APNs has refused together with many others.
    static func doubtedTokenHints(_ facts: ExplainFacts) -> [String] {
        let environment = facts.slot.map { " (registered for \($0.environment))" } ?? ""
        return [
            "BadDeviceToken or DeviceTokenNotForTopic for many tokens at once: environment or app is wrong\(environment). A build from Xcode has tokens of development, and a token belongs to one app.",
            "Correct that, and publish 'register' again: the update leaves at once. A newer event tries the token again, too.",
            "Keep the token. The worker's log has APNs' reason and the hashes of refused tokens.",
        ]
    }

    static func channelGone(_ sentence: String) -> ExplainVerdict {
        ExplainVerdict(
            cause: .channelGone, sentence: sentence,
            next: [
                "Somebody has deleted it, or switched broadcasts off for the app's id, which deletes all. An id is never used again: make another channel with 'mailboat channels create --config FILE', and have the app listen on that.",
                "Is it a channel of this app, in this environment? 'mailboat channels list --config FILE' shows those that Apple knows.",
            ])
    }

    /// Verdict for a key with no waiting event and no outcome that decides: its record in `state` decides.
    static func status(_ facts: ExplainFacts) -> ExplainVerdict {
        guard let state = facts.state else {
            return facts.newestForPhone.map { Self.noTrace($0, facts) } ?? Self.nothingRegistered
        }
        guard let slot = state.slot else {
            let age = MomentText.distance(millis: state.place.writtenMillis, nowMillis: facts.nowMillis)
            return ExplainVerdict(
                cause: .forgotten,
                sentence:
                    "Nothing is registered under this key: workers have forgotten the activity (\(age)), because it was unregistered, its end is past, or nothing arrived for \(MomentText.span(millis: facts.settings.lifetimeMillis)).",
                next: Self.registrationHints)
        }
        if let event = facts.newestForPhone, facts.outcome(of: event) == nil {
            if let accepted = slot.lastAcceptedSeconds, event.timestampSeconds < accepted {
                return Self.older(event, accepted: accepted, facts)
            }
            // If no outcome records of deliveries are written, `state` has the delivery.
            if let accepted = slot.lastAcceptedSeconds, event.timestampSeconds <= accepted {
                return Self.accepted(facts, event: event, outcome: nil)
            }
            guard slot.tokenHash != nil || slot.channel != nil else { return Self.nothingRegistered }
            return Self.noTrace(event, facts)
        }
        guard slot.tokenHash != nil || slot.channel != nil else { return Self.nothingRegistered }
        if slot.lastAcceptedSeconds != nil { return Self.accepted(facts, event: nil, outcome: nil) }
        return ExplainVerdict(
            cause: .nothingPublished,
            sentence: "A token is registered, and no event for the phone was found under this key.",
            next: [
                "Does your service publish updates under the same key as the registration?",
                "A larger --depth reads further back.",
            ])
    }

    private static func older(
        _ event: ExplainFacts.Event, accepted: Int64, _ facts: ExplainFacts
    ) -> ExplainVerdict {
        ExplainVerdict(
            cause: .older,
            sentence:
                "The newest event is older than what the phone shows: its timestamp is \(event.timestampSeconds), and \(accepted) was accepted before. It was superseded without a push.",
            next: [
                "Are the clocks of all publishers right? Leave timestamp out, and the record's time counts."
            ] + (facts.settings.areAllPublished ? [] : ["Such outcomes are written with outcomes.publish: all."]))
    }

    private static func noTrace(_ event: ExplainFacts.Event, _ facts: ExplainFacts) -> ExplainVerdict {
        ExplainVerdict(
            cause: .noTrace,
            sentence:
                "The newest event (\(Self.name(event)), \(ExplainText.position(event.place.position))) was taken, and its outcome is not among those that were read.",
            next: [
                "A larger --depth reads further back; retention may have deleted it.",
                "It may be on its way: ask again in a few seconds.",
            ]
                + (facts.settings.areAllPublished
                    ? []
                    : [
                        "outcomes.publish decides which outcomes are written: 'failures' leaves out those that went well."
                    ]))
    }

    private static let nothingRegistered = ExplainVerdict(
        cause: .nothingRegistered, sentence: "Nothing is registered under this key, so nothing can be pushed.",
        next: Self.registrationHints)

    static let registrationHints = [
        "Has the app reported its update token, and was it published as 'register' under exactly this key, before the updates?",
        "A card that was started by push reports its token only if the app is woken and uploads it.",
    ]
    private static let routeHints = [
        "It is held back by its distance from the previous push, or by its route: /readyz of the worker names a topic that is held back, refused credentials, and an APNs that cannot be reached.",
        "'mailboat doctor --config FILE' tries credentials and hosts from here.",
    ]
    /// How long an event without a usable token waits. The wait begins when the event arrives. It begins again when
    /// APNs refuses the token, and when another worker takes the partition over. No record says when a partition was
    /// taken over, so the text has the earliest moment.
    private static func waitText(_ facts: ExplainFacts) -> String {
        let wait = facts.settings.registrationWaitMillis
        let isRefused = facts.slot?.tokenIsDead == true || facts.state?.tokenIsDoubted == true
        guard isRefused || facts.slot?.life != "started" else {
            return "It waits as long as the activity lives, and goes out as soon as a token is registered."
        }
        guard isRefused || facts.slot?.life != "ending" else {
            return
                "It goes out as soon as a token is registered. If a start by push has put the card up, it waits as long as the activity lives; otherwise \(MomentText.span(millis: wait)) (registration-wait)."
        }
        let since =
            isRefused
            ? facts.state.map { $0.deadSinceMillis ?? $0.place.writtenMillis }
            : facts.newestForPhone?.place.writtenMillis
        let begin = isRefused ? "APNs refused the token" : "it arrived"
        let wish = "It goes out as soon as a token is registered."
        let left = "the worker's admin port says at /activities/\(facts.keyInURL) how long is left."
        let span = MomentText.span(millis: wait)
        guard let since else { return "\(wish) It is given up \(span) after \(begin) (registration-wait)." }
        let until = MomentText.moment(millis: since + wait, nowMillis: facts.nowMillis)
        // Another second allows for the clocks and for the time of the records.
        guard since + wait > facts.nowMillis + 1_000 else {
            return
                "\(wish) \(span) after \(begin) (registration-wait) are over (\(until)). If it still waits, another worker took the partition over, and its wait began again: \(left)"
        }
        return
            "\(wish) It is given up not before \(until), \(span) after \(begin) (registration-wait). When another worker takes the partition over, the wait begins again: \(left)"
    }
}
