/// The rules of an event (contract: What an event is) that need more than the value's own bytes: the record's key, the
/// worker's clock or the finished payload. They throw the same kind of rejections as `EventDecoder`.
public enum EventRules {
    /// Maximum number of bytes of a key.
    public static let keyByteCountMax = 256
    /// How far `timestamp` may be ahead of the worker's clock, in seconds. A phone ignores updates that are older than
    /// its newest one. After a stamp that is too far ahead, it would ignore all updates until that time.
    public static let timestampAheadSecondsMax: Int64 = 300

    /// `apns-expiration`, in seconds from now, when the event gives none: 15 minutes, or 8 hours for an end. APNs keeps
    /// a push that long for a phone that is off.
    public static func expirationSeconds(of kind: EventKind) -> Int64 { kind == .end ? 8 * 3_600 : 900 }

    /// The longest time for which a channel that stores messages is asked to keep one, in seconds. Apple allows 8 hours
    /// ("Sending broadcast push notification requests to APNs"). Five minutes less allow for a clock that differs from
    /// Apple's.
    public static let broadcastStoredSecondsMax: Int64 = 8 * 3_600 - 300

    /// The rejection of a record without a key.
    public static var missingKey: EventRejection {
        EventRejection(
            field: "key", reason: "is missing: expected the activity, audience or channel id, or a member's token")
    }

    /// Checks a record's key, which must be 1 to 256 bytes of UTF-8. A key to which a serializer has added bytes is
    /// rejected. The bytes cannot be removed here, because the producer has chosen the partition by the whole key.
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
                    "is in quotes, as a JSON serializer writes a string: expected the id alone. Write keys with a "
                    + "string serializer")
        }
        if let index = UTF8Validation.firstFault(in: key) {
            throw EventRejection(field: "key", reason: "is not UTF-8: the fault is at byte \(index)")
        }
    }

    /// Seconds from 1970 to 2001-01-01 00:00 UTC, from which Swift's `timeIntervalSinceReferenceDate` counts.
    static let secondsFrom1970To2001: Int64 = 978_307_200
    static let epoch2001Hint =
        "; this looks like a date counted from 2001, as Swift's timeIntervalSinceReferenceDate is: add 978,307,200"
    /// A `dismissal-date` is taken for one counted from 2001 if, converted, it is at most this many seconds before or
    /// after now.
    static let dismissalNearSecondsMax: Int64 = 86_400

    /// Checks that `dismissal-date` was not counted from 2001. Any other past date is allowed, and means now.
    public static func checkDismissalDate(_ seconds: Int64, nowSeconds: Int64) throws(EventRejection) {
        let (distance, overflow) = (seconds &+ Self.secondsFrom1970To2001).subtractingReportingOverflow(nowSeconds)
        guard !overflow, distance.magnitude <= Self.dismissalNearSecondsMax.magnitude else { return }
        throw EventRejection(
            field: "dismissal-date", reason: "is \(seconds): expected whole seconds since 1970\(Self.epoch2001Hint)")
    }

    /// Checks that `timestamp` is at most five minutes ahead.
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

    /// The smallest stamp of ten digits, which is used to check the size of a payload. A push's stamp may be later than
    /// its event's time, and have more digits.
    public static let sizedStampSecondsMin: Int64 = 1_000_000_000

    /// Rejects `open` in a worker that keeps no channels for audiences of the event's app.
    public static func refuseOpen(_ event: borrowing DecodedEvent) throws(EventRejection) {
        guard event.kind == .open else { return }
        throw EventRejection(
            field: "event", reason: "is “open”: this worker opens channels where “audience.channel” is “auto” alone")
    }

    /// Checks the event's target. `memberToken` checks the key of a member.
    /// - Parameter key: the record's key.
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

    /// Checks that the id in `to` equals the record's key. Everything about an id is in the partition that the key
    /// chooses.
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

    /// Whether the payload may be too large. A payload has few bytes that are not from the event, so only a large event
    /// is measured. Payloads of a channel may be larger, so some of its events are measured unnecessarily.
    @inlinable public static func mayBeTooLarge(valueByteCount: Int) -> Bool {
        valueByteCount > PayloadWriter.payloadByteCountMax - PayloadWriter.framingByteCountMax
    }

    /// Checks the times and the size of the event's content. A registration has none.
    /// - Parameters:
    ///   - value: the record's value.
    ///   - eventSeconds: the event's time; if it has none, the record's.
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

    /// The rejection of a payload over its limit. It names the large parts.
    ///
    /// - Parameters:
    ///   - byteCount: the result of `PayloadWriter.byteCount`.
    ///   - limit: the limit, such as `PayloadWriter.payloadByteCountMax`.
    ///   - sparedByteCount: number of bytes that would be saved without unnecessary escapes.
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

    /// Advice about escapes: an emoji has 4 bytes in UTF-8, and 12 as the escapes that some libraries write by default.
    private static func advice(_ sparedByteCount: Int) -> String {
        guard sparedByteCount > 0 else { return "" }
        return "; \(sparedByteCount) bytes fewer with UTF-8 in place of its \\u escapes, which in Python is "
            + "json.dumps(…, ensure_ascii=False)"
    }
}
