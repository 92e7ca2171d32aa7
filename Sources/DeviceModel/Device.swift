/// One Live Activity on one phone: applies pushes as ActivityKit does, and knows what the phone shows.
///
/// It is the judge of device equivalence. It is a value of 88 bytes plus its content, which devices of one
/// `ContentPool` share. The time is an argument. Rules (Apple's unless marked):
/// - an `update` whose stamp is older than one already applied is ignored with its alert. Apple does not say what
///   happens with equal seconds. Here a push with an equal stamp is ignored as well, so stamps must increase strictly;
/// - `end` is applied whatever its stamp; nothing is applied after it;
/// - content brings its own stale date and relevance: what the newest content does not have is gone. An `end` without
///   content keeps what is shown, and replaces only what it names;
/// - `start` puts up a new card with nothing of the old: a `start` pushed twice shows two cards. A `start` whose stale
///   date has passed puts up no card (this was observed).
public struct Device: Sendable {
    /// Where the activity is in its life.
    public enum Phase: UInt8, Sendable {
        /// No push was shown yet. The app may have started the activity itself, so the first update is shown.
        case untouched
        /// A card is up and takes updates.
        case active
        /// The activity was ended by an `end`.
        case ended
        /// The activity was ended by the system, after `DeviceRules.activeSecondsMax`.
        case endedBySystem
    }

    /// What the phone did with one push.
    public enum Reaction: UInt8, Sendable, CaseIterable {
        /// The phone shows what the push brought.
        case shown
        /// A `start` arrived while another card of this token was up: a second card.
        case shownAsSecondCard
        /// The push has the stamp and the content of the last push, as in a retry. Nothing changes.
        case ignoredRepeat
        /// The push has the stamp of the last push and other content: the sender has lost an update.
        case ignoredSameStamp
        /// The push's stamp is older than one already applied.
        case ignoredOlder
        /// The activity has ended, and the push is not a `start`.
        case ignoredAfterEnd
        /// The stale date of a `start` had passed when it arrived: no card.
        case ignoredStale
        /// The stamp is further ahead than `DeviceRules.futureStampSecondsMax`.
        case ignoredFuture
        /// The push was silently dropped because of a budget: `DeviceRules.budgetPerHour`, or `startBudget` of a
        /// push-to-start token.
        case throttled
    }

    /// Number of newest alerts that are kept. Older alerts are only counted.
    public static let alertsKeptMax = 4

    private var content: CardContent?
    private var shownAlerts: ShownAlerts?
    /// The `start` of the card; `nil` if the app started the activity.
    private var origin: CardOrigin?
    /// When the first push of this card arrived and when the card ended, seconds since 1970, by the clock passed to the
    /// device.
    private var begunSeconds: Int64 = .min
    private var endedSeconds: Int64 = .min
    /// Number of pushes that changed what the phone shows.
    public private(set) var shownCount: UInt32 = 0
    /// Number of pushes that changed nothing, undecodable ones included.
    public private(set) var ignoredCount: UInt32 = 0
    private var hour = RollingHour()
    /// Number of cards put up by `start`.
    public private(set) var cardCount: UInt16 = 0
    /// Where the activity is in its life.
    public private(set) var phase: Phase = .untouched

    /// An activity without pushes.
    public init() {}

