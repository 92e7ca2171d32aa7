public import DeviceModel

/// What many phones show and got, counted: for a judge of a million of them. A card is what one start put up, or an activity that its app started.
public struct DeviceSummary: Sendable {
    /// Cards that show the same.
    public struct Shown: Sendable {
        /// How many.
        public var cards: Int
        /// How they stand.
        public var card: DeviceModel.Shown.Card
        /// The newest stamp applied, seconds since 1970; `nil`: none yet.
        public var stampSeconds: Int64?
        /// The bytes of the `content-state`, and their name. No bytes: the example has got something newer since it was counted.
        public var contentState: [UInt8]
        public var contentHash: UInt64
        /// The bytes of the `attributes`; empty without a `start`.
        public var attributes: [UInt8]
        /// A token of one of them, hex.
        public var example: String
    }

    /// Cards that have shown the same alerts in the same order.
    public struct Alerted: Sendable {
        /// How many.
        public var cards: Int
        /// Alerts that each has shown.
        public var alerts: Int
        /// Names these alerts and their order.
        public var hash: UInt64
        /// The bytes of the newest alert; empty without any.
        public var newest: [UInt8]
        /// A token of one of them, hex.
        public var example: String
    }

    /// The most, or least, of something, and a token (hex) that has it.
    public struct Extreme: Equatable, Sendable {
        public var value: Int64
        public var token: String

        public init(value: Int64, token: String) {
            self.value = value
            self.token = token
        }
    }

    /// A token that is not as most are, or passes a limit of the query.
    public struct Differing: Equatable, Sendable {
        /// How it differs.
        public enum Way: String, Sendable, CaseIterable {
            /// A card shows something else than most.
            case shown
            /// A card has shown other alerts than most.
            case alerts
            /// Two pushes were closer than `leastDistanceMillis`.
            case distance
            /// More than `inFlightMax` pushes were unanswered at once.
            case inFlight
            /// More than `highPriorityPerHourMax`.
            case highPriority
            /// More than `startsPerHourMax`.
            case starts
            /// More than `cardsMax`.
            case cards
            /// More than `bothWaysMax` times a card got over its channel and by its token.
            case bothWays
        }
        /// Lower-case hex.
        public var token: String
        /// At least one.
        public var ways: [Way]

        public init(token: String, ways: [Way]) {
            self.token = token
            self.ways = ways
        }
    }

    /// Tokens looked at.
    public internal(set) var tokens = 0
    /// Tokens that were asked for and that nobody has seen.
    public internal(set) var unknownTokens = 0
    /// Tokens by what they are good for. Of those that are not alive nothing else is counted.
    public internal(set) var states: [TokenState: Int] = [:]
    /// Cards looked at: of a push-to-start token all that its starts put up, or one that is untouched.
    public internal(set) var cards = 0
    /// What the cards show, most frequent first.
    public internal(set) var shown: [Shown] = []
    /// Cards that show something that too few show to be listed.
    public internal(set) var cardsShownOtherwise = 0
    /// Which alerts the cards have shown, most frequent first.
    public internal(set) var alerts: [Alerted] = []
    /// Cards with alerts that too few had to be listed.
    public internal(set) var cardsAlertedOtherwise = 0
    /// Cards that listen to a channel, and messages of channels that reached cards.
    public internal(set) var listening = 0
    public internal(set) var messages = 0
    /// Pushes that were answered 200.
    public internal(set) var pushes = 0
    /// The fewest and the most of them to one token.
    public internal(set) var fewestPushes: Extreme?
    public internal(set) var mostPushes: Extreme?
    /// The least time between two of them to one token, milliseconds; `nil`: no token got two.
    public internal(set) var leastDistanceMillis: Extreme?
    /// The most pushes to one token that were unanswered at once.
    public internal(set) var mostInFlight: Extreme?
    /// The most pushes at priority 10 to one card in any rolling hour.
    public internal(set) var mostHighPriorityPerHour: Extreme?
    /// The most starts with one token in any hour that ends with a start.
    public internal(set) var mostStartsPerHour: Extreme?
    /// Push-to-start tokens by how many cards their starts put up.
    public internal(set) var phonesByCards: [Int: Int] = [:]
    /// Starts that were over the budget.
    public internal(set) var startsOverBudget = 0
    /// Tokens that differ, the first of them.
    public internal(set) var differing: [Differing] = []
    /// All tokens that differ.
    public internal(set) var differingCount = 0
}

/// What a `DeviceSummary` is to tell.
public struct SummaryQuery: Sendable {
    /// Only tokens that begin with these hex digits.
    public var prefix = ""
    /// Only tokens of this kind. `nil`: all, each card once: an update token whose push-to-start token is known is left out.
    public var kind: TokenKind?
    /// A token with two pushes that are closer differs, milliseconds. `nil`: not looked at.
    public var leastDistanceMillis: Int64?
    /// A token with more pushes in flight at once differs.
    public var inFlightMax = 1
    /// A token with a card that got more pushes at priority 10 in an hour differs. `nil`: not looked at.
    public var highPriorityPerHourMax: Int?
    /// A push-to-start token with more starts in an hour differs. `nil`: not looked at.
    public var startsPerHourMax: Int?
    /// A push-to-start token whose starts put up more cards differs.
    public var cardsMax = 1
    /// A token with a card that got more both over its channel and by its token differs. `nil`: not looked at.
    public var bothWaysMax: Int?
    /// Groups of cards listed at most.
    public var groupsMax = 32
    /// Tokens listed at most that differ.
    public var differingMax = 100

    /// About all tokens.
    public init() {}
}
