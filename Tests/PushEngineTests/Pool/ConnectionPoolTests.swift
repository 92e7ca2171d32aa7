import APNSProtocol
import Testing

@testable import PushEngine

@Suite struct ConnectionPoolTests {
    private static func configuration(connectionsMax: Int = 2) -> ConnectionPoolConfiguration {
        var configuration = ConnectionPoolConfiguration()
        configuration.connectionsMax = connectionsMax
        configuration.streamsPerConnectionMax = 10
        configuration.connectTimeoutMillis = 1_000
        configuration.requestTimeoutMillis = 2_000
        configuration.backoffMinMillis = 100
        configuration.backoffMaxMillis = 1_000
        configuration.lifeMillisMin = 100
        configuration.growthPauseMillis = 50
        configuration.busyStreakMax = 3
        configuration.refusedStreakMax = 3
        configuration.refusedProbeMinMillis = 5_000
        configuration.refusedProbeMaxMillis = 20_000
        return configuration
    }

    private static func pool(_ configuration: ConnectionPoolConfiguration = configuration()) -> ConnectionPool {
        var pool = ConnectionPool(configuration: configuration, randomSeed: 1)
        pool.tokenReplaced(generation: 1, now: at(0))
        return pool
    }

    /// A pool whose first connection is open and proven at time 0.
    private static func open(_ configuration: ConnectionPoolConfiguration = configuration()) -> ConnectionPool {
        var pool = Self.pool(configuration)
        pool.wanted(now: at(0))
        pool.ready(0, now: at(0))
        let lease = pool.begin(push: 0, now: at(0))!
        _ = pool.accepted(lease.tag, connection: lease.connection, micros: 0)
        _ = pool.drainActions()
        return pool
    }

    // MARK: Opening

    @Test func nothingIsOpenedWithoutDemand() {
        var pool = Self.pool()
        pool.start(now: at(0))
        pool.advance(now: at(100_000), micros: 100_000_000)
        #expect(pool.actions.isEmpty)
        #expect(pool.nextDeadlineMillis == nil)
    }

    /// A connection that is retired while pushes wait makes the next one due at a time a timer can be set for.
    @Test func whatIsDueIsATime() {
        var pool = Self.open()
        while pool.credit > 0 { _ = pool.begin(push: 1, now: at(10)) }
        pool.wanted(now: at(10))
        pool.requestsRefused(0, now: at(11))
        #expect(pool.nextDeadlineMillis == 0)
        pool.advance(now: at(11), micros: 11_000)
        #expect(pool.actions.contains(.connect(connection: 1)))
    }

    @Test func demandOpensOneConnection() {
        var pool = Self.pool()
        pool.wanted(now: at(0))
        pool.wanted(now: at(1_000 - 1))
        expectEqual(pool.drainActions(), [.connect(connection: 0)])
        #expect(pool.credit == 0)
        pool.ready(0, now: at(5))
        #expect(pool.credit == 1)
    }

    @Test func warmConnectionsAreOpenedAtStartAndReplaced() {
        var configuration = Self.configuration()
        configuration.connectionsWarm = 2
        var pool = Self.pool(configuration)
        pool.start(now: at(0))
        expectEqual(pool.drainActions(), [.connect(connection: 0), .connect(connection: 1)])
        pool.ready(0, now: at(1))
        _ = pool.connectionEnded(0, now: at(10_000), micros: 10_000_000)
        expectEqual(pool.drainActions(), [.connect(connection: 0)])
    }

    @Test func theFirstRequestGoesAloneThenTheLimitHolds() {
        var pool = Self.pool()
        pool.wanted(now: at(0))
        pool.ready(0, streams: 4, now: at(0))
        let probe = pool.begin(push: 1, now: at(0))!
        #expect(pool.credit == 0)
        expectEqual(pool.lease(now: at(0)), nil)
        _ = pool.accepted(probe.tag, connection: 0, micros: 1)
        #expect(pool.credit == 4)
        pool.settingsReceived(0, streamsMax: 1, now: at(1))
        #expect(pool.credit == 1)
        pool.settingsReceived(0, streamsMax: 1_000, now: at(1))
        #expect(pool.credit == 10)
    }

    @Test func growthNeedsLastingDemand() {
        var pool = Self.open()
        while pool.credit > 0 { _ = pool.begin(push: 1, now: at(1_000)) }
        pool.wanted(now: at(2_000))
        #expect(pool.actions.isEmpty)
        #expect(pool.nextDeadlineMillis == 2_050)
        pool.advance(now: at(2_050), micros: 2_050_000)
        expectEqual(pool.drainActions(), [.connect(connection: 1)])
        pool.wanted(now: at(2_200))
        #expect(pool.actions.isEmpty, "connectionsMax is 2")
    }

