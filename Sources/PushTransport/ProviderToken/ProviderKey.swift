/// One APNs signing key: what the operator configures.
public struct ProviderKey: Sendable, Equatable {
    /// The 10 characters Apple named the key with.
    public var keyID: String
    /// The 10 characters of the developer team.
    public var teamID: String
    /// The `.p8` file. Read at start and again whenever it changes.
    public var path: String

    public init(keyID: String, teamID: String, path: String) {
        self.keyID = keyID
        self.teamID = teamID
        self.path = path
    }
}

/// A signed provider token. Immutable; shared by all shards.
public struct ProviderToken: Sendable {
    /// Grows by one with each new token of the key.
    public var generation: UInt32
    /// Grows by one with each new private key and each token signed out of turn: connections begun under an older one
    /// must not see this token.
    public var connectionEpoch: UInt32
    /// It was the current token before, and is again.
    public var isReturn = false
    /// `iat`, seconds since 1970.
    public var issuedAtSeconds: Int64
    /// The value of the `authorization` header. A secret: never logged.
    public var authorization: [UInt8]
}
