import Foundation
import PushEngine
import PushModel

/// Everything that was found about one key. `mailboat explain` decides from it, and shows it as evidence. Holds no
/// token.
struct ExplainFacts: Equatable, Encodable {
    /// Position of a record.
    struct Position: Equatable, Encodable {
        var topic: String
        var partition: Int32
        var offset: Int64
    }

    /// A record that was read.
    struct Place: Equatable, Encodable {
        var position: Position
        /// When the record was written, milliseconds since 1970; -1: it has no time.
        var writtenMillis: Int64
    }

    /// A record of an input topic, or a forwarded record of the routed topic.
    struct Event: Equatable, Encodable {
        var place: Place
        /// The record's first position, which outcomes name. It equals `place` unless the record was forwarded.
        var source: Position
        /// `register`, `unregister`, `start`, `update`, `end` or `open`; empty: the record cannot be read.
        var event = ""
        /// Why the record cannot be read.
        var fault: String?
        /// The publisher's id of the event.
        var eventID: String?
        var app: String?
        /// Priority of a `start`, `update` or `end`.
        var priority: Int?
        /// The event's timestamp, or the record's time.
        var timestampSeconds: Int64 = 0
        var staleDateSeconds: Int64?
        var expiresSeconds: Int64?
        var hasAlert = false
        /// Whether the event has the token in its own `to`. Any other event's token was registered.
        var bringsToken = false
        /// Whether the event registers a token for an audience.
        var isMembership = false
        /// The audience that the event names; `nil`: none.
        var audience: String?
        /// Values of `content-state` and of the `attributes` of a start that a phone may misread as a `Date`: path and
        /// value.
        var doubtfulDates: [String] = []
        /// The dead letter that was sent back as this event, `<partition>:<offset>`; `nil`: the event was published in
        /// another way.
        var republishedFrom: String?

        /// Whether the event brings something to the phone.
        var isForPhone: Bool { ["start", "update", "end"].contains(self.event) }
    }

    /// A record of the outcomes topic.
    struct Outcome: Equatable, Encodable {
        var place: Place
        var outcome: String
        /// Position of the event; `nil`: the record is about no event.
        var source: Position?
        var app: String?
        var eventID: String?
        var reason: String?
        var status: Int?
        var priority: Int?
        var merged: Int?
        var into: Position?
        var kept: [String] = []
        var queuedMillis: Int64?
        var apnsMillis: Int64?
        var apnsID: String?
        var tokenHash: String?
        /// Whether the push went to an earlier token than the newest.
        var isToFormerToken = false
        /// Whether APNs refused the token together with many others, so that the worker keeps it.
        var tokenIsDoubted = false
        /// Stamp with which members receive an audience's event.
        var version: Int64?
        /// Whether the outcome is about an event of a channel.
        var isBroadcast = false
    }

    /// A record of the dead-letters topic.
    struct Letter: Equatable, Encodable {
        var place: Place
        var source: Position?
        var reason: String
        var field: String?
        /// The record's field `event`, such as `register`, even if the rest of the record is refused.
        var event: String?
        /// The publisher's id of the event.
        var eventID: String?
        /// Whether the letter is about one member of an audience: APNs refused the push to that member.
        var isOfMember = false
        /// Whether the event would be taken if it were sent back now.
        var canBeSentBack = false

        /// Whether the letter was sent back as this event.
        func wasSentBack(as event: Event) -> Bool {
            event.republishedFrom == "\(self.place.position.partition):\(self.place.position.offset)"
        }
    }

    /// The newest record of the key in `state`.
    struct State: Equatable, Encodable {
        var place: Place
        var app: String
        /// The record's content; `nil`: a tombstone, or unreadable.
        var slot: StateRecordDescription.Slot?
        /// Why the record cannot be read.
        var unreadable: String?
        /// How often in a row APNs has said that the token died before it was registered; `nil`: never.
        var earlierDeaths: Int?
        /// Whether APNs has refused the token, and the worker keeps the token because APNs refuses many.
        var tokenIsDoubted = false
        /// When a record first said that the token is dead, as far as records show. The token may have died before.
        var deadSinceMillis: Int64?

        /// The newest of several records of a key, with what the earlier ones show.
        /// - Parameter records: newest first.
        static func newest(of records: [Self]) -> Self? {
            guard var newest = records.first else { return nil }
            newest.deadSinceMillis =
                records.prefix { $0.slot?.tokenIsDead == true && $0.slot?.tokenHash == newest.slot?.tokenHash }
                .last?.place.writtenMillis
            return newest
        }
    }

    /// An operator's pause of the pushes to an audience's members.
    struct Pause: Equatable, Encodable {
        var place: Place
        var sinceMillis: Int64
        /// Whether the pause is for all audiences of the app.
        var isOfApp: Bool
    }

    /// The workers' position in a partition with events of the key.
    struct Progress: Equatable, Encodable {
        var topic: String
        var partition: Int32
        /// The next offset to read; `nil`: the group never committed here.
        var committed: Int64?
        var lowOffset: Int64
        var endOffset: Int64
    }

