/// One Live Activity on one phone: applies pushes as ActivityKit does and knows what the phone shows.
///
/// The judge of device equivalence. A value of about 130 bytes plus the bytes it shows; time is an argument. Rules (Apple's unless marked):
/// - an `update` whose stamp is older than one already applied is ignored, its alert too. Equal seconds: Apple does not say; here they are
///   ignored as well, the stricter reading, so whoever pushes has to stamp strictly increasing;
/// - `end` is applied whatever its stamp; nothing is applied after it;
/// - content brings its own stale date and relevance: what the newest content does not say is gone. An `end` without content keeps what is
///   shown, and replaces only what it names;
/// - `start` always puts up a new card, with a clean slate: a `start` pushed twice shows two cards.
public struct Device: Sendable {
    /// Where the activity is in its life.
    public enum Phase: UInt8, Sendable {
        /// No push was shown yet. The app may well have started the activity: the first update is shown.
        case untouched
        /// A card is up and takes updates.
        case active
        /// By an `end`.
        case ended
        /// By the system, after `DeviceRules.activeSecondsMax`.
        case endedBySystem
    }

    /// What the phone did with one push.
    public enum Reaction: UInt8, Sendable, CaseIterable {
        /// The phone shows what the push brought.
        case shown
        /// A `start` while another card of this token was up: a second card.
        case shownAsSecondCard
        /// The same stamp and the same content again: a retry. Nothing changes.
        case ignoredRepeat
        /// The same stamp with other content: whoever pushes has lost an update.
        case ignoredSameStamp
        /// The stamp is older than one already applied.
        case ignoredOlder
        /// The activity has ended, and the push is no `start`.
        case ignoredAfterEnd
        /// Stamped too far ahead, by `DeviceRules.futureStampSecondsMax`.
        case ignoredFuture
        /// Over `DeviceRules.budgetPerHour`.
        case throttled
    }

    /// The newest alerts are kept, at most this many; the count goes on.
    public static let alertsKeptMax = 4

    /// Where the activity is in its life.
    public private(set) var phase: Phase = .untouched
    /// The bytes of the `content-state` shown; empty before the first.
    public private(set) var contentState: [UInt8] = []
    /// The newest alerts shown, oldest first, as the bytes of the alert object.
    public private(set) var alerts: [[UInt8]] = []
    /// `attributes-type` and `attributes` of the `start`; empty when the app started the activity.
    private var origin: [[UInt8]] = []
    private var hour = RollingHour()
    /// The newest stamp applied, seconds since 1970; `Int64.min` before the first.
    public private(set) var stampSeconds: Int64 = .min
    private var staleDate: Int64 = .min
    private var dismissalDate: Int64 = .min
    private var relevance: Double = .nan
    /// When the first push of this card came and when it ended, seconds since 1970, by the clock the device is told.
    private var begunSeconds: Int64 = .min
    private var endedSeconds: Int64 = .min
    /// Pushes that changed what the phone shows.
    public private(set) var shownCount: UInt32 = 0
    /// Pushes that changed nothing, undecodable ones included.
    public private(set) var ignoredCount: UInt32 = 0
    /// Alerts shown.
    public private(set) var alertCount: UInt32 = 0
    /// Cards put up by `start`.
    public private(set) var cardCount: UInt16 = 0

    /// An activity that has got no push yet.
    public init() {}

    /// When the content counts as outdated, seconds since 1970; `nil`: never.
    public var staleDateSeconds: Int64? { self.staleDate == .min ? nil : self.staleDate }
    /// When an ended card is to leave, seconds since 1970, as the `end` said; `nil`: the system decides.
    public var dismissalDateSeconds: Int64? { self.dismissalDate == .min ? nil : self.dismissalDate }
    /// `relevance-score` of the content shown; `nil`: the content has none.
    public var relevanceScore: Double? { self.relevance.isNaN ? nil : self.relevance }
    /// The JSON string `attributes-type` of the `start`, quotes included; empty without a `start`.
    public var attributesType: [UInt8] { self.origin.isEmpty ? [] : self.origin[0] }
    /// The JSON object `attributes` of the `start`; empty without a `start`.
    public var attributes: [UInt8] { self.origin.isEmpty ? [] : self.origin[1] }
    /// The most pushes at priority 10 that arrived within any rolling hour, shown or not.
    public var highPriorityPeak: Int { Int(self.hour.peak) }

