import KafkaLog
import Logging
import Testing

@testable import PushWorker

/// Tests of the session timeout, from which the lease and the message timeout of `state` are computed.
@Suite struct SessionTimeoutTests {
    @Test(
        arguments: [
            ([], 15_000), ([("session.timeout.ms", "6000")], 6_000),
            ([("session.timeout.ms", "60000"), ("max.poll.interval.ms", "60001")], 60_000),
            ([("max.poll.interval.ms", "9000")], 9_000), ([("session.timeout.ms", "nonsense")], 15_000),
            ([("session.timeout.ms", "6000"), ("session.timeout.ms", "7000")], 7_000),
        ] as [([(String, String)], Int64)])
    func theShorterOfTheTwoTimesCounts(settings: [(String, String)], millis: Int64) {
        let settings = KafkaSettings(settings.map { .init($0.0, $0.1) })
        #expect(SessionTimeout.millis(settings) == millis)
    }

    /// A worker at the embedded Kafka says how long its partitions rest after a restart. A real Kafka gives them at once.
    @Test(arguments: [
        ("mockCluster15a1", "", "after 14s when workers"), ("mockCluster15a1", "6000", "after 5s when workers"),
        ("4L6g3nShT-eMCtK--X86sw", "", nil), ("", "", nil),
    ])
    func aWorkerAtTheEmbeddedKafkaSaysHowLongItWaits(clusterID: String, timeout: String, words: String?) {
        var kafka = WorkerConfiguration.Kafka()
        kafka.groupID = "g"
        if !timeout.isEmpty { kafka.consumer.append("session.timeout.ms", timeout) }
        let metadata = GroupCoordinator.metadata(ofWaitingIn: kafka, clusterID: clusterID)
        #expect(metadata["group"] == "g" && (metadata["hint"] == nil) == (words == nil))
        if let words { #expect("\(metadata["hint", default: ""])".contains(words), "\(metadata)") }
    }

    /// Without a setting the session timeout is the consumer's default.
    @Test func nothingSaidIsTheConsumersOwnDefault() throws {
        let given = try #require(ConsumerConfiguration.defaults["session.timeout.ms"].flatMap { Int64($0) })
        #expect(SessionTimeout.millis(KafkaSettings()) == given)
        let heartbeat = try #require(ConsumerConfiguration.defaults["heartbeat.interval.ms"].flatMap { Int64($0) })
        #expect(heartbeat * 3 <= given, "three heartbeats may be lost")
    }
}
