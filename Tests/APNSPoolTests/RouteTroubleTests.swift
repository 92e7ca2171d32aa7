import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

/// Tests of the trouble that a pool reports for its route, and of the time when the trouble ends.
struct RouteTroubleTests {
    /// A pool that began to make its only connection at time 0.
    private static func connecting() -> ConnectionPool {
        var configuration = ConnectionPoolTests.configuration(connectionsMax: 1)
        configuration.connectionsWarm = 1
        configuration.connectTimeoutMillis = 10_000
        configuration.requestTimeoutMillis = 20_000
        var pool = ConnectionPoolTests.pool(configuration)
        pool.start(now: at(0))
        _ = pool.drainActions()
        return pool
    }

    @Test func anAttemptThatFailsIsNamedUntilOneOffersStreams() {
        var pool = Self.connecting()
        #expect(pool.trouble == nil && !pool.wasReached)
        _ = pool.connectionEnded(0, now: at(10), micros: 10_000)
        #expect(pool.trouble == .unreachable)
        pool.advance(now: at(200), micros: 200_000)
        #expect(pool.trouble == .unreachable, "the next attempt has not shown anything yet")
        pool.ready(0, now: at(300))
        #expect(pool.trouble == nil && pool.wasReached)
    }

    @Test func whoIsNotAPNsIsNamed() {
        var pool = Self.connecting()
        pool.transportConnected(0, now: at(1))
        _ = pool.connectionEnded(0, fault: .notAPNs, now: at(10), micros: 10_000)
        #expect(pool.trouble == .notAPNs)
    }

    @Test(arguments: [(false, RouteTrouble.silentNetwork), (true, .silentServer)])
    func silenceIsNamedAfterThreeSecondsAndRemembered(isConnected: Bool, trouble: RouteTrouble) {
        var pool = Self.connecting()
        if isConnected { pool.transportConnected(0, now: at(1)) }
        #expect(pool.nextDeadlineMillis == RouteHealth.slowMillis)
        pool.advance(now: at(RouteHealth.slowMillis - 1), micros: 0)
        #expect(pool.trouble == nil)
        pool.advance(now: at(RouteHealth.slowMillis), micros: 0)
        #expect(pool.trouble == trouble)
        pool.advance(now: at(10_000), micros: 10_000_000)
        _ = pool.connectionEnded(0, now: at(10_000), micros: 10_000_000)
        #expect(pool.trouble == trouble)
        pool.advance(now: at(10_100), micros: 10_100_000)
        #expect(pool.trouble == trouble)
        pool.ready(0, now: at(10_200))
        #expect(pool.trouble == nil)
    }

    @Test func noStreamsAreNamed() {
        var pool = Self.connecting()
        pool.ready(0, streams: 0, now: at(100))
        #expect(pool.trouble == nil && !pool.wasReached)
        pool.advance(now: at(3_100), micros: 3_100_000)
        #expect(pool.trouble == .noStreams)
        pool.settingsReceived(0, streamsMax: 1, now: at(3_200))
        #expect(pool.trouble == nil && pool.wasReached)
    }

    /// The trouble "no streams" lasts while one connection after another is given up because it offers no streams.
    @Test func noStreamsAreRememberedFromConnectionToConnection() {
        var pool = Self.connecting()
        pool.ready(0, streams: 0, now: at(100))
        pool.advance(now: at(3_100), micros: 3_100_000)
        _ = pool.connectionEnded(0, now: at(3_200), micros: 3_200_000)
        #expect(pool.trouble == .noStreams)
        pool.advance(now: at(4_500), micros: 4_500_000)
        pool.ready(0, streams: 0, now: at(4_600))
        pool.advance(now: at(8_000), micros: 8_000_000)
        #expect(pool.trouble == .noStreams)
    }

    @Test func oneConnectionThatServesIsEnough() {
        var configuration = ConnectionPoolTests.configuration(connectionsMax: 2)
        configuration.connectionsWarm = 2
        var pool = ConnectionPoolTests.pool(configuration)
        pool.start(now: at(0))
        pool.ready(0, now: at(1))
        _ = pool.connectionEnded(1, now: at(2), micros: 2_000)
        pool.advance(now: at(3_500), micros: 3_500_000)
        #expect(pool.trouble == nil)
    }

