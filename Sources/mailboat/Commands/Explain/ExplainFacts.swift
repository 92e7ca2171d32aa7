import PushEngine

/// Everything that was found out about one key: what `mailboat explain` decides from, and what it shows as evidence. Holds no token.
struct ExplainFacts: Equatable, Encodable {
    /// Where a record lies.
    struct Position: Equatable, Encodable {
        var topic: String
        var partition: Int32
        var offset: Int64
    }

    /// A record that was read.
    struct Place: Equatable, Encodable {
        var position: Position
        /// Milliseconds since 1970; -1: the record has no time.
        var writtenMillis: Int64
    }

    /// A record of an input topic, or one that was forwarded.
    struct Event: Equatable, Encodable {
        var place: Place
        /// Where it first lay; the same as `place` unless it was forwarded. Outcomes name it by this.
        var source: Position
        /// `register`, `unregister`, `start`, `update`, `end` or `open`; empty: it cannot be read.
        var event = ""
        /// Why it cannot be read.
        var fault: String?
        var app: String?
        /// Priority of a `start`, `update` or `end`.
        var priority: Int?
        /// As given, or the record's time.
        var timestampSeconds: Int64 = 0
        var staleDateSeconds: Int64?
        var expiresSeconds: Int64?
        var hasAlert = false
        /// A registration of a token for an audience.
        var isMembership = false
        /// Values of `content-state` that a phone may not decode as a `Date`: path and value.
        var doubtfulDates: [String] = []

        /// It has something for the phone.
        var isForPhone: Bool { ["start", "update", "end"].contains(self.event) }
    }

    /// A record of the outcomes topic.
    struct Outcome: Equatable, Encodable {
        var place: Place
        var outcome: String
        /// The event that it is about; `nil`: of none.
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
        /// The push went to the token before the newest.
        var isToFormerToken = false
        /// Stamp that members get with an audience's event.
        var version: Int64?
        /// It is of a channel's event.
        var isBroadcast = false
    }

    /// A record of the dead-letters topic.
    struct Letter: Equatable, Encodable {
        var place: Place
        var source: Position?
        var reason: String
        var field: String?
    }

    /// The newest record of the key in `state`.
    struct State: Equatable, Encodable {
        var place: Place
        var app: String
        /// What it says; `nil`: it is a tombstone or cannot be read.
        var slot: StateRecordDescription.Slot?
        /// Why it cannot be read.
        var unreadable: String?
        /// When it was written down that the token is dead, as far as records tell: it may have died before.
        var deadSinceMillis: Int64?

        /// The newest of several records of a key, with what those before it tell.
        /// - Parameter records: newest first.
        static func newest(of records: [Self]) -> Self? {
            guard var newest = records.first else { return nil }
            newest.deadSinceMillis =
                records.prefix { $0.slot?.tokenIsDead == true && $0.slot?.tokenHash == newest.slot?.tokenHash }
                .last?.place.writtenMillis
            return newest
        }
    }

    /// An operator has stopped the pushes to members of the audience.
    struct Pause: Equatable, Encodable {
        var place: Place
        var sinceMillis: Int64
        /// All audiences of the app are meant.
        var isOfApp: Bool
    }

    /// Where the workers stand in a partition that events of the key come from.
    struct Progress: Equatable, Encodable {
        var topic: String
        var partition: Int32
        /// The next offset to be read; `nil`: the group never committed here.
        var committed: Int64?
        var lowOffset: Int64
        var endOffset: Int64
    }

    /// What a worker does with the key's events. Defaults, where no configuration is given.
    struct Settings: Equatable, Encodable {
        /// They were read from --config; otherwise they are a worker's own defaults.
        var hasFile = false
        var group = "mailboat"
        var outcomesPublish = "pushes"
        /// An app that is not among the file's gets dead letters.
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
    }

    /// How much of a partition was read.
    struct Search: Equatable, Encodable {
        var topic: String
        /// -1: the topic could not be asked.
        var partition: Int32
        var recordCount = 0
        /// The first offset that was looked at, and the one after the last.
        var fromOffset: Int64 = 0
        var endOffset: Int64 = 0
        /// Nothing lies before `fromOffset`.
        var isWhole = true
        /// Why it could not be read.
        var problem: String?
    }

    var key: String
    var nowMillis: Int64
    var settings = Settings()
    /// The newest first, likewise below.
    var events: [Event] = []
    var state: State?
    /// Pauses of an audience: its own and that of its app, as far as there are any.
    var pauses: [Pause] = []
    var outcomes: [Outcome] = []
    var letters: [Letter] = []
    var progress: [Progress] = []
    var searches: [Search] = []
}

extension ExplainFacts {
    /// The newest event that has something for the phone.
    var newestForPhone: Event? { self.events.first { $0.isForPhone } }
    var slot: StateRecordDescription.Slot? { self.state?.slot }

    /// What became of it. After a crash there may be several: a worker that has read the event once more says that it was known, and the phone has it
    /// all the same.
    func outcome(of event: Event) -> Outcome? {
        let all = self.outcomes.filter { $0.source == event.source }
        return all.first { $0.outcome == "delivered" } ?? all.first { $0.outcome != "duplicate" } ?? all.first
    }
    func letter(of event: Event) -> Letter? { self.letters.first { $0.source == event.source } }

    /// Something written down says that a worker has taken the event.
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

    /// Pushes at priority 10 that an hour may have, and how many of them are out.
    var budget: (limit: Int, out: Int) {
        let isFrequent = self.slot?.frequentUpdates == true
        return (
            isFrequent ? self.settings.budgetFrequentPerHour : self.settings.budgetPerHour,
            self.slot?.budgetUnitsOut ?? 0
        )
    }
    /// Nothing is left for a push that is neither an alert nor an `end`.
    var isBudgetUsedUp: Bool { self.budget.out >= self.budget.limit - self.settings.budgetReserve }
}
