public import DeviceModel
import PushModel

/// Events and their results, the pushes and the phones, as one story. Bounded: the oldest entries and idle phones are
/// forgotten.
///
/// The caller reports what happened and when; the timeline looks at nothing itself. Each change has a revision, so that
/// a follower can ask for what is newer.
public struct Timeline: Sendable {
    /// How much is kept.
    public struct Limits: Sendable {
        /// Maximum number of entries. The oldest are dropped.
        public var entriesMax = 1_000
        /// Maximum number of phones. A card that is gone is dropped first, then a phone whose activity is unknown, then
        /// the phone that has been idle longest. Phones in trouble and phones that somebody looks at stay while there
        /// are others.
        public var phonesMax = 64
        /// The limit for each of three kinds: activities known to have had a phone, tokens, and phones that gave way. A
        /// kind that exceeds it is forgotten as a whole. Each activity may then be asked for again.
        public var slotsMax = 10_000
        /// Maximum number of outcomes that arrived before their events. The oldest are dropped. Also the maximum number
        /// of positions of the page's own events that were not read yet. Further positions are not kept.
        public var earlyOutcomesMax = 1_000
        /// Maximum number of entries in one second, for events and for pushes each. Beyond them, the same number of
        /// entries of the sample is listed; all others are counted.
        public var entriesPerSecondMax = 500
        /// Limits of audiences and members.
        public var audiences = SimulatedAudiences.Limits()

        /// Creates the default limits.
        public init() {}
    }

    /// What the timeline's runner should do about an event.
    public enum Need: Equatable, Sendable {
        /// Nobody has registered a phone for this activity. The event waits in the worker.
        case phone(activity: String, app: String)
        /// No registration was read for this activity. Events arrived too fast to read all of them; the worker knows
        /// whether one of them registered a phone.
        case phoneUnlessRegistered(activity: String, app: String)
    }

    /// How much is kept.
    public let limits: Limits
    /// The bundle id of events that name no app.
    public let app: String
    /// The apps whose events the worker takes; empty: all.
    let apps: [String]
    /// Entries, oldest first, with consecutive ids.
    public private(set) var entries: [TimelineEntry] = []
    /// Phones by id.
    public internal(set) var phones: [Int: SimulatedPhone] = [:]
    /// How the developer wants cards to be drawn. A card without a matching template is drawn by its keys.
    public internal(set) var templates: [CardTemplate] = []
    /// Schemas of the apps' types, by bundle id. An empty id means all apps without a schema of their own.
    var schemas: [String: ContentSchema] = [:]
    /// The audiences that somebody has joined.
    public internal(set) var audiences: SimulatedAudiences
    /// Number of the newest change.
    public private(set) var revision = 0
    /// Number of listed pushes that APNs did not take.
    public private(set) var failedPushes = 0
    /// Number of entries that were forgotten.
    public private(set) var forgottenCount = 0
    private var nextEntryID = 1
    var nextPhoneID = 1
    var phonesByToken: [ByteKey: Int] = [:]
    /// Starts whose pushes are still to come, oldest first.
    var expectedStarts: [ExpectedStart] = []
    /// Phones that gave way to others, by their activities.
    var forgottenPhones: [String: SimulatedPhone] = [:]
    /// Number of phones that were ever known.
    var phonesMetCount = 0
    /// Activities that have had a phone, or for which a `Need` has asked for one.
    private var knownActivities: Set<String> = []
    /// The activity of each registered token that is remembered. A phone that was forgotten returns with its next push.
    private(set) var activitiesByToken: [ByteKey: String] = [:]
    private var entriesByPosition: [EventPosition: Int] = [:]
    private var pushesByMessageID: [String: [Int]] = [:]
    /// Number of kept events without an outcome yet, by their key.
    var awaited: [ByteKey: Int] = [:]
    private var earlyOutcomes: [EventPosition: EventOutcome] = [:]
    private var earlyOrder: [EventPosition] = []
    private var ownPositions: Set<EventPosition> = []
    /// The content of the newest event of each key.
    var eventContents: [String: JSONTree] = [:]
    /// The content of the newest broadcast of each channel.
    private var lastBroadcasts: [String: JSONTree] = [:]
    var eventAllowance: SecondlyAllowance
    var pushAllowance: SecondlyAllowance
    var attention = Attention()
    var sample = Sample()
    var partitions = PartitionSampling(partitionCount: 1)
    /// When followers were last woken for a push to a member, milliseconds.
    var followersWokenMillis: Int64 = 0