    /// The settings by which a worker handles the key's events. Defaults without a configuration.
    struct Settings: Equatable, Encodable {
        /// Whether the settings were read from --config; otherwise they are a worker's defaults.
        var hasFile = false
        var group = "mailboat"
        var outcomesPublish = "pushes"
        /// Whether the file says that workers write every outcome.
        var areAllPublished: Bool { self.hasFile && self.outcomesPublish == OutcomePublication.all.rawValue }
        /// Whether the file has the app. Events of other apps become dead letters.
        var isAppConfigured = true
        var budgetPerHour = 15
        var budgetFrequentPerHour = 120
        var budgetReserve = 2
        /// `downgrade` or `defer`.
        var budgetPolicy = "downgrade"
        var lowPriorityWindowMillis: Int64 = 1_000
        var minimumDistanceMillis: Int64 = 1_000
        var registrationWaitMillis: Int64 = 300_000
        var lifetimeMillis: Int64 = 12 * 3_600_000
        var retryBackoffMinMillis: Int64 = 1_000
        var retryBackoffMaxMillis: Int64 = 60_000
    }

    /// The part of a partition that was read.
    struct Search: Equatable, Encodable {
        var topic: String
        /// The partition; -1: the topic could not be asked.
        var partition: Int32
        var recordCount = 0
        /// The first offset that was read. `endOffset` is the offset after the last.
        var fromOffset: Int64 = 0
        var endOffset: Int64 = 0
        /// Whether no record is before `fromOffset`.
        var isWhole = true
        /// Why the partition could not be read.
        var problem: String?
    }

    var key: String
    var nowMillis: Int64
    var settings = Settings()
    /// Events, newest first. The lists below are in the same order.
    var events: [Event] = []
    var state: State?
    /// Pauses of the audience and of all audiences of its app, if there are any.
    var pauses: [Pause] = []
    var outcomes: [Outcome] = []
    /// The hash of the token, if the key is the token of an audience's member.
    var memberHash: String?
    /// Another app under which the key has a live token; `nil`: none is known, or it is not needed.
    var otherApp: String?
    var letters: [Letter] = []
    var progress: [Progress] = []
    var searches: [Search] = []
    /// The options that direct another command to the same cluster; empty: none are known. The JSON leaves the options
    /// out: a program that reads it has them already.
    var reach = ""
    /// The file of `--config`; `nil`: none was given.
    var settingsFile: String?

    private enum CodingKeys: String, CodingKey {
        case key, nowMillis, settings, events, state, pauses, outcomes, letters, progress, searches
    }
}

extension ExplainFacts {
    /// The newest event that brings something to the phone.
    var newestForPhone: Event? { self.events.first { $0.isForPhone } }
    var slot: StateRecordDescription.Slot? { self.state?.slot }

    /// The event's outcome; of several, the one that counts by the rule on the page Outcomes. After a crash an event
    /// may have several outcomes, because the worker that reads it again does not know the first.
    func outcome(of event: Event) -> Outcome? {
        let all = self.outcomes.filter { $0.source == event.source }
        return all.first { ["delivered", "fanned-out"].contains($0.outcome) }
            ?? all.first { !["unknown", "duplicate"].contains($0.outcome) } ?? all.first { $0.outcome == "unknown" }
            ?? all.first
    }
    func letter(of event: Event) -> Letter? { self.letters.first { $0.source == event.source } }
    /// Whether the event as a whole became a dead letter, or cannot be read.
    func isDeadLetter(_ event: Event) -> Bool {
        event.fault != nil || self.letter(of: event)?.isOfMember == false
            || self.outcome(of: event)?.outcome == "dead-lettered"
    }

    /// Whether any record shows that a worker has taken the event.
    func isTaken(_ event: Event) -> Bool {
        if self.outcome(of: event) != nil || self.letter(of: event) != nil { return true }
        if let slot = self.slot {
            if let applied = slot.applied, applied.topic == event.place.position.topic,
                applied.offset >= event.place.position.offset
            {
                return true
            }
            if let routed = slot.appliedRoutedOffset, event.place.position != event.source,
                routed >= event.place.position.offset
            {
                return true
            }
            let waits = slot.updates.contains {
                $0.newest.topic == event.source.topic && $0.newest.offset == event.source.offset
            }
            if waits { return true }
        }
        guard let committed = self.progress(of: event)?.committed else { return false }
        return committed > event.place.position.offset
    }

    func progress(of event: Event) -> Progress? {
        self.progress.first {
            $0.topic == event.place.position.topic && $0.partition == event.place.position.partition
        }
    }

    /// A command for the same cluster, quoted for a sentence.
    /// - Parameter words: the command without the options that name the cluster.
    func command(_ words: String) -> String { "'mailboat \(words)\(self.reach.isEmpty ? "" : " \(self.reach)")'" }

    /// The key as a part of a URL's path.
    var keyInURL: String {
        self.key.addingPercentEncoding(
            withAllowedCharacters: .urlPathAllowed.subtracting(CharacterSet(charactersIn: "/")))
            ?? "KEY"
    }

    /// The hourly limit of pushes at priority 10, and the number already used. An audience's budget counts versions.
    var budget: (limit: Int, out: Int) {
        let isFrequent = self.slot?.frequentUpdates == true
        return (
            isFrequent ? self.settings.budgetFrequentPerHour : self.settings.budgetPerHour,
            self.slot?.book?.budgetUnitsOut ?? self.slot?.budgetUnitsOut ?? 0
        )
    }
    /// Whether no budget is left for a push that is neither an alert nor an `end`.
    var isBudgetUsedUp: Bool { self.budget.out >= self.budget.limit - self.settings.budgetReserve }
}
