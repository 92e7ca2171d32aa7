public import PushModel

/// Fuzzes events and registrations, their keys, and the payloads made from the accepted ones.
public struct EventTarget: FuzzTarget {
    public static let name = "events"
    public static let pieces: [[UInt8]] = [
        "\"", "\\", "{", "}", "[", "]", ",", ":", "0", "-", ".", "e", "null", "true", "\\u", "\\ud800", "\\udc00", "é",
        "🍕",
        "\u{0}", " ", "\n", "\"event\":\"end\",", ",\"to\":{}", ",\"alert\":{}", "\"x-a\":1,", ",\"token\":\"ab\"",
        ",\"priority\":5", ",\"timestamp\":1685952000", "{\"a\":", "[[[[[[[[", "\u{FEFF}", "loc-key", "loc-args",
        "update",
        "start", "end", "open", "register", "contentState", "stale-date", "expires", "audience", "channel", "activity",
        "start-token", "environment", "input-push-channel", ",\"alert\":null", ",\"priority\":1",
        ",\"to\":{\"channel\":\"AAAA\"}", ",\"environment\":\"development\"", ",\"to\":{\"audience\":\"a\"}",
        ",\"audience\":\"a\"", "token-type", ",\"token-type\":\"start\"", ",\"token-type\":\"update\"",
        ",\"channel-capable\":true", ",\"channel\":\"AAAA\"", "\u{0}\u{0}\u{0}\u{0}\u{1}",
        "{\"specversion\":\"1.0\",\"id\":\"c\",\"data\":", "data_base64",
    ].map { Array($0.utf8) }

    private var event = DecodedEvent()
    private var token: [UInt8] = []

