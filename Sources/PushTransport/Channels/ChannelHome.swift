public import PushModel

/// Where a channel lives: an app in one APNs environment. Ids are not shared between homes.
public struct ChannelHome: Sendable, Hashable, CustomStringConvertible {
    /// The app's bundle identifier, without a suffix.
    public var bundleID: String
    /// Which of Apple's two push services.
    public var environment: PushEnvironment

    public init(bundleID: String, environment: PushEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    public var description: String {
        "\(self.bundleID) (\(self.environment == .production ? "production" : "development"))"
    }
}

/// A channel's id, as far as it can be judged without asking APNs: Apple promises neither a length nor what it is made of.
public enum ChannelID {
    /// The longest id that is taken, bytes. A header field has to hold it.
    public static let byteCountMax = 2_048

    /// Whether a header field can carry it: 1 to `byteCountMax` visible ASCII characters.
    public static func isValid(_ text: String) -> Bool {
        (1...Self.byteCountMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

/// How long a `ChannelClient` tries, and how much it takes on.
public struct ChannelClientLimits: Sendable, Equatable {
    /// Requests sent for one call. 1 or more.
    public var attemptsMax = 6
    /// No attempt begins later than this after the call, milliseconds. The last one may take the route's request timeout on top.
    public var totalMillis: Int64 = 60_000
    /// How long an attempt waits for a connection, milliseconds.
    public var connectionWaitMillis: Int64 = 15_000
    /// The first delay between two attempts is at most this, milliseconds. Doubled each time.
    public var backoffMinMillis: Int64 = 500
    /// The longest delay between two attempts, milliseconds.
    public var backoffMaxMillis: Int64 = 8_000
    /// Requests that wait or are in flight; one more fails at once.
    public var outstandingMax = 256

    /// The defaults.
    public init() {}
}
