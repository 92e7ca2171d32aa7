/// What one answer of APNs means for the push, its token, the provider token and the connection that it arrived on.
/// Every decision to send again is based on a verdict. Only `ReasonTable` makes them.
public enum Verdict: Equatable, Sendable {
    /// APNs accepted the push. This says nothing about the device.
    case accepted
    /// The device token can take no more pushes. `invalidSinceMillis` (since 1970, with 410 only) is when APNs found
    /// out: a token registered later than that is alive. `suspicious`: every token gets the same answer when our
    /// environment or topic is wrong. Such a token may be dropped only while the share of these answers stays small.
    case tokenDead(invalidSinceMillis: Int64?, suspicious: Bool)
    /// A broadcast asked to be stored, on a channel that stores nothing. For a push to a phone the same reason means
    /// `messageRefused`.
    case expirationRefused
    /// This request can never succeed; others can.
    case messageRefused
    /// Our credentials, topic or environment are wrong. Stop this route and alert an operator; the push itself may be
    /// sent again.
    case credentialRefused
    /// The app's topic is refused, not the key. Stop this app on this route and alert an operator; the push itself may
    /// be sent again. `anotherConnectionMayDo`: the first push ties a connection to the topics that its key has then,
    /// so a connection newer than the app may accept it.
    case topicRefused(anotherConnectionMayDo: Bool)
    /// The provider token is too old: make a new one, close this connection, send again.
    case providerTokenExpired
    /// The provider token was renewed too often: keep the previous token, send again later.
    case providerTokenTooManyUpdates
    /// This device token got too many pushes in a row. Send this push later; others are not affected.
    case tokenThrottled
    /// APNs cannot serve now. Send later, with backoff for the whole route.
    case serverBusy
    /// This connection can no longer be used. Send again on a new one.
    case connectionUnusable
}