    /// Creates an empty timeline.
    public init(app: String, apps: [String] = [], limits: Limits = Limits()) {
        self.app = app
        self.apps = apps
        self.limits = limits
        self.audiences = SimulatedAudiences(limits: limits.audiences)
        self.eventAllowance = SecondlyAllowance(countMax: limits.entriesPerSecondMax)
        self.pushAllowance = SecondlyAllowance(countMax: limits.entriesPerSecondMax)
    }

    // MARK: Looking

    /// Number of events and pushes that arrived too fast to be listed.
    public var unlisted: (events: Int, pushes: Int) {
        (self.eventAllowance.skippedCount, self.pushAllowance.skippedCount)
    }

    /// The entry with an id; `nil`: it was forgotten, or never existed.
    public func entry(_ id: Int) -> TimelineEntry? {
        guard let first = self.entries.first, id >= first.id, id < self.nextEntryID else { return nil }
        return self.entries[id - first.id]
    }

    /// The entry of the event at a position; `nil`: it is not kept.
    func entryID(at position: EventPosition) -> Int? { self.entriesByPosition[position] }

    /// The phone of a token.
    public func phone(token: String) -> SimulatedPhone? {
        self.phonesByToken[ByteKey(token: token)].flatMap { self.phones[$0] }
    }

    /// Phones in the order in which they became known.
    public var phonesInOrder: [SimulatedPhone] { self.phones.values.sorted { $0.id < $1.id } }

    // MARK: Events

    /// Marks a record as published by the page itself. Call it as soon as the record's position is known.
    public mutating func markOwnRecord(at position: EventPosition) {
        if let id = self.entriesByPosition[position] {
            self.change(id) { entry in
                guard case .event(var event) = entry.body else { return }
                event.isByPage = true
                entry.body = .event(event)
            }
        } else if self.ownPositions.count < self.limits.earlyOutcomesMax {
            self.ownPositions.insert(position)
        }
    }

    /// Takes a record of the events topic.
    /// - Parameter nowMillis: the clock, milliseconds since 1970.
    public mutating func takeEvent(
        at position: EventPosition, key: [UInt8]?, value: [UInt8]?, nowMillis: Int64
    ) -> Need? {
        let isWanted: Bool =
            if let key { self.wantsEvent(key: key.span, nowMillis: nowMillis) } else {
                self.wantsEvent(key: Span(), nowMillis: nowMillis)
            }
        guard isWanted else { return nil }
        return self.listEvent(at: position, key: key, value: value, nowMillis: nowMillis)
    }

    /// Lists a record of the events topic that `wantsEvent` wants.
    public mutating func listEvent(
        at position: EventPosition, key: [UInt8]?, value: [UInt8]?, nowMillis: Int64
    ) -> Need? {
        let reading = EventReading(key: key, value: value, nowSeconds: nowMillis / 1_000)
        let plainKey = key.map { String(decoding: $0, as: UTF8.self) } ?? ""
        let isMembership = reading.event.map { $0.target == .audience && [.register, .unregister].contains($0.kind) }
        let shownKey = isMembership == true ? TokenHiding.shortened(plainKey) : TokenText.shortened(plainKey)
        if isMembership == true, let event = reading.event,
            !self.heedMembership(event, token: plainKey.lowercased())
        {
            return nil
        }
        let kept = value.map { Array($0.prefix(EventDecoder.valueByteCountMax)) }
        let outcome = self.earlyOutcomes.removeValue(forKey: position)
        let gist = self.gist(of: reading, key: plainKey)
        let id = self.append(
            .event(
                TimelineEntry.Event(
                    position: position, key: shownKey, record: (key, kept), reading: reading, outcome: outcome,
                    gist: gist, isByPage: self.ownPositions.remove(position) != nil)),
            activity: shownKey, atMillis: nowMillis)
        self.entriesByPosition[position] = id
        if outcome == nil {
            self.count(awaited: key, by: 1)
            self.partitions.listed(key ?? [], nowMillis: nowMillis)
        }
        self.relate(event: id)
        // A start that came twice puts up no card.
        if reading.event?.kind == .start, outcome?.isDuplicate == true { return nil }
        return reading.event.flatMap { self.heed($0, activity: plainKey) }
    }

