import APNSProtocol
import PushModel

/// What an outcome record says besides the event and its outcome (contract: What an outcome says).
struct OutcomeDetails {
    /// Why the event got its outcome, if APNs gave no reason.
    enum Cause {
        case none
        /// `state` says that the event was applied, so the event is a replay.
        case replay
        case afterEnd
        case alreadyStarted
        /// The event is older than what the device already shows.
        case older
        case noToken
        case deadToken
        /// The token is dead. An earlier attempt, perhaps of a former owner, may have reached the device.
        case deadTokenMayBeSent
        /// APNs has refused the token, and the removal guard doubts the refusal.
        case doubtedToken
        /// The token is doubted. An earlier attempt, perhaps of a former owner, may have reached the device.
        case doubtedTokenMayBeSent
        /// The channel is gone, and cannot get another id.
        case channelGone
        /// The channel is kept for an audience. If the audience's id is known, `reason` has it.
        case channelKept
        case expires
        case lifeOver
        case startExpired
        /// The update is stale, and its app treats a stale date as an expiry.
        case updateStale
        /// The start is stale: a phone would show no card.
        case startStale
        case mayBeSent
        /// An attempt, perhaps of a former owner, may have reached the device before the event was superseded.
        case mayBeSentBefore
        /// `"alert": null` arrived before the alert of the superseded event was sent; the event may have taken that
        /// alert over from an older event.
        case alertWithdrawn

        /// The standing of the refused token that is the cause; `nil`: the cause is not a refused token.
        var refusedToken: TokenStanding? {
            switch self {
            case .deadToken, .deadTokenMayBeSent: .dead
            case .doubtedToken, .doubtedTokenMayBeSent: .doubted
            default: nil
            }
        }

        /// The cause that replaces this one if an attempt may have reached the device. The event's outcome is then
        /// `unknown`.
        var ifMayBeSent: Self {
            switch self {
            case .deadToken: .deadTokenMayBeSent
            case .doubtedToken: .doubtedTokenMayBeSent
            default: .mayBeSent
            }
        }

        /// The cause in words.
        /// - Parameter kind: kind of the slot that the event is about.
        func text(of kind: SlotKind) -> StaticString? {
            switch self {
            case .none: nil
            case .replay: "replayed: already applied"
            case .afterEnd:
                switch kind {
                case .activity: "the activity has ended"
                case .channel: "an end was broadcast on the channel"
                case .audience: "the audience has ended"
                }
            case .alreadyStarted:
                kind == .audience
                    ? "the audience was already started and has not ended"
                    : "the activity was already started and has not ended"
            case .older: "older than an event that was already accepted"
            case .noToken: "no token was registered in time"
            case .deadToken: "the token is dead and no other was registered in time"
            case .deadTokenMayBeSent:
                "the token is dead; an attempt whose answer is not known may have reached the device before it died"
            case .doubtedToken: "APNs refuses many tokens, this one too, and no other was registered in time"
            case .doubtedTokenMayBeSent:
                "APNs refuses many tokens, this one too; an attempt whose answer is not known may have reached the device before"
            case .channelGone: "APNs has said that the channel does not exist"
            case .channelKept:
                "to.channel names a channel that is kept for an audience: expected to.audience"
            case .expires: "was not sent before its expires"
            case .lifeOver:
                switch kind {
                case .activity: "the activity's life is over"
                case .channel: "nothing has come for the channel for too long"
                case .audience: "the audience's life is over"
                }
            case .startExpired: "the start was not sent in time"
            case .updateStale: "was not sent before its stale-date"
            case .startStale: "the start was not sent before its stale-date: a phone shows no card that begins stale"
            case .mayBeSentBefore: "gave way; an attempt whose answer is not known may have reached the device before"
            case .alertWithdrawn: "its alert was withdrawn"
            case .mayBeSent: "not sent again; an attempt whose answer is not known may have reached the device"
            }
        }
    }
    var cause = Cause.none
    /// APNs' status; 0: no answer.
    var status: UInt16 = 0
    /// APNs' reason, what happened to the connection, or what is wrong with the record.
    var reason = ""
    var apnsMicros: Int64 = -1
    // Details of the push attempt, if there was one.
    var hasPush = false
    var apnsID: (UInt64, UInt64) = (0, 0)
    var tokenHash: UInt64 = 0
    /// What APNs had said about the token. `former`: the push went to the previous token, because APNs had refused the
    /// newest one. `dead`, `doubted`: the event was given up, because APNs had refused the token.
    var tokenStanding = TokenStanding.usable
    /// Whether the record has a token's hash although there was no push. It is then the hash of the token that the
    /// event was about.
    var hasTokenHash = false
    /// Hash of the token that a registration replaced and to which APNs had accepted pushes; `nil`: there was no such
    /// token.
    var replacedTokenHash: UInt64?
    /// `aps.timestamp` of the version that an audience's event became; 0: none.
    var versionStampSeconds: Int64 = 0
    var priority = PushPriority.low
    var mergedCount: UInt32 = 0
    var queuedMillis: Int64 = -1
    // Details of a superseded event.
    var into: SourcePosition?
    var keepsAlert = false
    var keepsPriority = false

    init(cause: Cause = .none) { self.cause = cause }

    init(answer: PushAnswer, status: UInt16, reason: String) {
        self.status = status
        self.reason = reason
        self.apnsMicros = answer.apnsMicros
    }

    /// The reason given to a publisher that sent to a channel which is kept for an audience.
    static func reason(keptFor audience: [UInt8]) -> String {
        let name = String(decoding: audience, as: UTF8.self)
        return
            "to.channel names the channel that is kept for audience \"\(name)\": expected \"to\": {\"audience\": \"\(name)\"}"
    }

    /// States the event's time and the accepted time in the reason, if the cause is `older` and the event's time is the
    /// earlier one.
    mutating func explainAge(of timestampSeconds: Int64, accepted: Int64) {
        guard self.cause == .older, timestampSeconds < accepted, let text = self.cause.text(of: .activity) else {
            return
        }
        self.reason = "\(text): its timestamp is \(timestampSeconds), and \(accepted) was accepted before"
    }

    mutating func fill(tokenHash: UInt64) {
        self.hasTokenHash = true
        self.tokenHash = tokenHash
    }

    mutating func fill(from update: borrowing Update) {
        self.hasPush = true
        self.apnsID = update.apnsID
        self.tokenHash = update.tokenHash
        self.tokenStanding = update.isToFormerToken ? .former : .usable
        self.priority = update.sentPriority
        self.mergedCount = update.mergedCount
        self.queuedMillis = update.sentMillis - update.top.takenMillis
    }
}
