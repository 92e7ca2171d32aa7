import KafkaLog
import Testing

/// Tests of trial clients, which are made only to find out whether librdkafka accepts the settings.
struct ClientTrialTests {
    private static func run(_ trial: ClientTrial, _ properties: (String, String)...) throws(KafkaError) {
        try trial.run(
            KafkaSettings([.init("bootstrap.servers", "127.0.0.1:1")] + properties.map { .init($0.0, $0.1) }),
            group: (id: "group", instanceID: "one"))
    }

    @Test(arguments: ClientTrial.allCases)
    func whatIsGoodIsMade(trial: ClientTrial) throws {
        try Self.run(trial)
        try Self.run(
            trial, ("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanisms", "PLAIN"), ("sasl.username", "u"),
            ("sasl.password", "p"))
    }

    @Test(arguments: ClientTrial.allCases)
    func aLoginThatThisBuildDoesNotKnowIsRefused(trial: ClientTrial) {
        let error = #expect(throws: KafkaError.self) {
            try Self.run(trial, ("security.protocol", "SASL_SSL"), ("sasl.mechanisms", "AWS_MSK_IAM"))
        }
        #expect(error?.text == "Unsupported SASL mechanism: AWS_MSK_IAM")
    }

    /// A trial client fails at once if its login needs a token that nobody can give. It once waited for ever: "Success
    /// (_TRANSPORT)".
    @Test(arguments: ClientTrial.allCases)
    func aLoginThatNobodyCanGiveATokenForIsRefused(trial: ClientTrial) throws {
        let error = #expect(throws: KafkaError.self) {
            try Self.run(trial, ("security.protocol", "SASL_SSL"), ("sasl.mechanisms", "OAUTHBEARER"))
        }
        #expect(error?.subject == .setting(name: "sasl.mechanisms", value: "OAUTHBEARER"))
        // These settings need no token. The first settings do not log in by SASL. With the second settings, librdkafka
        // makes test tokens by itself.
        try Self.run(trial, ("sasl.mechanisms", "OAUTHBEARER"))
        try Self.run(
            trial, ("security.protocol", "SASL_PLAINTEXT"), ("sasl.mechanisms", "OAUTHBEARER"),
            ("enable.sasl.oauthbearer.unsecure.jwt", "true"), ("sasl.oauthbearer.config", "principal=admin"))
    }

    @Test func propertiesThatDoNotGoTogetherAreRefused() throws {
        let error = #expect(throws: KafkaError.self) { try Self.run(.consumer, ("max.poll.interval.ms", "1000")) }
        #expect(error?.text.contains("`session.timeout.ms`") == true)
        try Self.run(.producer, ("max.poll.interval.ms", "1000"))
    }
}
