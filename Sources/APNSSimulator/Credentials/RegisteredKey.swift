public import TLSSession

/// A provider's signing key as APNs knows it: the public half of a `.p8`, with what it may be used for.
public struct RegisteredKey: Sendable {
    /// The key id: 10 characters, `kid` of the provider token.
    public var keyID: String
    /// The team id: 10 characters, `iss` of the provider token.
    public var teamID: String
    /// The public key that verifies provider tokens.
    public var publicKey: ES256PublicKey
    /// The key's environment; `nil` for both.
    public var environment: SimulatorConfiguration.Environment?
    /// Bundle ids for which the key is valid; empty for all apps of its team.
    public var apps: [String]

    public init(
        keyID: String, teamID: String, publicKey: ES256PublicKey,
        environment: SimulatorConfiguration.Environment? = nil, apps: [String] = []
    ) {
        self.keyID = keyID
        self.teamID = teamID
        self.publicKey = publicKey
        self.environment = environment
        self.apps = apps
    }

    /// Reads the key from PEM: a `.p8` as Apple gives it, or the public half alone.
    public init(
        keyID: String, teamID: String, pem: [UInt8], environment: SimulatorConfiguration.Environment? = nil,
        apps: [String] = []
    ) throws(TLSError) {
        let publicKey: ES256PublicKey
        if String(decoding: pem, as: UTF8.self).contains("PUBLIC KEY") {
            publicKey = try ES256PublicKey(pem: pem)
        } else {
            publicKey = try ES256PrivateKey(pem: pem).publicKey()
        }
        self.init(keyID: keyID, teamID: teamID, publicKey: publicKey, environment: environment, apps: apps)
    }
}
