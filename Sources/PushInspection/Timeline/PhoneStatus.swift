/// How a phone stands with the newest push to it: a word, a sentence, what is waited for, and what a person can do about it.
///
/// A verdict tells of one push, for good. What follows from it changes with the phone: which token the phone has by now, whether its card was seen,
/// and whether the worker tries again.
public struct PhoneStatus: Equatable, Sendable {
    /// The word that stands first.
    public enum Word: Equatable, Sendable {
        /// The verdict of the newest push, and no more is to be said.
        case verdict(PushVerdict.Word)
        /// The phone took the push, and nobody has looked at its card yet.
        case unseen
        /// APNs did not take the push, and the worker tries again.
        case retrying
        /// APNs refused the token before; the one that is registered by now was not pushed to yet.
        case renewed
        /// Pushes to the activity go to another phone by now.
        case replaced
        /// A newer event is on its way, or nothing was pushed yet and an event waits.
        case pending
        /// A newer event waits until somebody registers a token.
        case needsToken
        /// The card shows what the push brought, and one of its values is probably no date that the app reads as it was meant.
        case doubtfulDate
        /// The card shows what the push brought, and its stale-date is over.
        case stale
        /// The card is gone, whatever it showed before.
        case gone

        /// As the page and the API name it.
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
            case .gone: "gone"
            }
        }

        /// Those that are no verdict.
        static let own: [Word] = [
            .unseen, .retrying, .renewed, .replaced, .pending, .needsToken, .doubtfulDate, .stale, .gone,
        ]
        /// The names of all.
        package static let names: [String] = PushVerdict.Word.allCases.map(\.rawValue) + Self.own.map(\.name)
    }

    /// What a person can do about it. The page has a button for each.
    public enum Remedy: Equatable, Sendable {
        /// The app tells its server the token that it has told nobody of.
        case registerToken
        /// The app is given another token, and tells its server.
        case renewToken
        /// This event is published once more: an entry's id.
        case sendAgain(entry: Int)
        /// A Swift type that decodes the content of this push is copied: an entry's id. Only where nobody has said what the app's type is.
        case copySwift(entry: Int)

        /// As the page and the API name it.
        var action: String {
            switch self {
            case .registerToken: "register-token"
            case .renewToken: "renew-token"
            case .sendAgain: "send-again"
            case .copySwift: "copy-swift"
            }
        }

        /// The names of all.
        package static let actions: [String] =
            [Remedy.registerToken, .renewToken, .sendAgain(entry: 0), .copySwift(entry: 0)].map(\.action)
    }

    /// The word that stands first.
    public var word: Word
    /// One sentence or two.
    public var text: String
    /// What the activity's newest event without an outcome waits for; `nil`: none waits.
    public var wait: EventWait?
    /// What a person can do about it, the best first.
    public var remedies: [Remedy] = []

    init(_ word: Word, _ text: String, wait: EventWait?, remedies: [Remedy] = []) {
        (self.word, self.text, self.wait, self.remedies) = (word, text, wait, remedies)
    }
}

extension PhoneStatus {
    /// For the page and the API.
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
        case .registerToken, .renewToken: ["action": .string(self.action)]
        case .sendAgain(let entry), .copySwift(let entry):
            ["action": .string(self.action), "entry": .integer(entry)]
        }
    }
}