    /// The bytes of the `content-state` shown; empty before the first.
    public var contentState: [UInt8] { self.content?.contentState ?? [] }
    /// Hash of the `content-state` shown.
    public var contentHash: UInt64 { self.content?.hash ?? ContentHash.empty }
    /// The newest stamp applied, seconds since 1970; `Int64.min` before the first.
    public var stampSeconds: Int64 { self.content?.stampSeconds ?? .min }
    /// When the content counts as outdated, seconds since 1970; `nil` for never.
    public var staleDateSeconds: Int64? { Self.date(self.content?.staleDate) }
    /// When an ended card must leave, seconds since 1970, from the `end`; `nil` if the system decides.
    public var dismissalDateSeconds: Int64? { Self.date(self.content?.dismissalDate) }
    /// `relevance-score` of the content shown; `nil` if it has none.
    public var relevanceScore: Double? { self.content.flatMap { $0.relevance.isNaN ? nil : $0.relevance } }
    /// The newest alerts shown, oldest first, as the bytes of the alert object.
    public var alerts: [[UInt8]] { self.shownAlerts?.newest ?? [] }
    /// Number of alerts shown.
    public var alertCount: UInt32 { self.shownAlerts?.count ?? 0 }
    /// Hash of all alerts shown, in their order.
    public var alertsHash: UInt64 { self.shownAlerts?.hash ?? ContentHash.empty }
    /// The JSON string `attributes-type` of the `start`, quotes included; empty without a `start`.
    public var attributesType: [UInt8] { self.origin?.attributesType ?? [] }
    /// The JSON object `attributes` of the `start`; empty without a `start`.
    public var attributes: [UInt8] { self.origin?.attributes ?? [] }
    /// Hash of attributes and their type.
    public var attributesHash: UInt64 { self.origin?.hash ?? ContentHash.empty }
    /// Greatest number of pushes at priority 10 that arrived within any rolling hour, shown or not.
    public var highPriorityPeak: Int { Int(self.hour.peak) }

    /// Number of pushes at priority 10 that arrived within the hour ending now.
    public func highPriorityCount(nowMillis: Int64) -> Int { self.hour.count(nowMillis: nowMillis) }

    /// An empty card for a further `start` on the same phone. It continues to count cards and budget.
    public func nextCard() -> Device {
        var card = Device()
        card.cardCount = self.cardCount
        card.hour = self.hour
        return card
    }

    /// Counts a push at priority 10 that another card of the same phone got: they share the phone's budget.
    public mutating func spendOnAnotherCard(nowMillis: Int64) { _ = self.hour.spend(nowMillis: nowMillis) }

    /// Takes one push that APNs accepted.
    /// - Parameters:
    ///   - content: what `PayloadReader` found in `body`.
    ///   - priority: `apns-priority`; 10 spends budget, even if the push is ignored.
    ///   - nowMillis: the phone's clock, milliseconds since 1970.
    @discardableResult
    public mutating func apply(
        _ content: PushContent, body: Span<UInt8>, priority: Int, nowMillis: Int64, rules: DeviceRules = DeviceRules()
    ) -> Reaction {
        var alone = ContentPool()
        return self.apply(
            content, body: body, priority: priority, nowMillis: nowMillis, rules: rules, sharing: &alone)
    }

    /// Takes one push that APNs accepted, for one of many devices that share their content in `pool`.
    @discardableResult
    public mutating func apply(
        _ content: PushContent, body: Span<UInt8>, priority: Int, nowMillis: Int64, rules: DeviceRules,
        sharing pool: inout ContentPool
    ) -> Reaction {
        let spent = priority == 10 ? self.hour.spend(nowMillis: nowMillis) : 0
        let reaction = self.decide(content, body: body, spent: spent, nowSeconds: nowMillis / 1_000, rules: rules)
        switch reaction {
        case .shown, .shownAsSecondCard:
            self.show(content, body: body, nowSeconds: nowMillis / 1_000, sharing: &pool)
            self.shownCount &+= 1
        case .ignoredRepeat, .ignoredSameStamp, .ignoredOlder, .ignoredAfterEnd, .ignoredStale, .ignoredFuture,
            .throttled:
            self.ignoredCount &+= 1
        }
        return reaction
    }

    /// Reads a whole body and takes it. A body that a phone cannot decode changes nothing but the budget.
    @discardableResult
    public mutating func push(
        body: [UInt8], priority: Int, nowMillis: Int64, rules: DeviceRules = DeviceRules()
    ) throws(PayloadFault) -> Reaction {
        let content: PushContent
        do {
            content = try PayloadReader.read(body.span)
        } catch {
            self.undecodable(priority: priority, nowMillis: nowMillis)
            throw error
        }
        return self.apply(content, body: body.span, priority: priority, nowMillis: nowMillis, rules: rules)
    }

