import APNSPool
import APNSProtocol
import PushModel
import Redaction
import TLSSession

/// One private key, and the tokens that are signed with it according to its schedule.
struct ProviderSigner: Sendable {
    /// A signed token.
    struct Signed: Sendable {
        var issuedAtSeconds: Int64
        /// The value of the `authorization` header. It is a secret and never logged.
        var authorization: [UInt8]
    }
    /// How the signer's current token has changed.
    enum Change: Equatable {
        case none
        case signed(isAheadOfSchedule: Bool)
        /// The previous token is used again.
        case returned
    }

    /// Identifies the signer within its credential.
    let number: Int
    let keyID: String
    let teamID: String
    /// The path where the key was last read.
    var path: String
    /// Hash of the file's bytes. It tells a new key from a file that was only touched.
    let contentHash: Int
    private let privateKey: ES256PrivateKey
    private var schedule = ProviderTokenSchedule()
    private(set) var current: Signed?
    private var previous: Signed?
    /// Why APNs refused the key; empty if it did not.
    var refusal = ""

    /// Makes a signer from a key file. The error says in words what is wrong with the file.
    init(number: Int, keyID: String, teamID: String, path: String, file: KeyFile) throws(KeyFileError) {
        self.number = number
        self.keyID = keyID
        self.teamID = teamID
        self.path = path
        self.contentHash = file.bytes.hashValue
        do {
            self.privateKey = try ES256PrivateKey(pem: file.bytes)
        } catch {
            throw KeyFileError(detail: "holds no usable key: \(error)")
        }
    }

    /// Asks the schedule, and carries out its decision.
    mutating func carryOut(
        now: EngineTime, _ decide: (inout ProviderTokenSchedule) -> ProviderTokenSchedule.Decision
    ) throws(TLSError) -> Change {
        switch decide(&self.schedule) {
        case .keep:
            return .none
        case .sign(let issuedAtSeconds, let isAheadOfSchedule):
            let input = ProviderTokenClaims.signingInput(
                keyID: self.keyID, teamID: self.teamID, issuedAtSeconds: issuedAtSeconds)
            let signature = try self.privateKey.sign(input)
            self.schedule.signed(issuedAtSeconds: issuedAtSeconds, now: now)
            self.previous = self.current
            self.current = Signed(
                issuedAtSeconds: issuedAtSeconds,
                authorization: ProviderTokenClaims.authorizationValue(signingInput: input, signature: signature))
            return .signed(isAheadOfSchedule: isAheadOfSchedule)
        case .usePrevious:
            guard let previous = self.previous else { return .none }
            self.schedule.exchanged(now: now)
            self.previous = self.current
            self.current = previous
            return .returned
        }
    }
}

extension ProviderSigner: Redacted {}
extension ProviderSigner.Signed: Redacted {}
