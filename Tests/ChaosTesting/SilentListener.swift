/// A phone that listens on the channel kept for an audience, and has no token that anybody is told: what comes over the channel is all that it gets.
struct SilentListener: Equatable, Sendable {
    var audience: String
    /// Id of the channel, base64.
    var channel: String
    /// What the simulated APNs calls it: no push is ever sent to it.
    let token: String
    /// When APNs was told that it listens, milliseconds since 1970; `nil`: it has not been.
    var listensMillis: Int64?

    /// An owner may hear of its audience's channel so much later, when its worker dies over it and others take over.
    private static let openingMillisMax: Int64 = 45_000

    init(audience: String, channel: String, number: Int) {
        self.audience = audience
        self.channel = channel
        let digits = String(number, radix: 16)
        self.token = "51e47" + String(repeating: "0", count: 59 - digits.count) + digits
    }

    /// What is published from then on comes over the channel; `nil`: it does not listen.
    var sinceMillis: Int64? { self.listensMillis.map { $0 + Self.openingMillisMax } }
}
