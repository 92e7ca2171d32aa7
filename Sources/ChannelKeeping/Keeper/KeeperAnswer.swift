import APNSProtocol

/// The result of a request for the list.
public enum ListAnswer: Equatable, Sendable {
    /// Every id, in Apple's order.
    case listed([[UInt8]])
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// The request did not leave, no answer arrived, or the answer cannot be read.
    case failed
}

/// The result of a creation.
public enum CreateAnswer: Equatable, Sendable {
    /// Apple has made the channel.
    case created(id: [UInt8])
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// The request certainly has not left.
    case notSent
    /// The result is unknown: no answer arrived, or one without an id.
    case lost
}

/// The result of a deletion.
public enum DeleteAnswer: Equatable, Sendable {
    /// Apple has deleted the channel.
    case deleted
    /// Apple's status and reason.
    case refused(status: UInt16, reason: String)
    /// The request did not leave, or no answer arrived. It may be repeated.
    case failed
}

/// The result of a beacon.
public enum BeaconAnswer: Equatable, Sendable {
    /// Apple has accepted the beacon, or the component that sends beacons has taken it over for good.
    case sent
    /// The beacon failed, and may be sent later.
    case failed
    /// Apple knows no such channel.
    case channelGone
}

/// The meaning of a refused request about channels, from `ReasonTable`.
enum RefusalMeaning: Equatable {
    /// Nothing was done; try later.
    case later
    /// The server failed, perhaps after it had carried the request out.
    case mayBeDone
    /// There are as many channels as Apple allows.
    case limitReached
    /// There is no such channel.
    case channelGone
    /// No request succeeds until a person has corrected the cause.
    case forGood

    init(status: UInt16, reason: String) {
        guard reason != "CannotCreateChannelConfig" else {
            self = .limitReached
            return
        }
        switch ReasonTable.verdict(status: status, reason: reason, timestampMillis: nil) {
        case .tokenThrottled, .providerTokenExpired, .providerTokenTooManyUpdates: self = .later
        // 503 says that the request was not taken. `IdleTimeout` and `UnrelatedKeyIdInToken` are sent before a request
        // is taken.
        case .serverBusy, .connectionUnusable: self = status >= 500 && status != 503 ? .mayBeDone : .later
        // `accepted` is a success, so the request may have been carried out.
        case .accepted: self = .mayBeDone
        case .tokenDead: self = .channelGone
        case .credentialRefused, .topicRefused, .expirationRefused, .messageRefused: self = .forGood
        }
    }
}
