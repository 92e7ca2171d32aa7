public import Redaction

/// The signing keys of one team for one APNs environment, as the operator configures them. There may be several keys at
/// a time, so that a key can be replaced while the worker runs.
public struct ProviderKey: Sendable, Equatable {
    /// The key id: 10 characters from Apple. `nil` takes it from the file's name. If `path` is a directory, this key is
    /// used first, and `nil` means the newest key.
    public var keyID: String?
    /// The id of the developer team: 10 characters.
    public var teamID: String
    /// The path of a `.p8` file, or of a directory of files named as Apple names them (`AuthKey_ABC123DEFG.p8`). The
    /// files are read at the start, and again when they change.
    public var path: String
    /// The key as the text of a `.p8` file, instead of a path; empty if there is a path. It never changes. It is a
    /// secret.
    public var content: [UInt8] = []
    /// The environment in which the keys are used. Apple's newer keys are valid for one environment, so the key is
    /// chosen separately for each.
    public var environment: String

    public init(keyID: String?, teamID: String, path: String, environment: String = "production") {
        self.keyID = keyID
        self.teamID = teamID
        self.path = path
        self.environment = environment
    }

    /// A name for messages where the key's id may be unknown: the configured id, the id in the file's name, or else the
    /// team's id.
    public var name: String { self.keyID ?? KeyFileName.keyID(path: self.path) ?? self.teamID }

    /// The path for messages; for a key given as text, the name of the setting. `nil` if `path` does not look like a
    /// path: it may be the key itself, set by mistake.
    public var shownPath: String? { self.content.isEmpty ? ShownText.path(self.path) : self.setting }

    /// The name of the setting that has the key.
    public var setting: String { self.content.isEmpty ? "apns.key-file" : "apns.key" }

    /// Makes the configuration of a key that is given as the text of its file.
    public init(keyID: String?, teamID: String, content: [UInt8], environment: String = "production") {
        self.init(keyID: keyID, teamID: teamID, path: "", environment: environment)
        self.content = content
    }
}

extension ProviderKey: Redacted {}
extension ProviderToken: Redacted {}

/// A signed provider token. It is immutable and shared by all shards.
public struct ProviderToken: Sendable {
    /// Number of the token. It grows by one when the current token changes, also when it changes back.
    public var generation: UInt32
    /// The epoch of connections. It grows by one when the key changes, or a token is signed ahead of schedule.
    /// Connections of an older epoch must not send this token.
    public var connectionEpoch: UInt32
    /// Whether this token was current before, and is current again.
    public var isReturn = false
    /// The first generation of the token's key.
    public var keyGeneration: UInt32
    /// Whether APNs has not accepted the token's key yet.
    public var isUnproven = true
    /// Whether APNs has not accepted the key yet, and there is another key to return to.
    public var isOnTrial = false
    /// When the token was issued (`iat`), seconds since 1970.
    public var issuedAtSeconds: Int64
    /// The value of the `authorization` header. It is a secret and never logged.
    public var authorization: [UInt8]
}
