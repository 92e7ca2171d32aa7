import PushModel
import Testing

@testable import TLSSession

/// 2000-01-01, in seconds since 1970. Test certificates are valid from then until 2100, so that tests pass on any day.
let longAgo: Int64 = 946_684_800
/// 2100-01-01, in seconds since 1970.
let farAhead: Int64 = 4_102_444_800

/// A client's and a server's session, connected by two byte pipes that cut the bytes at random positions.
final class TLSPipe {
    let client: TLSSession
    let server: TLSSession
    var clientGot: [UInt8] = []
    var serverGot: [UInt8] = []
    private var toServer: [UInt8] = []
    private var toClient: [UInt8] = []
    private var random: SplitMix64

    init(client: TLSContext, server: TLSContext, serverName: String = "localhost", seed: UInt64 = 1) throws {
        self.client = try TLSSession(client: client, serverName: serverName)
        self.server = try TLSSession(server: server)
        self.random = SplitMix64(seed: seed)
        self.client.start()
    }

    /// Moves bytes until both pipes are empty.
    func run(chunkMax: Int = 5_000) {
        while true {
            self.toServer += self.client.takeCiphertext { $0.withUnsafeBytes { Array($0) } }
            self.toClient += self.server.takeCiphertext { $0.withUnsafeBytes { Array($0) } }
            if self.toServer.isEmpty, self.toClient.isEmpty { return }
            self.deliver(&self.toServer, to: self.server, chunkMax) { self.serverGot += $0 }
            self.deliver(&self.toClient, to: self.client, chunkMax) { self.clientGot += $0 }
        }
    }

    private func deliver(_ pipe: inout [UInt8], to session: TLSSession, _ chunkMax: Int, _ keep: ([UInt8]) -> Void) {
        var rest = pipe[...]
        while !rest.isEmpty {
            let chunk = Array(rest.prefix(Int.random(in: 1...chunkMax, using: &self.random)))
            rest = rest.dropFirst(chunk.count)
            session.receive(chunk.span.bytes) { $0.withUnsafeBytes { keep(Array($0)) } }
        }
        pipe = []
    }
}

/// An authority and a server certificate, shared by all tests that need no special ones.
struct TestCertificates {
    // No test can run without certificates. If OpenSSL cannot make them, the machine is broken.
    // swift-format-ignore: NeverUseForceTry
    static let shared = try! TestCertificates()

    let authority: CertificateAuthority
    let leaf: CertificateAndKey

    init() throws {
        self.authority = try CertificateAuthority(notBeforeSeconds: longAgo, notAfterSeconds: farAhead)
        self.leaf = try self.authority.issue(notBeforeSeconds: longAgo, notAfterSeconds: farAhead)
    }

    func client(_ protocols: [String] = ["h2"]) throws -> TLSContext {
        try TLSContext.client(roots: .pem(self.authority.certificatePEM), applicationProtocols: protocols)
    }

    func server(_ protocols: [String] = ["h2"]) throws -> TLSContext {
        try TLSContext.server(
            certificateChainPEM: self.leaf.chainPEM, privateKeyPEM: self.leaf.privateKeyPEM,
            applicationProtocols: protocols)
    }
}

extension TLSSession.State {
    var error: TLSError? {
        if case .failed(let error) = self { error } else { nil }
    }
}

/// Methods that take arrays, because `#expect` cannot take spans.
extension TLSSession {
    func write(_ plaintext: [UInt8]) -> Bool { self.write(plaintext.span.bytes) }

    func receive(_ ciphertext: [UInt8]) -> State { self.receive(ciphertext.span.bytes) { _ in } }
}
