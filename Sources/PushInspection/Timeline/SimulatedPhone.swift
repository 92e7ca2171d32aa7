public import DeviceModel

/// A simulated phone as the page knows it: one activity, and the tokens that led to it.
public struct SimulatedPhone: Sendable {
    /// Counted from 1.
    public let id: Int
    /// The activity it shows; empty: not known, as only pushes to its token were seen.
    public var activity: String
    /// Bundle id; empty: not known yet.
    public var app = ""
    /// In lower-case hex, the newest last. Secrets.
    public var tokens: [String]
    /// The newest token, which the app has told nobody of; `nil`: it has told of all.
    public var untoldToken: String?
    /// What it shows; `nil`: not looked at yet.
    public var shown: Shown?
    /// `content-state` as it is shown; `nil`: nothing is.
    public var content: JSONTree?
    /// How the content is laid out; `nil`: nothing is shown.
    var face: CardFace?
    /// `attributes-type` of the start that put up the card; empty: none did, or it says none.
    public var attributesType = ""
    /// `false`: it is away.
    public var isOnline = true
    /// It starts up, and comes back by itself.
    public internal(set) var isRebooting = false
    /// Id of the broadcast channel that it listens to; `nil`: to none.
    public var channel: String?
    /// Its card was swiped away: the activity is gone.
    public var isSwiped = false
    /// The newest push to it, an entry's id; 0: none.
    public var lastPush = 0
    /// What came of that.
    public var lastVerdict: PushVerdict?
    /// The token that it went to. A secret.
    var lastPushToken = ""
    /// APNs refused it for its token, which is dead.
    var isTokenDead = false
    /// What an event for its activity waits for in the worker; `nil`: none waits.
    var wait: EventWait?
    /// The entry of that event; 0: none waits.
    var waitingEvent = 0
    /// The phone that pushes to its activity go to by now; `nil`: this one.
    var replacedBy: Int?
    /// The newest push that it showed brought an alert.
    public var isAlertNew = false
    /// The content of the newest push, whatever became of it.
    var lastPushed: JSONTree?
    /// The timeline's revision when it last changed.
    public var revision = 0

    init(id: Int, activity: String, token: String) {
        self.id = id
        self.activity = activity
        self.tokens = [token]
    }

    /// The token that is pushed to now, in lower-case hex.
    public var token: String { self.tokens.last ?? "" }
    /// The newest token that the app has told of; empty: none is kept.
    var registeredToken: String { self.tokens.last { $0 != self.untoldToken } ?? "" }
    /// Its card was looked at since a push has put it up.
    var isCardSeen: Bool { self.shown.map { $0.card != .untouched } ?? false }
    /// It gave way to others once, and was asked for again.
    var wasForgotten = false
    /// What is kept when it gives way: all but what can be looked at again.
    var remembered: SimulatedPhone {
        var phone = self
        (phone.shown, phone.content, phone.face, phone.lastPushed) = (nil, nil, nil, nil)
        (phone.wait, phone.waitingEvent, phone.wasForgotten) = (nil, 0, true)
        return phone
    }
    /// What somebody should do something about: it stays in the list when others give way.
    var isInTrouble: Bool {
        guard !self.isSwiped, self.replacedBy == nil, let word = self.lastVerdict?.word else { return false }
        return [.refused, .unanswered, .undecodable, .budget].contains(word)
    }
    /// Most tokens kept of one phone; older ones are forgotten.
    static let tokensMax = 8

    mutating func layOut(by templates: [CardTemplate]) {
        self.face = self.content.map {
            CardFace($0, templates: templates, activity: self.activity, attributesType: self.attributesType)
        }
    }

    /// How the card stands, in one word. A card that was swiped away is dismissed, whatever comes.
    public var card: String { self.isSwiped ? Shown.Card.dismissed.rawValue : self.shown?.card.rawValue ?? "untouched" }
}

extension SimulatedPhone {
    /// What `Timeline.json` tells, without its status.
    func json(dates: [DateLens.Finding]) -> JSONTree {
        let alert = self.shown.flatMap { $0.newestAlert.isEmpty ? nil : try? JSONTree.parse($0.newestAlert) }
        return [
            "id": .integer(self.id), "activity": .string(self.activity), "app": .string(self.app),
            "token": .string(TokenHiding.shortened(self.token)), "online": .bool(self.isOnline),
            "rebooting": .bool(self.isRebooting), "swiped": .bool(self.isSwiped),
            "hasUntoldToken": .bool(self.untoldToken != nil),
            "channel": self.channel.map { .string($0) } ?? .null, "card": .string(self.card),
            "contentState": self.content ?? .null,
            "face": self.face?.json ?? .null,
            "dates": .array(dates.map(\.json)), "alert": alert ?? .null, "isAlertNew": .bool(self.isAlertNew),
            "alertCount": .integer(self.shown?.alertCount ?? 0),
            "staleDate": self.shown?.staleDateSeconds.map { .integer($0) } ?? .null,
            "dismissedAt": self.shown?.dismissedAtSeconds.map { .integer($0) } ?? .null,
            "relevanceScore": self.shown?.relevanceScore.map { .number("\($0)") } ?? .null,
            "lastPush": .integer(self.lastPush),
        ]
    }
}
