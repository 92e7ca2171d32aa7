import CommandSupport
import PushEngine

/// The answer to "why does the phone not change?": one cause as a sentence, and what to do.
struct ExplainVerdict: Equatable, Encodable {
    /// What holds the newest event back, or how far it got. The raw values are for programs, and never change once
    /// released.
    enum Cause: String, Encodable, CaseIterable {
        /// Nothing was found under the key.
        case unknownKey = "unknown-key"
        /// The event is with the audience's members, or will be. They have their own pushes.
        case audience
        /// An operator has stopped the pushes to the audience's members.
        case audiencePaused = "audience-paused"
        /// The key is the token of a member of an audience.
        case member
        /// This release cannot read the key's record in `state`.
        case stateUnreadable = "state-unreadable"
        /// The group's committed offset is outside the log.
        case offsetOutsideLog = "offset-outside-log"
        /// The event was published a moment ago.
        case justPublished = "just-published"
        /// No worker of the group has ever read the partition.
        case neverRead = "never-read"
        /// The workers have not reached the newest event.
        case notTaken = "not-taken"
        /// The newest event cannot be processed.
        case deadLettered = "dead-lettered"
        /// APNs refuses the content of the push.
        case refusedByAPNs = "refused-by-apns"
        /// There is an event, but no token.
        case waitsForToken = "waits-for-token"
        /// APNs says that the token died before it was registered. The token is kept, and tried again.
        case deadBeforeRegistration = "dead-before-registration"
        /// APNs has refused the token, as it refuses many. The token is kept.
        case tokenDoubted = "token-doubted"
        /// APNs has reported that the token is dead. An event may wait for the next token.
        case tokenDead = "token-dead"
        /// The channel is gone for good.
        case channelGone = "channel-gone"
        case startUnderWay = "start-under-way"
        /// An attempt got no answer, or was refused for now.
        case unanswered
        /// The event waits until budget returns.
        case budgetUsedUp = "budget-used-up"
        /// The event waits until the minimum distance to the previous push has passed.
        case paced
        /// The event waits for something that no topic shows.
        case waits
        case ended
        case late, duplicate, expired, rejected, unregistered, unknown
        /// APNs refused the event, and another token was registered later.
        case rejectedThenRegistered = "rejected-then-registered"
        /// The event's timestamp is older than what the phone shows.
        case older
        /// A newer event replaced the event.
        case superseded
        /// APNs has the event.
        case accepted
        /// APNs has the event, at priority 5 instead of 10.
        case acceptedDowngraded = "accepted-downgraded"
        /// There is a token, but no event for it.
        case nothingPublished = "nothing-published"
        case nothingRegistered = "nothing-registered"
        /// The activity has been forgotten.
        case forgotten
        /// A worker has passed the event, and no record that was read shows its outcome.
        case noTrace = "no-trace"
    }

    var cause: Cause
    /// The cause for a person. The sentence begins with what was found.
    var sentence: String
    /// What to check or do, the likeliest first.
    var next: [String]
    /// What is known of the newest valid event, if the newest event is a dead letter; `nil`: nothing.
    var earlier: Earlier?

    /// A verdict about an event before the newest.
    struct Earlier: Equatable, Encodable {
        var cause: Cause
        var sentence: String
        var next: [String]
    }
}

extension ExplainVerdict {
    /// Age in milliseconds below which an event may simply not have been taken yet.
    static let recentMillis: Int64 = 10_000

    /// Decides from the facts. Equal facts give equal verdicts; nothing is asked.
    static func decide(_ facts: ExplainFacts) -> ExplainVerdict {
        var verdict = Self.firstCause(facts)
        verdict.nameRefusedRegistration(facts)
        verdict.nameForgottenAudience(facts)
        if let other = facts.otherApp {
            verdict.sentence += " The same key has a live token under another app, \(other)."
            verdict.next.insert("Does the event name the right app?", at: 0)
        }
        verdict.next += Self.placementHint(facts)
        verdict.next = verdict.next.map { Advice.naming(settings: facts.settingsFile, in: $0) }
        if let next = verdict.earlier?.next {
            verdict.earlier?.next = next.map { Advice.naming(settings: facts.settingsFile, in: $0) }
        }
        return verdict
    }

    /// The verdict of the first cause that the facts show. Causes that hide all others come first. The verdict that all
    /// is well comes last.
    static func firstCause(_ facts: ExplainFacts) -> ExplainVerdict {
        Self.unreadable(facts) ?? Self.unknownKey(facts) ?? Self.notTaken(facts) ?? Self.deadLettered(facts)
            ?? Self.audience(facts) ?? Self.waiting(facts) ?? Self.ended(facts) ?? Self.unregistered(facts)
            ?? Self.deadToken(facts)
            ?? Self.outcome(facts)
            ?? Self.status(facts)
    }

    /// What to do about a producer that put the newest event on another partition than its key's.
    private static func placementHint(_ facts: ExplainFacts) -> [String] {
        guard let event = facts.events.first, event.source.partition != event.place.position.partition else {
            return []
        }
        return [
            "The event was forwarded from \(ExplainText.position(event.source)): its producer does not place by murmur2 of the key. With librdkafka: partitioner=murmur2_random."
        ]
    }

    // MARK: Events that no worker has

