import KafkaLog
import Testing

@testable import PushWorker

/// A worker acts only while the group has confirmed lately that it is a member (contract §6, one owner).
@Suite struct OwnershipLeaseTests {
    @Test func itIsHeldFromTheAskingNotFromTheAnswer() {
        let lease = OwnershipLease(sessionTimeoutMillis: 10_000)
        #expect(!lease.isHeld(nowMillis: 0))
        lease.confirmed(askedAtMillis: 1_000)
        #expect(lease.isHeld(nowMillis: 9_999))
        #expect(!lease.isHeld(nowMillis: 10_000), "a tenth less than the session")
        // An answer that was long on its way takes nothing back.
        lease.confirmed(askedAtMillis: 500)
        #expect(lease.isHeld(nowMillis: 9_999))
    }

    @Test(
        arguments: [
            ([], 15_000), ([("session.timeout.ms", "6000")], 6_000),
            ([("session.timeout.ms", "60000"), ("max.poll.interval.ms", "60001")], 60_000),
            ([("max.poll.interval.ms", "9000")], 9_000), ([("session.timeout.ms", "nonsense")], 15_000),
            ([("session.timeout.ms", "6000"), ("session.timeout.ms", "7000")], 7_000),
        ] as [([(String, String)], Int64)])
    func theShorterOfTheTwoTimesCounts(settings: [(String, String)], millis: Int64) {
        let settings = KafkaSettings(settings.map { .init($0.0, $0.1) })
        #expect(OwnershipLease.sessionTimeoutMillis(settings) == millis)
    }

    /// What the consumer is made with when nothing is said is what the lease and the state's message timeout are reckoned from.
    @Test func nothingSaidIsTheConsumersOwnDefault() throws {
        let given = try #require(ConsumerConfiguration.defaults["session.timeout.ms"].flatMap { Int64($0) })
        #expect(OwnershipLease.sessionTimeoutMillis(KafkaSettings()) == given)
        let heartbeat = try #require(ConsumerConfiguration.defaults["heartbeat.interval.ms"].flatMap { Int64($0) })
        #expect(heartbeat * 3 <= given, "three heartbeats may be lost")
    }
}
