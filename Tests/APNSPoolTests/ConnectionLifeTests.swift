import PushModel
import Testing

@testable import APNSPool

/// Tests of the events of a connection, by phase.
@Suite struct ConnectionLifeTests {
    private static let phases: [ConnectionLife.Phase] = [
        .connecting, .handshaking, .probing, .open, .draining, .closed,
    ]

    private static func configuration() -> ConnectionPoolConfiguration {
        var configuration = ConnectionPoolConfiguration()
        configuration.streamsPerConnectionMax = 10
        configuration.connectTimeoutMillis = 1_000
        configuration.requestTimeoutMillis = 2_000
        configuration.drainTimeoutMillis = 500
        configuration.pingAfterSilenceMillis = 300
        configuration.pingAfterIdleMillis = 3_000
        configuration.pingTimeoutMillis = 200
        configuration.idleCloseMillis = 10_000
        return configuration
    }

    /// A life in `phase` at time 0. In `draining` one request is in flight.
    private static func life(_ phase: ConnectionLife.Phase, requestsMax: Int = .max) -> ConnectionLife {
        var configuration = Self.configuration()
        configuration.requestsPerConnectionMax = requestsMax
        var life = ConnectionLife(configuration: configuration, now: at(0))
        if phase == .connecting { return life }
        life.transportConnected(now: at(0))
        if phase == .handshaking { return life }
        _ = life.settingsReceived(streamsMax: 8, now: at(0))
        if phase == .probing { return life }
        life.streamBegan(now: at(0))
        _ = life.streamEnded(accepted: true, answeredMicros: 0)
        if phase == .open { return life }
        if phase == .draining {
            life.streamBegan(now: at(0))
            _ = life.drain(now: at(0))
            return life
        }
        life.ended()
        return life
    }

