import APNSProtocol
import PushModel
import Testing

@testable import APNSPool

/// Tests of each event in each state of a route.
@Suite struct ConnectionPoolTableTests {
    enum State: CaseIterable {
        /// No connection exists.
        case cold
        case connecting
        /// A connection is ready and waits for its first request.
        case ready
        /// The connection is proven and has one unanswered request, as in all states below.
        case open
        /// Nine more requests are unanswered, so there is no credit.
        case full
        /// The connection drains after a GOAWAY, and the next one is being made.
        case draining
        /// The breaker is open.
        case resting
        /// The breaker's probe is unanswered.
        case probing
        /// The probe has succeeded.
        case recovering
        /// Credentials are refused. The route is paused, and its connection drains.
        case paused
        /// The provider token is refused, and the connection drains.
        case refused
        case shutDown
    }

    struct Fixture {
        var pool: ConnectionPool
        /// The stream of the unanswered request, if there is one.
        var held: StreamLease?

        init(_ state: State) {
            self.pool = ConnectionPoolTests.pool()
            if state == .cold { return }
            self.pool.wanted(now: at(0))
            if state != .connecting { self.pool.ready(0, streams: 10, now: at(0)) }
            if state == .connecting || state == .ready {
                _ = self.pool.drainActions()
                return
            }
            let first = self.pool.begin(push: 0, now: at(0))!
            _ = self.pool.accepted(first.tag, connection: 0, micros: 0)
            self.held = self.pool.begin(push: 7, now: at(1_000))
            switch state {
            case .cold, .connecting, .ready, .open: break
            case .full: for push in 10..<19 { _ = self.pool.begin(push: UInt64(push), now: at(1_000)) }
            case .draining: self.pool.goAwayReceived(0, isError: false, now: at(1_000))
            case .resting: self.refuse(.serverBusy)
            case .probing, .recovering:
                let before = self.held!
                self.refuse(.serverBusy)
                _ = self.pool.accepted(before.tag, connection: 0, micros: 1_000_000)
                self.pool.advance(now: at(1_000 + 100), micros: 1_100_000)
                self.held = self.pool.begin(push: 7, now: at(1_000))
                guard state == .recovering else { break }
                _ = self.pool.accepted(self.held!.tag, connection: 0, micros: 1_000_000)
                self.held = self.pool.begin(push: 7, now: at(1_000))
            case .paused: self.refuse(.credentialRefused)
            case .refused: self.refuse(.providerTokenExpired, count: 1)
            case .shutDown: self.pool.shutDown(now: at(1_000))
            }
            _ = self.pool.drainActions()
        }

        private mutating func refuse(_ verdict: Verdict, count: Int = 3) {
            let leases = (0..<count).map { self.pool.begin(push: UInt64(20 + $0), now: at(1_000))! }
            for lease in leases {
                _ = self.pool.answered(
                    lease.tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(1_000),
                    micros: 1_000_000)
            }
        }
    }

    /// The pool after an event, as text: its credit, then its actions. Actions are c connect, p PING, r reset and x
    /// close. N, V and D renew, revert or doubt the provider token. K says that the key is accepted. A and a raise or
    /// clear an alarm.
    static func describe(_ pool: inout ConnectionPool) -> String {
        let actions = pool.drainActions().map { action in
            switch action {
            case .connect: "c"
            case .ping: "p"
            case .reset: "r"
            case .close: "x"
            case .renewToken: "N"
            case .revertToken: "V"
            case .doubtToken: "D"
            case .keyAccepted: "K"
            case .alarmRaised: "A"
            case .alarmCleared: "a"
            }
        }
        return "\(pool.credit)" + (actions.isEmpty ? "" : ":" + actions.joined())
    }

