public import DeviceModel

/// Counts of what many phones, perhaps a million, show and have received. A card was put up by one start, or belongs to
/// an activity that its app started.
public struct DeviceSummary: Sendable {
    /// Cards that show the same content.
    public struct Shown: Sendable {
        /// Number of cards.
        public var cards: Int
        /// The state that the cards are in.
        public var card: DeviceModel.Shown.Card
        /// The newest stamp applied, seconds since 1970; `nil`: no stamp was applied yet.
        public var stampSeconds: Int64?
        /// The bytes of the `content-state`, and their hash. The bytes are empty if the example received something
        /// newer after it was counted.
        public var contentState: [UInt8]
        public var contentHash: UInt64
        /// The bytes of the `attributes`; empty without a `start`.
        public var attributes: [UInt8]
        /// A token of one of the cards, hex.
        public var example: String
    }

    /// Cards that have shown the same alerts in the same order.
    public struct Alerted: Sendable {
        /// Number of cards.
        public var cards: Int
        /// Number of alerts that each card has shown.
        public var alerts: Int
        /// Hash of these alerts in their order.
        public var hash: UInt64
        /// The bytes of the newest alert; empty if no alert was shown.
        public var newest: [UInt8]
        /// A token of one of the cards, hex.
        public var example: String
    }

    /// The largest or smallest value of something, and a token (hex) that has it.
    public struct Extreme: Equatable, Sendable {
        public var value: Int64
        public var token: String

        public init(value: Int64, token: String) {
            self.value = value
            self.token = token
        }
    }

    /// A token that differs from most, or exceeds a limit of the query.
    public struct Differing: Equatable, Sendable {
        /// How the token differs.
        public enum Way: String, Sendable, CaseIterable {
            /// A card shows other content than most cards.
            case shown
            /// A card has shown other alerts than most cards.
            case alerts
            /// Two pushes were closer than `leastDistanceMillis`.
            case distance
            /// More than `inFlightMax` pushes were unanswered at once.
            case inFlight
            /// More than `highPriorityPerHourMax` pushes at priority 10 went to a card in an hour.
            case highPriority
            /// More than `startsPerHourMax` starts arrived in an hour.
            case starts
            /// The token's starts put up more than `cardsMax` cards.
            case cards
            /// A card received more than `bothWaysMax` updates both over its channel and by its token.
            case bothWays
        }
        /// The token in lower-case hex.
        public var token: String
        /// The ways in which the token differs, at least one.
        public var ways: [Way]

        public init(token: String, ways: [Way]) {
            self.token = token
            self.ways = ways
        }
    }

    /// Tokens looked at.
    public internal(set) var tokens = 0
    /// Tokens that were asked for and are unknown.
    public internal(set) var unknownTokens = 0
    /// Tokens by state. Tokens that are not alive are counted here only.
    public internal(set) var states: [TokenState: Int] = [:]
    /// Cards looked at. A push-to-start token has the cards that its starts put up, or one untouched card.
    public internal(set) var cards = 0
    /// What the cards show, most frequent first.
    public internal(set) var shown: [Shown] = []
    /// Cards that count for no entry of `shown`, because too few cards show the same content.
    public internal(set) var cardsShownOtherwise = 0
    /// Which alerts the cards have shown, most frequent first.
    public internal(set) var alerts: [Alerted] = []
    /// Cards that count for no entry of `alerts`, because too few cards have shown the same alerts.
    public internal(set) var cardsAlertedOtherwise = 0
    /// Cards that listen to a channel.
    public internal(set) var listening = 0
    /// Messages of channels that reached cards.
    public internal(set) var messages = 0
    /// Pushes that were answered 200.
    public internal(set) var pushes = 0
    /// The least and the largest number of accepted pushes to one token.
    public internal(set) var fewestPushes: Extreme?
    public internal(set) var mostPushes: Extreme?
    /// The least time between two accepted pushes to one token, in milliseconds; `nil`: no token received two.
    public internal(set) var leastDistanceMillis: Extreme?
    /// The most pushes to one token that were unanswered at once.
    public internal(set) var mostInFlight: Extreme?
    /// The most pushes at priority 10 to one card in any rolling hour.
    public internal(set) var mostHighPriorityPerHour: Extreme?
    /// The most starts with one token in any hour that ends with a start.
    public internal(set) var mostStartsPerHour: Extreme?
    /// Number of push-to-start tokens by the number of cards that their starts put up.
    public internal(set) var phonesByCards: [Int: Int] = [:]
    /// Starts that were over the budget.
    public internal(set) var startsOverBudget = 0
    /// The first tokens that differ.
    public internal(set) var differing: [Differing] = []
    /// Number of all tokens that differ.
    public internal(set) var differingCount = 0
}

/// What a `DeviceSummary` covers, and the limits that it checks.
public struct SummaryQuery: Sendable {
    /// Only tokens that begin with these hex digits.
    public var prefix = ""
    /// Only tokens of this kind. `nil`: all tokens, each card once. An update token is then left out while the
    /// push-to-start token of its card is alive.
    public var kind: TokenKind?
    /// Least time between two pushes to a token, in milliseconds. A token with closer pushes differs. `nil`: not
    /// checked.
    public var leastDistanceMillis: Int64?
    /// Maximum number of pushes in flight to a token at once. A token with more differs.
    public var inFlightMax = 1
    /// Maximum number of pushes at priority 10 to a card in an hour. A token with more differs. `nil`: not checked.
    public var highPriorityPerHourMax: Int?
    /// Maximum number of starts with a push-to-start token in an hour. A token with more differs. `nil`: not checked.
    public var startsPerHourMax: Int?
    /// Maximum number of cards that the starts of a push-to-start token put up. A token with more differs.
    public var cardsMax = 1
    /// Maximum number of updates that a card received both over its channel and by its token. A token with more
    /// differs. `nil`: not checked.
    public var bothWaysMax: Int?
    /// Maximum number of groups of cards that are listed.
    public var groupsMax = 32
    /// Maximum number of differing tokens that are listed.
    public var differingMax = 100

    /// Creates a query about all tokens.
    public init() {}
}
