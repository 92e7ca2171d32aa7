import Foundation
import Testing

@testable import TLSSession

@Suite("ES256")
struct ES256Tests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func signsAndVerifies() throws {
        let key = try ES256PrivateKey.generate()
        let publicKey = try key.publicKey()
        for length in [0, 1, 100, 10_000] {
            let message = [UInt8](repeating: UInt8(truncatingIfNeeded: length), count: length)
            let signature = try key.sign(message)
            #expect(signature.count == 64)
            #expect(publicKey.verify(signature, of: message))
            #expect(!publicKey.verify(signature, of: message + [0]))
        }
    }

    /// A signature with a changed bit or a wrong length is refused.
    @Test func noticesAChangedSignature() throws {
        let key = try ES256PrivateKey.generate()
        let publicKey = try key.publicKey()
        let message = self.bytes("header.claims")
        let signature = try key.sign(message)
        for index in signature.indices {
            var changed = signature
            changed[index] ^= 0x10
            #expect(!publicKey.verify(changed, of: message))
        }
        #expect(!publicKey.verify([], of: message))
        #expect(!publicKey.verify(Array(signature.dropLast()), of: message))
        #expect(!publicKey.verify(signature + [0], of: message))
        #expect(!publicKey.verify([UInt8](repeating: 0, count: 64), of: message))
        #expect(!(try ES256PrivateKey.generate().publicKey().verify(signature, of: message)))
    }

    /// DER omits leading zeros of r and s, which must be restored. Some of a few hundred signatures have leading zeros.
    @Test func keepsLeadingZeros() throws {
        let key = try ES256PrivateKey.generate()
        let publicKey = try key.publicKey()
        var short = 0
        for index in 0..<600 {
            let message = self.bytes("\(index)")
            let raw = try key.sign(message)
            if raw[0] == 0 || raw[32] == 0 { short += 1 }
            #expect(publicKey.verify(raw, of: message))
            let der = try #require(ES256Signature.der(raw: raw))
            #expect(ES256Signature.raw(der: der) == raw)
        }
        #expect(short > 0)
    }

    @Test(
        arguments: [
            [], [0x30], [0x30, 0x00], [0x30, 0x06, 0x02, 0x01, 0x01, 0x02, 0x01], [UInt8](repeating: 0xff, count: 80),
        ] as [[UInt8]])
    func readsNoSignatureFromOtherBytes(der: [UInt8]) {
        #expect(ES256Signature.raw(der: der) == nil)
    }

    /// A signature is refused if r or s has 33 bytes, because ES256 has 32 bytes for each.
    @Test func refusesNumbersThatAreTooLong() {
        let long: [UInt8] = [0x02, 33, 0x01] + [UInt8](repeating: 0, count: 32)
        #expect(ES256Signature.raw(der: [0x30, UInt8(long.count + 3)] + long + [0x02, 0x01, 0x01]) == nil)
    }

    @Test func readsItsOwnPEM() throws {
        let key = try ES256PrivateKey.generate()
        let pem = try key.pem()
        #expect(String(decoding: pem, as: UTF8.self).hasPrefix("-----BEGIN PRIVATE KEY-----\n"))
        let again = try ES256PrivateKey(pem: pem)
        let publicAgain = try ES256PublicKey(pem: key.publicKey().pem())
        #expect(publicAgain.verify(try again.sign(self.bytes("x")), of: self.bytes("x")))
    }

    @Test(arguments: ["", "nonsense", "-----BEGIN PRIVATE KEY-----\nAAAA\n-----END PRIVATE KEY-----\n"])
    func refusesAPEMThatIsNoKey(pem: String) {
        let error = #expect(throws: TLSError.self) { try ES256PrivateKey(pem: Array(pem.utf8)) }
        #expect(error?.kind == .badKeyMaterial)
        #expect(throws: TLSError.self) { try ES256PublicKey(pem: Array(pem.utf8)) }
    }
}

