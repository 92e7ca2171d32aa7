/// What one answer of APNs means for the push, its token, the provider token and the connection it came on. Every decision about
/// sending again starts from here; `ReasonTable` is the only place that makes one.
public enum Verdict: Equatable, Sendable {
    /// APNs took the push. It says nothing about the device.
    case accepted
    /// The device token can take no more pushes. `invalidSinceMillis` (since 1970, with 410 only) is when APNs found out: a token
    /// registered later than that is alive. `suspicious`: the same answer comes for every token when our environment or topic is
    /// wrong, so a token may be dropped only while the share of such answers stays small.
    case tokenDead(invalidSinceMillis: Int64?, suspicious: Bool)
    /// A broadcast named a time up to which it should be kept, on a channel that keeps nothing. Of a push to a phone the same reason
    /// means `messageRefused`.
    case expirationRefused
    /// This request can never succeed; others can.
    case messageRefused
    /// Our credentials, topic or environment are wrong. Stop this route and tell an operator; the push itself may be sent again.
    case credentialRefused
    /// The app's topic is refused, not the key: stop this app on this route and tell an operator; the push itself may be
    /// sent again. `anotherConnectionMayDo`: the first push ties a connection to the topics its key has then, so one that is newer
    /// than the app may take it.
    case topicRefused(anotherConnectionMayDo: Bool)
    /// The provider token is too old: make a new one, close this connection, send again.
    case providerTokenExpired
    /// The provider token was renewed too often: keep the one before, send again later.
    case providerTokenTooManyUpdates
    /// Too many pushes in a row to this device token: later, this one alone.
    case tokenThrottled
    /// APNs cannot serve now: later, with backoff for the whole route.
    case serverBusy
    /// This connection is of no more use: send again on a new one.
    case connectionUnusable
}
