import KafkaLog
import Testing

struct BrokerListTests {
    @Test(arguments: [
        "localhost:9092", "localhost", "a.b-c_d:1,10.0.0.1:65535", "a:1, b:2", "[::1]:9092", "[fe80::1]",
        "SASL_SSL://broker:9093", "plaintext://[::1]:9", "a:9092,", "a:1,b:2, ", "[fe80::1%eth0]:9092",
    ])
    func brokersAreTaken(text: String) { #expect(BrokerList.isValid(text)) }

    /// A broker without a port gets Kafka's usual port, and a remark says so. librdkafka would add its default port
    /// silently.
    @Test(arguments: [
        ("localhost", "localhost:9092"), ("a:1", "a:1"), ("a:1, b ,[::1]", "a:1,b:9092,[::1]:9092"),
        ("ssl://b", "ssl://b:9092"), ("ssl://[::1]:9", "ssl://[::1]:9"), ("a,", "a:9092"),
    ])
    func brokersGetTheUsualPort(text: String, whole: String) {
        #expect(BrokerList.withPorts(text) == whole)
        #expect((BrokerList.remarkOnPorts(text) == nil) == (text == whole))
        #expect(BrokerList.remarkOnPorts(whole) == nil && BrokerList.isValid(whole))
    }

    /// Wrong lists of brokers are refused. librdkafka would accept most of them, and then wait for a broker that does
    /// not exist.
    @Test(arguments: [
        "", " ", ",", "a,,b", "a:1,,", ",a:1", "[fe80::1%]:1", "[%eth0]:1", "[::1%a%b]:1", ":9092", "a:", "a:0",
        "a:65536", "a:99999", "a:-1", "a:+1", "a:9x", "a:nine",
        "a:1:2",
        "::1:9092", "[]:1", "[a]:1", "[::1]9092", "[::1", "http://a:1", "//a:1", "a b:1", "user@a:1", "a/b:1", "ä:1",
        "a:18446744073709551617",
    ])
    func whatIsNoneIsNot(text: String) { #expect(!BrokerList.isValid(text)) }

    @Test(arguments: ["bootstrap.servers", "metadata.broker.list"])
    func aPropertyIsJudgedAsWell(name: String) {
        let error = #expect(throws: KafkaError.self) {
            try KafkaSettings([.init(name, "localhost:99999")]).validate(for: .consumer)
        }
        #expect(error?.text == "expected \(BrokerList.expected)")
        #expect(error?.subject == .setting(name: name, value: "localhost:99999"))
    }
}
