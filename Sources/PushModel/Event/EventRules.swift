/// The rules of an event (contract: What an event is) that need more than the value's own bytes: the record's key, the worker's clock, the finished payload.
/// Each answers with the same kind of rejection as `EventDecoder`.
public enum EventRules {
    /// The longest key, in bytes.
    public static let keyByteCountMax = 256
    /// How far ahead of the worker's clock `timestamp` may lie: the phone ignores every update older than the newest it has, so one
    /// wrong stamp would silence the activity.
    public static let timestampAheadSecondsMax: Int64 = 300

    /// `apns-expiration` when the event gives none: how long from now APNs keeps a push for a phone that is off. An update for 15 minutes, an
    /// end for 8 hours.
    public static func expirationSeconds(of kind: EventKind) -> Int64 { kind == .end ? 8 * 3_600 : 900 }

    /// For how long a channel that stores messages is asked to keep one at most, seconds. Apple takes 8 h ("Sending broadcast push notification
    /// requests to APNs"); five minutes less are for clocks that differ from Apple's, as a time beyond that is refused.
    public static let broadcastStoredSecondsMax: Int64 = 8 * 3_600 - 300

    /// Checks a record's key: 1 to 256 bytes of UTF-8, as its producer meant them. A serializer's additions are refused and not taken off: the
    /// producer's client placed the record by them.
    public static func checkKey(_ key: Span<UInt8>) throws(EventRejection) {
        if key.isEmpty {
            throw EventRejection(
                field: "key", reason: "is empty: expected the activity, audience or channel id, or a member's token")
        }
        if key.count > Self.keyByteCountMax {
            throw EventRejection(
                field: "key", reason: "has \(key.count) bytes: at most \(Self.keyByteCountMax) are allowed")
        }
        if let number = EventPrefix.schemaID(key) {
            throw EventRejection(
                field: "key",
                reason:
                    "begins with the five bytes of a schema registry (schema \(number)): expected the id alone. Write keys "
                    + "with a string serializer")
        }
        if key.count > 1, key[0] == UInt8(ascii: "\""), key[key.count - 1] == UInt8(ascii: "\"") {
            throw EventRejection(
                field: "key",
                reason:
                    "stands in quotes, as a JSON serializer writes a string: expected the id alone. Write keys with a "
                    + "string serializer")
        }
        if let index = UTF8Validation.firstFault(in: key) {
            throw EventRejection(field: "key", reason: "is not UTF-8: the fault is at byte \(index)")
        }
    }

    /// From 1970 to 2001-01-01 00:00 UTC, from which Swift's `timeIntervalSinceReferenceDate` counts.
    static let secondsFrom1970To2001: Int64 = 978_307_200
    static let epoch2001Hint =
        "; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
    /// A `dismissal-date` that would be so near to now if it were counted from 2001 was meant for then, seconds.
    static let dismissalNearSecondsMax: Int64 = 86_400

    /// Checks that `dismissal-date` was not counted from 2001. Any other past date is taken, and means now.
    public static func checkDismissalDate(_ seconds: Int64, nowSeconds: Int64) throws(EventRejection) {
        let (distance, overflow) = (seconds &+ Self.secondsFrom1970To2001).subtractingReportingOverflow(nowSeconds)
        guard !overflow, distance.magnitude <= Self.dismissalNearSecondsMax.magnitude else { return }
        throw EventRejection(
            field: "dismissal-date", reason: "is \(seconds): expected whole seconds since 1970\(Self.epoch2001Hint)")
    }

    /// Checks that `timestamp` is not more than five minutes ahead.
    public static func checkTimestamp(_ timestampSeconds: Int64, nowSeconds: Int64) throws(EventRejection) {
        guard timestampSeconds > nowSeconds else { return }
        let (difference, overflow) = timestampSeconds.subtractingReportingOverflow(nowSeconds)
        let aheadSeconds = overflow ? .max : difference
        guard aheadSeconds > Self.timestampAheadSecondsMax else { return }
        throw EventRejection(
            field: "timestamp",
            reason: "\(timestampSeconds) is \(aheadSeconds) s ahead of this worker's clock (\(nowSeconds)): at most "
                + "\(Self.timestampAheadSecondsMax) s are allowed, because the phone would ignore everything after it")
    }

    /// Ten digits: a wire stamp may be later than its event's time, and must not make the payload longer than was checked.
    public static let sizedStampSecondsMin: Int64 = 1_000_000_000

    /// What a worker that keeps no channels for the audiences of the event's app says of `open`.
    public static func refuseOpen(_ event: borrowing DecodedEvent) throws(EventRejection) {
        guard event.kind == .open else { return }
        throw EventRejection(
            field: "event", reason: "is “open”: this worker opens channels where “audience.channel” is “auto” alone")
    }

