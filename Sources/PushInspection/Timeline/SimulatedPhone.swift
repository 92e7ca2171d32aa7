public import DeviceModel

/// A simulated phone as the page knows it: one activity, and the tokens that led to it.
public struct SimulatedPhone: Sendable {
    /// The start that puts up the card.
    public struct Start: Sendable {
        /// The push-to-start token, in lower-case hex. It names the device, which may have other cards. A secret.
        public var token: String
        /// The content of the start.
        var content: JSONTree?
        /// `apns-id` of the newest attempt to push it; empty: none was seen.
        public var messageID = ""
    }

    /// Number of the phone, counted from 1.
    public let id: Int
    /// The activity that the phone shows; empty: not known, because only pushes to its token were seen.
    public var activity: String
    /// Bundle id; empty: not known yet.
    public var app = ""
    /// Tokens in lower-case hex, the newest last. Secrets.
    public var tokens: [String]
    /// The newest token, if the app has not reported it; `nil`: the app has reported all.
    public var unreportedToken: String?
    /// The start that puts up the card; `nil`: no push puts it up, or the phone is a member of an audience.
    public internal(set) var start: Start?
    /// Whether the app has the card's update token and waits to report it until its activity is known.
    var owesToken = false
    /// What the phone shows; `nil`: not looked at yet.
    public var shown: Shown?
    /// The `content-state` as shown; `nil`: nothing is shown.
    public var content: JSONTree?
    /// How the content is laid out; `nil`: nothing is shown.
    var face: CardFace?
    /// `attributes` of the newest start that was pushed to the phone; `nil`: none was.
    var attributes: JSONTree?
    /// `attributes-type` of the start that put up the card; empty: no start did, or it names none.
    public var attributesType = ""
    /// Whether the phone is online.
    public var isOnline = true
    /// Whether the phone is starting up. It comes online by itself.
    public internal(set) var isRebooting = false
    /// Id of the broadcast channel that the phone listens to; `nil`: none.
    public var channel: String?
    /// Whether the card was swiped away, which ends the activity.
    public var isSwiped = false
    /// Whether the card is gone because the app was removed.
    public internal(set) var isAppRemoved = false
    /// Id of the entry of the newest push to the phone; 0: none.
    public var lastPush = 0
    /// Id of the entry of the newest push that the phone showed; 0: none.
    var lastShownPush = 0
    /// The result of the newest push.
    public var lastVerdict: PushVerdict?
    /// The token of the newest push. A secret.
    var lastPushToken = ""
    /// Whether APNs refused the newest push because the push's token is dead.
    var isTokenDead = false
    /// What an event for the activity waits for in the worker; `nil`: no event waits.
    public internal(set) var wait: EventWait?
    /// Id of the entry of the event that waits in the worker; 0: no event waits.
    var waitingEvent = 0
    /// The phone that now receives pushes to the activity; `nil`: this one.
    public internal(set) var replacedBy: Int?
    /// Whether the server has unregistered the activity since the phone's token was last registered.
    var isUnregistered = false
    /// Id of the entry of the push that APNs keeps for the phone; 0: none.
    var keptPush = 0
    /// Whether the newest push that the phone showed brought an alert.
    public var isAlertNew = false
    /// The content of the newest push, whatever its result.
    var lastPushed: JSONTree?
    /// The timeline's revision when the phone last changed.
    public var revision = 0

    init(id: Int, activity: String, token: String) {
        self.id = id
        self.activity = activity
        self.tokens = [token]
    }

    /// The current token, in lower-case hex.
    public var token: String { self.tokens.last ?? "" }
    /// The newest token that the app has reported; empty: none is kept.
    var registeredToken: String { self.tokens.last { $0 != self.unreportedToken } ?? "" }
    /// The token that the app and its server can register now: a new one, or the one that was unregistered. `nil`:
    /// there is none. An unregistered token does not count after a swipe or a replacement.
    public var tokenToRegister: String? {
        self.unreportedToken ?? (self.isUnregistered && !self.isSwiped && self.replacedBy == nil ? self.token : nil)
    }
    /// Whether the card was looked at after a push put it up.
    var isCardSeen: Bool { self.shown.map { $0.card != .untouched } ?? false }
    /// Whether the start's push has put up the card, or waits for the phone.
    var isCardStarted: Bool { [.shown, .waiting].contains(self.lastVerdict?.word) || self.tokens.count > 1 }
    /// Whether the phone gave way to others once, and was asked for again.
    public internal(set) var wasForgotten = false
    /// What is kept when the phone gives way: everything that cannot be looked at again.
    var remembered: SimulatedPhone {
        var phone = self
        (phone.shown, phone.content, phone.face, phone.lastPushed) = (nil, nil, nil, nil)
        (phone.wait, phone.waitingEvent, phone.wasForgotten) = (nil, 0, true)
        return phone
    }
    /// Whether somebody should do something about the phone. Such a phone stays when others give way.
    var isInTrouble: Bool {
        guard !self.isSwiped, self.replacedBy == nil else { return false }
        if self.wait?.isLeftToTheWorker == false { return true }
        guard let word = self.lastVerdict?.word else { return false }
        return [.refused, .unanswered, .undecodable, .budget].contains(word)
    }
    /// Maximum number of tokens that are kept for one phone. Older ones are forgotten.
    static let tokensMax = 8

    mutating func layOut(by templates: [CardTemplate]) {
        self.face = self.content.map {
            CardFace($0, templates: templates, activity: self.activity, attributesType: self.attributesType)
        }
    }

    /// State of the card in one word. A card that was swiped away stays dismissed.
    public var card: String { self.isSwiped ? Shown.Card.dismissed.rawValue : self.shown?.card.rawValue ?? "untouched" }
}

extension SimulatedPhone {
    /// The phone as JSON for `Timeline.json`, without its status.
    /// - Parameter dates: the dates in what the card shows and in the attributes of its start.
    func json(dates: [DateLens.Finding]) -> JSONTree {
        let alert = self.shown.flatMap { $0.newestAlert.isEmpty ? nil : try? JSONTree.parse($0.newestAlert) }
        return [
            "id": .integer(self.id), "activity": .string(self.activity), "app": .string(self.app),
            "token": .string(TokenHiding.shortened(self.token)),
            "tokenHash": .string(TokenHiding.hash(self.token)), "online": .bool(self.isOnline),
            "rebooting": .bool(self.isRebooting), "swiped": .bool(self.isSwiped),
            "appRemoved": .bool(self.isAppRemoved),
            "hasUntoldToken": .bool(self.unreportedToken != nil),
            "channel": self.channel.map { .string($0) } ?? .null, "card": .string(self.card),
            "contentState": self.content ?? .null,
            "face": self.face?.json(dates: dates.filter { !$0.isInAttributes }) ?? .null,
            "dates": .array(dates.map(\.json)), "alert": alert ?? .null,
            "alertText": alert.map { AlertText($0).json } ?? .null, "isAlertNew": .bool(self.isAlertNew),
            "alertCount": .integer(self.shown?.alertCount ?? 0),
            "staleDate": self.shown?.staleDateSeconds.map { .integer($0) } ?? .null,
            "dismissedAt": self.shown?.dismissedAtSeconds.map { .integer($0) } ?? .null,
            "relevanceScore": self.shown?.relevanceScore.map { .number("\($0)") } ?? .null,
            "replacedBy": self.replacedBy.map { .integer($0) } ?? .null,
            "lastPush": .integer(self.lastPush), "waitingEvent": .integer(self.waitingEvent),
        ]
    }
}
