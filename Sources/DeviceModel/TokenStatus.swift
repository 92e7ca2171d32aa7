/// What APNs knows about a device token.
public enum TokenState: UInt8, Sendable, CaseIterable {
    /// A device is behind it.
    case alive
    /// The app was given another token; this one is no longer valid: 410 `Unregistered`.
    case rotated
    /// Expired or the activity is gone: 410 `ExpiredToken`.
    case dead
    /// APNs never issued it, or for the other environment: 400 `BadDeviceToken`.
    case unknown
}

/// A token's state and since when it holds.
public struct TokenStatus: Equatable, Sendable {
    /// What the token is good for.
    public var state: TokenState
    /// Since when, milliseconds since 1970: the `timestamp` of a 410.
    public var sinceMillis: Int64

    public init(state: TokenState = .alive, sinceMillis: Int64 = 0) {
        self.state = state
        self.sinceMillis = sinceMillis
    }
}
