/// Reads one record's value (contract: What an event is) in one pass over the bytes, without building a tree. It checks
/// that the whole value is JSON (RFC 8259). It checks every rule that needs neither key, clock nor configuration.
/// `EventRules` has the other rules.
public enum EventDecoder {
    /// Maximum number of bytes of an event's value: 16 KiB.
    public static let valueByteCountMax = 16_384
    /// How deep objects and arrays may nest, including the event's own object.
    public static let depthMax = JSONCursor.depthMax
    /// Maximum number of bytes of `app`. Bundle ids are shorter.
    public static let appByteCountMax = 255
    /// Maximum number of bytes of `id` and of ids of audiences, channels and activities. It equals the maximum for
    /// keys.
    public static let idByteCountMax = EventRules.keyByteCountMax
    /// Maximum number of bytes of a device token, which has twice as many digits. Apple does not specify the length.
    /// Tokens seen so far have 32 to 100 bytes.
    public static let tokenByteCountMax = 256
    /// The earliest `stale-date` and `expires`, in September 2001. A smaller number is probably a duration, or a date
    /// as Swift encodes it by default.
    public static let expirySecondsMin: Int64 = 1_000_000_000

    /// Decodes `value` into `event`, which is reset first. The event's `text` keeps its storage, so most events
    /// allocate nothing. A registration for an audience gets the `target` `.audience`. If this throws, the content of
    /// `event` must not be used.
    /// - Parameter framing: what may surround the event's JSON object.
    public static func decode(
        _ value: Span<UInt8>, framing: EventFraming = .auto, into event: inout DecodedEvent
    ) throws(EventRejection) {
        do {
            try Self.decodeObject(value, from: 0, isWhole: true, into: &event)
        } catch {
            guard value.count <= Self.valueByteCountMax else { throw error }
            try Self.decodeFramed(value, framing: framing, refusedFor: error, into: &event)
        }
    }

    /// Decodes an event with a frame that a serializer has added. It is called only when a value could not be read
    /// without a frame.
    /// - Parameter rejection: why the value, read as it is, is not an event.
    @inline(never) private static func decodeFramed(
        _ value: Span<UInt8>, framing: EventFraming, refusedFor rejection: EventRejection,
        into event: inout DecodedEvent
    ) throws(EventRejection) {
        let prefix = EventPrefix(of: value)
        if framing == .none, let refusal = prefix.refusal { throw refusal }
        var rejection = rejection
        if prefix.byteCount > 0 {
            do {
                return try Self.decodePart(value, from: prefix.byteCount, isWhole: true, into: &event)
            } catch { rejection = prefix.explained(error) }
        }
        switch CloudEventEnvelope.find(in: value, from: prefix.byteCount) {
        case .noEnvelope: throw rejection
        case .refused(let refusal): throw refusal
        case .envelope where framing == .none:
            throw EventRejection(
                field: "value",
                reason:
                    "is a CloudEvent in structured mode: expected the event, which is its “data”. Write it in binary "
                    + "mode, or set “events.framing” to “auto”")
        case .envelope(let envelope):
            try Self.decodePart(value, from: envelope.dataStart, isWhole: false, into: &event)
            if event.eventIDInText.isEmpty { try Self.takeID(of: envelope, in: value, into: &event) }
        }
    }

    /// Calls `decodeObject` for rare cases. They share one copy of the code, which is inlined elsewhere.
    @inline(never) private static func decodePart(
        _ value: Span<UInt8>, from start: Int, isWhole: Bool, into event: inout DecodedEvent
    ) throws(EventRejection) {
        try Self.decodeObject(value, from: start, isWhole: isWhole, into: &event)
    }

    private static func takeID(
        of envelope: CloudEventEnvelope, in value: Span<UInt8>, into event: inout DecodedEvent
    ) throws(EventRejection) {
        var reader = EventReader()
        reader.field = .field(.id)
        reader.cursor.index = Int(envelope.id.withQuotes.start)
        event.eventIDInText = try reader.text(
            value, byteCountMax: Self.idByteCountMax, expected: "a string", into: &event.text)
    }

