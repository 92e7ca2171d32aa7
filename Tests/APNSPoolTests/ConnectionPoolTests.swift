import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

@Suite struct ConnectionPoolTests {
    static func configuration(connectionsMax: Int = 2) -> ConnectionPoolConfiguration {
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

    static func pool(_ configuration: ConnectionPoolConfiguration = configuration()) -> ConnectionPool {
        var pool = ConnectionPool(configuration: configuration, randomSeed: 1)
        pool.tokenReplaced(generation: 1, now: at(0))
        return pool
    }

    /// A pool whose first connection is open and proven at time 0.
    static func open(_ configuration: ConnectionPoolConfiguration = configuration()) -> ConnectionPool {
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

    /// `follow` changes the number of warm connections at once. New time limits apply only to connections that begin
    /// later.
    @Test func anotherConfigurationIsFollowed() {
        var pool = Self.open()
        pool.start(now: at(10))
        _ = pool.drainActions()
        var other = Self.configuration(connectionsMax: 9)
        other.connectionsWarm = 2
        other.idleCloseMillis = 3_000
        pool.follow(other)
        #expect(pool.configuration.connectionsMax == 2, "it has room for no more")
        pool.advance(now: at(20), micros: 20_000)
        expectEqual(pool.drainActions(), [.connect(connection: 1)])
        pool.ready(1, now: at(30))
        other.connectionsWarm = 0
        pool.follow(other)
        pool.advance(now: at(4_000), micros: 4_000_000)
        let closed = pool.drainActions().compactMap { action -> Int? in
            if case .close(let connection, _) = action { connection } else { nil }
        }
        #expect(closed == [1])
    }

    /// After a connection was retired while pushes wait, the pool's next deadline is a real time, for which a timer can
    /// be set.
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
        configuration.limitsInFlight = false
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
