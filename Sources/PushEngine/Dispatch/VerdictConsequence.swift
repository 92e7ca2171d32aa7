import APNSProtocol
import PushModel

/// What one answer of APNs means for its push. It is one rule for everything that is sent: to an activity, a channel, a
/// member or a start member.
///
/// The sender carries it out. Connections and keepers of channels judge an answer by themselves.
struct VerdictConsequence: Equatable {
    /// What the answer says of the device token.
    enum Token: Equatable {
        /// Nothing: an outage must not make a wrong environment look like a few bad tokens.
        case unknown
        /// APNs has looked at it. `isSuspicious`: every token gets this answer when environment or topic are wrong.
        case judged(isSuspicious: Bool)
    }
    /// What becomes of the push.
    enum Push: Equatable {
        /// APNs has accepted the push.
        case accepted
        /// The token can take no push. `invalidSinceMillis`: since when, as far as APNs says so.
        case tokenDead(invalidSinceMillis: Int64?, isSuspicious: Bool)
        /// The push can never succeed. `byExpiration`: on a channel that stores nothing it may succeed without an
        /// expiration.
        case refused(byExpiration: Bool)
        /// Nothing is known against the push. It goes again at once on another connection, as if it had never left.
        case goesAgain
        /// Nothing is wrong with the push. Its route stops it, and lets it go on soon after the fault has gone.
        case waitsForRoute
        /// Only this push waits, because its token has had too many.
        case waitsForToken
    }

    /// What the answer says of the app's topic.
    var topic: Dispatch.TopicAnswer
    var token: Token
    var push: Push
}

extension Verdict {
    /// What follows from the verdict.
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
    /// Reports what an answer says to the topic and the tokens of a lane.
    mutating func heard(
        _ consequence: VerdictConsequence, lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime
    ) {
        if case .judged(let isSuspicious) = consequence.token {
            self.lanes[lane].tokenGuard.note(isSuspicious: isSuspicious)
        }
        self.topicAnswered(consequence.topic, lane: lane, in: &memory, now: now)
    }
    /// Reports an accepted push to the topic and the tokens, as nearly all are accepted.
    @inline(__always) mutating func heardAccepted(lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        self.lanes[lane].tokenGuard.note(isSuspicious: false)
        self.topicAnswered(.taken, lane: lane, in: &memory, now: now)
    }
}
