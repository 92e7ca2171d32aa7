import PushModel
import Testing

@testable import TLSSession

@Suite("TLS over bytes")
struct TLSSessionTests {
    private let certificates = TestCertificates.shared

    private func pipe(serverName: String = "localhost", seed: UInt64 = 1) throws -> TLSPipe {
        try TLSPipe(
            client: self.certificates.client(), server: self.certificates.server(), serverName: serverName, seed: seed)
    }

    /// Bytes that one side writes arrive at the other side, wherever the ciphertext is cut.
    @Test(arguments: 1...40 as ClosedRange<UInt64>)
    func carriesBytesBothWays(seed: UInt64) throws {
        let pipe = try self.pipe(seed: seed)
        var random = SplitMix64(seed: seed)
        pipe.run(chunkMax: Int.random(in: 1...4_000, using: &random))
        #expect(pipe.client.state == .established)
        #expect(pipe.server.state == .established)
        var sent: (client: [UInt8], server: [UInt8]) = ([], [])
        for _ in 0..<8 {
            let up = (0..<Int.random(in: 0...100_000, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 31) }
            let down = (0..<Int.random(in: 0...40_000, using: &random)).map { UInt8(truncatingIfNeeded: $0 &* 17) }
            #expect(pipe.client.write(up))
            #expect(pipe.server.write(down))
            sent.client += up
            sent.server += down
            pipe.run(chunkMax: Int.random(in: 1...50_000, using: &random))
        }
        #expect(pipe.serverGot == sent.client)
        #expect(pipe.clientGot == sent.server)
        #expect(pipe.client.state == .established)
    }

    @Test func agreesOnTLS13AndHTTP2() throws {
        let pipe = try self.pipe()
        #expect(pipe.client.applicationProtocol == nil)
        #expect(pipe.client.protocolVersion == nil)
        pipe.run()
        #expect(pipe.client.applicationProtocol == "h2")
        #expect(pipe.server.applicationProtocol == "h2")
        #expect(pipe.client.protocolVersion == "TLSv1.3")
    }

    @Test func theChainIsTold() throws {
        let pipe = try self.pipe()
        #expect(pipe.client.peerCertificates == [])
        pipe.run()
        let chain = pipe.client.peerCertificates
        #expect(chain.map(\.subject) == ["/CN=localhost", "/CN=Mailboat test authority"])
        #expect(chain.allSatisfy { $0.issuer == "/CN=Mailboat test authority" })
        #expect(chain.allSatisfy { $0.notBeforeSeconds == longAgo && $0.notAfterSeconds == farAhead })
    }

    /// The certificate chain of a refused host is kept, so that a report can name the certificate.
    @Test func theChainOfARefusedHostIsTold() throws {
        let pipe = try self.pipe(serverName: "example.com")
        pipe.run()
        #expect(pipe.client.peerCertificates.first?.subject == "/CN=localhost")
    }

    @Test(arguments: ["localhost", "localhost.", "127.0.0.1", "::1"])
    func acceptsEveryNameOfTheCertificate(serverName: String) throws {
        let pipe = try self.pipe(serverName: serverName)
        pipe.run()
        #expect(pipe.client.state == .established)
    }

    @Test(arguments: ["example.com", "127.0.0.2", "localhost.example.com"])
    func refusesAnotherHost(serverName: String) throws {
        let pipe = try self.pipe(serverName: serverName)
        pipe.run()
        let error = try #require(pipe.client.state.error)
        guard case .certificateRejected = error.kind else { throw error }
        #expect(error.detail.contains("mismatch"), "\(error.detail)")
        #expect(!pipe.client.write([1]))
    }

    @Test(arguments: ["", ".", "local\0host"])
    func refusesANameThatCannotBeVerified(serverName: String) throws {
        let context = try self.certificates.client()
        #expect(throws: TLSError.self) { try TLSSession(client: context, serverName: serverName) }
    }