    /// Decodes the object that begins at `start`.
    /// - Parameter isWhole: whether only white space may follow the object.
    @inline(__always) private static func decodeObject(
        _ value: Span<UInt8>, from start: Int, isWhole: Bool, into event: inout DecodedEvent
    ) throws(EventRejection) {
        event.reset()
        var reader = EventReader()
        guard value.count <= Self.valueByteCountMax else {
            throw reader.reject("has \(value.count) bytes: at most \(Self.valueByteCountMax) are allowed")
        }
        reader.cursor.index = start
        guard reader.begins(value, with: UInt8(ascii: "{")) else {
            throw reader.wrongValue(value, expected: "one JSON object")
        }
        try reader.openObject(value)
        var seen = EventFieldSet(rawValue: 0)
        var isFirst = true
        var priority: PushPriority?
        while true {
            var field = reader.knownName(value, isFirst: isFirst)
            var name: JSONString?
            if field == nil {
                name = try reader.nextName(value, isFirst: isFirst)
                guard let name else { break }
                field = Self.field(name, in: value)
            }
            isFirst = false
            if let field {
                reader.field = .field(field)
                guard !seen.contains(field) else { throw reader.reject("is given twice") }
                seen.insert(field)
                if field == .priority {
                    priority = try reader.priority(value)
                } else {
                    try reader.read(field, value, into: &event)
                }
            } else if let name {
                try reader.passForeignField(value, name)
            }
            reader.field = .value
        }
        if isWhole { try reader.expectEnd(value) }
        try EventShape.check(&event, seen: seen)
        event.priority = priority ?? (event.kind == .update && event.alertInValue.isEmpty ? .low : .high)
        if priority == .lowest { try EventShape.checkLowestPriority(event) }
    }

    private static func field(_ name: JSONString, in bytes: Span<UInt8>) -> EventField? {
        guard name.hasEscapes else { return EventField.named(name.content, in: bytes) }
        let plain = JSONEscape.text(of: name, in: bytes)
        return EventField.named(ByteRange(start: 0, count: plain.count), in: plain.span)
    }
}

extension EventReader {
    /// Reads the value of any field except `priority`, whose default depends on other fields.
    @inline(__always) fileprivate mutating func read(
        _ field: EventField, _ bytes: Span<UInt8>, into event: inout DecodedEvent
    ) throws(EventRejection) {
        switch field {
        case .event: event.kind = try self.eventKind(bytes)
        case .app:
            event.appInText = try self.text(
                bytes, byteCountMax: EventDecoder.appByteCountMax, expected: "an app's bundle id", into: &event.text)
        case .id:
            event.eventIDInText = try self.text(
                bytes, byteCountMax: EventDecoder.idByteCountMax, expected: "a string", into: &event.text)
        case .to: try self.target(bytes, into: &event)
        case .priority: break
        case .timestamp: event.timestampSeconds = try self.seconds(bytes, least: RecordTime.earliestSeconds)
        case .contentState: event.contentStateInValue = try self.object(bytes)
        case .alert: event.alertInValue = try self.alert(bytes, isWithdrawn: &event.withdrawsAlert)
        case .staleDate: event.staleDateSeconds = try self.seconds(bytes, least: EventDecoder.expirySecondsMin)
        case .relevanceScore: event.relevanceScoreInValue = try self.finiteNumber(bytes)
        case .dismissalDate:
            // Any past date means now. So a date before 1970, such as `Date.distantPast`, is accepted.
            event.dismissalDateSeconds = max(0, try self.seconds(bytes, least: .min))
        case .expires: event.expiresSeconds = try self.seconds(bytes, least: EventDecoder.expirySecondsMin)
        case .attributesType:
            let name = try self.string(bytes, expected: "the name of the attributes' Swift type")
            guard !name.content.isEmpty else {
                throw self.reject("is empty: expected the name of the attributes' Swift type")
            }
            event.attributesTypeInValue = name.withQuotes
        case .attributes: event.attributesInValue = try self.object(bytes)
        case .inputPushToken: event.inputPushToken = try self.inputPushToken(bytes)
        case .inputPushChannel: event.inputPushChannelInValue = try self.channel(bytes).withQuotes
        case .token: event.tokenInText = try self.token(bytes, into: &event.text)
        case .environment:
            event.environment = try self.environment(bytes)
            event.isEnvironmentGiven = true
        case .frequentUpdates: event.frequentUpdates = try self.bool(bytes)
        case .audience:
            event.audienceInText = try self.text(
                bytes, byteCountMax: EventDecoder.idByteCountMax, expected: "an audience id", into: &event.text)
        case .tokenType: event.isStartMember = try self.tokenTypeIsStart(bytes)
        case .channelCapable: event.channelCapable = try self.bool(bytes)
        case .channel: event.channelInText = try self.channelText(bytes, into: &event.text)
        }
    }

