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
            "mailboat_events_restored_total", unit: "events", "Pending events that were read from the state topic.",
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
            "mailboat_events_updates_total", unit: "events",
            "Updates and starts that were taken, without dead letters.",
            \.updatesTaken),
        .total(
            "mailboat_events_untimed_total", unit: "events",
            "Events whose record time is before 2017 or far ahead. The worker's clock is used instead.", \.untimed),
        // Dead letters are already served as outcomes, and misplaced records as forwarded events.
        .unserved(\.deadLetters), .unserved(\.misplaced),
    ]

    private static let outcomeRows: [CounterRow<EngineCounters>] = Outcome.allCases.map { outcome in
        .total(
            "mailboat_events_outcomes_total", unit: "events", "Events by outcome.",
            \.outcomes[Int(outcome.rawValue)],
            label: .init(name: "outcome", value: "\(outcome.name)"))
    }

    private static let pushRows: [CounterRow<EngineCounters>] = [
        .total("mailboat_pushes_sent_total", unit: "requests", "Requests that left for APNs.", \.pushesSent),
        .total(
            "mailboat_pushes_high_priority_total", unit: "requests", "Requests that left with priority 10.",
            \.pushesHighPriority),
        .total(
            "mailboat_pushes_downgraded_total", unit: "requests",
            "Requests sent with priority 5 because the budget was spent.",
            \.pushesDowngraded
        ),
        .gauge("mailboat_pushes_in_flight", unit: "requests", "Requests without an answer yet.", \.inFlight),
    ]

    private static let memberRows: [CounterRow<EngineCounters>] = [
        .gauge("mailboat_members", unit: "members", "Members of audiences in memory.", \.membersHeld),
        .gauge(
            "mailboat_members_refused", unit: "members",
            "Members for which APNs refused the newest version for good.",
            \.membersRefused),
        .gauge(
            "mailboat_members_paused", unit: "members",
            "Members of paused audiences that wait for versions or starts.", \.membersPaused),
        .gauge(
            "mailboat_audiences_paused", unit: "audiences",
            "Audiences that are paused, each counted once for every partition in which it has members.",
            \.audiencesPaused),
        .total(
            "mailboat_pauses_dropped_total", unit: "pauses",
            "Pauses of audiences that a partition could not keep, or dropped for a later one. A partition keeps 1024.",
            \.pausesDropped),
        .total(
            "mailboat_versions_published_total", unit: "versions", "Versions made from audiences' events.",
            \.versionsPublished),
        .total(
            "mailboat_member_pushes_sent_total", unit: "requests",
            "Requests sent to members of audiences.",
            \.memberPushesSent),
        .total(
            "mailboat_members_due_total", unit: "members", "Members to which a version was due, each version counted.",
            \.members.due),
        .memberResult("accepted", \.members.accepted), .memberResult("superseded", \.members.superseded),
        .memberResult("expired", \.members.expired), .memberResult("gone", \.members.gone),
        .memberResult("failed", \.members.failed), .memberResult("unknown", \.members.unknown),
        .memberResult("left", \.members.left), .memberResult("handed-over", \.members.handedOver),
        .gauge(
            "mailboat_members_waiting", unit: "members",
            "Members to which a version is due now, including those whose push has no answer yet.", \.members.waiting),
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
            "Start members to which a start is due now, including those whose push has no answer yet.",
            \.startMembers.waiting),
        .total(
            "mailboat_starts_repeated_total", unit: "requests", "Requests to start members that were sent again.",
            \.startMembers.repeated),
        .total(
            "mailboat_starts_returned_total", unit: "tokens",
            "Update tokens that joined an audience while one of its starts was being sent. They probably belong to cards that the start has put up.",
            \.startTokensReturned),
        .total(
            "mailboat_starts_held_back_total", unit: "members",
            "Starts that waited, or were not sent, because their token had reached its limit of starts per hour.",
            \.startsHeldBack),
    ]

    private static let channelRows: [CounterRow<EngineCounters>] = [
        .gauge(
            "mailboat_channel_keepers", unit: "keepers", "Apps and environments whose channels are kept here.",
            \.channelKeepers),
        .gauge(
            "mailboat_channels_kept_open", unit: "channels", "Channels of audiences that have not ended.",
            \.channelsKeptOpen),
        .gauge(
            "mailboat_channels_lingering", unit: "channels", "Channels whose audience has ended.",
            \.channelsLingering),
        .gauge("mailboat_channels_warm", unit: "channels", "Channels that wait for an audience.", \.channelsWarm),
        .gauge(
            "mailboat_channels_waiting", unit: "audiences", "Audiences that wait for a channel.", \.channelsWaiting),
        .gauge(
            "mailboat_channels_possibly_ours", unit: "channels",
            "Channels that may have been made by a creation without an answer, and are not known to be ours.",
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
            "Versions of audiences that were broadcast on channels.", \.channelBroadcastsSent),
        .total(
            "mailboat_channels_broadcasts_accepted_total", unit: "broadcasts",
            "Broadcasts of audiences' versions that APNs accepted.",
            \.channelBroadcastsAccepted),
        .total(
            "mailboat_channels_fallbacks_total", unit: "times",
            "Times that members that listen on a channel were served by their tokens because APNs did not take a broadcast.",
            \.channelFallbacks),
        .total(
            "mailboat_channels_alarms_total", unit: "alarms",
            "Alarms about an app's channels that were written to the log.", \.channelAlarms),
    ]

    private static let stateRows: [CounterRow<EngineCounters>] = [
        .gauge(
            "mailboat_slots", unit: "slots", "Slots in memory: one for each activity, audience and channel.",
            \.slots
        ).formerly("mailboat_activities"),
        .gauge(
            "mailboat_channels", unit: "channels", "Broadcast channels in memory, included in `mailboat_slots`.",
            \.channels),
        .total(
            "mailboat_channel_questions_total", unit: "requests",
            "Requests that asked APNs what a channel keeps for phones that are off.", \.channelQuestions),
        .total(
            "mailboat_channel_keeper_questions_total", unit: "questions",
            "Questions between partitions about whether a channel with events is kept for an audience.",
            \.channelKeeperQuestions),
        .gauge(
            "mailboat_slots_pending", unit: "slots", "Slots with something to send or in flight.", \.slotsPending
        ).formerly("mailboat_activities_pending"),
        .total("mailboat_tokens_dead_total", unit: "tokens", "Tokens that APNs called dead.", \.tokensDead),
        .total(
            "mailboat_tokens_removals_stopped_total",
            unit: "tokens", "Tokens kept although APNs called them dead, because too many died at once.",
            \.tokenRemovalsStopped),
        .total(
            "mailboat_apps_refused_total", unit: "times",
            "Times that an app's pushes were stopped because APNs refuses its topic.", \.appsRefused
        ).formerly("mailboat_topics_refused_total"),
        .gauge(
            "mailboat_apps_held_back", unit: "apps",
            "Apps whose topic APNs refuses, counted per shard and environment.", \.appsHeldBack
        ).formerly("mailboat_topics_held_back"),
        .total("mailboat_state_records_total", unit: "records", "Records written to the state topic.", \.stateRecords),
        .total(
            "mailboat_state_gaps_total",
            unit: "stretches", "Stretches of the state topic that another worker wrote, such as a late former owner.",
            \.stateGaps),
        .total(
            "mailboat_state_foreign_records_total", unit: "records",
            "Records written by another worker into the state topic, which were overwritten.",
            \.stateRecordsForeign),
        .gauge(
            "mailboat_kafka_unacknowledged_records", unit: "records", "Records that Kafka has not acknowledged yet.",
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
            "mailboat_members_results_total", unit: "members", "Versions due to members, by result.", path,
            label: .init(name: "result", value: result))
    }

    fileprivate static func startResult(_ result: String, _ path: Unsigned) -> Self {
        .total(
            "mailboat_starts_results_total", unit: "members", "Starts due to start members, by result.",
            path,
            label: .init(name: "result", value: result))
    }
}