    @Test func refusesAnUnknownAuthority() throws {
        let other = try TestCertificates()
        let pipe = try TLSPipe(client: other.client(), server: self.certificates.server())
        pipe.run()
        let error = try #require(pipe.client.state.error)
        guard case .certificateRejected = error.kind else { throw error }
        #expect(error.detail.contains("self-signed certificate in certificate chain"), "\(error.detail)")
        // The client refuses the server with the alert unknown_ca (48).
        #expect(pipe.server.state.error?.kind == .alertReceived(48))
    }

    @Test func systemRootsDoNotKnowATestAuthority() throws {
        let pipe = try TLSPipe(client: TLSContext.client(roots: .system), server: self.certificates.server())
        pipe.run()
        guard case .certificateRejected? = pipe.client.state.error?.kind else {
            throw try #require(pipe.client.state.error)
        }
    }

    @Test(arguments: [(longAgo, longAgo + 86_400, "expired"), (farAhead - 86_400, farAhead, "not yet valid")])
    func refusesACertificateOutOfItsTime(notBefore: Int64, notAfter: Int64, says: String) throws {
        let leaf = try self.certificates.authority.issue(notBeforeSeconds: notBefore, notAfterSeconds: notAfter)
        let server = try TLSContext.server(certificateChainPEM: leaf.chainPEM, privateKeyPEM: leaf.privateKeyPEM)
        let pipe = try TLSPipe(client: self.certificates.client(), server: server)
        pipe.run()
        let error = try #require(pipe.client.state.error)
        guard case .certificateRejected = error.kind else { throw error }
        #expect(error.detail.contains(says), "\(error.detail)")
    }

    @Test(arguments: [(["h2"], ["http/1.1"]), (["http/1.1"], ["h2"]), (["h2"], []), ([], ["h2"])])
    func failsWithoutACommonProtocol(client: [String], server: [String]) throws {
        let pipe = try TLSPipe(client: self.certificates.client(client), server: self.certificates.server(server))
        pipe.run()
        let errors = [pipe.client.state.error, pipe.server.state.error].compactMap { $0?.kind }
        #expect(errors.contains(.noApplicationProtocol))
    }

    @Test func closeNotifyEndsReading() throws {
        let pipe = try self.pipe()
        pipe.run()
        #expect(pipe.server.write([1, 2, 3]))
        pipe.server.shutdown()
        pipe.server.shutdown()
        #expect(!pipe.server.write([4]))
        pipe.run()
        #expect(pipe.clientGot == [1, 2, 3])
        #expect(pipe.client.state == .peerClosed)
        #expect(pipe.client.transportClosed() == .peerClosed)
        pipe.client.shutdown()
        pipe.run()
        #expect(pipe.server.state == .peerClosed)
    }

    @Test func aTransportClosedWithoutNoticeIsTruncated() throws {
        let pipe = try self.pipe()
        #expect(pipe.client.transportClosed().error?.kind == .truncated)
        let second = try self.pipe()
        second.run()
        #expect(second.client.transportClosed().error?.kind == .truncated)
    }

    @Test func aRecordCutInTheMiddleWaitsForItsRest() throws {
        let pipe = try self.pipe()
        pipe.run()
        #expect(pipe.server.write([UInt8](repeating: 7, count: 10_000)))
        let record = pipe.server.takeCiphertext { $0.withUnsafeBytes { Array($0) } }
        var got = 0
        let first = Array(record[..<4_000])
        let rest = Array(record[4_000...])
        pipe.client.receive(first.span.bytes) { got += $0.byteCount }
        #expect(got == 0)
        pipe.client.receive(rest.span.bytes) { got += $0.byteCount }
        #expect(got == 10_000)
    }

    /// Bytes that are not TLS end the session with a reason, before or after the handshake. Nothing traps.
    @Test(arguments: 1...200 as ClosedRange<UInt64>)
    func garbageEndsTheSession(seed: UInt64) throws {
        var random = SplitMix64(seed: seed)
        let pipe = try self.pipe(seed: seed)
        if Bool.random(using: &random) { pipe.run() }
        let garbage = (0..<Int.random(in: 64...30_000, using: &random)).map { _ in
            UInt8.random(in: 0...255, using: &random)
        }
        for session in [pipe.client, pipe.server] {
            session.receive(garbage.span.bytes) { _ in }
            // Random bytes may look like the start of a long record. More bytes complete it.
            if session.state.error == nil {
                session.receive([UInt8](repeating: 0xff, count: 70_000).span.bytes) { _ in }
            }
            let error = try #require(session.state.error)
            #expect(!error.detail.isEmpty)
            #expect(!session.write([1]))
            session.shutdown()
        }
    }

