/// One start, update or end: as an upstream service would publish it, and as the push that it would become on its own.
///
/// Values are JSON texts of the story's own making, put in as they are. The payload is written here and not by the worker's code: the worker is
/// judged by it.
package struct StoryEvent: Sendable {
    /// What happens to the activity; the raw value is what the field `event` says.
    package enum Kind: String, Sendable {
        /// As the page Events describes them.
        case start, update, end
    }

    /// Decides which of the other fields belong into it.
    package var kind: Kind
    /// Bundle id.
    package var app: String
    /// JSON object; `nil` only for an `end` that keeps the content shown.
    package var contentState: String?
    /// JSON object.
    package var alert: String?
    /// 10 or 5, for a channel also 1; `nil`: the default of the contract.
    package var priority: Int?
    /// Seconds since 1970; `nil`: the record's time.
    package var timestampSeconds: Int64?
    /// Seconds since 1970, as the two below; `nil`: the field is left out.
    package var staleDateSeconds: Int64?
    /// When an ended activity leaves the screen.
    package var dismissalDateSeconds: Int64?
    /// When it is no longer worth a push, seconds since 1970; `nil`: never.
    package var expiresSeconds: Int64?
    /// JSON number.
    package var relevanceScore: String?
    /// Base64; only for an update or end, whose record has it as the key, too.
    package var channel: String?
    /// Id of an audience; only for an update or end, whose record has it as the key, too.
    package var audience: String?
    /// `"alert": null`: alerts that came before and have not been sent are not to be. Without `alert`.
    package var withdrawsAlert = false
    /// Hex; only for a `start`.
    package var startToken: String?
    /// Only for a `start`.
    package var attributesType: String?
    /// JSON object; only for a `start`.
    package var attributes: String?

    /// The rarer fields are set afterwards.
    package init(_ kind: Kind, app: String, contentState: String? = nil, alert: String? = nil, priority: Int? = nil) {
        self.kind = kind
        self.app = app
        self.contentState = contentState
        self.alert = alert
        self.priority = priority
    }

    /// The value of the Kafka record.
    package var value: [UInt8] {
        var fields = [("event", "\"\(self.kind.rawValue)\""), ("app", "\"\(self.app)\"")]
        if let startToken = self.startToken { fields.append(("to", "{\"start-token\":\"\(startToken)\"}")) }
        if let channel = self.channel { fields.append(("to", "{\"channel\":\"\(channel)\"}")) }
        if let audience = self.audience { fields.append(("to", "{\"audience\":\"\(audience)\"}")) }
        if self.withdrawsAlert { fields.append(("alert", "null")) }
        if let priority = self.priority { fields.append(("priority", "\(priority)")) }
        if let seconds = self.timestampSeconds { fields.append(("timestamp", "\(seconds)")) }
        if let seconds = self.expiresSeconds { fields.append(("expires", "\(seconds)")) }
        return Self.object(fields + self.appleFields)
    }

    /// The body of the push this event would be on its own.
    /// - Parameter recordMillis: time of its Kafka record, milliseconds since 1970.
    package func payload(recordMillis: Int64) -> [UInt8] {
        let timestamp = self.timestampSeconds ?? recordMillis / 1_000
        let fields = [("event", "\"\(self.kind.rawValue)\""), ("timestamp", "\(timestamp)")] + self.appleFields
        return Array("{\"aps\":".utf8) + Self.object(fields) + Array("}".utf8)
    }

    /// What an event and its payload have in common, in Apple's spelling.
    private var appleFields: [(String, String)] {
        var fields: [(String, String)] = []
        if let contentState = self.contentState { fields.append(("content-state", contentState)) }
        if let alert = self.alert { fields.append(("alert", alert)) }
        if let seconds = self.staleDateSeconds { fields.append(("stale-date", "\(seconds)")) }
        if let seconds = self.dismissalDateSeconds { fields.append(("dismissal-date", "\(seconds)")) }
        if let relevanceScore = self.relevanceScore { fields.append(("relevance-score", relevanceScore)) }
        if let attributesType = self.attributesType { fields.append(("attributes-type", "\"\(attributesType)\"")) }
        if let attributes = self.attributes { fields.append(("attributes", attributes)) }
        return fields
    }

    private static func object(_ fields: [(String, String)]) -> [UInt8] {
        Array("{\(fields.map { "\"\($0.0)\":\($0.1)" }.joined(separator: ","))}".utf8)
    }
}

/// A registration as an app's backend would publish it.
package struct StoryRegistration: Sendable {
    /// Bundle id.
    package var app: String
    /// Hex.
    package var token: String
    /// Whether the app may use the budget of frequent updates.
    package var frequentUpdates: Bool

    /// - Parameter token: hex.
    package init(app: String, token: String, frequentUpdates: Bool = false) {
        self.app = app
        self.token = token
        self.frequentUpdates = frequentUpdates
    }

    /// The value of the Kafka record.
    package var value: [UInt8] {
        let frequent = self.frequentUpdates ? ",\"frequent-updates\":true" : ""
        return Array("{\"event\":\"register\",\"app\":\"\(self.app)\",\"token\":\"\(self.token)\"\(frequent)}".utf8)
    }
}
