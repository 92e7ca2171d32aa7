import Foundation
import KafkaLog
import Testing

@testable import PushWorker

/// Tests of settings for an OAUTHBEARER login that contradict each other.
struct LoginFaultsTests {
    private static let mechanism = "kafka.properties: {security.protocol: SASL_SSL, sasl.mechanisms: OAUTHBEARER}"
    private static let endpoint =
        "token-endpoint: https://login.example.com/token, client-id: worker, client-secret-file: /run/secret"

    @Test(arguments: [
        "{token-file: /run/token}", "{token-command: [/usr/bin/sign, --region, eu-west-1, --region, a]}",
        "{token-command: sign}", "{\(Self.endpoint)}", "{\(Self.endpoint), scope: a b, ca-file: /run/ca.pem}",
        "{token-file: /run/token, extensions: [logicalCluster=lkc-1, identityPoolId=pool-a=b]}",
    ])
    func whatGoesTogetherIsTaken(oauth: String) throws {
        let configuration = try Loading.load(Self.mechanism, "kafka.oauth: \(oauth)")
        #expect(configuration.kafka.oauth.source != nil)
        #expect(configuration.kafka.consumerSettings.tokens != nil)
        #expect(configuration.clientFaults() == [])
    }

    @Test(
        arguments: [
            (
                Self.mechanism, "{token-file: /run/token, token-command: [sign]}",
                "kafka.oauth.token-command: is given, and so is kafka.oauth.token-file: expected one source"
            ),
            (
                Self.mechanism, "{token-file: /run/token, \(Self.endpoint)}",
                "kafka.oauth.token-endpoint: is given, and so is"
            ),
            (
                Self.mechanism, "{token-endpoint: https://login.example.com/, client-id: a}",
                "kafka.oauth.client-secret-file: is missing"
            ),
            (
                Self.mechanism, "{token-endpoint: https://login.example.com/, client-secret-file: /a}",
                "kafka.oauth.client-id: is missing"
            ),
            (
                Self.mechanism, "{token-file: /run/token, scope: a}",
                "kafka.oauth.scope: is given without kafka.oauth.token-endpoint"
            ),
            (Self.mechanism, "{client-id: a}", "kafka.oauth.client-id: is given without"),
            (Self.mechanism, "{extensions: [a=b]}", "kafka.oauth.extensions: is given without a source"),
            (
                Self.mechanism, "{token-endpoint: http://login.example.com/, client-id: a, client-secret-file: /a}",
                "expected a URL such as https://"
            ),
            (Self.mechanism, "{token-file: /run/token, extensions: [auth=b]}", "expected a list of name=value"),
            (Self.mechanism, "{token-file: /run/token, extensions: [a1=b]}", "expected a list of name=value"),
            (Self.mechanism, "{token-file: /run/token, extensions: [a=b, a=c]}", "expected a list of name=value"),
            (Self.mechanism, "{token-file: /run/token, extensions: [a]}", "expected a list of name=value"),
            (Self.mechanism, "{token-file: /run/token, extensions: [\"a=\\u0001\"]}", "expected a list of name=value"),
            (
                "kafka.properties: {security.protocol: SASL_SSL, sasl.mechanisms: PLAIN}", "{token-file: /run/token}",
                "kafka.oauth.token-file: is given, and kafka.properties.sasl.mechanisms is PLAIN: expected OAUTHBEARER"
            ),
            (
                "kafka.properties: {security.protocol: SASL_SSL}", "{token-file: /run/token}",
                "sasl.mechanisms is missing: expected OAUTHBEARER"
            ),
            (
                "kafka.properties: {security.protocol: SSL, sasl.mechanisms: OAUTHBEARER}", "{token-file: /run/token}",
                "security.protocol is SSL: expected SASL_SSL"
            ),
            (
                "kafka.properties: {sasl.mechanisms: OAUTHBEARER}", "{token-command: [sign]}",
                "kafka.oauth.token-command: is given, and kafka.properties.security.protocol is missing"
            ),
            (
                "kafka.properties: {security.protocol: SASL_SSL, sasl.mechanisms: OAUTHBEARER, enable.sasl.oauthbearer.unsecure.jwt: true}",
                "{token-file: /run/token}", "makes librdkafka generate test tokens"
            ),
            (Self.mechanism, "{token-fil: /run/token}", "did you mean kafka.oauth.token-file?"),
        ])
    func whatDoesNotIsRefused(properties: String, oauth: String, words: String) {
        let faults = Loading.faults(adding: properties, "kafka.oauth: \(oauth)")
        #expect(faults.count == 1, "\(faults)")
        #expect(faults.first?.description.contains(words) == true, "\(faults)")
    }

    /// `run --check` names the missing source before anything waits for a token.
    @Test func aMechanismWithoutASourceIsRefused() throws {
        let faults = try Loading.load(Self.mechanism).clientFaults()
        #expect(faults.count == 1, "\(faults)")
        #expect(
            faults.first?.description.hasPrefix(
                "kafka.properties.sasl.mechanisms: is \"OAUTHBEARER\": there is no source of tokens for this login: expected kafka.oauth.token-file"
            )
                == true, "\(faults)")
    }

    @Test(
        arguments: [
            ("{token-file: /nowhere/kafka.token}", ["kafka.oauth.token-file: /nowhere/kafka.token cannot be read"]),
            (
                "{token-command: [/nowhere/sign]}",
                ["kafka.oauth.token-command: /nowhere/sign cannot be run: there is no such program"]
            ),
            (
                "{\(Self.endpoint), ca-file: /nowhere/ca.pem}",
                ["kafka.oauth.client-secret-file: /run/secret cannot be read", "kafka.oauth.ca-file: "]
            ),
        ])
    func filesAndProgramsThatAreNotThereAreNamed(oauth: String, starts: [String]) throws {
        let faults = try Loading.load(Self.mechanism, "kafka.oauth: \(oauth)").oauthFileFaults().map(\.description)
        #expect(faults.count == starts.count, "\(faults)")
        for (fault, start) in zip(faults, starts) { #expect(fault.hasPrefix(start), "\(fault)") }
    }

    /// Properties name the token source for commands that run without a worker's configuration.
    @Test func propertiesMayNameTheSource() throws {
        let settings = KafkaSettings([
            .init("bootstrap.servers", "a:1"), .init("kafka.oauth.token-command", "/usr/bin/sign,--region,eu"),
            .init("kafka.oauth.extensions", "a=b"), .init("sasl.mechanisms", "OAUTHBEARER"),
        ])
        let loggingIn = try settings.loggingIn()
        #expect(loggingIn.properties.map(\.name) == ["bootstrap.servers", "sasl.mechanisms"])
        let source = try #require(TokenKeeper.of(loggingIn)).source
        #expect(source == .command(["/usr/bin/sign", "--region", "eu"]))
        #expect(loggingIn.oauthSettings.map(\.name) == ["token-command", "extensions"])
        #expect(loggingIn.oauthSettings.first?.texts == ["/usr/bin/sign", "--region", "eu"])
        #expect(try KafkaSettings([.init("a", "b")]).loggingIn().tokens == nil)
        for (name, value) in [
            ("kafka.oauth.token-fil", "/a"), ("kafka.oauth.token-endpoint", "http://example.com/"),
            ("kafka.oauth.scope", "a"),
        ] {
            let error = #expect(throws: ConfigurationError.self) {
                try KafkaSettings([.init(name, value)]).loggingIn()
            }
            #expect(error?.description.contains(name) == true, "\(name)")
        }
    }
}
