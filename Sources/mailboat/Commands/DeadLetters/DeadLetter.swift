import CommandSupport
import KafkaLog
import PushInspection
import PushModel

/// A record of the dead-letter topic, and what may be done with it.
struct DeadLetter {
    /// The record's partition in the dead-letter topic.
    var partition: Int32
    var offset: Int64
    /// When the record was written, milliseconds since 1970.
    var writtenMillis: Int64
    var reason: String
    /// The source position; `nil`: the headers do not name it.
    var source: Source?
    var record: OwnedRecord

    struct Source: Equatable {
        var topic: String
        var partition: Int32
        var offset: Int64
        /// Time of the original record, milliseconds since 1970.
        var timestampMillis: Int64?
    }

    init(_ record: OwnedRecord) {
        self.partition = record.partition
        self.offset = record.offset
        self.writtenMillis = record.timestampMillis
        self.reason = record.text(of: .reason) ?? "the dead letter does not say"
        self.record = record
        if let topic = record.text(of: .topic), let partition = record.text(of: .partition).flatMap(Int32.init),
            let offset = record.text(of: .offset).flatMap(Int64.init)
        {
            self.source = Source(
                topic: topic, partition: partition, offset: offset,
                timestampMillis: record.text(of: .timestamp).flatMap(Int64.init))
        }
    }

    var position: String { "\(self.partition):\(self.offset)" }

    /// The earlier dead letter from which the source record was republished, `<partition>:<offset>`; `nil`: there was
    /// none.
    var republishedFrom: String? { self.record.text(of: .republished) }

    // MARK: Sending it back

    /// Whether the record can be published again, and would be accepted.
    enum Verdict: Equatable {
        /// The record can be sent.
        /// - Parameter if: a condition that cannot be checked here, in words; `nil`: there is none.
        case sendable(if: String?)
        /// The record can be sent only with `--force`. The text says why.
        case doubtful(String)
        /// The record can never be sent. The text says why.
        case impossible(String)
    }

    /// Judges whether a worker would take the record if it were published now.
    /// - Parameters:
    ///   - check: judges the event, and has the clock and the environments of the configuration's apps.
    ///   - apps: bundle ids in the configuration; `nil`: there is no configuration.
    func verdict(check: inout EventCheck, apps: [String]?) -> Verdict {
        guard self.source != nil else {
            return .impossible("its headers do not say which topic it came from")
        }
        var event = DecodedEvent()
        let value = self.record.value ?? []
        let isReadable = (try? EventDecoder.decode(value.span, into: &event)) != nil
        if let count = self.record.text(of: .valueBytes) {
            return .impossible(
                "Kafka did not take it whole: its value of \(count) bytes was left out; the original record still has it"
            )
        }
        // A start that APNs refused is recorded without its token, which is a secret, and without attributes. It cannot
        // be decoded.
        if self.isRefusedStart {
            return .impossible(
                "a start that APNs refused is kept without its token and attributes: publish the start again from where it came from"
            )
        }
        if isReadable, event.kind == .start {
            return .doubtful("a start puts up a card: it may be up already, or long out of date")
        }
        if let refusal = self.memberRefusal {
            return .doubtful(
                "it goes to all members of \(TokenText.shortened(refusal.audience)) again\(refusal.hasAlert ? ", alert included" : ""), and APNs refused it for one of them, or more: the outcome 'audience' counts them"
            )
        }
        var text = RecordText(key: self.record.key, value: self.record.value)
        text.timestampMillis = nil
        if case .refused(let rejection) = check.check(text) {
            let reason = "\(rejection.field): \(rejection.reason)"
            return .doubtful(
                "it would be refused again"
                    + (self.reason == reason ? ", for the same reason" : ": “\(rejection.field)” \(rejection.reason)"))
        }
        if let reason = AppOfConfiguration.fault(of: event, apps: apps) {
            return .doubtful("it would be refused again: \(reason)")
        }
        if let expires = event.expiresSeconds, expires <= check.nowSeconds {
            return .doubtful("it has expired: its “expires” was \(check.nowSeconds - expires) s ago")
        }
        // The letter may have been refused because workers did not have its app or its environment. Only a
        // configuration shows whether they have it by now.
        guard apps == nil, let field = self.record.text(of: .field), ["app", "environment"].contains(field) else {
            return .sendable(if: nil)
        }
        return .sendable(if: "if workers have its \(field) by now, which --config tells")
    }

    /// Whether the reason is about an app or an environment that workers do not have. Only a configuration shows that.
    static func isOfSettings(reason: String) -> Bool {
        reason.hasPrefix("app: ") || (reason.hasPrefix("environment: ") && reason.contains("is not configured"))
    }

    /// The beginning of the reason in each letter that a worker wrote after APNs refused the push.
    static let refusalStart = "APNs refused the push"
    /// APNs' answer in the reason of a letter; `nil`: the worker wrote the letter for another reason.
    static func refusal(in reason: String) -> String? {
        guard reason.hasPrefix(Self.refusalStart) else { return nil }
        return String(reason.dropFirst(Self.refusalStart.count).trimmingPrefix(": "))
    }

    /// The audience and the alert of an event that APNs refused for a member of an audience; `nil`: the letter is about
    /// something else. Other members may have received the event.
    var memberRefusal: (audience: String, hasAlert: Bool)? {
        var event = DecodedEvent()
        guard self.reason.hasPrefix(Self.refusalStart), let value = self.record.value,
            (try? EventDecoder.decode(value.span, into: &event)) != nil, event.target == .audience
        else { return nil }
        let audience = String(decoding: event.text[event.audienceInText.range], as: UTF8.self)
        return (audience, !event.alertInValue.isEmpty)
    }

    /// The record's field `event`, even if the rest of the record is refused; `nil`: it has none.
    var eventName: String? {
        guard let value = self.record.value, case .object(let members) = try? JSONTree.parse(value),
            case .string(let text) = members.first(where: { $0.name == "event" })?.value
        else { return nil }
        return text
    }
    /// The publisher's id of the event, even if another field is at fault; `nil`: it has none, or no valid one.
    var eventID: String? {
        guard let value = self.record.value else { return nil }
        let id = RefusedEventID.text(in: value.span)
        return id.isEmpty ? nil : String(decoding: id, as: UTF8.self)
    }

    /// Whether the letter is about the event to which its publisher gave this id. In a value that cannot be read, the
    /// id is looked for as text in quotes.
    func isAbout(eventID id: String) -> Bool {
        if let eventID { return eventID == id }
        guard let value = self.record.value, !id.isEmpty else { return false }
        let quotes = "\"'\\".utf8
        return value.ranges(of: Array(id.utf8)).contains { range in
            range.lowerBound > value.startIndex && range.upperBound < value.endIndex
                && quotes.contains(value[range.lowerBound - 1]) && quotes.contains(value[range.upperBound])
        }
    }

    /// Whether a worker rebuilt the record after APNs' answer. If so, it differs from the record that arrived.
    private var isRefusedStart: Bool {
        guard self.reason.hasPrefix(Self.refusalStart), let value = self.record.value else { return false }
        // The worker writes the event's kind first.
        return value.starts(with: "{\"event\":\"start\"".utf8)
    }

    /// Headers for republishing: those of the original record, and a header that names this letter. Headers that the
    /// worker added are left out.
    var republishedHeaders: [OwnedRecord.Header] {
        self.record.headers.filter { !$0.name.hasPrefix(RecordHeader.prefix) }
            + [.init(name: RecordHeader.republished.text, value: Array(self.position.utf8))]
    }
}
