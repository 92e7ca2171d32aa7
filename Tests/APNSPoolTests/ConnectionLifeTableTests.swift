import PushModel
import Testing

@testable import APNSPool

/// Tests of each event in each state of a connection.
@Suite struct ConnectionLifeTableTests {
    enum State: CaseIterable {
        case connecting, handshaking
        /// The connection is ready, and nothing was sent yet.
        case probing
        /// The connection is ready, and the first request is out.
        case asking
        /// The connection is proven and idle.
        case open
        /// The connection is proven, and two requests are out.
        case busy
        /// The output is full, and one request is out.
        case blocked
        /// The peer allows no stream.
        case denied
        /// One request is out, and a PING is unanswered.
        case pinged
        /// The connection drains, and two requests are left.
        case draining
        /// The connection drains, and one request is left.
        case lastOne
        case closed
    }

    enum Event: CaseIterable {
        case transportConnected
        case settingsReceivedLower, settingsReceivedZero, settingsReceivedSame
        case streamBegan, streamTakenBack
        case streamEndedAccepted, streamEndedRefused, streamEndedUnanswered
        case streamRefused
        case requestTimedOutAmongAnswers, requestTimedOutInSilence
        case outputBlocked, outputBlockedNoMore
        case bytesReceived
        case drain
        case ended
        case deadlineReachedTooSoon, deadlineReachedSilent, deadlineReachedLate, deadlineReachedLateAndIdle
    }

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

    /// A life in `state` at time 0. In `pinged`, a PING left at 300 and is unanswered.
    private static func life(_ state: State) -> ConnectionLife {
        var life = ConnectionLife(configuration: Self.configuration(), now: at(0))
        if state == .connecting { return life }
        life.transportConnected(now: at(0))
        if state == .handshaking { return life }
        _ = life.settingsReceived(streamsMax: 8, now: at(0))
        if state == .probing { return life }
        life.streamBegan(now: at(0))
        if state == .asking { return life }
        _ = life.streamEnded(accepted: true, answeredMicros: 0)
        switch state {
        case .connecting, .handshaking, .probing, .asking, .open: break
        case .busy:
            for _ in 0..<2 { life.streamBegan(now: at(0)) }
        case .blocked:
            life.streamBegan(now: at(0))
            life.outputBlocked(true)
        case .denied: _ = life.settingsReceived(streamsMax: 0, now: at(0))
        case .pinged:
            life.streamBegan(now: at(0))
            _ = life.deadlineReached(now: at(300), mayCloseIdle: true)
        case .draining, .lastOne:
            for _ in 0..<(state == .draining ? 2 : 1) { life.streamBegan(now: at(0)) }
            _ = life.drain(now: at(0))
        case .closed: life.ended()
        }
        return life
    }

    /// Each cell has the phase after the event (its first letter, x for closed), the credit, and the method's answer.
    private static let table = MachineTable(
        """
        event connecting handshaking probing asking open busy blocked denied pinged draining lastOne closed
        transportConnected          h0       h0       p1       p0       o8       o6       o0       o0       o7       d0       d0       x0
        settingsReceivedLower       p1/ready p1/ready p1/limit p0/limit o5/limit o3/limit o0/limit o5/limit o4/limit d0       d0       x0
        settingsReceivedZero        p0/ready p0/ready p0/limit p0/limit o0/limit o0/limit o0/limit o0       o0/limit d0       d0       x0
        settingsReceivedSame        p1/ready p1/ready p1       p0       o8       o6       o0       o8/limit o7       d0       d0       x0
        streamBegan                 c0       h0       p0       p0       o7       o5       o0       o0       o6       d0       d0       x0
        streamTakenBack             c0       h0       p1       p0       o8       o6       o0       o0       o7       d0       d0       x0
        streamEndedAccepted         c0       h0       o8       o8       o8       o7       o0       o0       o8       d0       d0/drained x0
        streamEndedRefused          c0       h0       p1       p1       o8       o7       o0       o0       o8       d0       d0/drained x0
        streamEndedUnanswered       c0       h0       p1       p1       o8       o7       o0       o0       o8       d0       d0/drained x0
        streamRefused               c0       h0       p1       p0       o1       o0       o0       o0       o0       d0       d0       x0
        requestTimedOutAmongAnswers c0       h0       p0       p0       o7       o6       o0       o0       o7       d0       d0       x0
        requestTimedOutInSilence    c0       h0       p1/stalled p0/stalled o8/stalled o6/stalled o0/stalled o0/stalled o7/stalled d0       d0       x0
        outputBlocked               c0       h0       p0       p0       o0       o0       o0       o0       o0       d0       d0       x0
        outputBlockedNoMore         c0       h0       p1       p0       o8       o6       o7       o0       o7       d0       d0       x0
        bytesReceived               c0       h0       p1       p0       o8       o6       o0       o0       o7       d0       d0       x0
        drain                       x0/now   x0/now   x0/now   d0/wait1 x0/now   d0/wait2 d0/wait1 x0/now   d0/wait1 d0/already d0/already x0/already
        ended                       x0       x0       x0       x0       x0       x0       x0       x0       x0       x0       x0       x0
        deadlineReachedTooSoon      c0       h0       p1       p0       o8       o6       o0       o0       o7       d0       d0       x0
        deadlineReachedSilent       c0       h0       p1       p0/ping  o8       o6/ping  o0/ping  o0       x0/pong  d0/ping  d0/ping  x0
        deadlineReachedLate         x0/connect x0/connect p1/ping  p0/ping  o8/ping  o6/ping  o0/ping  o0/denied x0/pong  x0/drain x0/drain x0
        deadlineReachedLateAndIdle  x0/connect x0/connect x0/idle  p0/ping  x0/idle  o6/ping  o0/ping  x0/idle  x0/pong  x0/drain x0/drain x0
        """)

