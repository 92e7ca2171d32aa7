import DeviceModel
import PushEngine

/// One activity, channel or audience as phones and its publisher see it.
struct SimulatedPhone {
    let key: String
    let keyBytes: [UInt8]
    var device = Device()
    /// The activity's newest update token, or the channel's id. APNs accepts it unless `isTokenDead`. `nil`: the app
    /// has no token yet.
    var token: String?
    var startToken: String?
    /// Whether APNs takes no more pushes for the token, and the app has no other token yet.
    var isTokenDead = false
    /// Whether a token of this activity has died or was replaced.
    var hasLostToken = false
    /// Whether the app has not uploaded its newest token yet, or will upload it again.
    var hasTokenToUpload = false
    var hasFrequentUpdates = false
    /// Whether an update or end was written about the activity. For an audience, a start counts too. No start of an
    /// activity is written after that.
    var hasEvents = false
    var hasStarted = false
    var tokenCount = 0
    /// Timestamp of the newest event written, in seconds. The next timestamp is drawn near it.
    var lastEventSeconds: Int64
    /// Events whose content the phone has shown, in order.
    var shown: [Shown] = []
    /// The channel, if this is one. The phone `device` always listens on it, and a second phone is sometimes off.
    var channel: SimulatedChannel?
    /// The audience, if this is one. Its members are in `SimulationWorld.members`, and its start members in `starters`.
    var audience: SimulatedAudience?

    init(key: String, lastEventSeconds: Int64) {
        self.key = key
        self.keyBytes = Array(key.utf8)
        self.lastEventSeconds = lastEventSeconds
    }

    struct Shown {
        var event: Int
        /// Whether the worker that sent the event may not have known what the former owner had sent.
        var isBehind: Bool
        /// Whether the event is an update. Only updates must be shown in order of their timestamps. A start puts up a
        /// new card, and an end is always shown.
        var isUpdate: Bool
    }
}

/// One event as the upstream service wrote it. The judge compares pushes and outcomes with it.
struct WrittenEvent {
    enum Kind { case register, start, update, end, malformed, join, leave, open }
    var kind: Kind
    var activity: Int
    var timestampSeconds: Int64
    /// The payload of a push that has only this event's content and alert.
    var body: String
    var isHighPriority: Bool
    /// When the event expires. `nil`: it expires together with its activity.
    var expiresSeconds: Int64?
    /// When the event was written, by the world's steady clock.
    var writtenMillis: Int64 = 0
    /// When the event was written, by the world's wall clock.
    var writtenWallMillis: Int64 = 0
    /// Whether the event was written twice. The judge cannot tell from which of the two records a push was made.
    var hasCopy = false
    /// The token that the event registers.
    var token: String?
    /// Whether the event says `"alert": null`.
    var withdrawsAlert = false
    /// Index into the order in which events were written.
    var number = 0
    /// The member that joins or leaves.
    var member: Int?
    /// The start member that joins or leaves.
    var starter: Int?
    /// Index of the join or leave among the movements of `member` or `starter`.
    var movement = 0
    /// Whether the event is an audience's, and workers had read all of `routed` when it was written. The owner then
    /// knew every partition that had asked for versions.
    var isHeard = false

    /// Whether the event is a start, update or end.
    var isContent: Bool {
        switch self.kind {
        case .start, .update, .end: true
        case .register, .malformed, .join, .leave, .open: false
        }
    }
}
