import CommandSupport
import Foundation
import KafkaLog
import PushEngine
import PushModel

/// Reads records of the five topics as facts about one key. Each method returns `nil` for a record of another key.
struct ExplainRecords {
    var key: [UInt8]
    /// The app whose records are wanted; `nil`: any app that has the key.
    var app: String?
    let nowMillis: Int64
    /// Bundle ids of the configuration's apps; `nil`: there is no configuration.
    var apps: [String]?
    /// The environments of each configured app, by bundle id; `nil`: there is no configuration.
    var environments: [String: [PushEnvironment]]?

    /// Reads an event.
    /// - Parameter isRouted: whether the record is of the routed topic. There, records that name their first position
    ///   are forwarded events; others are messages of workers.
    func event(_ record: OwnedRecord, topic: String, isRouted: Bool) -> ExplainFacts.Event? {
        guard record.key == self.key else { return nil }
        let place = Self.place(of: record, topic: topic)
        var event = ExplainFacts.Event(place: place, source: place.position)
        if isRouted {
            guard let source = Self.origin(of: record) else { return nil }
            event.source = source
        }
        event.timestampSeconds = record.timestampMillis / 1_000
        event.republishedFrom = record.text(of: .republished)
        guard let value = record.value else {
            event.fault = "value: is null: expected one JSON object"
            return event
        }
        var decoded = DecodedEvent()
        do throws(EventRejection) { try EventDecoder.decode(value.span, into: &decoded) } catch {
            event.fault = TokenText.shortened("\(error.field): \(error.reason)")
            let id = RefusedEventID.text(in: value.span)
            event.eventID = id.isEmpty ? nil : String(decoding: id, as: UTF8.self)
            return event
        }
        if !decoded.eventIDInText.isEmpty {
            event.eventID = String(decoding: decoded.text[decoded.eventIDInText.range], as: UTF8.self)
        }
        event.isMembership = decoded.target == .audience && decoded.kind == .register
        if decoded.target == .audience {
            event.audience = String(decoding: decoded.text[decoded.audienceInText.range], as: UTF8.self)
        }
        if !decoded.appInText.isEmpty {
            event.app = String(decoding: decoded.text[decoded.appInText.range], as: UTF8.self)
        }
        if let app, let named = event.app, named != app { return nil }
        event.event = "\(decoded.kind)"
        guard event.isForPhone else { return event }
        event.priority = Int(decoded.priority.rawValue)
        if let timestamp = decoded.timestampSeconds { event.timestampSeconds = timestamp }
        event.staleDateSeconds = decoded.staleDateSeconds
        event.expiresSeconds = decoded.expiresSeconds
        event.hasAlert = !decoded.alertInValue.isEmpty
        event.bringsToken = [.token, .startToken].contains(decoded.target)
        event.doubtfulDates = DoubtfulDates.find(
            inContentState: Array(value[decoded.contentStateInValue.range]),
            attributes: Array(value[decoded.attributesInValue.range]))
        return event
    }

    func state(_ record: OwnedRecord, topic: String, reader: StateRecordReader) -> ExplainFacts.State? {
        guard let stateKey = record.key, stateKey.count > self.key.count,
            stateKey.suffix(self.key.count) == self.key[...]
        else { return nil }
        let description = reader.read(
            key: stateKey, value: record.value,
            tombstoneEpoch: record.text(of: .epoch).flatMap { Int64($0) }, nowMillis: self.nowMillis)
        guard let id = description.id, Array(id.utf8) == self.key, let app = description.app,
            self.app.map({ $0 == app }) ?? true
        else { return nil }
        var state = ExplainFacts.State(place: Self.place(of: record, topic: topic), app: app)
        state.earlierDeaths = record.text(of: .earlierDeaths).flatMap { Int($0) }.flatMap { $0 > 0 ? $0 : nil }
        state.tokenIsDoubted = record.text(of: .tokenDoubted) != nil
        switch description.content {
        case .slot(var slot):
            // The report does not show the publisher's content.
            for index in slot.updates.indices {
                (slot.updates[index].contentState, slot.updates[index].alert) = ("", "")
            }
            state.slot = slot
        case .tombstone:
            // Records beside an audience's slot get tombstones of their own, which say nothing about the slot.
            guard StateRecordReader.isOfSlot(key: stateKey) else { return nil }
        case .unknownVersion(let version): state.unreadable = "of version \(version), which this release does not know"
        case .malformed(let text): state.unreadable = "damaged: \(text)"
        // These records are kept beside the record of the slot.
        case .member, .crowd, .pause, .keptChannel, .marker: return nil
        }
        return state
    }