    /// Takes a push that the phone could not decode: it spends budget and shows nothing.
    public mutating func undecodable(priority: Int, nowMillis: Int64) {
        if priority == 10 { _ = self.hour.spend(nowMillis: nowMillis) }
        self.ignoredCount &+= 1
    }

    private mutating func decide(
        _ content: PushContent, body: Span<UInt8>, spent: Int, nowSeconds: Int64, rules: DeviceRules
    ) -> Reaction {
        if let lifetime = rules.activeSecondsMax, self.phase == .active, nowSeconds - self.begunSeconds >= lifetime {
            self.phase = .endedBySystem
            self.endedSeconds = self.begunSeconds + lifetime
        }
        if let budget = rules.budgetPerHour, spent > budget { return .throttled }
        if content.event == .start, content.staleDateSeconds ?? .max <= nowSeconds { return .ignoredStale }
        if content.event == .start { return self.phase == .active ? .shownAsSecondCard : .shown }
        switch self.phase {
        case .ended, .endedBySystem: return .ignoredAfterEnd
        case .untouched, .active: break
        }
        if content.event == .end { return .shown }
        if let ahead = rules.futureStampSecondsMax, content.stampSeconds - nowSeconds > ahead { return .ignoredFuture }
        if content.stampSeconds > self.stampSeconds { return .shown }
        if content.stampSeconds < self.stampSeconds { return .ignoredOlder }
        return Bytes.equal(self.contentState, body, content.contentState) ? .ignoredRepeat : .ignoredSameStamp
    }

    private mutating func show(
        _ content: PushContent, body: Span<UInt8>, nowSeconds: Int64, sharing pool: inout ContentPool
    ) {
        switch content.event {
        case .start:
            self.origin = pool.origin(content, body: body)
            self.cardCount &+= 1
            self.begunSeconds = nowSeconds
            self.endedSeconds = .min
            self.content = pool.content(content, body: body)
            self.phase = .active
        case .update:
            if self.phase == .untouched { self.begunSeconds = nowSeconds }
            self.content = pool.content(content, body: body)
            self.phase = .active
        case .end:
            self.endedSeconds = nowSeconds
            self.content = self.lastContent(content, body: body, sharing: &pool)
            self.phase = .ended
        }
        if !content.alert.isEmpty {
            self.shownAlerts = pool.alerts(
                self.shownAlerts, and: content.alert, of: body, keptMax: Self.alertsKeptMax)
        }
    }

    /// The content that is on the card after an `end`.
    private func lastContent(
        _ end: PushContent, body: Span<UInt8>, sharing pool: inout ContentPool
    ) -> CardContent {
        let stampSeconds = max(self.stampSeconds, end.stampSeconds)
        guard end.contentState.isEmpty else {
            var end = end
            end.stampSeconds = stampSeconds
            return pool.content(end, body: body)
        }
        return pool.content(
            of: self.content, stampSeconds: stampSeconds,
            staleDate: end.staleDateSeconds ?? self.content?.staleDate ?? .min,
            dismissalDate: end.dismissalDateSeconds ?? .min,
            relevance: end.relevanceScore ?? self.content?.relevance ?? .nan)
    }

    private static func date(_ seconds: Int64?) -> Int64? { seconds == .min ? nil : seconds }

    /// Whether a card is up and takes updates at `nowSeconds`, seconds since 1970.
    public func isActive(atSeconds nowSeconds: Int64, rules: DeviceRules) -> Bool {
        self.phase == .active && self.ending(atSeconds: nowSeconds, rules: rules) == nil
    }

    /// When the card leaves or left the Lock Screen, seconds since 1970: its dismissal date, at most 4 h after the end.
    /// `nil` while it lives.
    func ending(atSeconds nowSeconds: Int64, rules: DeviceRules) -> Int64? {
        var ended = self.endedSeconds
        if let lifetime = rules.activeSecondsMax, self.phase == .active, nowSeconds - self.begunSeconds >= lifetime {
            ended = self.begunSeconds + lifetime
        }
        guard ended != .min else { return nil }
        return min(self.dismissalDateSeconds ?? .max, ended + DeviceRules.endedShownSecondsMax)
    }
}
