/// A phone that listens on the channel kept for an audience, and whose token no worker gets. It gets only what comes
/// over the channel.
struct SilentListener: Equatable, Sendable {
    var audience: String
    /// Id of the channel, base64.
    var channel: String
    /// The phone's name in the simulated APNs. No push is ever sent to it.
    let token: String
    /// When APNs learnt that the phone listens, milliseconds since 1970. `nil` means that APNs does not know it yet.
    var listensMillis: Int64?

    /// Maximum time from `listensMillis` until the audience's owner broadcasts on the channel, milliseconds. The
    /// owner's worker may die meanwhile.
    private static let openingMillisMax: Int64 = 45_000

    init(audience: String, channel: String, number: Int) {
        self.audience = audience
        self.channel = channel
        let digits = String(number, radix: 16)
        self.token = "51e47" + String(repeating: "0", count: 59 - digits.count) + digits
    }

    /// Time from which everything that is published reaches the phone over the channel, milliseconds since 1970. `nil`
    /// means that the phone does not listen.
    var sinceMillis: Int64? { self.listensMillis.map { $0 + Self.openingMillisMax } }
}
