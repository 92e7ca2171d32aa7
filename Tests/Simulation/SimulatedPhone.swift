import DeviceModel
import PushEngine

/// One activity or channel as the outside world sees it. It stands for the phone behind its tokens, or a phone that
/// listens, and for the upstream service that writes its events.
struct SimulatedPhone {
    let key: String
    let keyBytes: [UInt8]
    var device = Device()
    /// The token that APNs accepts for this activity now; `nil` before the app has one.
    var token: String?
    var startToken: String?
    /// Whether APNs no longer takes the token, and the app has no other yet.
    var isTokenDead = false
    /// Whether a token of this activity has died or was replaced.
    var hasLostToken = false
    /// Whether the app has another token that it has not uploaded yet.
    var hasTokenToUpload = false
    var hasFrequentUpdates = false
    /// Whether the app started the activity itself. Then updates may be written before any token is known.
    var hasEvents = false
    var hasStarted = false
    var tokenCount = 0
    /// Time of the newest event written, seconds; the next is drawn around it.
    var lastEventSeconds: Int64
    /// Events whose content the phone has shown, in order.
    var shown: [Shown] = []
    /// The channel, if this is one. This phone always listens on it, and another is off now and then.
    var channel: SimulatedChannel?
    /// The audience, if this is one. Its phones are members, each with its own device.
    var audience: SimulatedAudience?

    init(key: String, lastEventSeconds: Int64) {
        self.key = key
        self.keyBytes = Array(key.utf8)
        self.lastEventSeconds = lastEventSeconds
    }

    struct Shown {
        var event: Int
        /// Whether the event's owner may not have known what the former owner had sent.
        var isBehind: Bool
        /// Whether the event is an update. A start puts up a card of its own, and an end is shown whatever its time.
        var isUpdate: Bool
    }
}

/// One event as it was written, for the judge.
struct WrittenEvent {
    enum Kind { case register, start, update, end, malformed, join, leave, open }
    var kind: Kind
    var activity: Int
    var timestampSeconds: Int64
    /// The payload of this event alone.
    var body: String
    var isHighPriority: Bool
    /// When the event expires. `nil`: only when its activity does.
    var expiresSeconds: Int64?
    /// When it was written, by the world's steady clock.
    var writtenMillis: Int64 = 0
    /// When the record was written, by the world's wall clock.
    var writtenWallMillis: Int64 = 0
    /// Whether the event was written twice. Nobody can tell which of the two records a push shows.
    var hasCopy = false
    /// Token of a registration.
    var token: String?
    /// Whether the event says `"alert": null`.
    var withdrawsAlert = false
    /// Index into the order in which events were written.
    var number = 0
    /// The member that joins or leaves, and the number of its movement.
    var member: Int?
    /// The start member that joins or leaves, and the number of its movement.
    var starter: Int?
    var movement = 0
    /// Whether the owner knew every partition that had asked when the audience's event was written.
    var isHeard = false

    /// Whether the event has content, or ends an activity that has.
    var isContent: Bool {
        switch self.kind {
        case .start, .update, .end: true
        case .register, .malformed, .join, .leave, .open: false
        }
    }
}
