import PushModel

/// What records say over and over, made once: escaped, in UTF-8, ready to be copied.
final class RecordTexts: Sendable {
    /// By app.
    let bundleIDs: [[UInt8]]
    /// By app: `,"app":"<bundle id>"`.
    let appMembers: [[UInt8]]
    /// By input topic: `"topic":"<name>","partition":`.
    let topicMembers: [[UInt8]]
    /// By app: what a state key begins with, `a/<bundle id>/`.
    let stateKeyPrefixes: [[UInt8]]

    /// What markers say of the cluster.
    let clusterID: [UInt8]

    init(_ configuration: borrowing EngineConfiguration) {
        self.bundleIDs = configuration.apps.map { Array($0.bundleID.utf8) }
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
}