    @Test func eachEventInEachState() throws {
        try MachineTable.expectEvents(Event.self, nameMethodsOf: ["APNSPool/Connection/ConnectionLife"])
        Self.table.check(State.self, Event.self) { event, state in
            var life = Self.life(state)
            let inFlight = life.inFlight
            let answer = Self.apply(&life, event)
            Self.expectConsistent(life, "\(event) while \(state)")
            #expect(abs(life.inFlight - inFlight) <= 1)
            return Self.letter(life.phase) + "\(life.credit)" + (answer == "none" || answer == "" ? "" : "/\(answer)")
        }
    }

    private static func apply(_ life: inout ConnectionLife, _ event: Event) -> String {
        switch event {
        case .transportConnected:
            life.transportConnected(now: at(1))
            return ""
        case .settingsReceivedLower: return Self.name(life.settingsReceived(streamsMax: 5, now: at(1)))
        case .settingsReceivedZero: return Self.name(life.settingsReceived(streamsMax: 0, now: at(1)))
        case .settingsReceivedSame: return Self.name(life.settingsReceived(streamsMax: 8, now: at(1)))
        case .streamBegan: life.streamBegan(now: at(1))
        case .streamTakenBack:
            life.streamBegan(now: at(1))
            life.streamTakenBack()
        case .streamEndedAccepted: return Self.end(&life, accepted: true, answeredMicros: 1_000)
        case .streamEndedRefused: return Self.end(&life, accepted: false, answeredMicros: 1_000)
        case .streamEndedUnanswered: return Self.end(&life, accepted: false, answeredMicros: nil)
        case .streamRefused: life.streamRefused()
        case .requestTimedOutAmongAnswers:
            let inFlight = life.inFlight
            if inFlight == 0 { life.streamBegan(now: at(1)) }
            _ = life.streamEnded(accepted: false, answeredMicros: 1_999_000)
            life.streamBegan(now: at(1_999))
            let answer = life.requestTimedOut(micros: 2_000_000)
            return answer == .keepConnection ? "" : "stalled"
        case .requestTimedOutInSilence:
            return life.requestTimedOut(micros: 2_000_000) == .keepConnection ? "" : "stalled"
        case .outputBlocked: life.outputBlocked(true)
        case .outputBlockedNoMore: life.outputBlocked(false)
        case .bytesReceived: life.bytesReceived(now: at(1))
        case .drain:
            switch life.drain(now: at(1)) {
            case .closeNow: return "now"
            case .waitForStreams(let count): return "wait\(count)"
            case .alreadyDraining, .alreadyClosed: return "already"
            }
        case .ended: life.ended()
        case .deadlineReachedTooSoon: return Self.deadline(&life, 299, mayCloseIdle: true)
        case .deadlineReachedSilent: return Self.deadline(&life, 500, mayCloseIdle: true)
        case .deadlineReachedLate: return Self.deadline(&life, 20_000, mayCloseIdle: false)
        case .deadlineReachedLateAndIdle: return Self.deadline(&life, 20_000, mayCloseIdle: true)
        }
        return ""
    }

    /// Ends a request. If none is open, begins one first.
    private static func end(_ life: inout ConnectionLife, accepted: Bool, answeredMicros: Int64?) -> String {
        if life.inFlight == 0 { life.streamBegan(now: at(1)) }
        return life.streamEnded(accepted: accepted, answeredMicros: answeredMicros) == .closeDrained ? "drained" : ""
    }

    private static func deadline(_ life: inout ConnectionLife, _ millis: Int64, mayCloseIdle: Bool) -> String {
        let due = life.nextDeadlineMillis(mayCloseIdle: mayCloseIdle)
        let action = life.deadlineReached(now: at(millis), mayCloseIdle: mayCloseIdle)
        // An action is due at the deadline or later, and no action is due before the deadline.
        #expect((action != .none) == (due ?? .max <= millis), "deadline \(due ?? -1), at \(millis): \(action)")
        switch action {
        case .none: return ""
        case .ping: return "ping"
        case .closeIdle: return "idle"
        case .retireDenied: return "denied"
        case .close(.connectTimeout): return "connect"
        case .close(.pingTimeout): return "pong"
        case .close(.drainTimeout): return "drain"
        case .close(let reason): return "\(reason)"
        }
    }

    private static func name(_ action: ConnectionLife.SettingsAction) -> String {
        switch action {
        case .becameReady: "ready"
        case .limitChanged: "limit"
        case .ignore: ""
        }
    }

    private static func letter(_ phase: ConnectionLife.Phase) -> String {
        switch phase {
        case .connecting: "c"
        case .handshaking: "h"
        case .probing: "p"
        case .open: "o"
        case .draining: "d"
        case .closed: "x"
        }
    }

    private static func expectConsistent(_ life: ConnectionLife, _ what: Comment) {
        switch life.phase {
        case .connecting, .handshaking, .draining: #expect(life.credit == 0, what)
        case .probing: #expect(life.credit <= 1 && !(life.credit == 1 && life.inFlight > 0), what)
        case .open: #expect(life.credit + life.inFlight <= 10, what)
        case .closed: #expect(life.credit == 0 && life.nextDeadlineMillis(mayCloseIdle: true) == nil, what)
        }
        #expect(life.credit >= 0, what)
        if life.phase != .closed { #expect(life.nextDeadlineMillis(mayCloseIdle: true) != nil, what) }
    }
}
