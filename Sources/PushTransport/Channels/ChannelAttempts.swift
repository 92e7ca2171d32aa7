import APNSProtocol
import PushModel

/// The end of one attempt at a request about channels.
enum ChannelAttempt: Sendable, Equatable {
    /// The transport's answer.
    case answered(PushAnswer.Result)
    /// No connection took the request in time. The value is the state of the route.
    case notSent(RouteStatus)
    /// There are already `ChannelClientLimits.outstandingMax` requests without an answer, so this request was not sent.
    case overloaded
    /// The client was closed.
    case closed
}

/// Decides what follows each attempt at one request: success, failure or another attempt. The caller passes the time.
///
/// A request that reads, lists or deletes channels may be sent again. A creation is sent again only if APNs certainly
/// did not carry it out.
struct ChannelAttempts {
    enum Step: Equatable {
        case done(ChannelAnswer)
        /// A repeated deletion found no channel, because an earlier attempt had deleted it.
        case gone
        case again(afterMillis: Int64)
        case failed(ChannelFailure.Cause)
    }

    let kind: RequestKind
    private let limits: ChannelClientLimits
    private var backoff: JitteredBackoff
    private(set) var count = 0
    /// Whether APNs may have carried out an attempt without confirming it.
    private var mayBeDone = false
    private var wereCredentialsRefused = false

    init(kind: RequestKind, limits: ChannelClientLimits) {
        self.kind = kind
        self.limits = limits
        self.backoff = JitteredBackoff(millisMin: limits.backoffMinMillis, millisMax: limits.backoffMaxMillis)
    }

    /// Decides what follows the end of an attempt. `elapsedMillis` is the time since the client's caller asked.
    mutating func ended(
        _ attempt: ChannelAttempt, elapsedMillis: Int64, using random: inout some RandomNumberGenerator
    ) -> Step {
        self.count += 1
        switch attempt {
        case .answered(.channel(let answer)):
            return .done(answer)
        case .answered(.accepted):
            return .failed(.unreadable("an answer to a push came"))
        case .answered(.notProcessed):
            return self.again(or: .unanswered("APNs processed none of \(self.count) requests"), elapsedMillis, &random)
        case .answered(.unknown(let detail)):
            guard self.kind != .createChannel else { return .failed(.creationUnanswered(detail)) }
            self.mayBeDone = true
            return self.again(or: .unanswered(detail), elapsedMillis, &random)
        case .answered(.response(let response)):
            return self.refused(response, elapsedMillis, &random)
        case .notSent(let status):
            return .failed(.notSent(status))
        case .overloaded:
            return .failed(.overloaded)
        case .closed:
            return .failed(.closed)
        }
    }

    private mutating func refused(
        _ response: PushResponse, _ elapsedMillis: Int64, _ random: inout some RandomNumberGenerator
    ) -> Step {
        let cause = ChannelFailure.Cause(response)
        if self.kind == .deleteChannel, self.mayBeDone, response.reason == "ChannelNotRegistered" { return .gone }
        switch response.verdict {
        case .serverBusy:
            // Status 503 says that APNs did not take the request. With any other server error, the channel may have
            // been made.
            guard self.kind != .createChannel || response.status == 503 else { return .failed(cause) }
            self.mayBeDone = self.mayBeDone || response.status != 503
            return self.again(or: cause, elapsedMillis, &random, retryAfterSeconds: response.retryAfterSeconds)
        case .tokenThrottled, .connectionUnusable, .providerTokenExpired, .providerTokenTooManyUpdates:
            return self.again(or: cause, elapsedMillis, &random, retryAfterSeconds: response.retryAfterSeconds)
        case .credentialRefused:
            // APNs refuses the provider key. The store may switch to another key, so the request is tried once more.
            guard !self.wereCredentialsRefused else { return .failed(cause) }
            self.wereCredentialsRefused = true
            return self.again(or: cause, elapsedMillis, &random)
        case .accepted, .tokenDead, .expirationRefused, .messageRefused, .topicRefused:
            return .failed(cause)
        }
    }

    private mutating func again(
        or cause: ChannelFailure.Cause, _ elapsedMillis: Int64, _ random: inout some RandomNumberGenerator,
        retryAfterSeconds: Int64? = nil
    ) -> Step {
        guard self.count < self.limits.attemptsMax else { return .failed(cause) }
        let delayMillis = max(self.backoff.failed(using: &random), (retryAfterSeconds ?? 0) * 1_000)
        guard elapsedMillis + delayMillis < self.limits.totalMillis else { return .failed(cause) }
        return .again(afterMillis: delayMillis)
    }
}
