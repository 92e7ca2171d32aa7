/// The fields inside `to`.
enum TargetField: UInt8, CaseIterable {
    case activity, audience, channel, token, startToken, environment

    var name: StaticString {
        switch self {
        case .activity: "activity"
        case .audience: "audience"
        case .channel: "channel"
        case .token: "token"
        case .startToken: "start-token"
        case .environment: "environment"
        }
    }

    var path: StaticString {
        switch self {
        case .activity: "to.activity"
        case .audience: "to.audience"
        case .channel: "to.channel"
        case .token: "to.token"
        case .startToken: "to.start-token"
        case .environment: "to.environment"
        }
    }
}

/// Reads `to`, and the tokens, environments and channels in registrations.
extension EventReader {
    /// Reads the object `to`. It has one address and, for a token or a channel, its environment.
    mutating func target(_ bytes: Span<UInt8>, into event: inout DecodedEvent) throws(EventRejection) {
        guard self.begins(bytes, with: UInt8(ascii: "{")) else {
            throw self.wrongValue(bytes, expected: "an object such as {\"activity\": id}")
        }
        try self.openObject(bytes)
        var isFirst = true
        var seen: UInt8 = 0
        var address: TargetField?
        while true {
            var field = self.knownTargetField(bytes, isFirst: isFirst)
            var name: JSONString?
            if field == nil {
                name = try self.nextName(bytes, isFirst: isFirst)
                guard let name else { break }
                field = self.targetField(bytes, name)
            }
            isFirst = false
            guard let field else {
                guard let name else { break }
                let text = JSONEscape.text(of: name, in: bytes)
                guard text.starts(with: "x-".utf8) else {
                    throw ForeignField.rejection(of: text, in: "to", knows: TargetField.allCases.map(\.name))
                }
                _ = try self.skipValue(bytes)
                continue
            }
            self.field = .target(field)
            guard seen & (1 << field.rawValue) == 0 else { throw self.reject("is given twice") }
            seen |= 1 << field.rawValue
            if field != .environment {
                if let address { throw self.reject("is given with “\(address.path)”: expected only one address") }
                address = field
            }
            try self.read(field, bytes, into: &event)
            self.field = .field(.to)
        }
        guard let address else {
            throw self.reject("names no address: expected “activity”, “audience”, “channel”, “token” or “start-token”")
        }
        if seen & (1 << TargetField.environment.rawValue) != 0, address == .activity || address == .audience {
            self.field = .target(.environment)
            throw self.reject(
                "is given with “\(address.name)”: expected it only next to “token”, “start-token” or “channel”")
        }
    }

    private mutating func knownTargetField(_ bytes: Span<UInt8>, isFirst: Bool) -> TargetField? {
        guard let start = self.cursor.memberStart(bytes, isFirst: isFirst) else { return nil }
        if self.passesName(bytes, at: start, "activity\":") { return .activity }
        if self.passesName(bytes, at: start, "token\":") { return .token }
        if self.passesName(bytes, at: start, "start-token\":") { return .startToken }
        if self.passesName(bytes, at: start, "environment\":") { return .environment }
        if self.passesName(bytes, at: start, "audience\":") { return .audience }
        if self.passesName(bytes, at: start, "channel\":") { return .channel }
        return nil
    }

    private func targetField(_ bytes: Span<UInt8>, _ name: JSONString) -> TargetField? {
        if self.spells(bytes, name, TargetField.token.name) { return .token }
        if self.spells(bytes, name, TargetField.startToken.name) { return .startToken }
        if self.spells(bytes, name, TargetField.environment.name) { return .environment }
        if self.spells(bytes, name, TargetField.activity.name) { return .activity }
        if self.spells(bytes, name, TargetField.audience.name) { return .audience }
        if self.spells(bytes, name, TargetField.channel.name) { return .channel }
        return nil
    }

    private mutating func read(
        _ field: TargetField, _ bytes: Span<UInt8>, into event: inout DecodedEvent
    ) throws(EventRejection) {
        switch field {
        case .activity:
            event.target = .activity
            event.activityInText = try self.text(
                bytes, byteCountMax: EventDecoder.idByteCountMax, expected: "an activity id", into: &event.text)
        case .audience:
            event.target = .audience
            event.audienceInText = try self.text(
                bytes, byteCountMax: EventDecoder.idByteCountMax, expected: "an audience id", into: &event.text)
        case .channel:
            event.target = .channel
            event.audienceInText = try self.channelText(bytes, into: &event.text)
        case .token:
            event.target = .token
            event.tokenInText = try self.token(bytes, into: &event.text)
        case .startToken:
            event.target = .startToken
            event.tokenInText = try self.token(bytes, into: &event.text)
        case .environment:
            event.environment = try self.environment(bytes)
            event.isEnvironmentGiven = true
        }
    }