    /// Pushes at priority 10 that arrived within the hour ending now.
    public func highPriorityCount(nowMillis: Int64) -> Int { self.hour.count(nowMillis: nowMillis) }

    /// Takes one push that APNs accepted.
    /// - Parameters:
    ///   - content: what `PayloadReader` found in `body`.
    ///   - priority: `apns-priority`; 10 spends budget, whatever becomes of the push.
    ///   - nowMillis: the phone's clock, milliseconds since 1970.
    @discardableResult
    public mutating func apply(
        _ content: PushContent, body: Span<UInt8>, priority: Int, nowMillis: Int64, rules: DeviceRules = DeviceRules()
    ) -> Reaction {
        let spent = priority == 10 ? self.hour.spend(nowMillis: nowMillis) : 0
        let reaction = self.decide(content, body: body, spent: spent, nowSeconds: nowMillis / 1_000, rules: rules)
        switch reaction {
        case .shown, .shownAsSecondCard:
            self.show(content, body: body, nowSeconds: nowMillis / 1_000)
            self.shownCount &+= 1
        case .ignoredRepeat, .ignoredSameStamp, .ignoredOlder, .ignoredAfterEnd, .ignoredFuture, .throttled:
            self.ignoredCount &+= 1
        }
        return reaction
    }

    /// Reads a whole body and takes it. The body a phone cannot decode changes nothing but the budget.
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

    /// A push arrived that the phone could not decode: it spends budget and shows nothing.
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

    private mutating func show(_ content: PushContent, body: Span<UInt8>, nowSeconds: Int64) {
        switch content.event {
        case .start:
            self.origin = [Bytes.copy(body, content.attributesType), Bytes.copy(body, content.attributes)]
            self.cardCount &+= 1
            self.begunSeconds = nowSeconds
            self.stampSeconds = content.stampSeconds
            self.endedSeconds = .min
            self.dismissalDate = .min
            self.replaceContent(content, body: body)
            self.phase = .active
        case .update:
            if self.phase == .untouched { self.begunSeconds = nowSeconds }
            self.stampSeconds = content.stampSeconds
            self.replaceContent(content, body: body)
            self.phase = .active
        case .end:
            self.stampSeconds = max(self.stampSeconds, content.stampSeconds)
            self.endedSeconds = nowSeconds
            self.dismissalDate = content.dismissalDateSeconds ?? .min
            if content.contentState.isEmpty {
                self.staleDate = content.staleDateSeconds ?? self.staleDate
                self.relevance = content.relevanceScore ?? self.relevance
            } else {
                self.replaceContent(content, body: body)
            }
            self.phase = .ended
        }
        if !content.alert.isEmpty {
            if self.alerts.count == Self.alertsKeptMax { self.alerts.removeFirst() }
            self.alerts.append(Bytes.copy(body, content.alert))
            self.alertCount &+= 1
        }
    }

    private mutating func replaceContent(_ content: PushContent, body: Span<UInt8>) {
        Bytes.replace(&self.contentState, body, content.contentState)
        self.staleDate = content.staleDateSeconds ?? .min
        self.relevance = content.relevanceScore ?? .nan
    }

    /// When the card leaves or left the Lock Screen, seconds since 1970: its dismissal date, at most 4 h after the end. `nil` while it lives.
    func ending(atSeconds nowSeconds: Int64, rules: DeviceRules) -> Int64? {
        var ended = self.endedSeconds
        if let lifetime = rules.activeSecondsMax, self.phase == .active, nowSeconds - self.begunSeconds >= lifetime {
            ended = self.begunSeconds + lifetime
        }
        guard ended != .min else { return nil }
        return min(self.dismissalDateSeconds ?? .max, ended + DeviceRules.endedShownSecondsMax)
    }
}
