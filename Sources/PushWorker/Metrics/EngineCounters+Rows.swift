import PushEngine
import PushModel

extension EngineCounters: CountedBySource {
    static let sourceLabels: [String] = []

    static let rows =
        Self.eventRows + Self.outcomeRows + Self.pushRows + Self.memberRows + Self.channelRows
        + Self.stateRows

    private static let eventRows: [CounterRow<EngineCounters>] = [
        .total("mailboat_events_consumed_total", unit: "events", "Events taken from Kafka.", \.consumed),
        .total(
            "mailboat_events_restored_total", unit: "events", "Pending events that came out of the state topic.",
            \.restored),
        .gauge("mailboat_events_pending", unit: "events", "Events without an outcome yet.", \.pending),
        .total(
            "mailboat_events_forwarded_total", unit: "events", "Misplaced events forwarded to their partition.",
            \.forwarded),
        .total(
            "mailboat_events_forwards_refused_total", unit: "events",
            "Forwarded events that Kafka refused for good; they are dead-lettered.", \.forwardsRefused),
        .total(
            "mailboat_events_handed_over_total", unit: "events", "Events still pending when their partition left.",
            \.handedOver),
        .total(
            "mailboat_events_merged_total", unit: "events", "Events replaced by newer ones before they were sent.",
            \.eventsMerged),
        .total(
            "mailboat_events_updates_total", unit: "events", "Updates and starts taken, dead letters left out.",
            \.updatesTaken),
        .total(
            "mailboat_events_untimed_total", unit: "events",
            "Events whose record time is before 2017 or far ahead: the worker's clock is taken instead.", \.untimed),
        // Both numbers are already served as outcomes and as forwarded events.
        .unserved(\.deadLetters), .unserved(\.misplaced),
    ]

    private static let outcomeRows: [CounterRow<EngineCounters>] = Outcome.allCases.map { outcome in
        .total(
            "mailboat_events_outcomes_total", unit: "events", "What became of events.",
            \.outcomes[Int(outcome.rawValue)],
            label: .init(name: "outcome", value: "\(outcome.name)"))
    }

    private static let pushRows: [CounterRow<EngineCounters>] = [
        .total("mailboat_pushes_sent_total", unit: "requests", "Requests that left for APNs.", \.pushesSent),
        .total(
            "mailboat_pushes_high_priority_total", unit: "requests", "Requests that left with priority 10.",
            \.pushesHighPriority),
        .total(
            "mailboat_pushes_downgraded_total", unit: "requests", "Sent with priority 5 because the budget was spent.",
            \.pushesDowngraded
        ),
        .gauge("mailboat_pushes_in_flight", unit: "requests", "Requests without an answer yet.", \.inFlight),
    ]

    private static let memberRows: [CounterRow<EngineCounters>] = [
        .gauge("mailboat_members", unit: "members", "Members of audiences in memory.", \.membersHeld),
        .gauge(
            "mailboat_members_refused", unit: "members",
            "Of these, those for whom APNs refused the newest version for good.",
            \.membersRefused),
        .gauge(
            "mailboat_members_paused", unit: "members",
            "Of the members waiting, for versions or starts, those of audiences that are paused.", \.membersPaused),
        .gauge(
            "mailboat_audiences_paused", unit: "audiences",
            "Audiences that are paused, each counted once for every partition with members of its.", \.audiencesPaused),
        .total(
            "mailboat_pauses_dropped_total", unit: "pauses",
            "Pauses of audiences that a partition could not keep, or forgot for a later one: it remembers 1024.",
            \.pausesDropped),
        .total(
            "mailboat_versions_published_total", unit: "versions", "Versions that audiences made of events.",
            \.versionsPublished),
        .total(
            "mailboat_member_pushes_sent_total", unit: "requests",
            "Of the requests sent, those to members of audiences.",
            \.memberPushesSent),
        .total(
            "mailboat_members_due_total", unit: "members", "Members that a version was due to, each version counted.",
            \.members.due),
        .memberResult("accepted", \.members.accepted), .memberResult("superseded", \.members.superseded),
        .memberResult("expired", \.members.expired), .memberResult("gone", \.members.gone),
        .memberResult("failed", \.members.failed), .memberResult("unknown", \.members.unknown),
        .memberResult("left", \.members.left), .memberResult("handed-over", \.members.handedOver),
        .gauge(
            "mailboat_members_waiting", unit: "members",
            "Members that are owed a version now, those without an answer included.", \.members.waiting),
        .total(
            "mailboat_members_repeated_total", unit: "requests", "Requests to members that were sent again.",
            \.members.repeated),
        .total(
            "mailboat_starts_due_total", unit: "members", "Starts of audiences that were due to start members.",
            \.startMembers.due),
        .startResult("accepted", \.startMembers.accepted), .startResult("superseded", \.startMembers.superseded),
        .startResult("expired", \.startMembers.expired), .startResult("gone", \.startMembers.gone),
        .startResult("failed", \.startMembers.failed), .startResult("unknown", \.startMembers.unknown),
        .startResult("left", \.startMembers.left), .startResult("handed-over", \.startMembers.handedOver),
        .gauge(
            "mailboat_starts_waiting", unit: "members",
            "Start members that are owed a start now, those without an answer included.", \.startMembers.waiting),
        .total(
            "mailboat_starts_repeated_total", unit: "requests", "Requests to start members that were sent again.",
            \.startMembers.repeated),
        .total(
            "mailboat_starts_returned_total", unit: "tokens",
            "Update tokens that joined an audience while a start of it went round: of cards that are up, as far as anybody can tell.",
            \.startTokensReturned),
        .total(
            "mailboat_starts_held_back_total", unit: "members",
            "Starts that waited, or were not sent, because their token had had its starts of the hour.",
            \.startsHeldBack),
    ]

