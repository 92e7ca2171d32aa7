import PushModel

/// What records say over and over, made once: escaped, in UTF-8, ready to be copied. And how the key of a state record is read.
final class RecordTexts: Sendable {
    /// By app: `,"app":"<bundle id>"`.
    let appMembers: [[UInt8]]
    /// By input topic: `"topic":"<name>","partition":`.
    let topicMembers: [[UInt8]]
    /// By app: what a state key begins with, `a/<bundle id>/`.
    let stateKeyPrefixes: [[UInt8]]

    /// What markers say of the cluster.
    let clusterID: [UInt8]

    init(_ configuration: borrowing EngineConfiguration) {
        self.appMembers = configuration.apps.map { app in
            var text: [UInt8] = []
            text.append(utf8: ",\"app\":")
            JSONBytes.appendString(app.bundleID, to: &text)
            return text
        }
        self.clusterID = Array(configuration.clusterID.utf8.prefix(StateCodec.clusterIDByteCountMax))
        self.topicMembers = configuration.inputTopics.map { topic in
            var text: [UInt8] = []
            text.append(utf8: "\"topic\":")
            JSONBytes.appendString(topic, to: &text)
            text.append(utf8: ",\"partition\":")
            return text
        }
        self.stateKeyPrefixes = configuration.apps.map { app in
            var text: [UInt8] = []
            StateCodec.appendKey(bundleID: app.bundleID, id: [UInt8]().span, to: &text)
            return text
        }
    }

    /// The slot that a record of `state` is about, by its key; `nil`: a marker, or of an app that is configured no more.
    @_lifetime(copy key)
    func slotKey(ofState key: Span<UInt8>) -> SlotKey? {
        for app in self.stateKeyPrefixes.indices {
            let prefix = self.stateKeyPrefixes[app]
            guard key.count > prefix.count, key.count - prefix.count <= EventRules.keyByteCountMax,
                key.extracting(0..<prefix.count).holdsSameBytes(as: prefix.span)
            else { continue }
            return SlotKey(app: UInt16(app), id: key.extracting(prefix.count..<key.count))
        }
        return nil
    }
}
