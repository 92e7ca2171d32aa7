/// A start, update or end. It has the value that an upstream service would publish, and the payload of the push that
/// this event alone would become.
///
/// Its values are JSON texts, which are inserted unchanged. The payload is not written by the worker's code, because
/// the worker is judged by it.
package struct StoryEvent: Sendable {
    /// What happens to the activity. The raw value is the value of the field `event`.
    package enum Kind: String, Sendable {
        /// The kinds, as the page Events of the documentation describes them.
        case start, update, end
    }

    /// The kind. It decides which other fields are allowed.
    package var kind: Kind
    /// The app's bundle id.
    package var app: String
    /// The content state, a JSON object. It is `nil` only in an `end` after which the phone keeps its content.
    package var contentState: String?
    /// The alert, a JSON object.
    package var alert: String?
    /// The priority: 10 or 5, for a channel also 1; `nil`: the contract's default.
    package var priority: Int?
    /// The timestamp, seconds since 1970; `nil`: the record's time.
    package var timestampSeconds: Int64?
    /// The stale date, seconds since 1970; `nil`: the field is left out.
    package var staleDateSeconds: Int64?
    /// When an ended activity leaves the screen, seconds since 1970; `nil`: the field is left out.
    package var dismissalDateSeconds: Int64?
    /// When the event is no longer worth a push, seconds since 1970; `nil`: it has no such time.
    package var expiresSeconds: Int64?
    /// The relevance score, a JSON number.
    package var relevanceScore: String?
    /// The channel's id in base64, which is also the key of the record. Only an update or end may have one.
    package var channel: String?
    /// The audience's id, which is also the key of the record; `nil`: the event is not for an audience.
    package var audience: String?
    /// Whether the event has `"alert": null`, which withdraws earlier alerts that have not been sent. An event cannot
    /// have both this and `alert`.
    package var withdrawsAlert = false
    /// The start token in hexadecimal; only for a `start`.
    package var startToken: String?
    /// The type of the attributes; only for a `start`.
    package var attributesType: String?
    /// The attributes, a JSON object; only for a `start`.
    package var attributes: String?

    /// An event with its usual fields. The caller sets the others afterwards.
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

    /// The body of the push that this event alone would become.
    /// - Parameter recordMillis: time of its Kafka record, milliseconds since 1970.
    package func payload(recordMillis: Int64) -> [UInt8] {
        let timestamp = self.timestampSeconds ?? recordMillis / 1_000
        let fields = [("event", "\"\(self.kind.rawValue)\""), ("timestamp", "\(timestamp)")] + self.appleFields
        return Array("{\"aps\":".utf8) + Self.object(fields) + Array("}".utf8)
    }

    /// The fields that an event and its payload share, in Apple's spelling.
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

/// A registration, as an app's backend would publish it.
package struct StoryRegistration: Sendable {
    /// The app's bundle id.
    package var app: String
    /// The token in hexadecimal.
    package var token: String
    /// Whether the app may use the budget of frequent updates.
    package var frequentUpdates: Bool

    /// - Parameter token: the token in hexadecimal.
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