    @Test func requestsWithoutAnswersAreNamedUntilOneComes() throws {
        var pool = ConnectionPoolTests.open()
        _ = pool.begin(push: 1, now: at(1_000))
        pool.advance(now: at(2_999), micros: 2_999_000)
        #expect(pool.trouble == nil)
        pool.bytesReceived(0, now: at(3_000))
        pool.advance(now: at(3_000), micros: 3_000_000)
        #expect(pool.trouble == .noAnswers)
        // The former connection was retired. The next one gets an answer.
        pool.wanted(now: at(3_200))
        pool.ready(1, now: at(3_201))
        #expect(pool.trouble == .noAnswers)
        let second = pool.begin(push: 2, now: at(3_202))
        let lease = try #require(second)
        _ = pool.accepted(lease.tag, connection: lease.connection, micros: 3_203_000)
        #expect(pool.trouble == nil)
    }

    @Test func silenceIsNotBelievedForEver() {
        var pool = ConnectionPoolTests.open()
        _ = pool.begin(push: 1, now: at(1_000))
        pool.advance(now: at(3_000), micros: 3_000_000)
        pool.advance(now: at(3_000 + RouteHealth.silenceMillis), micros: 400_000_000)
        #expect(pool.health.silentUntilMillis == nil)
    }

    /// If other answers arrive, one missing answer is not silence.
    @Test func oneRequestWithoutAnswerAmongOthersIsNoTrouble() {
        var pool = ConnectionPoolTests.open()
        _ = pool.begin(push: 1, now: at(1_000))
        let other = pool.begin(push: 2, now: at(1_500))!
        _ = pool.accepted(other.tag, connection: other.connection, micros: 1_600_000)
        pool.advance(now: at(3_000), micros: 3_000_000)
        #expect(pool.timedOut.count == 1)
        #expect(pool.trouble == nil)
    }

    /// The trouble names connections that take requests and end without an answer, several times in a row.
    @Test func connectionsThatAnswerNothingAreNamed() {
        var pool = Self.connecting()
        var now: Int64 = 0
        for round in 1...RouteHealth.mutesInRowMin {
            pool.ready(0, now: at(now))
            _ = pool.begin(push: 1, now: at(now))
            _ = pool.connectionEnded(0, now: at(now + 1), micros: 0)
            #expect((pool.trouble == .noAnswers) == (round == RouteHealth.mutesInRowMin))
            now += 2_000
            pool.advance(now: at(now), micros: now * 1_000)
        }
    }

    @Test(arguments: [
        (Verdict.serverBusy, RouteTrouble.serverBusy, 3), (.credentialRefused, .credentialsRefused, 3),
        (.providerTokenExpired, .providerTokenExpired, 1),
        (.providerTokenTooManyUpdates, .providerTokenTooManyUpdates, 1),
    ])
    func whatAPNsSaysIsNamed(verdict: Verdict, trouble: RouteTrouble, count: Int) {
        var pool = ConnectionPoolTests.open()
        for lease in (0..<count).map({ pool.begin(push: UInt64($0), now: at(10))! }) {
            _ = pool.answered(
                lease.tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(10), micros: 10_000)
        }
        #expect(pool.trouble == trouble)
    }

    /// The trouble "token expired" lasts until APNs accepts a provider token, here with a push. A new token alone does
    /// not end it, because APNs may call that one expired, too.
    @Test func anExpiredTokenIsNamedUntilAPushIsAccepted() {
        var pool = ConnectionPoolTests.open()
        let lease = pool.begin(push: 1, now: at(10))!
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .providerTokenExpired, retryAfterSeconds: nil, now: at(10),
            micros: 10_000)
        pool.tokenReplaced(generation: 2, now: at(20))
        #expect(pool.trouble == .providerTokenExpired)
        _ = pool.connectionEnded(0, now: at(200), micros: 200_000)
        pool.wanted(now: at(2_000))
        pool.ready(0, now: at(2_001))
        let next = pool.begin(push: 2, now: at(2_002))!
        _ = pool.accepted(next.tag, connection: 0, micros: 2_003_000)
        #expect(pool.trouble == nil)
    }

    @Test func eachAlarmIsClearedByItsName() {
        for (verdict, alarm) in [
            (Verdict.providerTokenExpired, RouteAlarm.providerTokenExpired),
            (.providerTokenTooManyUpdates, .providerTokenTooManyUpdates),
        ] {
            var pool = ConnectionPoolTests.open()
            let lease = pool.begin(push: 1, now: at(10))!
            _ = pool.answered(
                lease.tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(10), micros: 10_000)
            #expect(pool.drainActions().contains(.alarmRaised(alarm)))
            pool.tokenReplaced(generation: 2, now: at(20))
            #expect(pool.drainActions().contains(.alarmCleared(alarm)))
        }
    }
}
