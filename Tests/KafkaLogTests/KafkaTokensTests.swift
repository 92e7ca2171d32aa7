import KafkaLog
import Testing

/// Tests of clients that log in by OAUTHBEARER. No broker accepts the login.
struct KafkaTokensTests {
    private static func settings(_ tokens: KafkaTokens?) -> KafkaSettings {
        KafkaSettings(
            [
                .init("bootstrap.servers", "127.0.0.1:1"), .init("security.protocol", "SASL_PLAINTEXT"),
                .init("sasl.mechanisms", "OAUTHBEARER"),
            ], tokens: tokens)
    }

    private static func token(_ value: String = "a.b.c") throws -> KafkaToken {
        let cluster = try #require(KafkaToken.Extension(name: "logicalCluster", value: "lkc-1"))
        return try #require(
            KafkaToken(value, expiresAtMillis: 4_000_000_000_000, principal: "worker", extensions: [cluster]))
    }

    /// A call without a token fails with the reason for the missing token. The error once said "Success".
    @Test(arguments: [false, true]) func whyThereIsNoTokenIsWhatACallFailsFor(isToldBefore: Bool) throws {
        let tokens = KafkaTokens()
        let reason = "kafka.oauth.token-file: /run/token cannot be read"
        if isToldBefore { tokens.fail(reason) }
        let admin = try KafkaAdmin(Self.settings(tokens), log: { _ in })
        tokens.fail(reason)
        for _ in 0..<2 {
            let error = #expect(throws: KafkaError.self) { try admin.describeTopics(["a"], within: .seconds(10)) }
            #expect(error?.text == "there is no token to log in with: \(reason)")
            #expect(error?.isWithoutToken == true)
            #expect(error?.isRefusal == true)
            #expect(error?.remedy == nil, "the source's own words say what to do")
        }
        let reader = try KafkaLogReader(Self.settings(tokens), log: { _ in })
        let error = #expect(throws: KafkaError.self) {
            try reader.positions(of: [TopicPartition(topic: "a", partition: 0)], within: .milliseconds(50))
        }
        #expect(error?.isWithoutToken == true, "\(String(describing: error))")
    }

    @Test func aTokenEndsTheComplaint() throws {
        let tokens = KafkaTokens()
        tokens.fail("gone")
        let admin = try KafkaAdmin(Self.settings(tokens), log: { _ in })
        #expect(tokens.isFailing)
        tokens.give(try Self.token())
        #expect(!tokens.isFailing)
        // With a token, the client tries to reach the broker, which does not exist.
        let error = #expect(throws: KafkaError.self) { try admin.describeTopics(["a"], within: .milliseconds(1_500)) }
        #expect(error?.isWithoutToken == false)
        #expect(error?.text.contains("Success") == false)
    }

    @Test func clientsAreKnownAsLongAsTheyLive() throws {
        let tokens = KafkaTokens()
        #expect(!tokens.hasClients)
        var admin: KafkaAdmin? = try KafkaAdmin(Self.settings(tokens), log: { _ in })
        #expect(tokens.hasClients)
        withExtendedLifetime(admin) {}
        admin = nil
        #expect(!tokens.hasClients)
        // A client with another login needs no tokens, and a trial client needs none.
        _ = try KafkaAdmin(KafkaSettings([.init("bootstrap.servers", "127.0.0.1:1")], tokens: tokens), log: { _ in })
        for trial in ClientTrial.allCases { try trial.run(Self.settings(tokens), group: (id: "g", instanceID: nil)) }
        #expect(!tokens.hasClients)
    }

    @Test func whatNoBrokerWouldReadIsNoToken() {
        for value in ["", "a b", "a\n", "ä", String(repeating: "a", count: 40_000)] {
            #expect(KafkaToken(value, expiresAtMillis: 1, principal: "a") == nil)
        }
        for (name, value) in [("auth", "a"), ("", "a"), ("a1", "b"), ("a-b", "c"), ("a", ""), ("a", "\u{1}")] {
            #expect(KafkaToken.Extension(name: name, value: value) == nil)
        }
        #expect(KafkaToken.Extension(name: "Auth", value: "a b") != nil)
    }

    @Test func aTokenTellsNothingOfItself() throws {
        let token = try Self.token("s3cr3tV7kQ0123456789abcdefXw")
        var said = "\(token) \(String(reflecting: token))"
        dump(token, to: &said)
        #expect(!said.contains("s3cr3t"))
    }

    /// A copy of the settings has the same source of tokens.
    @Test func settingsKeepTheirTokens() {
        let tokens = KafkaTokens()
        let settings = Self.settings(tokens)
        #expect(settings.appending("client.id", "a").tokens == tokens)
        #expect(settings.appending(KafkaSettings(bootstrap: "a:1")).tokens == tokens)
        #expect(KafkaSettings(bootstrap: "a:1").appending(settings).tokens == tokens)
        #expect(settings.keeping { $0.name != "sasl.mechanisms" }.tokens == tokens)
        #expect(settings == Self.settings(tokens))
        #expect(settings != Self.settings(KafkaTokens()))
    }
}
