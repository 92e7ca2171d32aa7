import APNSProtocol
import Glibc
import LocalFiles
public import Redaction
public import TLSSession

/// A directory with everything a simulator and its clients need. It is made on the first use and reused on the next, so
/// that a worker's configuration stays valid over restarts of the simulator.
///
/// `ca.pem` is for the client's trust roots. `server.pem` and `server.key` are the simulator's own. `AuthKey_<id>.p8`
/// is the provider's key, as Apple would give it. Keys are written with mode 0600.
public struct CredentialDirectory: Sendable {
    /// What went wrong, with the file's name.
    public struct Failure: Error, CustomStringConvertible, Sendable {
        public var description: String
    }

    /// The simulator's certificate, and the authority that a client must trust.
    public let credentials: SimulatorCredentials
    /// The key that signs provider tokens. Register its public half, or the simulator refuses them.
    public let providerKey: ES256PrivateKey
    /// The path of `ca.pem`, for a client's trust roots.
    public let authorityPath: String
    /// The path of `AuthKey_<id>.p8`, for a worker's configuration.
    public let providerKeyPath: String

    /// Opens `path`, and makes what is missing: the directory and the provider key. If one of the three files for TLS
    /// is missing, all three are made anew.
    /// - Parameters:
    ///   - names: DNS names and IP addresses of the certificate, if it must be made.
    ///   - nowSeconds: seconds since 1970.
    public init(path: String, keyID: String, names: [String], nowSeconds: Int64) throws {
        self.authorityPath = path + "/ca.pem"
        self.providerKeyPath = path + "/AuthKey_\(keyID).p8"
        let (certificatePath, keyPath) = (path + "/server.pem", path + "/server.key")
        do throws(FileFailure) { try OutputFile.makeDirectory(path) } catch {
            throw Failure(description: error.description)
        }

        let tlsPaths = [self.authorityPath, certificatePath, keyPath]
        if tlsPaths.allSatisfy({ Self.isThere($0) }) {
            self.credentials = SimulatorCredentials(
                authorityPEM: try Self.read(self.authorityPath),
                certificate: CertificateAndKey(
                    chainPEM: try Self.read(certificatePath), privateKeyPEM: try Self.read(keyPath)))
        } else {
            self.credentials = try SimulatorCredentials.generate(names: names, nowSeconds: nowSeconds)
            try Self.write(self.credentials.certificate.privateKeyPEM, to: keyPath, mode: 0o600)
            try Self.write(self.credentials.certificate.chainPEM, to: certificatePath, mode: 0o644)
            try Self.write(self.credentials.authorityPEM, to: self.authorityPath, mode: 0o644)
        }
        if Self.isThere(self.providerKeyPath) {
            let pem = try Self.read(self.providerKeyPath)
            let path = self.providerKeyPath
            self.providerKey = try Self.naming(path) { try ES256PrivateKey(pem: pem) }
        } else {
            self.providerKey = try ES256PrivateKey.generate()
            try Self.write(try self.providerKey.pem(), to: self.providerKeyPath, mode: 0o600)
        }
    }

    private static func read(_ path: String) throws -> [UInt8] {
        do { return try InputFile.read(path) } catch { throw Failure(description: error.description) }
    }

    private static func isThere(_ path: String) -> Bool { access(path, F_OK) == 0 }

    private static func write(_ bytes: [UInt8], to path: String, mode: UInt32) throws {
        do { try OutputFile.replace(path, with: bytes, mode: mode) } catch {
            throw Failure(description: error.description)
        }
    }

    private static func naming<Result>(_ path: String, _ body: () throws -> Result) throws -> Result {
        do { return try body() } catch { throw Failure(description: "\(path): \(error)") }
    }
}

/// Signs provider tokens with a key of the simulator's owner, for a quick push with curl.
public struct ProviderTokenMint: Sendable {
    private let key: ES256PrivateKey
    private let keyID: String
    private let teamID: String

    public init(key: ES256PrivateKey, keyID: String, teamID: String) {
        self.key = key
        self.keyID = keyID
        self.teamID = teamID
    }

    /// A token issued at `nowSeconds` (seconds since 1970), valid for an hour. The token is a secret, although its key
    /// is only for tests.
    public func token(nowSeconds: Int64) throws(TLSError) -> [UInt8] {
        let input = ProviderTokenClaims.signingInput(
            keyID: self.keyID, teamID: self.teamID, issuedAtSeconds: nowSeconds)
        return ProviderTokenClaims.token(signingInput: input, signature: try self.key.sign(input))
    }
}

extension ProviderTokenMint: Redacted {}
