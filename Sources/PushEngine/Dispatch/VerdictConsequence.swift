import APNSProtocol
import PushModel

/// What one answer of APNs means for its push. It is said once for all that is sent: to an activity, a channel, a member or a start member.
///
/// The sender carries it out. Connections and keepers of channels judge an answer by themselves.
struct VerdictConsequence: Equatable {
    /// What it says of the device token.
    enum Token: Equatable {
        /// Nothing: an outage must not make a wrong environment look like a few bad tokens.
        case unknown
        /// It was looked at. `isSuspicious`: every token is answered so when environment or topic are wrong.
        case judged(isSuspicious: Bool)
    }
    /// What becomes of the push.
    enum Push: Equatable {
        /// APNs has taken it.
        case accepted
        /// Its token can take none. `invalidSinceMillis`: since when, as far as APNs says so.
        case tokenDead(invalidSinceMillis: Int64?, isSuspicious: Bool)
        /// It can never succeed. `byExpiration`: on a channel that keeps nothing it may, without a time up to which it is kept.
        case refused(byExpiration: Bool)
        /// Nothing is known against it: on another connection it goes again at once, as if it had never left.
        case goesAgain
        /// Nothing is wrong with it. Its route holds it back, and lets it go on soon after the fault has gone.
        case waitsForRoute
        /// It alone waits, as its token has had too many.
        case waitsForToken
    }

    /// What the app's topic hears.
    var topic: Dispatch.TopicAnswer
    var token: Token
    var push: Push
}

extension Verdict {
    /// What follows from it.
    var consequence: VerdictConsequence {
        switch self {
        case .accepted:
            VerdictConsequence(topic: .taken, token: .judged(isSuspicious: false), push: .accepted)
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            VerdictConsequence(
                topic: .taken, token: .judged(isSuspicious: isSuspicious),
                push: .tokenDead(invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious))
        case .tokenThrottled:
            VerdictConsequence(topic: .taken, token: .judged(isSuspicious: false), push: .waitsForToken)
        case .topicRefused: VerdictConsequence(topic: .refused, token: .unknown, push: .waitsForRoute)
        case .messageRefused:
            VerdictConsequence(topic: .nothing, token: .unknown, push: .refused(byExpiration: false))
        case .expirationRefused:
            VerdictConsequence(topic: .nothing, token: .unknown, push: .refused(byExpiration: true))
        case .credentialRefused, .providerTokenExpired, .providerTokenTooManyUpdates, .serverBusy:
            VerdictConsequence(topic: .nothing, token: .unknown, push: .waitsForRoute)
        case .connectionUnusable: VerdictConsequence(topic: .nothing, token: .unknown, push: .goesAgain)
        }
    }
}

extension Dispatch {
    /// Topic and tokens of a lane hear what an answer says of them.
    mutating func heard(
        _ consequence: VerdictConsequence, lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime
    ) {
        if case .judged(let isSuspicious) = consequence.token {
            self.lanes[lane].tokenGuard.note(isSuspicious: isSuspicious)
        }
        self.topicAnswered(consequence.topic, lane: lane, in: &memory, now: now)
    }
    /// Topic and tokens hear of a push that was accepted, as nearly all are.
    @inline(__always) mutating func heardAccepted(lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        self.lanes[lane].tokenGuard.note(isSuspicious: false)
        self.topicAnswered(.taken, lane: lane, in: &memory, now: now)
    }
}
