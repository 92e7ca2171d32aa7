public import PushModel

/// The home of a channel: an app in one APNs environment. Ids are not shared between homes.
public struct ChannelHome: Sendable, Hashable, CustomStringConvertible {
    /// The app's bundle identifier, without a suffix.
    public var bundleID: String
    /// The environment, and with it one of Apple's two push services.
    public var environment: PushEnvironment

    public init(bundleID: String, environment: PushEnvironment) {
        self.bundleID = bundleID
        self.environment = environment
    }

    public var description: String {
        "\(self.bundleID) (\(self.environment == .production ? "production" : "development"))"
    }
}

/// A channel's id, as far as it can be checked without APNs. Apple promises neither its length nor its characters.
public enum ChannelID {
    /// The longest id that is accepted, bytes. A header field must hold it.
    public static let byteCountMax = 2_048

    /// Whether a header field can carry the id: 1 to `byteCountMax` visible ASCII characters.
    public static func isValid(_ text: String) -> Bool {
        (1...Self.byteCountMax).contains(text.utf8.count) && text.utf8.allSatisfy { (0x21...0x7e).contains($0) }
    }
}

/// Limits of a `ChannelClient`: its attempts, its times and its requests.
public struct ChannelClientLimits: Sendable, Equatable {
    /// Maximum number of attempts for one call. 1 or more.
    public var attemptsMax = 6
    /// Time after the call until which an attempt may begin, milliseconds. The last one may take the route's request
    /// timeout on top.
    public var totalMillis: Int64 = 60_000
    /// How long an attempt waits for a connection, milliseconds.
    public var connectionWaitMillis: Int64 = 15_000
    /// The longest first delay between two attempts, milliseconds. It doubles each time.
    public var backoffMinMillis: Int64 = 500
    /// The longest delay between two attempts, milliseconds.
    public var backoffMaxMillis: Int64 = 8_000
    /// Maximum number of requests that wait or are in flight; one more fails at once.
    public var outstandingMax = 256

    /// The defaults.
    public init() {}
}