    @Test func aChangedByteIsABadRecord() throws {
        let pipe = try self.pipe()
        pipe.run()
        #expect(pipe.server.write([UInt8](repeating: 7, count: 100)))
        var record = pipe.server.takeCiphertext { $0.withUnsafeBytes { Array($0) } }
        record[50] ^= 1
        #expect(pipe.client.receive(record).error?.kind == .badRecord)
    }

    @Test func plaintextHTTPIsNamed() throws {
        let session = try TLSSession(server: self.certificates.server())
        let state = session.receive(Array("GET / HTTP/1.1\r\nhost: localhost\r\n\r\n".utf8).span.bytes) { _ in }
        #expect(state.error?.kind == .handshakeFailed)
        #expect(state.error?.detail.contains("http request") == true)
    }

    @Test func nothingIsWrittenBeforeTheHandshake() throws {
        let pipe = try self.pipe()
        #expect(!pipe.client.write([1]))
    }

    @Test func drainGivesWhatTakeCiphertextWould() throws {
        let pipe = try self.pipe()
        pipe.run()
        #expect(pipe.client.write([UInt8](repeating: 9, count: 50_000)))
        let total = pipe.client.ciphertextByteCount
        #expect(total > 50_000)
        var bytes: [UInt8] = []
        withUnsafeTemporaryAllocation(byteCount: 777, alignment: 1) { buffer in
            while true {
                let count = pipe.client.drain(into: buffer)
                if count == 0 { break }
                bytes += buffer[..<count]
            }
        }
        #expect(bytes.count == total)
        pipe.server.receive(bytes.span.bytes) { $0.withUnsafeBytes { pipe.serverGot += $0 } }
        #expect(pipe.serverGot == [UInt8](repeating: 9, count: 50_000))
    }
}

@Suite("TLS contexts")
struct TLSContextTests {
    @Test func namesTheFileItCannotRead() {
        let error = #expect(throws: TLSError.self) {
            try TLSContext.client(roots: .file(path: "/nonexistent/roots.pem"))
        }
        #expect(error?.kind == .badTrustRoots)
        #expect(error?.detail.contains("/nonexistent/roots.pem") == true)
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"])
    func refusesRootsThatAreNone(pem: String) {
        let error = #expect(throws: TLSError.self) { try TLSContext.client(roots: .pem(Array(pem.utf8))) }
        #expect(error?.kind == .badTrustRoots)
    }

    @Test func refusesAKeyOfAnotherCertificate() throws {
        let other = try ES256PrivateKey.generate().pem()
        let error = #expect(throws: TLSError.self) {
            try TLSContext.server(certificateChainPEM: TestCertificates.shared.leaf.chainPEM, privateKeyPEM: other)
        }
        #expect(error?.kind == .badKeyMaterial)
    }

    @Test(arguments: [true, false])
    func refusesMissingServerMaterial(withoutKey: Bool) {
        let leaf = TestCertificates.shared.leaf
        let error = #expect(throws: TLSError.self) {
            try TLSContext.server(
                certificateChainPEM: withoutKey ? leaf.chainPEM : [],
                privateKeyPEM: withoutKey ? [] : leaf.privateKeyPEM)
        }
        #expect(error?.kind == .badKeyMaterial)
        #expect(error?.detail.hasPrefix(withoutKey ? "the key: expected" : "the certificate: expected") == true)
    }

    @Test(arguments: ["a,DNS:evil", "", "a b", "ä", String(repeating: "a", count: 254)])
    func refusesACertificateNameThatIsNone(name: String) {
        #expect(throws: TLSError.self) {
            try TestCertificates.shared.authority.issue(
                names: [name], notBeforeSeconds: longAgo, notAfterSeconds: farAhead)
        }
    }
}
