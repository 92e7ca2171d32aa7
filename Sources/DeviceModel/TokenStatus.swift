/// What APNs knows about a device token.
public enum TokenState: UInt8, Sendable, CaseIterable {
    /// A device has the token.
    case alive
    /// The app was given another token, and this one is no longer valid: 410 `Unregistered`.
    case rotated
    /// The token has expired, or the activity is gone: 410 `ExpiredToken`.
    case dead
    /// APNs never issued the token, or only for the other environment: 400 `BadDeviceToken`.
    case unknown
}

/// A token's state, and when it began.
public struct TokenStatus: Equatable, Sendable {
    /// The token's state.
    public var state: TokenState
    /// When the state began, milliseconds since 1970: the `timestamp` of a 410.
    public var sinceMillis: Int64

    public init(state: TokenState = .alive, sinceMillis: Int64 = 0) {
        self.state = state
        self.sinceMillis = sinceMillis
    }
}