    private static let channelRows: [CounterRow<EngineCounters>] = [
        .gauge(
            "mailboat_channel_keepers", unit: "keepers", "Apps and environments whose channels are kept here.",
            \.channelKeepers),
        .gauge(
            "mailboat_channels_kept_open", unit: "channels", "Channels of audiences that live.", \.channelsKeptOpen),
        .gauge(
            "mailboat_channels_lingering", unit: "channels", "Channels whose audience has ended.",
            \.channelsLingering),
        .gauge("mailboat_channels_warm", unit: "channels", "Channels that wait for an audience.", \.channelsWarm),
        .gauge(
            "mailboat_channels_waiting", unit: "audiences", "Audiences that wait for a channel.", \.channelsWaiting),
        .gauge(
            "mailboat_channels_possibly_ours", unit: "channels",
            "Channels that a creation without an answer may have made, and that nobody knows as ours.",
            \.channelsPossiblyOurs),
        .total(
            "mailboat_channels_created_total", unit: "channels", "Channels made for audiences.", \.channelsCreated),
        .total(
            "mailboat_channels_answers_lost_total", unit: "requests", "Creations of channels without an answer.",
            \.channelAnswersLost),
        .total(
            "mailboat_channels_adopted_total", unit: "channels", "Channels adopted after a lost answer.",
            \.channelsAdopted),
        .total(
            "mailboat_channels_shown_total", unit: "channels", "Channels shown as possibly ours after a lost answer.",
            \.channelsShown),
        .total(
            "mailboat_channels_deleted_total", unit: "channels", "Channels of audiences that were deleted.",
            \.channelsDeleted),
        .total(
            "mailboat_channels_vanished_total", unit: "channels",
            "Channels of audiences that somebody else has deleted.", \.channelsVanished),
        .total(
            "mailboat_channels_refused_total", unit: "audiences", "Audiences that were refused a channel.",
            \.channelWishesRefused),
        .total(
            "mailboat_channels_beacons_total", unit: "broadcasts", "Ends that were broadcast again.",
            \.channelBeacons),
        .total(
            "mailboat_channels_broadcasts_sent_total", unit: "broadcasts",
            "Versions that audiences have broadcast on their channels.", \.channelBroadcastsSent),
        .total(
            "mailboat_channels_broadcasts_accepted_total", unit: "broadcasts", "Of these, accepted.",
            \.channelBroadcastsAccepted),
        .total(
            "mailboat_channels_fallbacks_total", unit: "times",
            "Times that members listening on a channel were served by their tokens instead, as APNs did not take a broadcast.",
            \.channelFallbacks),
        .total(
            "mailboat_channels_alarms_total", unit: "alarms",
            "Times that something about an app's channels was written to the log for an operator.", \.channelAlarms),
    ]

    private static let stateRows: [CounterRow<EngineCounters>] = [
        .gauge(
            "mailboat_activities", unit: "activities", "Activities and channels in memory.", \.activities),
        .gauge("mailboat_channels", unit: "channels", "Of these, broadcast channels.", \.channels),
        .total(
            "mailboat_channel_questions_total", unit: "requests",
            "Questions to APNs what a channel keeps for phones that are off.", \.channelQuestions),
        .total(
            "mailboat_channel_keeper_questions_total", unit: "questions",
            "Questions between partitions whether a channel that events are sent to is kept for an audience.",
            \.channelKeeperQuestions),
        .gauge(
            "mailboat_activities_pending", unit: "activities", "Activities with something to send or in flight.",
            \.activitiesPending),
        .total("mailboat_tokens_dead_total", unit: "tokens", "Tokens that APNs called dead.", \.tokensDead),
        .total(
            "mailboat_tokens_removals_stopped_total",
            unit: "tokens", "Tokens kept although APNs called them dead, because too many died at once.",
            \.tokenRemovalsStopped),
        .total(
            "mailboat_topics_refused_total", unit: "refusals",
            "Times that an app was held back because APNs refuses its topic.",
            \.topicsRefused),
        .gauge(
            "mailboat_topics_held_back", unit: "apps", "Apps (per shard and environment) whose topic APNs refuses.",
            \.topicsClosed),
        .total("mailboat_state_records_total", unit: "records", "Records written to the state topic.", \.stateRecords),
        .total(
            "mailboat_state_gaps_total",
            unit: "stretches", "Stretches of the state topic that another worker wrote: a former owner, late.",
            \.stateGaps),
        .total(
            "mailboat_state_foreign_records_total", unit: "records",
            "Records of such stretches, which were overwritten.",
            \.stateRecordsForeign),
        .gauge(
            "mailboat_kafka_unacknowledged_records", unit: "records", "Records whose acknowledgement is awaited.",
            \.unacknowledged),
    ]

    /// Adds the counters of another shard.
    mutating func add(_ other: EngineCounters) {
        for row in Self.rows { row.add(other, to: &self) }
        self.holdApps(other.apps.count)
        for (index, app) in other.apps.enumerated() { self.apps[index].add(app) }
    }
}

extension CounterRow<EngineCounters> {
    fileprivate static func memberResult(_ result: String, _ path: Unsigned) -> Self {
        .total(
            "mailboat_members_results_total", unit: "members", "What became of what members were due.", path,
            label: .init(name: "result", value: result))
    }

    fileprivate static func startResult(_ result: String, _ path: Unsigned) -> Self {
        .total(
            "mailboat_starts_results_total", unit: "members", "What became of starts that start members were due.",
            path,
            label: .init(name: "result", value: result))
    }
}