    /// Reads a pause of the audience or of all audiences of the app. `pause` is `nil` after it has ended.
    /// - Parameter app: the audience's app.
    func pause(
        _ record: OwnedRecord, topic: String, app: String, reader: StateRecordReader
    ) -> (isOfApp: Bool, pause: ExplainFacts.Pause?)? {
        guard let stateKey = record.key, let names = StateRecordReader.pause(inKey: stateKey), names.app == app,
            names.audience.isEmpty || Array(names.audience.utf8) == self.key
        else { return nil }
        let description = reader.read(key: stateKey, value: record.value, nowMillis: self.nowMillis)
        guard case .pause(let pause) = description.content else { return (names.audience.isEmpty, nil) }
        return (
            pause.isOfApp,
            ExplainFacts.Pause(
                place: Self.place(of: record, topic: topic), sinceMillis: pause.sinceMillis, isOfApp: pause.isOfApp)
        )
    }

    func outcome(_ record: OwnedRecord, topic: String) -> ExplainFacts.Outcome? {
        guard record.key == self.key, let value = record.value,
            let line = try? JSONDecoder().decode(OutcomeLine.self, from: Data(value))
        else { return nil }
        if let app, let named = line.app, named != app { return nil }
        return ExplainFacts.Outcome(
            place: Self.place(of: record, topic: topic), outcome: line.outcome, source: line.source, app: line.app,
            eventID: line.eventID, reason: line.reason.map(TokenText.shortened), status: line.status,
            priority: line.priority, merged: line.merged, into: line.into?.position, kept: line.kept ?? [],
            queuedMillis: line.queuedMillis, apnsMillis: line.apnsMillis, apnsID: line.apnsID,
            tokenHash: line.tokenHash, isToFormerToken: line.token == "former",
            tokenIsDoubted: line.token == "doubted",
            version: line.version, isBroadcast: line.channel != nil)
    }

    func letter(_ record: OwnedRecord, topic: String) -> ExplainFacts.Letter? {
        guard record.key == self.key else { return nil }
        let letter = DeadLetter(record)
        var check = EventCheck(app: "", nowSeconds: self.nowMillis / 1_000)
        check.environments = self.environments
        var canBeSentBack = false
        if case .sendable = letter.verdict(check: &check, apps: self.apps) { canBeSentBack = true }
        return ExplainFacts.Letter(
            place: Self.place(of: record, topic: topic), source: Self.source(of: record),
            reason: TokenText.shortened(letter.reason), field: record.text(of: .field), event: letter.eventName,
            eventID: letter.eventID, isOfMember: letter.memberRefusal != nil, canBeSentBack: canBeSentBack)
    }

    private static func place(of record: OwnedRecord, topic: String) -> ExplainFacts.Place {
        .init(
            position: .init(topic: topic, partition: record.partition, offset: record.offset),
            writtenMillis: record.timestampMillis)
    }

    /// The first position of a record of the routed topic; `nil`: the record is a message of a worker.
    static func origin(of record: OwnedRecord) -> ExplainFacts.Position? {
        record.text(of: .kind) == nil ? Self.source(of: record) : nil
    }