    public init() {}

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        let key = input.span.extracting(first: random.below(300))
        do throws(EventRejection) {
            try EventRules.checkKey(key)
        } catch {
            if let complaint = Self.complaint(about: error) { return complaint }
        }
        if let complaint = self.complaintAboutMember(key: key) { return complaint }
        do throws(EventRejection) {
            try EventDecoder.decode(input.span, into: &self.event)
        } catch {
            return Self.complaint(about: error) ?? Self.complaintAboutRefusedID(input)
        }
        return self.complaintAboutRanges(input) ?? self.complaintAboutID(input) ?? self.complaintAboutShape()
            ?? self.complaintAboutPayload(input, &random)
    }

    /// Finds a broken promise of a rejection. Its texts go into headers and logs, so they must be short and without
    /// control characters.
    private static func complaint(about rejection: EventRejection) -> String? {
        if rejection.field.isEmpty || rejection.field.utf8.count > 200 { return "the field is “\(rejection.field)”" }
        if rejection.reason.isEmpty || rejection.reason.utf8.count > 500 {
            return "the reason is “\(rejection.reason)”"
        }
        let text = rejection.field + rejection.reason
        return text.utf8.contains { $0 < 0x20 || $0 == 0x7F } ? "“\(text)” has control characters" : nil
    }

    /// Checks that the id that is reported for a refused event could be the id of a valid event.
    private static func complaintAboutRefusedID(_ input: [UInt8]) -> String? {
        let id = RefusedEventID.text(in: input.span)
        guard id.count <= EventDecoder.idByteCountMax, UTF8Validation.firstFault(in: id.span) == nil else {
            return "a refused event has an id of \(id.count) bytes, or one that is not UTF-8"
        }
        return nil
    }

    /// Checks that an event would have the same id if it were refused.
    private func complaintAboutID(_ input: [UInt8]) -> String? {
        let id = RefusedEventID.text(in: input.span)
        guard id.span.holdsSameBytes(as: self.event.text.span.extracting(self.event.eventIDInText.range)) else {
            return "the event's id would be “\(String(decoding: id, as: UTF8.self))” if it were refused"
        }
        return nil
    }

    private func complaintAboutRanges(_ input: [UInt8]) -> String? {
        let inValue = [
            self.event.contentStateInValue, self.event.alertInValue, self.event.attributesInValue,
            self.event.attributesTypeInValue, self.event.relevanceScoreInValue, self.event.inputPushChannelInValue,
        ]
        for range in inValue where !range.isEmpty {
            guard range.range.upperBound <= input.count else { return "a range ends behind the value" }
            if let fault = Self.jsonFault(input.span.extracting(range.range)) { return "a part is no JSON: \(fault)" }
        }
        let inText = [
            self.event.appInText, self.event.eventIDInText, self.event.tokenInText, self.event.activityInText,
            self.event.audienceInText, self.event.channelInText,
        ]
        return inText.contains { $0.range.upperBound > self.event.text.count } ? "a range ends behind the text" : nil
    }

    /// Finds a field that an event of this kind must not have.
    private func complaintAboutShape() -> String? {
        let isContent = self.event.kind == .update || self.event.kind == .end
        if self.event.withdrawsAlert, !isContent || !self.event.alertInValue.isEmpty {
            return "a \(self.event.kind) withdraws an alert"
        }
        if self.event.target == .channel, !isContent { return "a \(self.event.kind) goes to a channel" }
        if self.event.priority == .lowest, self.event.target != .channel { return "priority 1 goes to no channel" }
        let isMember =
            self.event.target == .audience && (self.event.kind == .register || self.event.kind == .unregister)
        if !isMember, self.event.isStartMember || self.event.channelCapable || !self.event.channelInText.isEmpty {
            return "a \(self.event.kind) that is of no member says what only members say"
        }
        if self.event.channelCapable, !self.event.isStartMember { return "an update member is channel-capable" }
        if self.event.isStartMember, !self.event.channelInText.isEmpty { return "a start member listens on a channel" }
        if isMember, !self.event.tokenInText.isEmpty { return "a member has a token beside its key" }
        guard self.event.target == .channel || self.event.target == .audience else { return nil }
        let id = self.event.text.span.extracting(self.event.audienceInText.range)
        do throws(EventRejection) {
            try EventRules.checkTarget(self.event, key: id)
        } catch { return "a \(self.event.target) is not taken for its own key: \(error.reason)" }
        return nil
    }

    /// Checks that a member's key is the canonical spelling of its token.
    private mutating func complaintAboutMember(key: Span<UInt8>) -> String? {
        self.token.removeAll(keepingCapacity: true)
        do throws(EventRejection) {
            try EventRules.memberToken(key: key, into: &self.token)
        } catch {
            return self.token.isEmpty ? Self.complaint(about: error) : "a refused key left a part of a token"
        }
        var digits: [UInt8] = []
        Hex.append(self.token.span, to: &digits)
        return digits.span.holdsSameBytes(as: key) ? nil : "a member's token is spelt otherwise than its key"
    }

    private func complaintAboutPayload(_ input: [UInt8], _ random: inout SplitMix64) -> String? {
        guard self.event.kind != .register, self.event.kind != .unregister, self.event.kind != .open else { return nil }
        let content = PayloadContent(of: self.event)
        let alert = input.span.extracting(self.event.alertInValue.range)
        let stampSeconds = Int64(bitPattern: random.next()) >> Int64(random.below(64))
        var body: [UInt8] = []
        PayloadWriter.append(
            kind: self.event.kind, stampSeconds: stampSeconds, content: content, source: input.span, alert: alert,
            to: &body)
        let byteCount = PayloadWriter.byteCount(
            kind: self.event.kind, stampSeconds: stampSeconds, content: content, source: input.span, alert: alert)
        if byteCount != body.count { return "the payload has \(body.count) bytes, \(byteCount) were counted" }
        do throws(EventRejection) {
            try EventRules.checkContent(
                self.event, value: input.span, eventSeconds: stampSeconds, nowSeconds: .max)
            if stampSeconds >= 0, body.count > PayloadWriter.payloadByteCountMax(for: self.event.target) {
                return "a payload of \(body.count) bytes is taken"
            }
        } catch { if let complaint = Self.complaint(about: error) { return complaint } }
        return Self.jsonFault(body.span).map { "the payload is no JSON: \($0)" }
    }

    static func jsonFault(_ bytes: Span<UInt8>) -> JSONFault? {
        do throws(JSONFault) {
            var cursor = JSONCursor()
            _ = try cursor.skipValue(bytes)
            try cursor.expectEnd(bytes)
            return nil
        } catch { return error }
    }
}