/// Tests that keys and signatures agree with the `openssl` command, where it is installed.
@Suite("ES256 beside the openssl command", .enabled(if: OpenSSLCommand.isInstalled))
struct ES256CommandTests {
    @Test func theCommandVerifiesOurSignature() throws {
        let folder = try OpenSSLCommand.Folder()
        let key = try ES256PrivateKey.generate()
        let message = Array("eyJhbGciOiJFUzI1NiJ9.e30".utf8)
        try folder.write("message", message)
        try folder.write("signature", try #require(ES256Signature.der(raw: key.sign(message))))
        try folder.write("public.pem", key.publicKey().pem())
        let answer = try folder.run("dgst", "-sha256", "-verify", "public.pem", "-signature", "signature", "message")
        #expect(answer.status == 0)
        #expect(answer.output.contains("Verified OK"))
    }

    /// Keys are read in PKCS#8, as in Apple's `.p8` files, and in the older SEC 1 form.
    @Test(arguments: [true, false])
    func weReadTheCommandsKey(pkcs8: Bool) throws {
        let folder = try OpenSSLCommand.Folder()
        #expect(try folder.run("ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", "sec1.pem").status == 0)
        #expect(try folder.run("pkcs8", "-topk8", "-nocrypt", "-in", "sec1.pem", "-out", "pkcs8.pem").status == 0)
        #expect(try folder.run("ec", "-in", "sec1.pem", "-pubout", "-out", "public.pem").status == 0)
        let key = try ES256PrivateKey(pem: folder.read(pkcs8 ? "pkcs8.pem" : "sec1.pem"))
        let publicKey = try ES256PublicKey(pem: folder.read("public.pem"))
        #expect(publicKey.verify(try key.sign([1, 2, 3]), of: [1, 2, 3]))
    }

    @Test(arguments: [
        ["genpkey", "-algorithm", "RSA", "-out", "key.pem"], ["genpkey", "-algorithm", "ED25519", "-out", "key.pem"],
        ["ecparam", "-name", "secp384r1", "-genkey", "-noout", "-out", "key.pem"],
    ])
    func refusesOtherKinds(arguments: [String]) throws {
        let folder = try OpenSSLCommand.Folder()
        #expect(try folder.run(arguments).status == 0)
        let pem = try folder.read("key.pem")
        let error = #expect(throws: TLSError.self) { try ES256PrivateKey(pem: pem) }
        #expect(error?.kind == .badKeyMaterial)
        #expect(error?.detail.contains("P-256") == true)
    }

    /// An encrypted key is refused without asking for its password. By default OpenSSL asks on the terminal, which a
    /// service does not have.
    @Test func refusesAnEncryptedKeyWithoutAsking() throws {
        let folder = try OpenSSLCommand.Folder()
        #expect(
            try folder.run(
                "genpkey", "-algorithm", "EC", "-pkeyopt", "ec_paramgen_curve:P-256", "-aes-128-cbc", "-pass", "pass:x",
                "-out", "key.pem"
            ).status == 0)
        let pem = try folder.read("key.pem")
        #expect(throws: TLSError.self) { try ES256PrivateKey(pem: pem) }
    }

    @Test func theCommandVerifiesOurCertificates() throws {
        let folder = try OpenSSLCommand.Folder()
        let certificates = TestCertificates.shared
        try folder.write("ca.pem", certificates.authority.certificatePEM)
        try folder.write("leaf.pem", certificates.leaf.chainPEM)
        let answer = try folder.run(
            "verify", "-x509_strict", "-purpose", "sslserver", "-verify_hostname", "localhost", "-CAfile", "ca.pem",
            "leaf.pem")
        #expect(answer.status == 0, "\(answer.output)")
        let text = try folder.run("x509", "-in", "leaf.pem", "-noout", "-text").output
        #expect(text.contains("DNS:localhost, IP Address:127.0.0.1"))
    }
}

/// Runs the `openssl` command in its own folder.
enum OpenSSLCommand {
    static let path = "/usr/bin/openssl"
    static var isInstalled: Bool { FileManager.default.isExecutableFile(atPath: Self.path) }

    final class Folder {
        private let url: URL

        init() throws {
            self.url = FileManager.default.temporaryDirectory.appendingPathComponent(
                "mailboat-es256-\(UUID().uuidString)")
            try FileManager.default.createDirectory(at: self.url, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(at: self.url) }

        func write(_ name: String, _ bytes: [UInt8]) throws {
            try Data(bytes).write(to: self.url.appendingPathComponent(name))
        }

        func read(_ name: String) throws -> [UInt8] {
            Array(try Data(contentsOf: self.url.appendingPathComponent(name)))
        }

        func run(_ arguments: String...) throws -> (status: Int32, output: String) { try self.run(arguments) }

        func run(_ arguments: [String]) throws -> (status: Int32, output: String) {
            let process = Process()
            let output = self.url.appendingPathComponent("output")
            try Data().write(to: output)
            let written = try FileHandle(forWritingTo: output)
            process.executableURL = URL(fileURLWithPath: OpenSSLCommand.path)
            process.arguments = arguments
            process.currentDirectoryURL = self.url
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = written
            process.standardError = written
            // Foundation's `waitUntilExit` runs a run loop on this thread, and may miss the end of the process.
            let ended = DispatchSemaphore(value: 0)
            process.terminationHandler = { _ in ended.signal() }
            try process.run()
            guard ended.wait(timeout: .now() + 60) == .success else { throw CocoaError(.executableLoad) }
            let text = try Data(contentsOf: output)
            return (process.terminationStatus, String(decoding: text, as: UTF8.self))
        }
    }
}
