/// What the phone shows at one moment.
public struct Shown: Equatable, Sendable {
    /// The state of a card.
    public enum Card: String, Sendable, CaseIterable {
        /// No push has been shown on the card yet.
        case untouched
        /// A card is up, and its content is not outdated.
        case active
        /// The card is active, and past its stale date: the system marks it as outdated.
        case stale
        /// The card has ended and is still on the Lock Screen.
        case ended
        /// The card has ended and is gone.
        case dismissed
    }
    /// The card's state at that moment.
    public var card: Card
    /// Bytes of the `content-state`.
    public var contentState: [UInt8]
    /// `relevance-score` of the content shown; `nil` if it has none.
    public var relevanceScore: Double?
    /// Stale date, seconds since 1970; `nil` for none.
    public var staleDateSeconds: Int64?
    /// When an ended card leaves or left, seconds since 1970; `nil` while it lives.
    public var dismissedAtSeconds: Int64?
    /// Bytes of the newest alert object; empty when there was none.
    public var newestAlert: [UInt8]
    /// Number of alerts shown so far.
    public var alertCount: Int
}

extension Device {
    /// What the phone shows at `nowSeconds`, seconds since 1970.
    public func shown(atSeconds nowSeconds: Int64, rules: DeviceRules = DeviceRules()) -> Shown {
        Shown(
            card: self.status(atSeconds: nowSeconds, rules: rules), contentState: self.contentState,
            relevanceScore: self.relevanceScore, staleDateSeconds: self.staleDateSeconds,
            dismissedAtSeconds: self.ending(atSeconds: nowSeconds, rules: rules), newestAlert: self.alerts.last ?? [],
            alertCount: Int(self.alertCount))
    }

    /// The card's state at `nowSeconds`, seconds since 1970.
    public func status(atSeconds nowSeconds: Int64, rules: DeviceRules = DeviceRules()) -> Shown.Card {
        switch self.phase {
        case .untouched: return .untouched
        case .active, .ended, .endedBySystem:
            if let ended = self.ending(atSeconds: nowSeconds, rules: rules) {
                return nowSeconds >= ended ? .dismissed : .ended
            }
            guard let stale = self.staleDateSeconds, nowSeconds >= stale else { return .active }
            return .stale
        }
    }
}
