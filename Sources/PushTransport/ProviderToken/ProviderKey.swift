public import Redaction

/// The signing keys of one team for one APNs environment: what the operator configures. Several keys at a time make it
/// possible to change them without a stop.
public struct ProviderKey: Sendable, Equatable {
    /// The key's 10 characters from Apple. `nil` takes them from the file's name. For a directory it is the first key
    /// to use; `nil` means the newest.
    public var keyID: String?
    /// The 10 characters of the developer team.
    public var teamID: String
    /// A `.p8` file, or a directory of files named as Apple names them (`AuthKey_ABC123DEFG.p8`). It is read at start
    /// and again whenever something changes.
    public var path: String
    /// The text of a `.p8` file that was given instead of a file; empty if there is a file. It never changes. A secret.
    public var content: [UInt8] = []
    /// The environment in which the keys are used. Apple's newer keys are valid for one environment, so each has its
    /// own choice of key.
    public var environment: String

    public init(keyID: String?, teamID: String, path: String, environment: String = "production") {
        self.keyID = keyID
        self.teamID = teamID
        self.path = path
        self.environment = environment
    }

    /// The key's name where its id is unknown or may change: the configured id, the one in the file's name, or else the
    /// team.
    public var name: String { self.keyID ?? KeyFileName.keyID(path: self.path) ?? self.teamID }

    /// The path as it may be shown; `nil` if it does not look like a path, and may be the key itself.
    public var shownPath: String? { self.content.isEmpty ? ShownText.path(self.path) : self.setting }

    /// The setting with the key.
    public var setting: String { self.content.isEmpty ? "apns.key-file" : "apns.key" }

    /// A key that was given as the text of its file.
    public init(keyID: String?, teamID: String, content: [UInt8], environment: String = "production") {
        self.init(keyID: keyID, teamID: teamID, path: "", environment: environment)
        self.content = content
    }
}

extension ProviderKey: Redacted {}
extension ProviderToken: Redacted {}

/// A signed provider token. It is immutable and shared by all shards.
public struct ProviderToken: Sendable {
    /// Number of the token. It grows by one with each new current token.
    public var generation: UInt32
    /// Grows by one with each change of key and each token signed ahead of schedule. Connections that began in an older
    /// epoch must not see this token.
    public var connectionEpoch: UInt32
    /// Whether this token was the current one before, and is again.
    public var isReturn = false
    /// The first generation of the token's key.
    public var keyGeneration: UInt32
    /// Whether APNs has not accepted the token's key yet.
    public var isUnproven = true
    /// Whether the key is unproven, and there is another to return to.
    public var isOnTrial = false
    /// `iat`, seconds since 1970.
    public var issuedAtSeconds: Int64
    /// The value of the `authorization` header. A secret: never logged.
    public var authorization: [UInt8]
}
