/// State of a phone after the newest push to it: a word, a text, what it waits for, and what a person can do about
/// it.
///
/// A verdict describes one push and does not change. A status changes with the phone: with its current token, with
/// whether its card was seen, and with whether the worker tries again.
public struct PhoneStatus: Equatable, Sendable {
    /// The word at the beginning of the status.
    public enum Word: Equatable, Sendable {
        /// The verdict of the newest push; there is nothing to add.
        case verdict(PushVerdict.Word)
        /// The phone took the push, and nobody has looked at its card yet.
        case unseen
        /// APNs did not take the push, and the worker tries again.
        case retrying
        /// APNs refused the old token; nothing was pushed yet to the token that is registered now.
        case renewed
        /// Pushes to the activity now go to another phone.
        case replaced
        /// A newer event is on its way, or nothing was pushed yet and an event waits.
        case pending
        /// Somebody must register a token. An event waits for one, or the app has a new token that nobody registered.
        case needsToken
        /// The card shows what the push brought. The app probably misreads one of its values as a date.
        case doubtfulDate
        /// The card shows what the push brought, and its stale-date has passed.
        case stale
        /// The card shows what the push brought, and has ended.
        case ended
        /// The card is gone, whatever it showed before.
        case gone

        /// The word's name on the page and in the API.
        public var name: String {
            switch self {
            case .verdict(let word): word.rawValue
            case .unseen: "unseen"
            case .retrying: "retrying"
            case .renewed: "renewed"
            case .replaced: "replaced"
            case .pending: "pending"
            case .needsToken: "needs-token"
            case .doubtfulDate: "date?"
            case .stale: "stale"
            case .ended: "ended"
            case .gone: "gone"
            }
        }

        /// The words that are not verdicts.
        static let own: [Word] = [
            .unseen, .retrying, .renewed, .replaced, .pending, .needsToken, .doubtfulDate, .stale, .ended,
            .gone,
        ]
        /// The names of all words.
        package static let names: [String] = PushVerdict.Word.allCases.map(\.rawValue) + Self.own.map(\.name)
    }

    /// What a person can do about the phone's status. The page has a button for each.
    public enum Remedy: Equatable, Sendable {
        /// The app reports its unreported token to its server.
        case registerToken
        /// The app gets another token and reports it to its server.
        case renewToken
        /// The server ends the registration of a card that is gone.
        case unregister
        /// Publishes this event once more. The value is an entry's id.
        case sendAgain(entry: Int)
        /// Copies a Swift type that decodes the content of this push. The value is an entry's id. Offered only if the
        /// app's type is not known.
        case copySwift(entry: Int)

        /// The remedy's name on the page and in the API.
        var action: String {
            switch self {
            case .registerToken: "register-token"
            case .renewToken: "renew-token"
            case .unregister: "unregister"
            case .sendAgain: "send-again"
            case .copySwift: "copy-swift"
            }
        }

        /// The names of all remedies.
        package static let actions: [String] =
            [Remedy.registerToken, .renewToken, .unregister, .sendAgain(entry: 0), .copySwift(entry: 0)].map(\.action)
    }

    /// The word at the beginning of the status.
    public var word: Word
    /// The status in sentences.
    public var text: String
    /// What the activity's newest event without an outcome waits for; `nil`: none waits.
    public var wait: EventWait?
    /// What a person can do about the status, the best first.
    public var remedies: [Remedy] = []

    init(_ word: Word, _ text: String, wait: EventWait?, remedies: [Remedy] = []) {
        (self.word, self.text, self.wait, self.remedies) = (word, text, wait, remedies)
    }
}

extension PhoneStatus {
    /// The status as JSON for the page and the API.
    var json: JSONTree {
        [
            "word": .string(self.word.name), "text": .string(self.text), "wait": self.wait?.json ?? .null,
            "remedies": .array(self.remedies.map(\.json)),
        ]
    }
}

extension PhoneStatus.Remedy {
    var json: JSONTree {
        switch self {
        case .registerToken, .renewToken, .unregister: ["action": .string(self.action)]
        case .sendAgain(let entry), .copySwift(let entry):
            ["action": .string(self.action), "entry": .integer(entry)]
        }
    }
}