    private static func unreadable(_ facts: ExplainFacts) -> ExplainVerdict? {
        if let state = facts.state, let reason = state.unreadable {
            return ExplainVerdict(
                cause: .stateUnreadable,
                sentence:
                    SentenceText.closed(
                        "What workers remember of this key cannot be read: \(ExplainText.position(state.place.position)) is \(reason)"
                    ),
                next: [
                    "A worker of this release stops the partition there: run the release that wrote the record, as deploy/Operations.md, Changing the release, says."
                ])
        }
        guard facts.state == nil, let event = facts.events.first, event.isMembership, !facts.isDeadLetter(event) else {
            return nil
        }
        let audience = ShellWord.quoted(event.audience ?? "")
        let hash = facts.memberHash.map { ", and its hash is \($0)" } ?? ""
        let refusal = facts.outcomes.first {
            $0.outcome == "rejected" && $0.place.writtenMillis >= event.place.writtenMillis
        }
        let rest =
            refusal.map {
                let age = MomentText.distance(millis: $0.place.writtenMillis, nowMillis: facts.nowMillis)
                let said = [$0.status.map { "\($0)" }, $0.reason].compactMap(\.self).joined(separator: " ")
                guard !$0.tokenIsDoubted else {
                    return
                        "APNs refused it \(age) (\(said)), as it refused many tokens then. The member is kept, and gets the next event."
                }
                return SentenceText.closed("It was removed \(age): APNs said \(said)")
            } ?? "This command does not follow its pushes, and found no outcome that APNs refused it for good."
        return ExplainVerdict(
            cause: .member,
            sentence: "This key is the token of a member of an audience\(hash). \(rest)",
            next: [
                "\(facts.command("state dump --audience \(audience)")) shows the audience's members by the first digits of their tokens.",
                Self.memberHint,
            ])
    }
    static let memberHint = "A member that APNs refuses for good has an outcome under its token's hash."

    private static func unknownKey(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard facts.events.isEmpty, facts.state == nil, facts.outcomes.isEmpty, facts.letters.isEmpty else {
            return nil
        }
        let isWhole = facts.searches.allSatisfy { $0.isWhole && $0.problem == nil }
        return ExplainVerdict(
            cause: .unknownKey,
            sentence: "Nothing is known of this key: no event, no token, no outcome"
                + (isWhole ? "." : " in what was read."),
            next: [
                "Is it spelt as the publisher spells it? Keys are compared byte by byte.",
                "Is the key in quotes in Kafka, as a JSON serializer writes a string? Such events are dead letters: \(facts.command("dead-letters list")) shows them.",
                "Is it the 'id' in the event? \(facts.command("tail --event-id \(ShellWord.quoted(TerminalText.withoutTokens(facts.key))) --since 1d --no-follow")) finds outcomes by it, and they name the key.",
                "Is it the right cluster, and are these the topics the publisher writes to?",
                "A producer with another partitioner than murmur2 puts records on other partitions; a running worker forwards them through the routed topic, and they are found here only after that.",
            ] + (isWhole ? [] : ["Use a larger --depth to read further back."]))
    }

    private static func notTaken(_ facts: ExplainFacts) -> ExplainVerdict? {
        guard let event = facts.events.first, !facts.isTaken(event) else { return nil }
        let place = ExplainText.position(event.place.position)
        let age = MomentText.distance(millis: event.place.writtenMillis, nowMillis: facts.nowMillis)
        let head = "The newest event (\(Self.name(event)), \(place), published \(age))"
        let progress = facts.progress(of: event)
        if let progress, let committed = progress.committed,
            committed < progress.lowOffset || committed > progress.endOffset
        {
            return ExplainVerdict(
                cause: .offsetOutsideLog,
                sentence:
                    "\(head) is not read: the group \(facts.settings.group) is at \(committed), outside the log, which has \(progress.lowOffset) to \(progress.endOffset).",
                next: [
                    "\(facts.command("offsets reset")) names each such partition and moves it: deploy/Operations.md, An offset outside the log."
                ])
        }
        if facts.nowMillis - event.place.writtenMillis < Self.recentMillis {
            return ExplainVerdict(
                cause: .justPublished, sentence: "\(head) has not left a trace yet.",
                next: ["Ask again in a few seconds."])
        }
        guard let committed = progress?.committed else {
            return ExplainVerdict(
                cause: .neverRead,
                sentence:
                    "\(head) has not been taken: no worker of the group \(facts.settings.group) has ever committed in this partition.",
                next: [
                    "Is a worker running, with this cluster and these topics? Its /readyz says what is not ready.",
                    "Is \(facts.settings.group) its kafka.group-id? --group names another.",
                ])
        }
        let distance = event.place.position.offset - committed
        return ExplainVerdict(
            cause: .notTaken,
            sentence: "\(head) has not been taken"
                + (distance == 0
                    ? ": it is the next that the group \(facts.settings.group) has to commit."
                    : ": the group \(facts.settings.group) is \(NumberText.count(distance, "record")) before it."),
            next: [
                "/readyz of the worker that has the partition says what stops it; /metrics has mailboat_kafka_lag_records.",
                "If many partitions are behind, more workers or cores are needed.",
            ])
    }

    /// The event's name in a sentence.
    static func name(_ event: ExplainFacts.Event) -> String { event.event.isEmpty ? "unreadable" : event.event }
}