    mutating func environment(_ bytes: Span<UInt8>) throws(EventRejection) -> PushEnvironment {
        if self.passes(bytes, "\"production\"") { return .production }
        let word = try self.string(bytes, expected: "“production” or “development”")
        if self.spells(bytes, word, "production") { return .production }
        if self.spells(bytes, word, "development") { return .development }
        let isSandbox = self.spells(bytes, word, "sandbox")
        throw self.wrongValue(
            bytes, word.withQuotes,
            expected: "“production” or “development”" + (isSandbox ? " (which is Apple's name for its sandbox)" : ""))
    }

    /// Reads a device token, and appends its bytes, decoded from hexadecimal, to `text`. A rejection shows no part of
    /// the token.
    mutating func token(_ bytes: Span<UInt8>, into text: inout [UInt8]) throws(EventRejection) -> ByteRange {
        guard self.begins(bytes, with: UInt8(ascii: "\"")) else {
            let kind = try self.kind(bytes)
            _ = try self.skipValue(bytes)
            throw self.reject("is no string but \(kind): expected a token in hexadecimal digits")
        }
        let string = try self.string(bytes, expected: "a token")
        let start = text.count
        // Any JSON string may have escapes. They are resolved before the digits are decoded.
        let isDecoded: Bool
        if string.hasEscapes {
            let plain = JSONEscape.text(of: string, in: bytes)
            isDecoded = Hex.decode(plain.span, to: &text)
        } else {
            isDecoded = Hex.decode(bytes.extracting(string.content.range), to: &text)
        }
        let byteCount = text.count - start
        guard isDecoded, byteCount > 0, byteCount <= EventDecoder.tokenByteCountMax else {
            throw self.tokenRejection(JSONEscape.text(of: string, in: bytes))
        }
        return ByteRange(start: start, count: byteCount)
    }

    private func tokenRejection(_ digits: [UInt8]) -> EventRejection {
        if digits.isEmpty { return self.reject("is empty: expected hexadecimal digits") }
        if let index = digits.firstIndex(where: { Hex.value(of: $0) > 15 }) {
            // Characters are counted, because people do not count bytes.
            return self.reject(
                "is not hexadecimal at character \(index + 1) of \(digits.count { $0 & 0xC0 != 0x80 }): expected the digits 0-9 and a-f only, "
                    + "not base64 and without spaces or brackets")
        }
        if !digits.count.isMultiple(of: 2) {
            return self.reject(
                "has \(digits.count) hexadecimal digits: expected an even number; it may have been cut off")
        }
        return self.reject(
            "has \(digits.count) hexadecimal digits: at most \(2 * EventDecoder.tokenByteCountMax) are allowed")
    }

    /// Reads the type of a member's token. Returns whether it is a push-to-start token.
    mutating func tokenTypeIsStart(_ bytes: Span<UInt8>) throws(EventRejection) -> Bool {
        let word = try self.string(bytes, expected: "“update” or “start”")
        if self.spells(bytes, word, "start") { return true }
        if self.spells(bytes, word, "update") { return false }
        throw self.wrongValue(bytes, word.withQuotes, expected: "“update” or “start”")
    }

    /// Reads a channel id, and appends it to `text` without escapes.
    mutating func channelText(_ bytes: Span<UInt8>, into text: inout [UInt8]) throws(EventRejection) -> ByteRange {
        let channel = try self.channel(bytes)
        let start = text.count
        JSONEscape.appendText(of: channel, in: bytes, to: &text)
        return ByteRange(start: start, count: text.count - start)
    }

    /// Reads a channel id in base64, as Apple gives it, with at most `EventDecoder.idByteCountMax` bytes.
    mutating func channel(_ bytes: Span<UInt8>) throws(EventRejection) -> JSONString {
        let string = try self.string(bytes, expected: "a channel id in base64")
        let text = JSONEscape.text(of: string, in: bytes)
        guard ChannelIDText.isBase64(text) else {
            throw self.wrongValue(bytes, string.withQuotes, expected: "a channel id in base64, as APNs gave it")
        }
        guard text.count <= EventDecoder.idByteCountMax else {
            throw self.reject("has \(text.count) bytes: at most \(EventDecoder.idByteCountMax) are allowed")
        }
        return string
    }
}
