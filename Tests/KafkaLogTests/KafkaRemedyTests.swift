import KafkaLog
import Testing

/// Tests of the remedy that an operator reads, for example for a wrong password, a wrong certificate or a missing
/// right.
struct KafkaRemedyTests {
    private static let position = TopicPartition(topic: "liveactivity.state", partition: 3)

    /// The remedy says what kind of server answered instead of a broker. librdkafka reports the first bytes of any
    /// answer as the answer's size. Those bytes show whether the answer is HTTP or a TLS alert.
    @Test(arguments: [
        (
            1_213_486_160, "localhost:9093/bootstrap: the port speaks HTTP, not Kafka",
            "name the port of Kafka's listener"
        ),
        (
            0x1503_0300, "localhost:9093/bootstrap: the port speaks TLS, not plain Kafka",
            "security.protocol must be SSL or SASL_SSL"
        ),
    ])
    func aPortWithAnotherProtocolIsNamed(size: Int, text: String, remedy: String) {
        let said =
            "localhost:9093/bootstrap: Receive failed: Invalid response size \(size) (0..100000000): increase receive.message.max.bytes (after 0ms in state APIVERSION_QUERY)"
        let error = KafkaError(code: .transport, text: said)
        #expect(error.text == text && error.remedy == remedy)
        let large = said.replacing("\(size)", with: "100000001")
        let other = KafkaError(code: .transport, text: large)
        #expect(other.text == large && other.remedy == nil)
    }

    private static let refusals: [(KafkaError, String)] = [
        (KafkaError(code: .authentication), "check sasl.username, sasl.password and sasl.mechanisms"),
        (KafkaError(code: .saslAuthenticationFailed), "check sasl.username"),
        (
            KafkaError(code: .authentication, text: "the brokers refuse the token: SASL authentication error: {}"),
            "check that the token is meant for these brokers (audience, scope, issuer)"
        ),
        (KafkaError(code: .unsupportedSASLMechanism), "sasl.mechanisms must be one that the brokers offer"),
        (
            KafkaError(code: .ssl, text: "SSL handshake failed: certificate verify failed: broker certificate"),
            "ssl.ca.location must name a PEM file"
        ),
        (KafkaError(code: .ssl, text: "SSL handshake failed: disconnected"), "check security.protocol"),
        (
            KafkaError(code: .topicAuthorizationFailed, subject: .partition(Self.position)).needing(.write),
            "grant this client's user Write on the topic liveactivity.state"
        ),
        (
            KafkaError(code: .topicAuthorizationFailed, subject: .topic("t")).needing(.describeConfigs),
            "grant this client's user DescribeConfigs on the topic t"
        ),
        (KafkaError(code: .topicAuthorizationFailed, subject: .topic("t")), "Describe on the topic t"),
        (
            KafkaError(code: .groupAuthorizationFailed, subject: .group("mailboat")),
            "grant this client's user Read on the group mailboat"
        ),
        (KafkaError(code: .clusterAuthorizationFailed), "IdempotentWrite on the cluster"),
        (
            KafkaError(code: .clusterAuthorizationFailed, subject: .topic("t")).needing(.create),
            "grant this client's user Create on the cluster, or on the topic t"
        ),
    ]

    @Test(arguments: Self.refusals)
    func aRefusalSaysWhatToDo(error: KafkaError, expected: String) {
        #expect(error.isRefusal)
        #expect(error.remedy?.contains(expected) == true)
        #expect(error.description.hasSuffix(": \(error.remedy ?? "")"))
    }

    @Test func aGroupWithAnotherStrategySaysWhoKeepsTheWorkerOut() {
        let error = KafkaError(code: .inconsistentGroupProtocol, subject: .group("mailboat"))
        #expect(error.name == "INCONSISTENT_GROUP_PROTOCOL")
        #expect(error.remedy?.contains("somebody in the group mailboat uses another") == true)
    }

    /// A disconnect during a login does not count as a refusal, because a stopping broker disconnects as well. The
    /// remedy still says to check the login.
    @Test(arguments: [KafkaError.Code.transport, .timedOut])
    func aBrokerThatHangsUpDuringTheLoginSaysWhatToDo(code: KafkaError.Code) {
        let error = KafkaError(
            code: code, text: "sasl_plaintext://b:9092/bootstrap: Disconnected (after 3ms in state AUTH_REQ)")
        #expect(!error.isRefusal)
        #expect(error.remedy?.contains("check sasl.username, sasl.password and sasl.mechanisms") == true)
        #expect(KafkaError(code: code, text: "Disconnected (after 3ms in state UP)").remedy == nil)
    }

    @Test func otherErrorsKeepTheirText() {
        let error = KafkaError(code: .timedOut)
        #expect(error.remedy == nil && !error.isRefusal)
        #expect(error.description == "Local: Timed out (_TIMED_OUT, retriable)")
    }
}