    @Test func loadSpreadsOverConnections() {
        var configuration = Self.configuration(connectionsMax: 2)
        configuration.streamsPerConnectionMax = 1_000
        configuration.connectionsWarm = 2
        var pool = Self.pool(configuration)
        pool.start(now: at(0))
        for connection in 0..<2 {
            pool.ready(connection, now: at(0))
        }
        while pool.count(.probing) > 0 {
            let lease = pool.begin(push: 1, now: at(0))!
            _ = pool.accepted(lease.tag, connection: lease.connection, micros: 0)
        }
        var counts = [0, 0]
        for push in 0..<640 { counts[pool.begin(push: UInt64(push), now: at(0))!.connection] += 1 }
        #expect(abs(counts[0] - counts[1]) <= ConnectionPool.runLength)
    }

    @Test func aLeaseTakenBackLeavesNoTrace() {
        var pool = Self.open()
        let credit = pool.credit
        let lease = pool.lease(now: at(1))!
        #expect(pool.credit == credit - 1)
        pool.takeBack(lease)
        #expect(pool.credit == credit)
        #expect(pool.inFlight == 0)
    }

    // MARK: Losing connections

    @Test func aLostConnectionGivesBackWhatWasInFlight() {
        var pool = Self.open()
        for push in 1...3 { _ = pool.begin(push: UInt64(push), now: at(10)) }
        let left = pool.connectionEnded(0, now: at(20), micros: 20_000)
        #expect(Set(left.map(\.push.rawValue)) == [1, 2, 3])
        #expect(pool.inFlight == 0)
        #expect(pool.credit == 0)
    }