    /// Handles what an event says about phones and their activities.
    private mutating func heed(_ event: EventReading.Event, activity: String) -> Need? {
        // The worker refuses the event, and a phone for it would wait for ever.
        guard self.isTaken(app: event.app) else { return nil }
        switch (event.kind, event.target) {
        case (.register, .activity):
            self.know(activity)
            self.activitiesByToken[ByteKey(token: event.token)] = activity
            self.heedRegistration(
                of: activity, by: self.meet(token: event.token, activity: activity, app: event.app))
        case (.unregister, .activity):
            self.heedUnregistration(of: activity)
        case (.update, .token), (.end, .token):
            self.meet(token: event.token, activity: activity, app: event.app)
        case (.start, .startToken):
            // The phone exists and is about to report the card's token. An update that arrives earlier needs no other
            // phone.
            self.know(activity)
            self.heedStart(event, activity: activity)
        case (.update, .activity), (.end, .activity):
            // In a flood, the next event of the activity asks again.
            guard !self.knownActivities.contains(activity), !self.eventAllowance.isCrowded else { break }
            self.know(activity)
            return self.unlisted.events == 0
                ? .phone(activity: activity, app: event.app)
                : .phoneUnlessRegistered(activity: activity, app: event.app)
        default: break
        }
        return nil
    }

    private mutating func know(_ activity: String) {
        if self.knownActivities.count >= self.limits.slotsMax { self.knownActivities.removeAll() }
        // Tokens change, so there may be more tokens than activities.
        if self.activitiesByToken.count >= self.limits.slotsMax { self.activitiesByToken.removeAll() }
        self.knownActivities.insert(activity)
    }

    /// Forgets a need whose result is unknown. The activity's next event asks again.
    public mutating func forgetNeed(activity: String) { self.knownActivities.remove(activity) }

    /// Takes what the outcomes topic says about an event.
    public mutating func takeOutcome(_ outcome: EventOutcome, of position: EventPosition) {
        guard let id = self.entriesByPosition[position] else {
            // Topics are read one by one, so an outcome may be read before its event.
            if self.earlyOutcomes.updateValue(outcome, forKey: position) == nil { self.earlyOrder.append(position) }
            if self.earlyOrder.count > self.limits.earlyOutcomesMax {
                self.earlyOutcomes[self.earlyOrder.removeFirst()] = nil
            }
            return
        }
        if case .event(let event)? = self.entry(id)?.body, event.outcome == nil {
            self.count(awaited: event.record.key, by: -1)
        }
        self.change(id) { entry in
            guard case .event(var event) = entry.body else { return }
            event.outcome = outcome
            entry.body = .event(event)
        }
        if outcome.isDuplicate { self.forgetCard(ofDuplicate: id) }
        self.endPhoneWait(ofEvent: id)
        self.relate(event: id)
    }

    private mutating func relate(event id: Int) {
        guard let entry = self.entry(id), case .event(let event) = entry.body,
            let messageID = event.outcome?.messageID, !messageID.isEmpty
        else { return }
        for push in self.pushesByMessageID[messageID] ?? [] {
            self.relate(event: id, push: push)
            self.relate(attemptsOf: id, before: push)
            self.nameCard(of: push, by: id)
        }
    }

    /// Longest time from a worker's push for an event to the moment when the page reads that event, milliseconds.
    private static let readDelayMillisMax: Int64 = 2_000
    /// Number of entries before the event, or before its push, that are searched for earlier attempts.
    private static let readDelayEntriesMax = 64

    /// Relates earlier attempts to an event, because an outcome names only the last attempt. A push is an earlier
    /// attempt if it brought the same content to the same activity after the event arrived. A push that failed just
    /// before the event was read here counts, too.
    private mutating func relate(attemptsOf event: Int, before push: Int) {
        guard let first = self.entries.first, first.id <= event, let listed = self.entry(event),
            case .push(let last)? = self.entry(push)?.body
        else { return }
        let begin = max(first.id, min(event, push) - Self.readDelayEntriesMax)
        let attempts = self.entries[begin - first.id..<push - first.id].filter { entry in
            guard case .push(let attempt) = entry.body, entry.related.isEmpty else { return false }
            // Until the event is read, the activity of a push is unknown.
            let isToSame = entry.activity == listed.activity || entry.activity.isEmpty && attempt.phone == last.phone
            guard isToSame, attempt.contentState == last.contentState else { return false }
            return entry.id > event
                || attempt.status != 200 && entry.atMillis >= listed.atMillis - Self.readDelayMillisMax
        }
        for attempt in attempts { self.relate(event: event, push: attempt.id) }
    }

