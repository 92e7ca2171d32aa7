import PushModel

/// Texts that records repeat. They are made once: escaped, in UTF-8, ready to be copied. This type also reads the key
/// of a state record.
final class RecordTexts: Sendable {
    /// The text `,"app":"<bundle id>"` for each app.
    let appMembers: [[UInt8]]
    /// The text `"topic":"<name>","partition":` for each input topic.
    let topicMembers: [[UInt8]]
    /// The beginning of a state key, such as `a/<bundle id>/`, for each app and kind of slot. See
    /// `stateKeyPrefix(app:kind:)`.
    private let stateKeyPrefixes: [[UInt8]]

    /// The beginning of the key of a crowd's record, for each app and kind of record.
    private let crowdKeyPrefixes: [[UInt8]]
    /// The cluster's name in markers.
    let clusterID: [UInt8]

    init(_ configuration: borrowing EngineConfiguration) {
        self.appMembers = configuration.apps.map { app in
            var text: [UInt8] = []
            text.append(utf8: ",\"app\":")
            JSONBytes.appendString(app.bundleID, to: &text)
            return text
        }
        self.clusterID = Array(configuration.clusterID.utf8.prefix(MarkerRecord.clusterIDByteCountMax))
        self.topicMembers = configuration.inputTopics.map { topic in
            var text: [UInt8] = []
            text.append(utf8: "\"topic\":")
            JSONBytes.appendString(topic, to: &text)
            text.append(utf8: ",\"partition\":")
            return text
        }
        self.crowdKeyPrefixes = configuration.apps.flatMap { app in
            StateCodec.CrowdRecord.allCases.map { record in
                var text: [UInt8] = []
                StateCodec.appendKey(record, bundleID: app.bundleID, id: [], to: &text)
                return text
            }
        }
        self.stateKeyPrefixes = configuration.apps.flatMap { app in
            SlotKind.allCases.map { kind in
                var text: [UInt8] = []
                StateCodec.appendKey(kind: kind, bundleID: app.bundleID, id: [UInt8]().span, to: &text)
                return text
            }
        }
    }

    private static let kindCount = SlotKind.allCases.count

    /// The beginning of the key of a state record about a slot of this kind and app.
    @inline(__always) func stateKeyPrefix(app: UInt16, kind: SlotKind) -> [UInt8] {
        self.stateKeyPrefixes[Int(app) * Self.kindCount + Int(kind.rawValue) - 1]
    }

    /// The audience that the key of a crowd's record in `state` names. `nil`: the key is of another kind, or its app is
    /// not configured.
    func crowdKey(ofState key: Span<UInt8>) -> (record: StateCodec.CrowdRecord, app: UInt16, id: [UInt8])? {
        for index in self.crowdKeyPrefixes.indices {
            let prefix = self.crowdKeyPrefixes[index]
            guard key.count > prefix.count, key.count - prefix.count <= EventRules.keyByteCountMax,
                key.extracting(0..<prefix.count).holdsSameBytes(as: prefix.span)
            else { continue }
            var id: [UInt8] = []
            id.append(copying: key.extracting(prefix.count..<key.count))
            let records = StateCodec.CrowdRecord.allCases
            return (records[index % records.count], UInt16(index / records.count), id)
        }
        return nil
    }
    /// Whether the key is that of a crowd's record, but names no audience. Version 0.9.0 wrote such records about
    /// crowds whose audience it did not know.
    func namesNoAudience(ofState key: Span<UInt8>) -> Bool {
        self.crowdKeyPrefixes.contains { $0.span.holdsSameBytes(as: key) }
    }
    /// The slot that a record of `state` is about, by its key. `nil`: the record is not about a slot, or its app is not
    /// configured.
    @_lifetime(copy key)
    func slotKey(ofState key: Span<UInt8>) -> SlotKey? {
        for index in self.stateKeyPrefixes.indices {
            let prefix = self.stateKeyPrefixes[index]
            guard key.count > prefix.count, key.count - prefix.count <= EventRules.keyByteCountMax,
                key.extracting(0..<prefix.count).holdsSameBytes(as: prefix.span)
            else { continue }
            guard let kind = SlotKind(rawValue: UInt8(index % Self.kindCount + 1)) else { return nil }
            return SlotKey(
                kind: kind, app: UInt16(index / Self.kindCount), id: key.extracting(prefix.count..<key.count))
        }
        return nil
    }
}
