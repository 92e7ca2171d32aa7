import PushModel

/// The text of an outcome record (contract: What an outcome says): one JSON object. It is composed in one piece,
/// because every push writes one.
enum OutcomeWriter {
    /// Writes the record's text.
    /// - Parameters:
    ///   - eventID: the event's id. It is empty if the event has none, as are `key` and `traceparent`.
    ///   - details: what else the record says. They have the hash of a token if there was a push, or if the event was
    ///     about a token.
    static func write(
        _ outcome: Outcome, kind: SlotKind, app: UInt16?, key: Span<UInt8>, source: SourcePosition,
        eventID: Span<UInt8>,
        traceparent: Span<UInt8>, details: borrowing OutcomeDetails, texts: RecordTexts, to cursor: inout ByteCursor
    ) {
        cursor.append("{\"outcome\":\"")
        cursor.append(outcome.name)
        cursor.append("\"")
        if !eventID.isEmpty {
            cursor.append(",\"event-id\":")
            cursor.append(jsonString: eventID)
        }
        if let app {
            let member = texts.appMembers[Int(app)]
            cursor.append(member.span)
        }
        if !key.isEmpty {
            switch kind {
            case .activity: cursor.append(",\"activity\":")
            case .channel: cursor.append(",\"channel\":")
            case .audience: cursor.append(",\"audience\":")
            }
            cursor.append(jsonString: key)
        }
        cursor.append(",")
        Self.write(source, texts: texts, to: &cursor)
        if details.hasPush {
            cursor.append(",\"apns-id\":\"")
            cursor.append(uuid: details.apnsID)
            cursor.append("\"")
        }
        if details.status != 0 {
            cursor.append(",\"status\":")
            cursor.append(decimal: UInt64(details.status))
        }
        if !details.reason.isEmpty {
            cursor.append(",\"reason\":")
            let reason = Array(details.reason.utf8)
            cursor.append(jsonString: reason.span)
        } else if let text = details.cause.text(of: kind) {
            cursor.append(",\"reason\":\"")
            cursor.append(text)
            cursor.append("\"")
        }
        if details.hasPush {
            cursor.append(",\"priority\":")
            cursor.append(decimal: UInt64(details.priority.rawValue))
            cursor.append(",\"merged\":")
            cursor.append(decimal: UInt64(details.mergedCount))
        }
        if let into = details.into {
            cursor.append(",\"into\":{")
            Self.write(into, texts: texts, to: &cursor)
            cursor.append("}")
        }
        switch (details.keepsAlert, details.keepsPriority) {
        case (false, false): break
        case (true, false): cursor.append(",\"kept\":[\"alert\"]")
        case (false, true): cursor.append(",\"kept\":[\"priority\"]")
        case (true, true): cursor.append(",\"kept\":[\"alert\",\"priority\"]")
        }
        if details.queuedMillis >= 0 {
            cursor.append(",\"queued-ms\":")
            cursor.append(decimal: details.queuedMillis)
        }
        if details.apnsMicros >= 0 {
            cursor.append(",\"apns-ms\":")
            cursor.append(decimal: details.apnsMicros / 1_000)
        }
        if details.versionStampSeconds > 0 {
            cursor.append(",\"version\":")
            cursor.append(decimal: details.versionStampSeconds)
            cursor.append(",\"merged\":")
            cursor.append(decimal: UInt64(details.mergedCount))
        }
        if details.hasPush || details.hasTokenHash {
            cursor.append(",\"token-hash\":\"")
            cursor.append(hex: details.tokenHash)
            cursor.append("\"")
        }
        switch details.tokenStanding {
        case .former: cursor.append(",\"token\":\"former\"")
        case .dead: cursor.append(",\"token\":\"dead\"")
        case .doubted: cursor.append(",\"token\":\"doubted\"")
        case .usable, .proven, .kept: break
        }
        if let hash = details.replacedTokenHash {
            cursor.append(",\"replaced-token-hash\":\"")
            cursor.append(hex: hash)
            cursor.append("\"")
        }
        if !traceparent.isEmpty {
            cursor.append(",\"traceparent\":")
            cursor.append(jsonString: traceparent)
        }
        cursor.append("}")
    }

    private static func write(_ position: SourcePosition, texts: RecordTexts, to cursor: inout ByteCursor) {
        let member = texts.topicMembers[Int(position.topic)]
        cursor.append(member.span)
        cursor.append(decimal: Int64(position.partition))
        cursor.append(",\"offset\":")
        cursor.append(decimal: position.offset)
    }
}