    mutating func relate(event: Int, push: Int) {
        let activity = self.entry(event)?.activity ?? ""
        for (one, other) in [(event, push), (push, event)] {
            self.change(one) { entry in
                guard !entry.related.contains(other), entry.related.count < TimelineEntry.relatedMax else { return }
                entry.related.append(other)
                // A push may be seen before its event.
                if entry.activity.isEmpty { entry.activity = activity }
            }
        }
    }

    // MARK: Pushes

    /// Takes a push that reached APNs.
    /// - Returns: the phone that it was for; 0: none.
    @discardableResult
    public mutating func takePush(_ push: ObservedPush) -> Int {
        let glimpse = PushGlimpse(
            atMillis: push.atMillis, status: push.status, phone: push.phone, hadWaited: push.hadWaited)
        guard self.wantsPush(glimpse, token: Array(push.token.utf8).span, body: push.body.span) else {
            return self.phonesByToken[ByteKey(token: push.token)] ?? 0
        }
        return self.listPush(push)
    }

    /// Lists a push that `wantsPush` wants.
    /// - Returns: the phone that it was for.
    @discardableResult
    public mutating func listPush(_ push: ObservedPush) -> Int {
        let suffix = ".push-type.liveactivity"
        let app = push.topic.hasSuffix(suffix) ? String(push.topic.dropLast(suffix.count)) : push.topic
        let aps = (try? JSONTree.parse(push.body))?["aps"]
        let content = aps?["content-state"]
        let phone = self.phone(
            ofPush: push, isStart: aps?["event"]?.plainText == "start", content: content, app: app)
        let stampSeconds = aps?["timestamp"].flatMap { Int64($0.plainText) }
        let isSwiped = self.phones[phone]?.isSwiped ?? false
        let verdict = PushVerdict(
            push, stampSeconds: stampSeconds, isSwiped: isSwiped, isCardOwn: self.phones[phone]?.start != nil,
            areOthersSwiped: self.areOthersSwiped(phone),
            isEndOfCard: aps?["event"]?.plainText == "end" && self.isCardUp(phone))
        let attributes = aps?["event"]?.plainText == "start" ? aps?["attributes"] : nil
        let schema = self.schema(ofApp: app)
        let before = self.phones[phone]?.lastPushed
        let hasAlert = aps?["alert"] != nil
        let id = self.append(
            .push(
                TimelineEntry.Push(
                    phone: phone, messageID: push.messageID, event: aps?["event"]?.plainText ?? "",
                    topic: push.topic, priority: push.priority, expirationSeconds: push.expirationSeconds,
                    body: push.body, status: push.status, reason: push.reason, stampSeconds: stampSeconds,
                    verdict: verdict, contentState: content, alert: aps?["alert"],
                    changes: content == nil || push.hadWaited
                        ? [] : ContentDifference.changes(from: before ?? .object([]), to: content),
                    dates: (content.map { DateLens.findings(in: $0, schema: schema) } ?? [])
                        + (attributes.map { DateLens.findings(inAttributes: $0, schema: schema) } ?? []),
                    tokenShown: TokenHiding.shortened(push.token))),
            activity: self.phones[phone]?.activity ?? "", atMillis: push.atMillis)
        if [.refused, .unanswered].contains(verdict.word) { self.failedPushes += 1 }
        if verdict.word == .shown { self.replaceWhatIsShown(on: phone, by: id, atMillis: push.atMillis) }
        self.heedKeptPush(push, id, of: phone, verdict)
        self.changePhone(phone) { phone in
            phone.lastPush = id
            phone.lastVerdict = verdict
            phone.lastPushToken = push.token.lowercased()
            phone.isTokenDead = push.status == 410 || push.reason == "BadDeviceToken"
            if verdict.word == .shown { phone.isAlertNew = hasAlert }
            if let content { phone.lastPushed = content }
            if let attributes { phone.attributes = attributes }
        }
        self.relate(push: id, messageID: push.messageID)
        if [.refused, .unanswered].contains(verdict.word) { self.relate(failedPush: id, of: phone, content) }
        return phone
    }

