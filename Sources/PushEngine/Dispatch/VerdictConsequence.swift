import APNSProtocol
import PushModel

/// What one answer of APNs means for the push that it answers. The same rule holds for activities, channels, members
/// and start members.
///
/// The part of the engine that sent the push carries the consequence out. Connections, and keepers that make, list or
/// delete channels, judge answers by rules of their own.
struct VerdictConsequence: Equatable {
    /// What the answer says about the device token.
    enum Token: Equatable {
        /// The answer says nothing about the token, so the removal guard does not count it. If the answers of an outage
        /// counted as good, they would hide that all tokens seem bad.
        case unknown
        /// APNs has looked at the token. `isSuspicious`: every token gets this answer when the environment or topic is
        /// wrong.
        case judged(isSuspicious: Bool)
    }
    /// What becomes of the push.
    enum Push: Equatable {
        /// APNs has accepted the push.
        case accepted
        /// The token takes no more pushes. `invalidSinceMillis`: since when, if APNs says so, milliseconds since 1970.
        case tokenDead(invalidSinceMillis: Int64?, isSuspicious: Bool)
        /// The push can never succeed as it is. `byExpiration`: on a channel that stores nothing it may succeed without
        /// an expiration.
        case refused(byExpiration: Bool)
        /// Nothing is wrong with the push as far as is known. It is sent again on another connection, as if it had
        /// never left.
        case goesAgain
        /// Nothing is wrong with the push. Its route has a fault, or APNs refuses the app's topic. The push waits for a
        /// short time, and then until its lane may send again.
        case waitsForRoute
        /// Only this push waits, because its token has got too many pushes.
        case waitsForToken
    }

    /// What the answer says about the app's topic.
    var apnsTopic: Dispatch.APNSTopicAnswer
    var token: Token
    var push: Push
}

extension Verdict {
    /// What follows from the verdict.
    var consequence: VerdictConsequence {
        switch self {
        case .accepted:
            VerdictConsequence(apnsTopic: .taken, token: .judged(isSuspicious: false), push: .accepted)
        case .tokenDead(let invalidSinceMillis, let isSuspicious):
            VerdictConsequence(
                apnsTopic: .taken, token: .judged(isSuspicious: isSuspicious),
                push: .tokenDead(invalidSinceMillis: invalidSinceMillis, isSuspicious: isSuspicious))
        case .tokenThrottled:
            VerdictConsequence(apnsTopic: .taken, token: .judged(isSuspicious: false), push: .waitsForToken)
        case .topicRefused: VerdictConsequence(apnsTopic: .refused, token: .unknown, push: .waitsForRoute)
        case .messageRefused:
            VerdictConsequence(apnsTopic: .nothing, token: .unknown, push: .refused(byExpiration: false))
        case .expirationRefused:
            VerdictConsequence(apnsTopic: .nothing, token: .unknown, push: .refused(byExpiration: true))
        case .credentialRefused, .providerTokenExpired, .providerTokenTooManyUpdates, .serverBusy:
            VerdictConsequence(apnsTopic: .nothing, token: .unknown, push: .waitsForRoute)
        case .connectionUnusable: VerdictConsequence(apnsTopic: .nothing, token: .unknown, push: .goesAgain)
        }
    }
}

extension Dispatch {
    /// Reports what an answer says about the topic and the tokens of a lane.
    mutating func heard(
        _ consequence: VerdictConsequence, lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime
    ) {
        if case .judged(let isSuspicious) = consequence.token {
            self.lanes[lane].tokenGuard.count(isSuspicious: isSuspicious)
        }
        self.apnsTopicAnswered(consequence.apnsTopic, lane: lane, in: &memory, now: now)
    }
    /// Reports an accepted push to a lane, as `heard` does. Nearly all pushes are accepted.
    @inline(__always) mutating func heardAccepted(lane: LaneIndex, in memory: inout ShardMemory, now: EngineTime) {
        self.lanes[lane].tokenGuard.count(isSuspicious: false)
        self.apnsTopicAnswered(.taken, lane: lane, in: &memory, now: now)
    }
}
