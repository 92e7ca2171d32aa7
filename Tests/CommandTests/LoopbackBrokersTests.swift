import ArgumentParser
import KafkaLog
import Testing

@testable import mailboat

/// Tests of checking whether anything listens at a broker's address on this machine.
struct LoopbackBrokersTests {
    @Test(arguments: [
        ("localhost:9092", ["localhost:9092"]), ("127.0.0.1", ["127.0.0.1:9092"]),
        ("ssl://127.0.1.1:9093, [::1]:9094,", ["127.0.1.1:9093", "::1:9094"]), ("[::1]", ["::1:9092"]),
        ("kafka:9092", nil), ("localhost:9092,kafka:9092", nil), ("127.example.com:9092", nil), ("10.0.0.1:9092", nil),
        ("", nil),
    ])
    func onlyBrokersOfThisMachineAreTried(list: String, expected: [String]?) {
        #expect(LoopbackBrokers(list)?.addresses.map { "\($0.host):\($0.port)" } == expected)
    }

    /// The check waits for a Kafka that is still starting, for at most the limit.
    @Test(arguments: [(0, 0, false), (3, 600, false), (25, 5_000, false), (26, 5_000, true)])
    func aKafkaThatIsStartingIsFound(refusalCount: Int, sleptMillis: Int, isGivenUp: Bool) throws {
        let brokers = try #require(LoopbackBrokers("localhost:9092"))
        var (asked, slept) = (0, Duration.zero)
        let keepsRefusing = brokers.keepRefusing(within: .seconds(5)) { _ in
            asked += 1
            return asked <= refusalCount
        } sleep: {
            slept += $0
        }
        #expect(keepsRefusing == isGivenUp && slept == .milliseconds(sleptMillis))
    }

    @Test func oneBrokerThatListensIsEnough() throws {
        let brokers = try #require(LoopbackBrokers("localhost:1,localhost:2"))
        #expect(
            !brokers.keepRefusing(within: .zero) {
                $0.port == 1
            } sleep: { _ in
            })
        #expect(
            brokers.keepRefusing(within: .zero) { _ in
                true
            } sleep: { _ in
            })
    }

    @Test func aPortIsTried() throws {
        let kafka = try EmbeddedKafka(topics: [])
        defer { kafka.stop() }
        #expect(try #require(LoopbackBrokers(kafka.bootstrap)).keepRefusing(within: .zero) == false)
        #expect(try #require(LoopbackBrokers("localhost:1")).keepRefusing(within: .zero))
    }
}