    /// Checks what the event is meant for. A member's key is checked by `memberToken`.
    /// - Parameter key: the record's.
    public static func checkTarget(_ event: borrowing DecodedEvent, key: Span<UInt8>) throws(EventRejection) {
        switch event.target {
        case .activity:
            guard !event.activityInText.isEmpty else { break }
            try Self.checkID(event.activityInText, of: event, key: key, field: "to.activity", what: "activity")
        case .channel:
            try Self.checkID(event.audienceInText, of: event, key: key, field: "to.channel", what: "channel")
        case .token, .startToken: break
        case .audience:
            // The key of a registration is the member's token.
            guard event.kind != .register, event.kind != .unregister else { break }
            try Self.checkID(event.audienceInText, of: event, key: key, field: "to.audience", what: "audience")
        }
        if event.kind == .start, event.target != .startToken, event.target != .audience {
            throw EventRejection(
                field: "to", reason: "names neither: a start needs {\"start-token\": hex} or {\"audience\": id}")
        }
    }

    /// The id in `to` is the record's key: by that the record was placed, and lies behind all that is about the same.
    private static func checkID(
        _ range: ByteRange, of event: borrowing DecodedEvent, key: Span<UInt8>, field: String, what: String
    ) throws(EventRejection) {
        let id = event.text.span.extracting(range.range)
        guard !id.holdsSameBytes(as: key) else { return }
        throw EventRejection(
            field: field,
            reason:
                "\"\(RejectionText.quoted(id, byteCountMax: 80))\" differs from the record's key: expected the same "
                + "\(what) id")
    }

    /// What the payload has besides the event's own bytes is little: only a large event has to be looked at. Of a channel, whose payload may
    /// be larger, some are looked at in vain.
    @inlinable public static func mayBeTooLarge(valueByteCount: Int) -> Bool {
        valueByteCount > PayloadWriter.payloadByteCountMax - PayloadWriter.framingByteCountMax
    }

    /// Checks the time and the size of what an event has to send; registrations have nothing.
    /// - Parameters:
    ///   - value: of the record.
    ///   - eventSeconds: the event's time, or its record's.
    public static func checkContent(
        _ event: borrowing DecodedEvent, value: Span<UInt8>, eventSeconds: Int64, nowSeconds: Int64
    ) throws(EventRejection) {
        switch event.kind {
        case .register, .unregister, .open: return
        case .start, .update, .end: break
        }
        if let given = event.timestampSeconds { try Self.checkTimestamp(given, nowSeconds: nowSeconds) }
        if let given = event.dismissalDateSeconds { try Self.checkDismissalDate(given, nowSeconds: nowSeconds) }
        guard Self.mayBeTooLarge(valueByteCount: value.count) else { return }
        let content = PayloadContent(of: event)
        let size = PayloadWriter.byteCount(
            kind: event.kind, stampSeconds: max(eventSeconds, Self.sizedStampSecondsMin), content: content,
            source: value, alert: value.extracting(event.alertInValue.range))
        let limit = PayloadWriter.payloadByteCountMax(for: event.target)
        if size > limit {
            var escaped = 0
            for part in [content.contentState, content.attributes, event.alertInValue] {
                escaped += JSONEscape.sparedByteCount(in: value.extracting(part.range))
            }
            throw Self.payloadTooLarge(
                byteCount: size, limit: limit, content: content, alertByteCount: Int(event.alertInValue.count),
                sparedByteCount: escaped)
        }
        if Int(content.contentState.count) > PayloadWriter.contentStateByteCountMax {
            let escaped = JSONEscape.sparedByteCount(in: value.extracting(content.contentState.range))
            throw EventRejection(
                field: "content-state",
                reason: "has \(content.contentState.count) bytes: a Live Activity takes at most "
                    + "\(PayloadWriter.contentStateByteCountMax), also by broadcast" + Self.advice(escaped))
        }
    }

    /// The rejection of a payload over its limit, naming what is big in it.
    ///
    /// - Parameters:
    ///   - byteCount: what `PayloadWriter.byteCount` gave.
    ///   - limit: such as `PayloadWriter.payloadByteCountMax`.
    ///   - sparedByteCount: how many bytes fewer it would have without the escapes that it does not need.
    public static func payloadTooLarge(
        byteCount: Int, limit: Int, content: PayloadContent, alertByteCount: Int, sparedByteCount: Int = 0
    ) -> EventRejection {
        let parts = [
            ("content-state", Int(content.contentState.count)), ("attributes", Int(content.attributes.count)),
            ("alert", alertByteCount),
        ]
        let sizes = parts.filter { $0.1 > 0 }.sorted { $0.1 > $1.1 }.map { "\($0.0) \($0.1)" }.joined(separator: ", ")
        return EventRejection(
            field: "payload",
            reason: "would have \(byteCount) bytes: APNs takes at most \(limit)"
                + (sizes.isEmpty ? "" : " (of these: \(sizes))") + Self.advice(sparedByteCount))
    }

    /// An emoji has 4 bytes in UTF-8, and 12 as the escapes that some libraries write unless they are told otherwise.
    private static func advice(_ sparedByteCount: Int) -> String {
        guard sparedByteCount > 0 else { return "" }
        return "; \(sparedByteCount) bytes fewer with UTF-8 in place of its \\u escapes, which in Python is "
            + "json.dumps(…, ensure_ascii=False)"
    }
}
