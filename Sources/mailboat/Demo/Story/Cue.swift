/// One thing that happens in the story, and when.
struct Cue: Sendable {
    /// Milliseconds since the curtain rose; negative: before.
    var atMillis: Int
    var action: Action

    enum Action: Sendable {
        /// A backend publishes a record.
        case publish(Publication)
        /// The app on a phone was given another token; APNs answers 410 for the old one from now on.
        case rotateToken(from: String, to: String)
        /// The app was removed from the phone: 410.
        case killToken(String)
        /// APNs never issued this token: 400.
        case disownToken(String)
        /// Once the card of `startToken` is on the phone, the activity gets its update token and the backend publishes it.
        case registerOnceStarted(startToken: String, updateToken: String, Publication)
        /// APNs asks the worker to leave its connections, with requests under way.
        case goAway
        /// A line for the audience.
        case say(String)
    }
}

/// One record, what the phone is to make of it, and what may become of it.
struct Publication: Sendable {
    /// Whose it is; also the record's key unless `key` says otherwise.
    var activity: String
    /// The record's key: `.some(nil)` is a record without a key.
    var key: [UInt8]??
    var value: [UInt8]
    /// What the phone would be told by this record on its own; `nil`: nothing (a registration, or a record that is set aside).
    var event: StoryEvent?
    /// The token by which the phone is reached from now on; `nil`: as before.
    var token: String?
    /// `true`: put on a partition that is not the key's, as a client with another partitioner would.
    var isMisplaced = false
    /// Every outcome record of this event must be one of these.
    var outcomes: Set<String>

    /// What may become of an event that reaches the phone: it was sent, or a newer one was sent in its place.
    static let reachesThePhone: Set<String> = ["delivered", "superseded"]

    /// An event the phone is to know.
    init(_ activity: String, _ event: StoryEvent, isMisplaced: Bool = false) {
        self.activity = activity
        self.value = event.value
        self.event = event
        self.token = event.startToken
        self.isMisplaced = isMisplaced
        self.outcomes = Self.reachesThePhone
    }

    /// A registration.
    init(_ activity: String, _ registration: StoryRegistration) {
        self.activity = activity
        self.value = registration.value
        self.event = nil
        self.token = registration.token
        self.outcomes = ["applied"]
    }

    /// A record that does not reach a phone, and why.
    init(_ activity: String, setAside value: [UInt8], as outcomes: Set<String>, key: [UInt8]?? = .none) {
        self.activity = activity
        self.key = key
        self.value = value
        self.event = nil
        self.outcomes = outcomes
    }
}
