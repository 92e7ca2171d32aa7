import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

/// Tests of a pool's reactions to answers of APNs.
@Suite struct ConnectionPoolVerdictTests {
    @Test func serverErrorsInARowOpenTheBreakerAndAProbeClosesIt() {
        var pool = ConnectionPoolTests.open()
        for push in 1...3 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .serverBusy, retryAfterSeconds: nil, now: at(10), micros: 10_000)
        }
        expectEqual(pool.drainActions(), [.alarmRaised(.serverBusy)])
        #expect(pool.credit == 0)
        #expect(pool.isBreakerOpen)
        let until = pool.nextDeadlineMillis!
        #expect((60...110).contains(until))
        pool.advance(now: at(until), micros: until * 1_000)
        #expect(pool.credit == 1)
        let probe = pool.begin(push: 4, now: at(until))!
        #expect(pool.credit == 0)
        _ = pool.accepted(probe.tag, connection: 0, micros: until * 1_000)
        expectEqual(pool.drainActions(), [.alarmCleared(.serverBusy)])
        #expect(!pool.isBreakerOpen)
        // Not all requests leave at once: their number doubles with each round trip.
        for credit in [2, 4, 8, 10] {
            #expect(pool.credit == credit)
            let leases = (0..<credit).map { pool.begin(push: UInt64($0), now: at(until))! }
            #expect(pool.credit == 0)
            for lease in leases { _ = pool.accepted(lease.tag, connection: 0, micros: until * 1_000) }
        }
    }

    @Test func goodbyesToEachNewConnectionAreMetWithPatience() {
        var pool = ConnectionPoolTests.open()
        pool.goAwayReceived(0, isError: false, now: at(20))
        #expect(!pool.actions.contains(.connect(connection: 1)), "it lived 20 ms: the next one waits")
        #expect((pool.nextDeadlineMillis ?? 0) >= 70)
    }

    @Test func aConnectionThatIsAllowedNothingIsLeft() {
        var pool = ConnectionPoolTests.open()
        pool.settingsReceived(0, streamsMax: 0, now: at(500))
        pool.wanted(now: at(500))
        #expect(pool.credit == 0)
        pool.advance(now: at(2_499), micros: 2_499_000)
        #expect(pool.phase(connection: 0) == .open)
        pool.advance(now: at(2_500), micros: 2_500_000)
        #expect(pool.actions.contains(.close(connection: 0, reason: .denied)))
    }

    @Test func aRefusedStreamLowersWhatIsTried() {
        var pool = ConnectionPoolTests.open()
        let leases = (0..<6).map { pool.begin(push: UInt64($0), now: at(10))! }
        for lease in leases[3...] {
            _ = pool.failed(lease.tag, connection: 0, failure: .refused, now: at(10), micros: 10_000)
        }
        #expect(pool.credit == 0, "the peer admits three")
        _ = pool.accepted(leases[0].tag, connection: 0, micros: 11_000)
        #expect(pool.credit == 2)
        pool.settingsReceived(0, streamsMax: 7, now: at(12))
        #expect(pool.credit == 5, "its SETTINGS say otherwise")
    }

    @Test func whatNeverLeftIsNoRefusal() {
        var pool = ConnectionPoolTests.open()
        for push in 0..<100 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.failed(lease.tag, connection: 0, failure: .neverLeft, now: at(10), micros: 10_000)
        }
        #expect(pool.phase(connection: 0) == .open)
        #expect(pool.credit == 10)
    }

    @Test func aHalfDeadProbeDoesNotKeepOthersFromBeingOpened() {
        var configuration = ConnectionPoolTests.configuration()
        configuration.requestTimeoutMillis = 10_000
        var pool = ConnectionPoolTests.open(configuration)
        while pool.credit > 0 { _ = pool.begin(push: 1, now: at(1_000)) }
        pool.wanted(now: at(1_000))
        pool.advance(now: at(1_050), micros: 1_050_000)
        expectEqual(pool.drainActions(), [.connect(connection: 1)])
        pool.ready(1, now: at(1_060))
        _ = pool.begin(push: 2, now: at(1_060))
        pool.requestsRefused(0, now: at(1_070))
        pool.wanted(now: at(1_070))
        pool.advance(now: at(1_900), micros: 1_900_000)
        #expect(pool.nextDeadlineMillis ?? 0 <= 1_060 + ConnectionLife.startPatienceMillis)
        pool.advance(now: at(2_900), micros: 2_900_000)
        #expect(!pool.actions.contains(.connect(connection: 2)))
        pool.bytesReceived(1, now: at(3_000))
        pool.advance(now: at(3_060), micros: 3_060_000)
        #expect(pool.actions.contains(.connect(connection: 2)))
    }

    @Test func aQuietConnectionMeetsNoTwoNewTokensWithinTwentyMinutes() {
        let minute: Int64 = 60_000
        var pool = ConnectionPoolTests.open()
        pool.tokenReplaced(generation: 2, now: at(45 * minute))
        // The connection sees the second token only half an hour after the token was signed.
        let late = pool.begin(push: 1, now: at(75 * minute))!
        _ = pool.accepted(late.tag, connection: 0, micros: 75 * minute * 1_000)
        #expect(pool.phase(connection: 0) == .open)
        pool.tokenReplaced(generation: 3, now: at(90 * minute))
        expectEqual(
            pool.drainActions(), [.close(connection: 0, reason: .drained), .connect(connection: 1)],
            "15 minutes after the second token came the third")
    }

    /// Tokens change while a connection is quiet. A token that returns may therefore be new to that connection. The
    /// simulation found this with seed 1490.
    @Test(arguments: [false, true]) func aTokenThatReturnsMayBeNewToAConnection(hasCarriedBoth: Bool) {
        let minute: Int64 = 60_000
        var pool = ConnectionPoolTests.open()
        func serve(_ pool: inout ConnectionPool, at millis: Int64) {
            let lease = pool.begin(push: 1, now: at(millis))!
            _ = pool.accepted(lease.tag, connection: 0, micros: millis * 1_000)
        }
        pool.tokenReplaced(generation: 2, now: at(30 * minute))
        if hasCarriedBoth { serve(&pool, at: 31 * minute) }
        pool.tokenReplaced(generation: 3, now: at(60 * minute))
        if hasCarriedBoth { serve(&pool, at: 61 * minute) }
        pool.tokenReplaced(generation: 4, isReturn: true, now: at(85 * minute))
        serve(&pool, at: 86 * minute)
        _ = pool.drainActions()
        pool.tokenReplaced(generation: 5, isReturn: true, now: at(90 * minute))
        #expect(pool.actions.contains(.close(connection: 0, reason: .drained)) == !hasCarriedBoth)
    }

    @Test func aTopicRefusedByAnOldConnectionRenewsThemOnce() {
        var pool = ConnectionPoolTests.open()
        let minute: Int64 = 60_000
        let lease = pool.begin(push: 1, app: 3, now: at(minute))!
        expectEqual(pool.renewsForTopic(lease.tag, connection: 0, now: at(minute)), true)
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .connectionUnusable, retryAfterSeconds: nil, now: at(minute), micros: 0)
        expectEqual(pool.drainActions(), [.connect(connection: 1), .close(connection: 0, reason: .drained)])
        pool.ready(1, now: at(minute))
        let probe = pool.begin(push: 1, app: 3, now: at(minute))!
        expectEqual(
            pool.renewsForTopic(probe.tag, connection: 1, now: at(minute)), false, "the first push of a new connection")
        _ = pool.accepted(probe.tag, connection: 1, micros: 0)
        let again = pool.begin(push: 2, app: 3, now: at(minute + 1))!
        expectEqual(pool.renewsForTopic(again.tag, connection: 1, now: at(minute + 1)), false, "not again so soon")
        expectEqual(pool.renewsForTopic(again.tag, connection: 1, now: at(2 * minute)), true)
    }

    @Test func credentialsRefusedCastDoubtOnTheToken() {
        var pool = ConnectionPoolTests.open()
        for push in 1...3 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .credentialRefused, retryAfterSeconds: nil, now: at(10),
                micros: 10_000)
        }
        #expect(pool.actions.contains(.doubtToken(generation: 1)))
    }

    @Test func refusedCredentialsPauseTheRouteAndProbesUseFreshConnections() {
        var pool = ConnectionPoolTests.open()
        for push in 1...3 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .credentialRefused, retryAfterSeconds: nil, now: at(10),
                micros: 10_000)
        }
        let actions = pool.drainActions()
        #expect(actions.contains(.alarmRaised(.credentialsRefused)))
        #expect(actions.contains(.close(connection: 0, reason: .drained)))
        #expect(pool.isPausedByCredentials)
        _ = pool.connectionEnded(0, now: at(200), micros: 200_000)
        pool.wanted(now: at(200))
        #expect(pool.actions.isEmpty)
        let until = pool.nextDeadlineMillis!
        #expect((2_500...5_010).contains(until))
        pool.advance(now: at(until), micros: until * 1_000)
        expectEqual(pool.drainActions(), [.connect(connection: 0)])
        pool.ready(0, now: at(until))
        let probe = pool.begin(push: 4, now: at(until))!
        #expect(pool.credit == 0)
        _ = pool.accepted(probe.tag, connection: 0, micros: until * 1_000)
        expectEqual(pool.drainActions(), [.keyAccepted(generation: 1), .alarmCleared(.credentialsRefused)])
    }

    // MARK: A new key

    /// A pool whose connection carries pushes with a key that APNs has not accepted yet.
    private static func poolWithNewKey(isOnTrial: Bool) -> ConnectionPool {
        var pool = ConnectionPoolTests.open()
        pool.tokenReplaced(generation: 2, now: at(5))
        pool.keyReplaced(firstGeneration: 2, isUnproven: true, isOnTrial: isOnTrial)
        return pool
    }

    private func answer(_ pool: inout ConnectionPool, _ verdict: Verdict, tokenGeneration: UInt32 = 2) {
        guard let lease = pool.lease(now: at(10)) else { return }
        pool.began(
            lease, push: PushID(rawValue: 1), app: 0, streamID: 1, tokenGeneration: tokenGeneration, now: at(10),
            micros: 10_000)
        _ = pool.answered(
            lease.tag, connection: lease.connection, verdict: verdict, retryAfterSeconds: nil, now: at(11),
            micros: 11_000)
    }

    @Test(arguments: [.accepted, .tokenThrottled, .tokenDead(invalidSinceMillis: nil, suspicious: true)] as [Verdict])
    func thatAPNsTakesANewKeyIsToldOnce(verdict: Verdict) {
        var pool = Self.poolWithNewKey(isOnTrial: true)
        self.answer(&pool, verdict)
        expectEqual(pool.drainActions(), [.keyAccepted(generation: 2)])
        self.answer(&pool, verdict)
        expectEqual(pool.drainActions(), [])
        // After an acceptance, one refusal does not exchange the key. Otherwise the route would keep switching between
        // keys.
        self.answer(&pool, .credentialRefused)
        expectEqual(pool.drainActions(), [])
    }

    @Test(arguments: [.credentialRefused, .topicRefused(anotherConnectionMayDo: false)] as [Verdict])
    func oneRefusalOfAKeyOnTrialIsEnough(verdict: Verdict) {
        var pool = Self.poolWithNewKey(isOnTrial: true)
        self.answer(&pool, verdict)
        expectEqual(pool.drainActions(), [.doubtToken(generation: 2)])
        #expect(!pool.isPausedByCredentials && pool.credit == 10)
    }

    @Test func withoutAnotherKeyTheRoutePausesAsEver() {
        var pool = Self.poolWithNewKey(isOnTrial: false)
        for _ in 0..<2 { self.answer(&pool, .credentialRefused) }
        expectEqual(pool.drainActions(), [])
        self.answer(&pool, .credentialRefused)
        #expect(pool.drainActions().contains(.doubtToken(generation: 2)))
        #expect(pool.isPausedByCredentials)
    }

    /// Delayed refusals of the former key must not stop the key that works.
    @Test func lateRefusalsOfTheKeyBeforeCountForNothing() {
        var pool = Self.poolWithNewKey(isOnTrial: true)
        for _ in 0..<20 { self.answer(&pool, .credentialRefused, tokenGeneration: 1) }
        self.answer(&pool, .topicRefused(anotherConnectionMayDo: false), tokenGeneration: 1)
        self.answer(&pool, .accepted, tokenGeneration: 1)
        expectEqual(pool.drainActions(), [])
        #expect(!pool.isPausedByCredentials)
    }

    @Test func refusalsBetweenAcceptedPushesPauseNothing() {
        var pool = ConnectionPoolTests.open()
        for push in 1...50 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            if push.isMultiple(of: 3) {
                _ = pool.accepted(lease.tag, connection: 0, micros: 10_000)
            } else {
                _ = pool.answered(
                    lease.tag, connection: 0, verdict: .credentialRefused, retryAfterSeconds: nil, now: at(10),
                    micros: 10_000)
            }
        }
        #expect(pool.credit == 10)
    }

    @Test func anExpiredTokenAsksForAnotherAndLeavesTheConnection() {
        var pool = ConnectionPoolTests.open()
        let leases = (1...3).map { pool.begin(push: UInt64($0), now: at(10))! }
        for lease in leases {
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .providerTokenExpired, retryAfterSeconds: nil, now: at(10),
                micros: 10_000)
        }
        let actions = pool.drainActions()
        #expect(actions.count { $0 == .renewToken(generation: 1) } == 1)
        #expect(actions.contains(.alarmRaised(.providerTokenExpired)))
        #expect(actions.contains(.close(connection: 0, reason: .drained)))
        pool.tokenReplaced(generation: 2, now: at(20))
        expectEqual(pool.drainActions(), [.alarmCleared(.providerTokenExpired)])
    }

    @Test func anOldTokensRefusalAsksForNothing() {
        var pool = ConnectionPoolTests.open()
        let lease = pool.begin(push: 1, now: at(10))!
        pool.tokenReplaced(generation: 2, now: at(20))
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .providerTokenExpired, retryAfterSeconds: nil, now: at(10),
            micros: 10_000)
        let actions = pool.drainActions()
        #expect(!actions.contains(.renewToken(generation: 1)))
    }

    @Test func tooManyUpdatesGoBack() {
        var pool = ConnectionPoolTests.open()
        let lease = pool.begin(push: 1, now: at(10))!
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .providerTokenTooManyUpdates, retryAfterSeconds: nil, now: at(10),
            micros: 10_000)
        #expect(pool.actions.contains(.revertToken(generation: 1)))
        #expect(pool.phase(connection: 0) == .open)
        #expect(pool.credit == 0)
    }

    @Test func anUnusableConnectionIsLeft() {
        var pool = ConnectionPoolTests.open()
        let lease = pool.begin(push: 1, now: at(10))!
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .connectionUnusable, retryAfterSeconds: nil, now: at(10), micros: 10_000)
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .drained)])
    }

    @Test(
        arguments: [
            .tokenDead(invalidSinceMillis: nil, suspicious: true), .tokenDead(invalidSinceMillis: 1, suspicious: false),
            .messageRefused, .tokenThrottled, .topicRefused(anotherConnectionMayDo: false),
        ] as [Verdict])
    func whatConcernsOnePushLeavesTheRouteAlone(verdict: Verdict) {
        var pool = ConnectionPoolTests.open()
        for push in 1...100 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            let end = pool.answered(
                lease.tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(10), micros: 10_000)
            #expect(end?.push == PushID(rawValue: UInt64(push)))
        }
        #expect(pool.actions.isEmpty)
        #expect(pool.credit == 10)
    }
}