    /// Takes a broadcast that reached APNs.
    public mutating func takeBroadcast(_ broadcast: ObservedBroadcast) {
        _ = self.pushAllowance.begin(nowMillis: broadcast.atMillis)
        _ = self.pushAllowance.see()
        // A broadcast belongs to every sample, because a channel has few of them.
        guard self.pushAllowance.take(isSampled: true) else { return }
        let aps = (try? JSONTree.parse(broadcast.body))?["aps"]
        let content = aps?["content-state"]
        let before = self.lastBroadcasts[broadcast.channel] ?? .object([])
        let id = self.append(
            .broadcast(
                TimelineEntry.Broadcast(
                    channel: broadcast.channel, messageID: broadcast.messageID,
                    event: aps?["event"]?.plainText ?? "", priority: broadcast.priority, body: broadcast.body,
                    status: broadcast.status, reason: broadcast.reason,
                    stampSeconds: aps?["timestamp"].flatMap { Int64($0.plainText) },
                    verdict: PushVerdict(broadcast), contentState: content, alert: aps?["alert"],
                    changes: content == nil ? [] : ContentDifference.changes(from: before, to: content),
                    dates: content.map { DateLens.findings(in: $0, schema: self.schema(ofApp: "")) } ?? [])),
            activity: broadcast.channel, atMillis: broadcast.atMillis)
        if self.lastBroadcasts.count >= self.limits.phonesMax { self.lastBroadcasts.removeAll() }
        self.lastBroadcasts[broadcast.channel] = content
        self.relate(push: id, messageID: broadcast.messageID)
    }

    private mutating func relate(push id: Int, messageID: String) {
        guard !messageID.isEmpty else { return }
        self.pushesByMessageID[messageID, default: []].append(id)
        for entry in self.entries.reversed() {
            guard case .event(let event) = entry.body, event.outcome?.messageID == messageID else { continue }
            self.relate(event: entry.id, push: id)
        }
    }

    // MARK: Notes

    /// Adds a note about something that happened to a phone, for a person to read.
    /// - Parameters:
    ///   - phone: 0: none.
    ///   - activity: `nil`: the phone's.
    public mutating func addNote(_ text: String, phone: Int, nowMillis: Int64, activity: String? = nil) {
        _ = self.append(
            .note(phone: phone, text: text), activity: activity ?? self.phones[phone]?.activity ?? "",
            atMillis: nowMillis)
    }

    // MARK: Pieces

    mutating func nextRevision() -> Int {
        self.revision += 1
        return self.revision
    }

    /// Takes the last revision back, because nothing has changed.
    mutating func takeRevisionBack() { self.revision -= 1 }

    /// Whether a key may be the key of a join, which is a token.
    func mayBeMembership(key: Span<UInt8>) -> Bool {
        guard key.count >= 64 else { return false }
        for index in key.indices where Hex.value(of: key[index]) >= 16 { return false }
        return true
    }

    private mutating func append(_ body: TimelineEntry.Body, activity: String, atMillis: Int64) -> Int {
        if self.entries.count >= self.limits.entriesMax { self.forgetEntries() }
        self.revision += 1
        let id = self.nextEntryID
        self.nextEntryID += 1
        self.entries.append(
            TimelineEntry(id: id, atMillis: atMillis, activity: activity, body: body, revision: self.revision))
        return id
    }

    /// Drops several entries at once, so that the remaining entries are moved only rarely.
    private mutating func forgetEntries() {
        let count = max(1, self.limits.entriesMax / 10)
        for entry in self.entries.prefix(count) {
            switch entry.body {
            case .event(let event):
                self.entriesByPosition[event.position] = nil
                if event.outcome == nil { self.count(awaited: event.record.key, by: -1) }
            case .push(let push): self.pushesByMessageID[push.messageID] = nil
            case .broadcast(let broadcast): self.pushesByMessageID[broadcast.messageID] = nil
            case .note: break
            }
        }
        self.entries.removeFirst(count)
        self.forgottenCount += count
    }

    mutating func change(_ id: Int, _ change: (inout TimelineEntry) -> Void) {
        guard let first = self.entries.first, id >= first.id, id < self.nextEntryID else { return }
        self.revision += 1
        change(&self.entries[id - first.id])
        self.entries[id - first.id].revision = self.revision
    }

    mutating func changePhone(_ id: Int, _ change: (inout SimulatedPhone) -> Void) {
        guard var phone = self.phones[id] else { return }
        self.revision += 1
        change(&phone)
        phone.revision = self.revision
        self.phones[id] = phone
    }
}