    /// By default, a silent server is noticed on an idle connection within the time limit of a request.
    @Test func silenceIsKnownWithinARequestsTimeoutByDefault() {
        let configuration = ConnectionPoolConfiguration()
        #expect(
            configuration.pingAfterIdleMillis + configuration.pingTimeoutMillis <= configuration.requestTimeoutMillis)
    }

    @Test func eachPhaseIsReached() {
        for phase in Self.phases { #expect(Self.life(phase).phase == phase) }
    }

    @Test(arguments: zip(phases, [0, 0, 1, 8, 0, 0])) func creditFollowsThePhase(
        phase: ConnectionLife.Phase, credit: Int
    ) {
        #expect(Self.life(phase).credit == credit)
    }

    @Test(
        arguments: zip(
            phases, [.handshaking, .handshaking, .probing, .open, .draining, .closed] as [ConnectionLife.Phase]))
    func transportConnected(phase: ConnectionLife.Phase, after: ConnectionLife.Phase) {
        var life = Self.life(phase)
        life.transportConnected(now: at(1))
        #expect(life.phase == after)
    }

    @Test(
        arguments: zip(
            phases,
            [.becameReady, .becameReady, .limitChanged, .limitChanged, .ignore, .ignore]
                as [ConnectionLife.SettingsAction]))
    func settingsReceived(phase: ConnectionLife.Phase, action: ConnectionLife.SettingsAction) {
        var life = Self.life(phase)
        let answer = life.settingsReceived(streamsMax: 5, now: at(1))
        #expect(answer == action)
        #expect(life.phase == (answer == .becameReady ? .probing : phase))
    }

    @Test(
        arguments: zip(
            phases,
            [.closeNow, .closeNow, .closeNow, .closeNow, .alreadyDraining, .alreadyClosed]
                as [ConnectionLife.DrainAction]))
    func drainWithoutRequests(phase: ConnectionLife.Phase, action: ConnectionLife.DrainAction) {
        var life = Self.life(phase)
        let answer = life.drain(now: at(1))
        #expect(answer == action)
        #expect(life.credit == 0)
    }

    @Test(arguments: [ConnectionLife.Phase.probing, .open]) func drainWaitsForWhatIsInFlight(
        phase: ConnectionLife.Phase
    ) {
        var life = Self.life(phase)
        life.streamBegan(now: at(1))
        let action = life.drain(now: at(1))
        #expect(action == .waitForStreams(count: 1))
        let end = life.streamEnded(accepted: true, answeredMicros: 2_000)
        #expect(end == .closeDrained)
    }

    @Test func aRefusedProbeLeavesItProbing() {
        var life = Self.life(.probing)
        life.streamBegan(now: at(1))
        #expect(life.credit == 0)
        let action = life.streamEnded(accepted: false, answeredMicros: 2_000)
        #expect(action == .none)
        #expect(life.phase == .probing)
        #expect(life.credit == 1)
    }

    @Test func theLimitMayFallBelowWhatIsInFlightAndRiseAgain() {
        var life = Self.life(.open)
        for _ in 0..<5 { life.streamBegan(now: at(1)) }
        #expect(life.credit == 3)
        _ = life.settingsReceived(streamsMax: 1, now: at(2))
        #expect(life.credit == 0)
        for _ in 0..<4 { _ = life.streamEnded(accepted: true, answeredMicros: 3_000) }
        #expect(life.credit == 0)
        _ = life.streamEnded(accepted: true, answeredMicros: 3_000)
        #expect(life.credit == 1)
        _ = life.settingsReceived(streamsMax: 8, now: at(4))
        #expect(life.credit == 8)
        _ = life.settingsReceived(streamsMax: 100_000, now: at(4))
        #expect(life.credit == 10, "our own limit holds")
        _ = life.settingsReceived(streamsMax: 0, now: at(4))
        #expect(life.credit == 0)
    }

    @Test func streamIDsRunOut() {
        var life = Self.life(.open, requestsMax: 3)
        #expect(life.credit == 2)
        life.streamBegan(now: at(1))
        life.streamBegan(now: at(1))
        #expect(life.credit == 0)
        #expect(life.requestsLeft == 0)
    }

    @Test func aBlockedOutputTakesTheCredit() {
        for phase in [ConnectionLife.Phase.probing, .open] {
            var life = Self.life(phase)
            let before = life.credit
            life.outputBlocked(true)
            #expect(life.credit == 0)
            life.outputBlocked(false)
            #expect(life.credit == before)
        }
    }

    @Test(
        arguments: zip(
            phases,
            [.close(.connectTimeout), .close(.connectTimeout), .closeIdle, .closeIdle, .close(.drainTimeout), .none]
                as [ConnectionLife.DeadlineAction]))
    func everyPhaseEndsInTime(phase: ConnectionLife.Phase, action: ConnectionLife.DeadlineAction) {
        var life = Self.life(phase)
        let answer = life.deadlineReached(now: at(10_000), mayCloseIdle: true)
        #expect(answer == action)
        #expect(life.phase == .closed)
    }

    @Test(arguments: [ConnectionLife.Phase.probing, .open, .draining]) func anUnansweredPingCloses(
        phase: ConnectionLife.Phase
    ) {
        var life = Self.life(phase)
        if phase != .draining { life.streamBegan(now: at(0)) }
        #expect(life.nextDeadlineMillis(mayCloseIdle: true) == 300)
        var action = life.deadlineReached(now: at(299), mayCloseIdle: true)
        #expect(action == .none)
        action = life.deadlineReached(now: at(300), mayCloseIdle: true)
        #expect(action == .ping)
        action = life.deadlineReached(now: at(499), mayCloseIdle: true)
        #expect(action == .none)
        action = life.deadlineReached(now: at(500), mayCloseIdle: true)
        #expect(action == .close(.pingTimeout))
    }

    @Test func anyByteAnswersAPing() {
        var life = Self.life(.open)
        life.streamBegan(now: at(0))
        _ = life.deadlineReached(now: at(300), mayCloseIdle: false)
        life.bytesReceived(now: at(400))
        let action = life.deadlineReached(now: at(500), mayCloseIdle: false)
        #expect(action == .none)
        #expect(life.nextDeadlineMillis(mayCloseIdle: false) == 700)
    }

    @Test func anIdleConnectionIsAskedSeldomAndClosedLate() {
        var life = Self.life(.open)
        #expect(life.nextDeadlineMillis(mayCloseIdle: false) == 3_000)
        let ping = life.deadlineReached(now: at(3_000), mayCloseIdle: false)
        #expect(ping == .ping)
        life.bytesReceived(now: at(3_001))
        let kept = life.deadlineReached(now: at(5_000), mayCloseIdle: false)
        #expect(kept == .none)
        life.bytesReceived(now: at(9_999))
        let warm = life.deadlineReached(now: at(10_000), mayCloseIdle: false)
        #expect(warm == .none)
        let closed = life.deadlineReached(now: at(10_000), mayCloseIdle: true)
        #expect(closed == .closeIdle)
    }

    @Test func silenceIsCountedFromTheRequest() {
        var life = Self.life(.open)
        life.streamBegan(now: at(2_900))
        #expect(life.nextDeadlineMillis(mayCloseIdle: false) == 3_200)
    }

    @Test(arguments: phases) func aTimeoutAmongAnswersKeepsTheConnection(phase: ConnectionLife.Phase) {
        var life = Self.life(phase)
        life.streamBegan(now: at(10_000))
        _ = life.streamEnded(accepted: false, answeredMicros: 10_000_000)
        let isInUse = life.phase == .probing || life.phase == .open
        expectEqual(life.requestTimedOut(micros: 10_500_000), .keepConnection)
        expectEqual(life.requestTimedOut(micros: 10_500_000), .keepConnection)
        expectEqual(
            life.requestTimedOut(micros: 10_500_000), isInUse ? .retireStalled : .keepConnection, "three in a row")
    }

    @Test(arguments: phases) func aTimeoutAfterLongSilenceLeavesTheConnection(phase: ConnectionLife.Phase) {
        var life = Self.life(phase)
        life.streamBegan(now: at(10_000))
        _ = life.streamEnded(accepted: false, answeredMicros: 10_000_000)
        let isInUse = life.phase == .probing || life.phase == .open
        expectEqual(life.requestTimedOut(micros: 12_000_000), isInUse ? .retireStalled : .keepConnection)
    }

    @Test func answersBetweenTimeoutsStartTheCountAnew() {
        var life = Self.life(.open)
        for second in 10..<30 as Range<Int64> {
            life.streamBegan(now: at(second * 1_000))
            _ = life.streamEnded(accepted: false, answeredMicros: second * 1_000_000)
            expectEqual(life.requestTimedOut(micros: second * 1_000_000), .keepConnection)
        }
    }
}
