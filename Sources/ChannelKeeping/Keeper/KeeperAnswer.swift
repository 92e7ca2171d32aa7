import APNSProtocol

/// What became of a request for the list.
public enum ListAnswer: Equatable, Sendable {
    /// Every id, in Apple's order.
    case listed([[UInt8]])
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// It did not leave, no answer came, or it cannot be read.
    case failed
}

/// What became of a creation.
public enum CreateAnswer: Equatable, Sendable {
    /// Apple has made it.
    case created(id: [UInt8])
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// It surely has not left.
    case notSent
    /// Nobody knows: no answer came, or one without an id.
    case lost
}

/// What became of a deletion.
public enum DeleteAnswer: Equatable, Sendable {
    /// Apple had it, and has it no more.
    case deleted
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// It did not leave, or no answer came. It may be asked for again.
    case failed
}

/// What became of a beacon.
public enum BeaconAnswer: Equatable, Sendable {
    /// Apple has accepted it, or its sender has taken it for good.
    case sent
    /// Later.
    case failed
    /// Apple knows no such channel.
    case channelGone
}

/// What a refusal means for a request about channels, after `ReasonTable`.
enum RefusalMeaning: Equatable {
    /// Nothing was done; later.
    case later
    /// An error of the server's that may have come after the channel was made.
    case mayBeDone
    /// As many channels as Apple allows.
    case limitReached
    /// There is no such channel.
    case channelGone
    /// Not before somebody has acted.
    case forGood

    init(status: UInt16, reason: String) {
        guard reason != "CannotCreateChannelConfig" else {
            self = .limitReached
            return
        }
        switch ReasonTable.verdict(status: status, reason: reason, timestampMillis: nil) {
        case .tokenThrottled, .providerTokenExpired, .providerTokenTooManyUpdates: self = .later
        // 503 says that the request was not taken; `IdleTimeout` and `UnrelatedKeyIdInToken` are said before it is.
        case .serverBusy, .connectionUnusable: self = status >= 500 && status != 503 ? .mayBeDone : .later
        // A success that is none.
        case .accepted: self = .mayBeDone
        case .tokenDead: self = .channelGone
        case .credentialRefused, .topicRefused, .expirationRefused, .messageRefused: self = .forGood
        }
    }
}