    private static func source(of record: OwnedRecord) -> ExplainFacts.Position? {
        guard let source = DeadLetter(record).source else { return nil }
        return .init(topic: source.topic, partition: source.partition, offset: source.offset)
    }
}

/// An outcome record of `deploy/schemas/outcome.schema.json`, with the fields that are shown.
struct OutcomeLine: Decodable {
    struct Position: Decodable {
        var topic: String
        var partition: Int32
        var offset: Int64
        var position: ExplainFacts.Position {
            .init(topic: self.topic, partition: self.partition, offset: self.offset)
        }
    }
    var outcome: String
    var eventID: String?
    var app: String?
    var activity: String?
    var channel: String?
    var audience: String?
    var topic: String?
    var partition: Int32?
    var offset: Int64?
    var apnsID: String?
    var status: Int?
    var reason: String?
    var priority: Int?
    var merged: Int?
    var into: Position?
    var kept: [String]?
    var queuedMillis: Int64?
    var apnsMillis: Int64?
    var tokenHash: String?
    var token: String?
    var version: Int64?
    /// Number of members that a record is about; `nil`: it is about one event. `MemberCounts` says what became of them.
    var members: Int?
    /// Counts of start members, by what became of the start that the version brought.
    var starts: MemberCounts?
    /// Number of partitions that the record sums up, and number of those that have finished.
    var partitions: Int?
    var finished: Int?
    /// Broadcasts of a version. They bring it to members that listen on a channel.
    var broadcasts: [Broadcast]?
    /// Events that were merged into a version.
    var sources: [Source]?

    struct Broadcast: Decodable { var listeners: Int? }
    struct Source: Decodable {
        var eventID: String?

        enum CodingKeys: String, CodingKey { case eventID = "event-id" }
    }

    enum CodingKeys: String, CodingKey {
        case outcome, app, activity, channel, audience, version, token, members, starts, partitions, finished,
            topic, partition, offset, status, reason, priority, merged, into, kept, broadcasts, sources
        case eventID = "event-id"
        case apnsID = "apns-id"
        case queuedMillis = "queued-ms"
        case apnsMillis = "apns-ms"
        case tokenHash = "token-hash"
    }

    /// Number of members that received a version by broadcast; `nil`: no broadcast. `members` does not count them.
    var listeners: Int? { self.broadcasts.map { $0.compactMap(\.listeners).reduce(0, +) } }

    /// The publisher's ids of the event, or of the events that a version was made of; `nil`: none.
    var eventIDs: String? {
        let ids = [self.eventID].compactMap(\.self) + (self.sources ?? []).compactMap(\.eventID)
        return ids.isEmpty ? nil : ids.joined(separator: ", ")
    }

    /// Whether the record is about the event with this id.
    func isAbout(eventID: String) -> Bool {
        self.eventID == eventID || self.sources?.contains { $0.eventID == eventID } == true
    }

    /// The event's position; `nil`: the record is about no event.
    var source: ExplainFacts.Position? {
        guard let topic, let partition, let offset else { return nil }
        return .init(topic: topic, partition: partition, offset: offset)
    }
}

/// What became of many members, according to a record.
struct MemberCounts: Decodable {
    private enum Name: String, CodingKey, CaseIterable {
        case members, accepted, superseded, expired, gone, failed, unknown, left, waiting, retried, returned
    }
    /// The counts, in the order in which a record has them.
    let all: [(name: String, count: Int)]

    init(from decoder: any Decoder) throws {
        let container = try decoder.container(keyedBy: Name.self)
        self.all = try Name.allCases.compactMap { name in
            try container.decodeIfPresent(Int.self, forKey: name).map { (name: name.rawValue, count: $0) }
        }
    }

    /// Reads the counts of a record; `nil`: the record cannot be read.
    init?(of record: OwnedRecord) {
        guard let value = record.value, let counts = try? JSONDecoder().decode(Self.self, from: Data(value)) else {
            return nil
        }
        self = counts
    }
}