    fileprivate mutating func eventKind(_ bytes: Span<UInt8>) throws(EventRejection) -> EventKind {
        // These lines are for the usual spelling. The code below handles escapes, too.
        if self.passes(bytes, "\"update\"") { return .update }
        if self.passes(bytes, "\"register\"") { return .register }
        let word = try self.string(bytes, expected: "the kind of the event")
        if self.spells(bytes, word, EventKind.update.name) { return .update }
        if self.spells(bytes, word, EventKind.end.name) { return .end }
        if self.spells(bytes, word, EventKind.start.name) { return .start }
        if self.spells(bytes, word, EventKind.register.name) { return .register }
        if self.spells(bytes, word, EventKind.unregister.name) { return .unregister }
        if self.spells(bytes, word, EventKind.open.name) { return .open }
        let names = EventKind.allCases.map(\.name)
        let near = FieldSuggestion.nearest(to: JSONEscape.text(of: word, in: bytes), among: names)
        throw self.wrongValue(
            bytes, word.withQuotes,
            expected: RejectionText.list(names) + (near.map { ". Did you mean “\($0)”?" } ?? ""))
    }

    fileprivate mutating func priority(_ bytes: Span<UInt8>) throws(EventRejection) -> PushPriority {
        if self.passesNumber(bytes, "10") { return .high }
        if self.passesNumber(bytes, "5") { return .low }
        if self.beginsNumber(bytes) {
            let number = try self.number(bytes, expected: "a number").spelling
            if bytes.spells("10", in: number) { return .high }
            if bytes.spells("5", in: number) { return .low }
            if bytes.spells("1", in: number) { return .lowest }
            throw self.wrongValue(bytes, number, expected: "\(EventShape.priorities)")
        }
        let word = try self.string(bytes, expected: EventShape.priorities)
        if self.spells(bytes, word, "high") { return .high }
        if self.spells(bytes, word, "low") { return .low }
        throw self.wrongValue(bytes, word.withQuotes, expected: "\(EventShape.priorities)")
    }

    /// Reads `input-push-token`. Apple allows only the number 1.
    fileprivate mutating func inputPushToken(_ bytes: Span<UInt8>) throws(EventRejection) -> Bool {
        let number = try self.number(bytes, expected: "the number 1").spelling
        guard bytes.spells("1", in: number) else { throw self.wrongValue(bytes, number, expected: "the number 1") }
        return true
    }

    /// Passes an unknown field if its name begins with `x-`. Rejects any other unknown field.
    fileprivate mutating func passForeignField(_ bytes: Span<UInt8>, _ name: JSONString) throws(EventRejection) {
        let text = JSONEscape.text(of: name, in: bytes)
        if text.starts(with: "x-".utf8) {
            self.field = .foreign
            _ = try self.skipValue(bytes)
            return
        }
        throw ForeignField.rejection(of: text)
    }
}
