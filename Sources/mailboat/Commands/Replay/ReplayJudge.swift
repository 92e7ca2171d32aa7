import KafkaLog
import PushModel

/// Decides which events may be published again, and in which form. It reads and writes nothing.
struct ReplayJudge {
    enum Verdict: Equatable {
        /// Publish this record: with its key, its value, its own headers, and a new timestamp.
        case publish(RecordText)
        /// Do not publish the event. The text says why.
        case leaveOut(String)
    }

    /// Whether `start` is published again, too.
    var includesStarts: Bool
    /// Whether `register` and `unregister` are published again, too.
    var includesRegistrations: Bool
    /// Judges each event as a worker would.
    var check: EventCheck
    private let apps: [String]?

    /// Creates a judge.
    /// - Parameters:
    ///   - app: the app of events that name none.
    ///   - apps: bundle ids in the configuration; `nil`: there is no configuration.
    ///   - nowSeconds: the clock, seconds since 1970.
    init(app: String, apps: [String]?, nowSeconds: Int64, includesStarts: Bool, includesRegistrations: Bool) {
        self.apps = apps
        self.check = EventCheck(app: app, nowSeconds: nowSeconds)
        self.includesStarts = includesStarts
        self.includesRegistrations = includesRegistrations
    }

    mutating func verdict(_ record: OwnedRecord) -> Verdict {
        var event = DecodedEvent()
        guard let value = record.value, (try? EventDecoder.decode(value.span, into: &event)) != nil else {
            return .leaveOut("it is no event that a worker takes: 'mailboat dead-letters list' says why")
        }
        let now = self.check.nowSeconds
        switch event.kind {
        case .start where !self.includesStarts:
            return .leaveOut("a start puts up a card, and would be the second: --with-starts publishes it")
        case .register where !self.includesRegistrations, .unregister where !self.includesRegistrations:
            return .leaveOut(
                "an old token may take the place of a newer one: --with-registrations publishes it")
        case .start, .update, .end:
            if let expires = event.expiresSeconds, expires <= now {
                return .leaveOut("it has expired: its “expires” was \(now - expires) s ago")
            }
            if event.kind == .start, let stale = event.staleDateSeconds, stale <= now {
                return .leaveOut("no phone would show it: its “stale-date” was \(now - stale) s ago")
            }
        case .register, .unregister, .open: break
        }
        var text = RecordText(key: record.key, value: Self.renewed(value, nowSeconds: now))
        text.headers = record.headers.compactMap { header in
            header.name.hasPrefix(RecordHeader.prefix)
                ? nil : header.value.map { RecordText.Header(name: header.name, value: $0) }
        }
        if case .refused(let rejection) = self.check.check(text) {
            return .leaveOut("it would be refused: “\(rejection.field)” \(rejection.reason)")
        }
        if let reason = AppOfConfiguration.fault(of: event, apps: self.apps) {
            return .leaveOut("it would be refused: \(reason)")
        }
        return .publish(text)
    }

    /// Whether the event registers or unregisters a phone's token.
    static func isRegistration(_ record: OwnedRecord) -> Bool {
        var event = DecodedEvent()
        guard let value = record.value, (try? EventDecoder.decode(value.span, into: &event)) != nil else {
            return false
        }
        return event.kind == .register || event.kind == .unregister
    }

    /// The event's kind in a word.
    static func word(_ record: OwnedRecord) -> String {
        var event = DecodedEvent()
        guard let value = record.value, (try? EventDecoder.decode(value.span, into: &event)) != nil else {
            return "unreadable"
        }
        return "\(event.kind)"
    }

    /// The bytes with a new number as the event's `timestamp`, if it has one.
    /// - Parameter value: an event that could be decoded.
    static func renewed(_ value: [UInt8], nowSeconds: Int64) -> [UInt8] {
        guard let spelling = try? Self.timestampSpelling(value) else { return value }
        var renewed = value
        renewed.replaceSubrange(spelling, with: "\(nowSeconds)".utf8)
        return renewed
    }

    /// Range of the timestamp's digits; `nil`: the event has none.
    private static func timestampSpelling(_ value: [UInt8]) throws(JSONFault) -> Range<Int>? {
        var cursor = JSONCursor()
        try cursor.openObject(value.span)
        var isFirst = true
        while let name = try cursor.nextName(value.span, isFirst: isFirst) {
            isFirst = false
            if JSONEscape.text(of: name, in: value.span).elementsEqual("timestamp".utf8) {
                return try cursor.number(value.span).spelling.range
            }
            _ = try cursor.skipValue(value.span)
        }
        return nil
    }
}
