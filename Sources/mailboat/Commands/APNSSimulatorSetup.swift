import APNSSimulator
import ArgumentParser
import CommandSupport
import Foundation
import LocalFiles
import Redaction
import TLSSession

/// Certificates and keys of an `apns-simulator`, read or generated as its options say.
struct SimulatorSetup {
    var credentials: SimulatorCredentials
    var keys: [RegisteredKey] = []
    /// What a person needs to know in order to push to the simulator.
    var lines: [String] = []
    /// Signs tokens for `GET /provider-token`; `nil` without a private key.
    var mint: ProviderTokenMint?

    /// The generated key's id, unless the options name another.
    static let generatedKeyID = "SIMULATOR1"

    init(_ command: APNSSimulatorCommand) throws {
        let now = Int64(Date().timeIntervalSince1970)
        if let directory = command.generateCredentials {
            let id = command.keys.isEmpty ? command.keyID ?? Self.generatedKeyID : Self.generatedKeyID
            let made: CredentialDirectory
            do {
                made = try CredentialDirectory(path: directory, keyID: id, names: command.names, nowSeconds: now)
            } catch { throw CommandFailure("--generate-credentials: \(error)") }
            self.credentials = made.credentials
            self.lines.append("trust         \(made.authorityPath)")
            if command.keys.isEmpty {
                self.keys.append(
                    RegisteredKey(keyID: id, teamID: command.teamID, publicKey: try made.providerKey.publicKey()))
                self.lines.append("provider key  \(made.providerKeyPath)  (key id \(id), team id \(command.teamID))")
                self.mint = ProviderTokenMint(key: made.providerKey, keyID: id, teamID: command.teamID)
            }
        } else {
            self.credentials = SimulatorCredentials(
                authorityPEM: [], certificate: CertificateAndKey(chainPEM: [], privateKeyPEM: []))
        }
        if let certificate = command.certificate, let key = command.certificateKey {
            self.credentials.certificate = CertificateAndKey(
                chainPEM: try Self.read(certificate, "--certificate"),
                privateKeyPEM: try Self.read(key, "--certificate-key"))
        }
        for path in command.keys {
            let pem = try Self.read(path, "--key")
            let id = try command.keyID ?? Self.keyID(ofFile: path)
            do {
                self.keys.append(try RegisteredKey(keyID: id, teamID: command.teamID, pem: pem))
            } catch {
                throw CommandFailure("--key \(ShownText.path(path) ?? ""): \(error)")
            }
            self.lines.append(
                "provider key  \(ShownText.path(path) ?? "a file")  (key id \(id), team id \(command.teamID))")
            if let key = try? ES256PrivateKey(pem: pem) {
                self.mint = ProviderTokenMint(key: key, keyID: id, teamID: command.teamID)
            }
        }
    }

    /// The key id in a file's name. Apple names such a file `AuthKey_<key id>.p8`.
    private static func keyID(ofFile path: String) throws -> String {
        let name = URL(filePath: path).deletingPathExtension().lastPathComponent
        let id = name.hasPrefix("AuthKey_") ? String(name.dropFirst("AuthKey_".count)) : ""
        guard id.utf8.count == 10 else {
            throw ValidationError(
                "--key \(ShownText.path(path) ?? ""): the file is not named AuthKey_<key id of 10 characters>.p8, so --key-id is needed"
            )
        }
        return id
    }

    private static func read(_ path: String, _ option: String) throws -> [UInt8] {
        do { return try InputFile.read(path) } catch { throw CommandFailure("\(option): \(error)") }
    }
}