    @Test func goAwayDrainsAndIsReplaced() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(110))!
        pool.goAwayReceived(0, isError: false, now: at(120))
        #expect(pool.credit == 0)
        expectEqual(pool.drainActions(), [.connect(connection: 1)])
        let end = pool.accepted(lease.tag, connection: 0, micros: 130_000)
        #expect(end == PushEnd(push: PushID(rawValue: 1), micros: 20_000))
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .drained)])
    }

    @Test func failedAttemptsBackOff() {
        var pool = Self.pool()
        pool.wanted(now: at(0))
        var now: Int64 = 0
        var delays: [Int64] = []
        for _ in 0..<6 {
            expectEqual(pool.drainActions(), [.connect(connection: 0)])
            _ = pool.connectionEnded(0, now: at(now), micros: now * 1_000)
            let next = pool.nextDeadlineMillis ?? 0
            delays.append(next - now)
            now = next
            pool.advance(now: at(now), micros: now * 1_000)
        }
        for (delay, whole) in zip(delays, [100, 200, 400, 800, 1_000, 1_000] as [Int64]) {
            #expect((whole / 2...whole).contains(delay))
        }
    }

    @Test func aConnectionThatLivedIsReplacedAtOnce() {
        var pool = Self.open()
        _ = pool.connectionEnded(0, now: at(60_000), micros: 0)
        pool.wanted(now: at(60_000))
        expectEqual(pool.drainActions(), [.connect(connection: 0)])
    }

    @Test func aConnectionThatDiesYoungCountsAsFailed() {
        var pool = Self.open()
        _ = pool.connectionEnded(0, now: at(50), micros: 0)
        pool.wanted(now: at(50))
        #expect(pool.actions.isEmpty)
        #expect((pool.nextDeadlineMillis ?? 0) > 50)
    }

    @Test func connectTimesOut() {
        var pool = Self.pool()
        pool.wanted(now: at(0))
        _ = pool.drainActions()
        #expect(pool.nextDeadlineMillis == 1_000)
        pool.advance(now: at(1_000), micros: 1_000_000)
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .connectTimeout)], "the next attempt waits")
    }

    @Test func aConnectionThatOnlyRefusesIsGivenUp() {
        var pool = Self.pool()
        pool.wanted(now: at(0))
        pool.ready(0, now: at(0))
        _ = pool.drainActions()
        for push in 0..<ConnectionPool.refusedInRowMax {
            let lease = pool.begin(push: UInt64(push), now: at(1))!
            expectEqual(
                pool.failed(lease.tag, connection: 0, failure: .refused, now: at(1), micros: 1_000)?.push,
                PushID(rawValue: UInt64(push)))
        }
        #expect(pool.credit == 0)
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .drained)])
        _ = pool.connectionEnded(0, now: at(2), micros: 0)
        pool.wanted(now: at(2))
        #expect(pool.actions.isEmpty, "it counts as a failed attempt")
    }

    @Test func streamIDsRunOutInTime() {
        var configuration = Self.configuration()
        configuration.requestsPerConnectionMax = 3
        var pool = Self.open(configuration)
        let leases = [pool.begin(push: 1, now: at(200))!, pool.begin(push: 2, now: at(200))!]
        #expect(pool.phase(connection: 0) == .draining)
        for lease in leases { _ = pool.accepted(lease.tag, connection: 0, micros: 300_000) }
        expectEqual(
            pool.drainActions(), [.connect(connection: 1), .close(connection: 0, reason: .drained)], "replaced in time")
    }

    // MARK: Timeouts

    @Test func timedOutPushesEndOnceAndTheirTagsWaitForTheSession() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(100))!
        pool.advance(now: at(2_099), micros: 2_099_000)
        #expect(pool.timedOut.isEmpty)
        pool.bytesReceived(0, now: at(2_099))
        pool.advance(now: at(2_100), micros: 2_100_000)
        #expect(
            pool.timedOut
                == [TimedOutPush(push: PushID(rawValue: 1), micros: 2_000_000, connection: 0, streamID: 1)])
        #expect(pool.actions.contains(.reset(connection: 0, streamID: 1)))
        #expect(pool.inFlight == 1)
        expectEqual(pool.accepted(lease.tag, connection: 0, micros: 2_200_000), nil, "it was answered already")
        #expect(pool.inFlight == 0)
    }

    // MARK: Verdicts

    @Test func serverErrorsInARowOpenTheBreakerAndAProbeClosesIt() {
        var pool = Self.open()
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
        // No herd: twice as many with each round trip.
        for credit in [2, 4, 8, 10] {
            #expect(pool.credit == credit)
            let leases = (0..<credit).map { pool.begin(push: UInt64($0), now: at(until))! }
            #expect(pool.credit == 0)
            for lease in leases { _ = pool.accepted(lease.tag, connection: 0, micros: until * 1_000) }
        }
    }

    @Test func goodbyesToEachNewConnectionAreMetWithPatience() {
        var pool = Self.open()
        pool.goAwayReceived(0, isError: false, now: at(20))
        #expect(!pool.actions.contains(.connect(connection: 1)), "it lived 20 ms: the next one waits")
        #expect((pool.nextDeadlineMillis ?? 0) >= 70)
    }

    @Test func aConnectionThatIsAllowedNothingIsLeft() {
        var pool = Self.open()
        pool.settingsReceived(0, streamsMax: 0, now: at(500))
        pool.wanted(now: at(500))
        #expect(pool.credit == 0)
        pool.advance(now: at(2_499), micros: 2_499_000)
        #expect(pool.phase(connection: 0) == .open)
        pool.advance(now: at(2_500), micros: 2_500_000)
        #expect(pool.actions.contains(.close(connection: 0, reason: .denied)))
    }

    @Test func aRefusedStreamLowersWhatIsTried() {
        var pool = Self.open()
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
        var pool = Self.open()
        for push in 0..<100 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.failed(lease.tag, connection: 0, failure: .neverLeft, now: at(10), micros: 10_000)
        }
        #expect(pool.phase(connection: 0) == .open)
        #expect(pool.credit == 10)
    }

    @Test func aHalfDeadProbeDoesNotKeepOthersFromBeingOpened() {
        var configuration = Self.configuration()
        configuration.requestTimeoutMillis = 10_000
        var pool = Self.open(configuration)
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
        var pool = Self.open()
        pool.tokenReplaced(generation: 2, now: at(45 * minute))
        // It meets the second token only half an hour after that was signed.
        let late = pool.begin(push: 1, now: at(75 * minute))!
        _ = pool.accepted(late.tag, connection: 0, micros: 75 * minute * 1_000)
        #expect(pool.phase(connection: 0) == .open)
        pool.tokenReplaced(generation: 3, now: at(90 * minute))
        expectEqual(
            pool.drainActions(), [.close(connection: 0, reason: .drained), .connect(connection: 1)],
            "15 minutes after the second token came the third")
    }

    @Test func aTopicRefusedByAnOldConnectionRenewsThemOnce() {
        var pool = Self.open()
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
        var pool = Self.open()
        for push in 1...3 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .credentialRefused, retryAfterSeconds: nil, now: at(10),
                micros: 10_000)
        }
        #expect(pool.actions.contains(.doubtToken(generation: 1)))
    }

    @Test func refusedCredentialsPauseTheRouteAndProbesUseFreshConnections() {
        var pool = Self.open()
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
        expectEqual(pool.drainActions(), [.alarmCleared(.credentialsRefused)])
    }

    @Test func refusalsBetweenAcceptedPushesPauseNothing() {
        var pool = Self.open()
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
        var pool = Self.open()
        let leases = (1...3).map { pool.begin(push: UInt64($0), now: at(10))! }
        for lease in leases {
            _ = pool.answered(
                lease.tag, connection: 0, verdict: .providerTokenExpired, retryAfterSeconds: nil, now: at(10),
                micros: 10_000)
        }
        let actions = pool.drainActions()
        #expect(actions.count { $0 == .renewToken(generation: 1) } == 1)
        #expect(actions.contains(.alarmRaised(.providerTokenRefused)))
        #expect(actions.contains(.close(connection: 0, reason: .drained)))
        pool.tokenReplaced(generation: 2, now: at(20))
        expectEqual(pool.drainActions(), [.alarmCleared(.providerTokenRefused)])
    }

    @Test func anOldTokensRefusalAsksForNothing() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(10))!
        pool.tokenReplaced(generation: 2, now: at(20))
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .providerTokenExpired, retryAfterSeconds: nil, now: at(10),
            micros: 10_000)
        let actions = pool.drainActions()
        #expect(!actions.contains(.renewToken(generation: 1)))
    }

    @Test func tooManyUpdatesGoBack() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(10))!
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .providerTokenTooManyUpdates, retryAfterSeconds: nil, now: at(10),
            micros: 10_000)
        #expect(pool.actions.contains(.revertToken(generation: 1)))
        #expect(pool.phase(connection: 0) == .open)
        #expect(pool.credit == 0)
    }

    @Test func anUnusableConnectionIsLeft() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(10))!
        _ = pool.answered(
            lease.tag, connection: 0, verdict: .connectionUnusable, retryAfterSeconds: nil, now: at(10), micros: 10_000)
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .drained)])
    }

    @Test(
        arguments: [
            .tokenDead(invalidSinceMillis: nil, suspicious: true), .tokenDead(invalidSinceMillis: 1, suspicious: false),
            .messageRefused, .tokenThrottled, .topicRefused,
        ] as [Verdict])
    func whatConcernsOnePushLeavesTheRouteAlone(verdict: Verdict) {
        var pool = Self.open()
        for push in 1...100 {
            let lease = pool.begin(push: UInt64(push), now: at(10))!
            let end = pool.answered(
                lease.tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(10), micros: 10_000)
            #expect(end?.push == PushID(rawValue: UInt64(push)))
        }
        #expect(pool.actions.isEmpty)
        #expect(pool.credit == 10)
    }

    @Test func aNewKeyLeavesEveryConnection() {
        var pool = Self.open()
        pool.connectionsOutdated(now: at(10))
        #expect(pool.actions.contains(.close(connection: 0, reason: .drained)))
        #expect(pool.credit == 0)
    }

    @Test func shuttingDownDrains() {
        var pool = Self.open()
        let lease = pool.begin(push: 1, now: at(10))!
        pool.shutDown(now: at(10))
        #expect(pool.credit == 0)
        pool.wanted(now: at(10))
        #expect(pool.actions.isEmpty)
        _ = pool.accepted(lease.tag, connection: 0, micros: 20_000)
        expectEqual(pool.drainActions(), [.close(connection: 0, reason: .drained)])
    }

    @Test func unknownTagsAreIgnored() {
        var pool = Self.open()
        expectEqual(pool.accepted(77, connection: 0, micros: 0), nil)
        expectEqual(pool.failed(0, connection: 1, failure: .unknown, now: at(0), micros: 0), nil)
        #expect(pool.inFlight == 0)
    }
}

extension ConnectionPool {
    /// Brings a connection that was asked for up to its first SETTINGS.
    mutating func ready(_ connection: Int, streams: Int = 1_000, now: EngineTime) {
        self.transportConnected(connection, now: now)
        self.settingsReceived(connection, streamsMax: streams, now: now)
    }

    /// Leases a stream and begins a request on it; its stream id is 1.
    mutating func begin(push: UInt64, app: UInt16 = 0, now: EngineTime) -> StreamLease? {
        guard let lease = self.lease(now: now) else { return nil }
        self.began(
            lease, push: PushID(rawValue: push), app: app, streamID: 1, tokenGeneration: self.tokenGeneration, now: now,
            micros: now.steadyMillis * 1_000)
        return lease
    }

    mutating func drainActions() -> [PoolAction] {
        var actions: [PoolAction] = []
        self.takeActions(into: &actions)
        return actions
    }
}
