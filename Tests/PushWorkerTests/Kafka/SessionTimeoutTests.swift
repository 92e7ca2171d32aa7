import KafkaLog
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

    /// Without a setting the session timeout is the consumer's default.
    @Test func nothingSaidIsTheConsumersOwnDefault() throws {
        let given = try #require(ConsumerConfiguration.defaults["session.timeout.ms"].flatMap { Int64($0) })
        #expect(SessionTimeout.millis(KafkaSettings()) == given)
        let heartbeat = try #require(ConsumerConfiguration.defaults["heartbeat.interval.ms"].flatMap { Int64($0) })
        #expect(heartbeat * 3 <= given, "three heartbeats may be lost")
    }
}
