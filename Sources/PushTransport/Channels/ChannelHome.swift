public import PushModel

/// The home of a channel: an app in one APNs environment. A channel's id is valid only in its home.
public struct ChannelHome: Sendable, Hashable, CustomStringConvertible {
    /// The app's bundle identifier, without a suffix.
    public var bundleID: String
    /// The environment. Apple has a push service for each.
    public var environment: PushEnvironment

    public init(bundleID: String, environment: PushEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    public var description: String {
        "\(self.bundleID) (\(self.environment == .production ? "production" : "development"))"
    }
}

/// Checks the form of channels' ids. Apple promises neither their length nor their characters.
public enum ChannelID {
    /// Maximum length of an accepted id, bytes. The id must fit into a header field.
    public static let byteCountMax = 2_048

    /// Whether a header field can carry the id: 1 to `byteCountMax` visible ASCII characters.
    public static func isValid(_ text: String) -> Bool {
        (1...Self.byteCountMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

/// Limits of a `ChannelClient`: attempts, times and number of requests.
public struct ChannelClientLimits: Sendable, Equatable {
    /// Maximum number of attempts for one call. 1 or more.
    public var attemptsMax = 6
    /// How long after the call a further attempt may begin, milliseconds. The last attempt can add the wait for a
    /// connection and the route's request timeout.
    public var totalMillis: Int64 = 60_000
    /// How long an attempt waits for a connection, milliseconds.
    public var connectionWaitMillis: Int64 = 15_000
    /// Maximum delay before the second attempt, milliseconds. The maximum doubles with each further attempt, up to
    /// `backoffMaxMillis`.
    public var backoffMinMillis: Int64 = 500
    /// Maximum delay between two attempts, milliseconds. APNs may ask for a longer one with `retry-after`.
    public var backoffMaxMillis: Int64 = 8_000
    /// Maximum number of requests that wait or are in flight. A request beyond that fails at once.
    public var outstandingMax = 256

    /// The defaults.
    public init() {}
}
