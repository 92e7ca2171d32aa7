/// A phone that joins an audience, with an update token or a push-to-start token, or leaves it. The record's key is the
/// token.
package struct StoryMembership: Sendable {
    /// The app's bundle id.
    package var app: String
    /// The token in hexadecimal, in lower case.
    package var token: String
    /// The audience's id; `nil`: the phone leaves the audience that the token is in.
    package var audience: String?
    /// Whether the phone joins; `false`: it leaves.
    package var isJoin: Bool
    /// Whether the app that joins may use the budget of frequent updates.
    package var frequentUpdates = false
    /// Whether the token that joins is a push-to-start token.
    package var isStartToken = false
    /// Whether a phone that joins with a push-to-start token can listen on a channel.
    package var isChannelCapable = false
    /// The channel on which a phone that joins listens, in base64; `nil`: the join names none.
    package var channel: String?
    /// The event's `id`; `nil`: it has none.
    package var id: String?

    /// A join with this update token.
    package static func join(_ audience: String, app: String, token: String, frequentUpdates: Bool = false) -> Self {
        Self(app: app, token: token, audience: audience, isJoin: true, frequentUpdates: frequentUpdates)
    }

    /// A join with this push-to-start token, so that a start can put up a card on the phone.
    package static func joinToBeStarted(
        _ audience: String, app: String, token: String, isChannelCapable: Bool = false
    ) -> Self {
        Self(
            app: app, token: token, audience: audience, isJoin: true, isStartToken: true,
            isChannelCapable: isChannelCapable)
    }

    /// A leave with this token.
    package static func leave(_ audience: String?, app: String, token: String) -> Self {
        Self(app: app, token: token, audience: audience, isJoin: false)
    }

    /// The value of the Kafka record.
    package var value: [UInt8] {
        var json = "{\"event\":\"\(self.isJoin ? "register" : "unregister")\",\"app\":\"\(self.app)\""
        if let audience = self.audience { json += ",\"audience\":\"\(audience)\"" }
        if self.isStartToken { json += ",\"token-type\":\"start\"" }
        if self.isChannelCapable { json += ",\"channel-capable\":true" }
        if let channel = self.channel { json += ",\"channel\":\"\(channel)\"" }
        if self.frequentUpdates { json += ",\"frequent-updates\":true" }
        if let id = self.id { json += ",\"id\":\"\(id)\"" }
        return Array("\(json)}".utf8)
    }
}
