import PushTransport
import TLSSession
import Testing

@testable import PushWorker

/// Tests of a provider key that is given as text. It is taken only from the environment, and never shown.
struct KeyTextTests {
    private static let lines = """
        kafka.bootstrap: localhost:9092
        apns: {team-id: TEAM123456, key-id: KEY1234567}
        apps: com.example.pizza
        """

    private static func pem() throws -> String { String(decoding: try ES256PrivateKey.generate().pem(), as: UTF8.self) }

    private static func load(
        _ environment: [String: String], text: String = Self.lines
    ) throws(ConfigurationError) -> WorkerConfiguration {
        try Loading.loaded(text, environment: environment).configuration
    }

    private static func faults(_ environment: [String: String], text: String = Self.lines) -> [String] {
        Loading.faults(text, environment: environment).map { "\($0.setting) \($0.text)" }
    }

    @Test("A key from the environment signs, with line breaks or with \\n instead")
    func environmentIsTaken() throws {
        let pem = try Self.pem()
        for text in [pem, pem.replacing("\n", with: "\\n")] {
            let configuration = try Self.load(["MAILBOAT_APNS_KEY": text])
            // `fileFaults` reads the key and signs with it.
            #expect(configuration.fileFaults().isEmpty)
            #expect(WorkerPlan(configuration).keys.map(\.content) == [Array(pem.utf8)])
        }
    }

    @Test("A text that is not a key is refused and not shown")
    func wrongTextIsRefused() throws {
        let faults = Self.faults(["MAILBOAT_APNS_KEY": "hush-hush"])
        #expect(faults.count == 1 && faults[0].hasPrefix("apns.key is ") && !faults[0].contains("hush"))
        let broken = try Self.load(["MAILBOAT_APNS_KEY": "-----BEGIN PRIVATE KEY-----\nhush\n-----END PRIVATE KEY-----"]
        )
        let found = broken.fileFaults()
        #expect(found.map { "\($0)" }.first?.hasPrefix("MAILBOAT_APNS_KEY: apns.key: ") == true && found.count == 1)
        #expect(!found[0].text.contains("hush"))
    }

    @Test("A key in a settings file is refused, for all apps and for one app")
    func fileIsRefused() throws {
        let key = try Self.pem().replacing("\n", with: "\\n")
        let forAll = Self.faults([:], text: Self.lines + "\napns.key: \"\(key)\"\n")
        #expect(
            forAll.contains {
                $0.hasPrefix("apns.key is a secret in a file: expected the text of a .p8 file")
                    && $0.hasSuffix("in the environment variable MAILBOAT_APNS_KEY")
            })
        let own = Self.lines.replacing(
            "apps: com.example.pizza", with: "apps: {com.example.pizza: {apns.key: \"\(key)\"}}")
        let forOne = Self.faults([:], text: own)
        #expect(forOne.contains { $0.hasPrefix("apps.com.example.pizza.apns.key is a secret") })
        #expect(!(forAll + forOne).contains { $0.contains("BEGIN") })
    }

    @Test("A key as text needs its id, and excludes a key file")
    func goesWithItsID() throws {
        let pem = try Self.pem()
        let nameless = Self.faults(
            ["MAILBOAT_APNS_KEY": pem], text: Self.lines.replacing(", key-id: KEY1234567", with: ""))
        #expect(nameless.contains { $0.hasPrefix("apps.com.example.pizza.apns.key-id is missing") })
        let both = Self.faults(["MAILBOAT_APNS_KEY": pem, "MAILBOAT_APNS_KEY_FILE": "/keys/a.p8"])
        #expect(
            both == ["apns.key is given as well as apns.key-file: expected one of the two"])
        #expect(Self.faults([:]).contains { $0.hasPrefix("apps.com.example.pizza.apns.key-file is missing") })
    }

    @Test("Neither the hash nor a change reveals the key")
    func keyIsNotTold() throws {
        let one = try Self.load(["MAILBOAT_APNS_KEY": Self.pem()])
        let other = try Self.load(["MAILBOAT_APNS_KEY": Self.pem()])
        #expect(one.hash == other.hash)
        let change = ConfigurationChange(from: one, to: other)
        #expect(change.held.map(\.setting) == ["apps.com.example.pizza.apns.key"])
        #expect(change.held.allSatisfy { $0.before == "(a secret)" && $0.after == "(a secret)" })
    }
}