    static func expectConsistent(_ pool: ConnectionPool, _ what: Comment) {
        #expect(pool.creditSum == pool.members.reduce(0) { $0 + $1.life.credit }, what)
        #expect(pool.streams.inUse == pool.members.reduce(0) { $0 + $1.life.inFlight }, what)
        #expect(pool.members.count { $0.life.isUsable } <= pool.configuration.connectionsMax, what)
        #expect(pool.nextDeadlineMillis ?? 0 >= 0, what)
        for member in pool.members where !member.isInUse { #expect(member.life.phase == .closed, what) }
    }

    // MARK: Connections and time

    enum Event: CaseIterable {
        case lease, takeBack, began
        case start, wanted, wantedForLong
        case transportConnected, settingsReceivedLower, settingsReceivedZero, bytesReceived, lookAtWindow, outputBlocked
        case goAwayReceived, goAwayReceivedWithError, requestsRefused, connectionEnded
        case shutDown
        case advance, advanceAfterAwhile, advanceLate
        case tokenReplaced, tokenReplacedByReturn, keyReplaced, connectionsOutdated
        case follow
    }

    private static let table = MachineTable(
        """
        event                    cold  connecting ready open  full  draining resting probing recovering paused refused shutDown
        lease                    0     0     0     8     0     0     0     0     0     0     0     0
        takeBack                 0     0     1     9     0     0     0     0     1     0     0     0
        began                    0     0     0     8     0     0     0     0     0     0     0     0
        start                    0     0     1     9     0     0     0     0     1     0     0     0
        wanted                   0:c   0     1     9     0     0     0     0     1     0     0     0
        wantedForLong            0:c   0     1     9     0:c   0     0     0     1     0     0     0
        transportConnected       0     0     1     9     0     0     0     0     1     0     0     0
        settingsReceivedLower    0     1     1     4     0     0     0     0     1     0     0     0
        settingsReceivedZero     0     0     0     0     0     0     0     0     0     0     0     0
        bytesReceived            0     0     1     9     0     0     0     0     1     0     0     0
        lookAtWindow             0     0     1     9     0     0     0     0     1     0     0     0
        outputBlocked            0     0     0     0     0     0     0     0     0     0     0     0
        goAwayReceived           0     0:xc  0:xc  0:c   0:c   0     0     0:c   0:c   0     0     0
        goAwayReceivedWithError  0     0:x   0:x   0     0     0     0     0     0     0     0     0
        requestsRefused          0     0:x   0:x   0     0     0     0     0     0     0     0     0
        connectionEnded          0     0     0:c   0     0     0     0     0     0     0     0     0
        shutDown                 0     0:x   0:x   0     0     0:x   0     0     0     0     0     0
        advance                  0     0:x   1     9     0     0     0     0     1     0     0     0
        advanceAfterAwhile       0     0:x   1     9     0     0     0     0     1     0     0     0
        advanceLate              0     0:x   1     0:rp  0:rrrrrrrrrrp 0:rxx 0:rp  0:rp  0:rp  0:rx  0:rx  0:rx
        tokenReplaced            0     0     1     9     0     0     0     0     1     0     0:a   0
        tokenReplacedByReturn    0     0     1     9     0     0     0     0     1     0     0:a   0
        keyReplaced              0     0     1     9     0     0     0     0     1     0     0     0
        connectionsOutdated      0     0     0:xc  0     0     0     0     0     0     0:a   0     0
        follow                   0     0     1     9     0     0     0     0     1     0     0     0
        """)

    @Test func eachEventInEachState() throws {
        let answers = AnswerEvent.allCases.map { "\($0)" }
        let methods = ["accepted", "answered", "failed", "renewsForTopic"]
        for method in methods { #expect(answers.contains { $0.hasPrefix(method) }) }
        try MachineTable.expectEvents(
            Event.self,
            nameMethodsOf: [
                "APNSPool/Pool/ConnectionPool", "APNSPool/Pool/ConnectionPool+Connections",
                "APNSPool/Pool/ConnectionPool+Answers",
            ],
            except: Set(methods + ["takeActions", "takeTimedOut"]))
        Self.table.check(State.self, Event.self) { event, state in
            var fixture = Fixture(state)
            let ended = Self.apply(&fixture.pool, event)
            Self.expectConsistent(fixture.pool, "\(event) while \(state)")
            // Events of a connection that is gone do not delay the next connection.
            if state == .cold { #expect(fixture.pool.connectNotBeforeMillis == 0, "\(event)") }
            // An unanswered push ends only with its connection, or when it times out.
            switch event {
            case .connectionEnded:
                let isOut = fixture.held != nil
                #expect(ended == (isOut ? [7] : []) + (state == .full ? Array(10..<19) : []), "\(state)")
            case .advanceLate: #expect(ended.count == (state == .full ? 10 : fixture.held == nil ? 0 : 1), "\(state)")
            default: #expect(ended == [], "\(event) while \(state)")
            }
            return Self.describe(&fixture.pool)
        }
    }

    /// Applies an event to the pool.
    /// - Returns: pushes that end because of it.
    private static func apply(_ pool: inout ConnectionPool, _ event: Event) -> [UInt64] {
        let now = at(1_001)
        switch event {
        case .lease: _ = pool.lease(now: now)
        case .takeBack: if let lease = pool.lease(now: now) { pool.takeBack(lease) }
        case .began: _ = pool.begin(push: 8, now: now)
        case .start: pool.start(now: now)
        case .wanted: pool.wanted(now: now)
        case .wantedForLong:
            pool.wanted(now: now)
            pool.wanted(now: at(1_101))
        case .transportConnected: pool.transportConnected(0, now: now)
        case .settingsReceivedLower: pool.settingsReceived(0, streamsMax: 5, now: now)
        case .settingsReceivedZero: pool.settingsReceived(0, streamsMax: 0, now: now)
        case .bytesReceived: pool.bytesReceived(0, now: now)
        case .lookAtWindow: pool.lookAtWindow(micros: now.steadyMillis * 1_000) { nil }
        case .outputBlocked: pool.outputBlocked(0, true)
        case .goAwayReceived: pool.goAwayReceived(0, isError: false, now: now)
        case .goAwayReceivedWithError: pool.goAwayReceived(0, isError: true, now: now)
        case .requestsRefused: pool.requestsRefused(0, now: now)
        case .connectionEnded: return pool.connectionEnded(0, now: now, micros: 1_001_000).map(\.push.rawValue).sorted()
        case .shutDown: pool.shutDown(now: now)
        case .advance: pool.advance(now: now, micros: 1_001_000)
        case .advanceAfterAwhile: pool.advance(now: at(1_200), micros: 1_200_000)
        case .advanceLate:
            pool.advance(now: at(9_000), micros: 9_000_000)
            var timedOut: [TimedOutPush] = []
            pool.takeTimedOut(into: &timedOut)
            return timedOut.map(\.push.rawValue)
        case .tokenReplaced: pool.tokenReplaced(generation: 2, now: now)
        case .tokenReplacedByReturn: pool.tokenReplaced(generation: 2, isReturn: true, now: now)
        case .keyReplaced: pool.keyReplaced(firstGeneration: 2, isUnproven: true, isOnTrial: true)
        case .connectionsOutdated: pool.connectionsOutdated(now: now)
        case .follow: pool.follow(ConnectionPoolTests.configuration())
        }
        return []
    }

    // MARK: Answers to the open request

    enum AnswerEvent: CaseIterable {
        case accepted, answeredAccepted, answeredTokenDead, answeredTokenThrottled, answeredMessageRefused
        case answeredTopicRefused
        case answeredCredentialRefused, answeredTokenExpired, answeredTooManyUpdates
        case answeredServerBusy, answeredConnectionUnusable
        case failedRefused, failedNeverLeft, failedUnknown
        case renewsForTopic

        var verdict: Verdict? {
            switch self {
            case .answeredAccepted: .accepted
            case .answeredTokenDead: .tokenDead(invalidSinceMillis: nil, suspicious: true)
            case .answeredTokenThrottled: .tokenThrottled
            case .answeredMessageRefused: .messageRefused
            case .answeredTopicRefused: .topicRefused(anotherConnectionMayDo: false)
            case .answeredCredentialRefused: .credentialRefused
            case .answeredTokenExpired: .providerTokenExpired
            case .answeredTooManyUpdates: .providerTokenTooManyUpdates
            case .answeredServerBusy: .serverBusy
            case .answeredConnectionUnusable: .connectionUnusable
            case .accepted, .failedRefused, .failedNeverLeft, .failedUnknown, .renewsForTopic: nil
            }
        }
    }

    private static let answerTable = MachineTable(
        """
        event                       cold  connecting ready open  full  draining resting probing recovering paused refused shutDown
        accepted                    0     0     1     10    1     0:x   0     2:a   3     0:Kx  0:x   0:x
        answeredAccepted            0     0     1     10    1     0:x   0     2:a   3     0:Kx  0:x   0:x
        answeredTokenDead           0     0     1     10    1     0:x   0     2:a   3     0:Kx  0:x   0:x
        answeredTokenThrottled      0     0     1     10    1     0:x   0     2:a   3     0:Kx  0:x   0:x
        answeredMessageRefused      0     0     1     10    1     0:x   0     2:a   3     0:x   0:x   0:x
        answeredTopicRefused        0     0     1     10    1     0:x   0     2:a   3     0:x   0:x   0:x
        answeredCredentialRefused   0     0     1     10    1     0:x   0     2:a   3     0:x   0:x   0:x
        answeredTokenExpired        0     0     1     0:ANx 0:AN  0:ANx 0:ANx 0:aANx 0:ANx 0:ANx 0:x   0:ANx
        answeredTooManyUpdates      0     0     1     0:AV  0:AV  0:AVx 0:AV  0:aAV 0:AV  0:AVx 0:x   0:AVx
        answeredServerBusy          0     0     1     10    1     0:x   0     0     1     0:x   0:x   0:x
        answeredConnectionUnusable  0     0     1     0:x   0     0:x   0:x   0:ax  0:x   0:x   0:x   0:x
        failedRefused               0     0     1     1     0     0:x   0     1     1     0:x   0:x   0:x
        failedNeverLeft             0     0     1     10    1     0:x   0     1     2     0:x   0:x   0:x
        failedUnknown               0     0     1     10    1     0:x   0     1     2     0:x   0:x   0:x
        renewsForTopic              0     0     1     0:c   0:c   0     0     0:c   0:c   0     0     0
        """)

    @Test func eachAnswerInEachState() {
        Self.answerTable.check(State.self, AnswerEvent.self) { event, state in
            var fixture = Fixture(state)
            let end = Self.answer(&fixture.pool, fixture.held?.tag ?? 3, event)
            Self.expectConsistent(fixture.pool, "\(event) while \(state)")
            // Every event but `renewsForTopic` ends the unanswered push, exactly once. Without a push nothing ends.
            let ends = fixture.held != nil && event != .renewsForTopic
            #expect(end?.push.rawValue == (ends ? 7 : nil), "\(event) while \(state)")
            let outcome = Self.describe(&fixture.pool)
            if ends {
                let again = Self.answer(&fixture.pool, fixture.held?.tag ?? 3, event)
                #expect(again == nil, "\(event) while \(state): the push ended twice")
            }
            return outcome
        }
    }

    private static func answer(_ pool: inout ConnectionPool, _ tag: UInt32, _ event: AnswerEvent) -> PushEnd? {
        if let verdict = event.verdict {
            return pool.answered(
                tag, connection: 0, verdict: verdict, retryAfterSeconds: nil, now: at(1_001), micros: 1_001_000)
        }
        func failed(_ failure: ConnectionPool.Failure) -> PushEnd? {
            pool.failed(tag, connection: 0, failure: failure, now: at(1_001), micros: 1_001_000)
        }
        switch event {
        case .accepted: return pool.accepted(tag, connection: 0, micros: 1_001_000)
        case .failedRefused: return failed(.refused)
        case .failedNeverLeft: return failed(.neverLeft)
        case .failedUnknown: return failed(.unknown)
        default:
            _ = pool.renewsForTopic(tag, connection: 0, now: at(1_001))
            return nil
        }
    }
}
