/// Something a well-behaved provider does not do, seen by the simulator. A test asserts that there is no violation, or
/// only the violation that the test provoked.
public struct Violation: Equatable, Sendable, Codable {
    /// What was done wrong. The raw value is its name in counters and in JSON.
    public enum Kind: String, Sendable, Codable, CaseIterable {
        /// A request refused because of how it was built; `detail` has the reason.
        case request
        /// The body is not what ActivityKit takes.
        case payload
        /// A second new provider token within 20 minutes on one connection.
        case providerTokenUpdatedTooOften
        /// Streams above the limit, broken frames and the like; `detail` has the words of the GOAWAY.
        case http2
        /// TLS failed or was cut.
        case tls
        /// An update with the stamp of the previous update and other content: the phone dropped it.
        case stampNotIncreasing
        /// An update older than what the phone shows.
        case stampOlder
        /// A push after the activity's end.
        case afterEnd
        /// A `start` while a card of the same token is still up.
        case startedTwice
        /// A token was used again after it had been answered 410 or `BadDeviceToken`.
        case deadTokenUsedAgain
        /// More than `watchedBudgetPerHour` pushes at priority 10 to one device in a rolling hour.
        case budgetExceeded
        /// A `start` to an update token, or anything else to a push-to-start token: the phone shows nothing.
        case tokenOfOtherKind
        /// Two pushes to a device closer than `watchedSpacingMillis`, or two broadcasts to a channel closer than
        /// `watchedChannelSpacingMillis`.
        case pushedTooSoon
    }
    /// What was done wrong.
    public var kind: Kind
    /// What happened, in words.
    public var detail: String
    /// Number of the connection, counted from 1.
    public var connection: Int
    /// First characters of the device token, in hex; empty when no token is concerned.
    public var token: String
    /// Id of the broadcast channel; empty when none is concerned.
    public var channel: String
    /// Milliseconds since 1970.
    public var atMillis: Int64

    public init(
        kind: Kind, detail: String, connection: Int, token: String, channel: String = "", atMillis: Int64
    ) {
        self.kind = kind
        self.detail = detail
        self.connection = connection
        self.token = token
        self.channel = channel
        self.atMillis = atMillis
    }
}
