import DeviceModel
import PushModel

/// Counts what phones show and have received, piece by piece, in two passes. What most cards show is known only after
/// the first pass.
struct SummaryBuilder {
    /// Maximum number of groups that are counted one by one. Cards of further groups are counted together.
    private static let groupsCountedMax = 65_536

    private struct ShownKey: Hashable {
        var card: Shown.Card
        var stampSeconds: Int64
        var contentHash: UInt64
        var attributesHash: UInt64
    }

    private struct AlertsKey: Hashable {
        var count: UInt32
        var hash: UInt64
    }

    /// A group: the number of its cards, and the token and device of its first card.
    private struct Group {
        var cards = 0
        var token: Int
        var device: Int
    }

    /// Cards grouped by what they have in common. The next card is usually like the last one, so it is counted without
    /// a lookup.
    private struct Groups<Key: Hashable & Sendable>: Sendable {
        private var counted: [Key: Group] = [:]
        private var last: (key: Key, group: Group)?
        /// Number of cards in groups that have no count of their own, because there are too many groups.
        private(set) var otherwise = 0

        mutating func add(_ key: Key, token: Int, device: Int) {
            if self.last?.key != key {
                self.putDown()
                self.last = (key, Group(token: token, device: device))
            }
            self.last?.group.cards += 1
        }

        private mutating func putDown() {
            guard let (key, group) = self.last else { return }
            self.last = nil
            if self.counted[key] == nil, self.counted.count >= SummaryBuilder.groupsCountedMax {
                self.otherwise += group.cards
            } else {
                self.counted[key, default: Group(token: group.token, device: group.device)].cards += group.cards
            }
        }

        /// Returns the groups, most frequent first. Equally frequent groups keep the order in which they were first
        /// seen.
        mutating func inOrder() -> [(key: Key, value: Group)] {
            self.putDown()
            return self.counted.sorted { ($0.value.cards, $1.value.token) > ($1.value.cards, $0.value.token) }
        }
    }

    private let query: SummaryQuery
    /// Values of the digits with which a token must begin. A value that is not a digit matches no token.
    private let prefix: [UInt8]
    private let rules: DeviceRules
    private let nowMillis: Int64
    private var shown = Groups<ShownKey>()
    private var alerts = Groups<AlertsKey>()
    private var usual: (shown: ShownKey?, alerts: AlertsKey?)
    private(set) var summary = DeviceSummary()

    init(_ query: SummaryQuery, rules: DeviceRules, nowMillis: Int64) {
        self.query = query
        self.prefix = query.prefix.utf8.map { Hex.value(of: $0) }
        self.rules = rules
        self.nowMillis = nowMillis
    }

    mutating func countUnknown(_ count: Int) { self.summary.unknownTokens += count }

    /// Whether the query covers the token. `isAsked`: whether the caller asked about this very token.
    func covers(_ token: Int, in store: DeviceStore, isAsked: Bool) -> Bool {
        if isAsked { return true }
        let kind = store.kind(ofToken: token)
        if let wanted = self.query.kind {
            guard kind == wanted else { return false }
        } else if kind == .update, store.isCountedWithItsPhone(token) {
            return false
        }
        guard !self.prefix.isEmpty else { return true }
        let bytes = store.tokens.token(token)
        guard bytes.count * 2 >= self.prefix.count else { return false }
        return self.prefix.indices.allSatisfy { index in
            let byte = bytes[bytes.startIndex + index / 2]
            return self.prefix[index] == (index & 1 == 0 ? byte >> 4 : byte & 15)
        }
    }

    // MARK: The first pass

    mutating func count(_ token: Int, in store: DeviceStore) {
        let entry = store.tokens[token]
        self.summary.tokens += 1
        self.summary.states[entry.state, default: 0] += 1
        guard entry.state == .alive else { return }
        self.summary.pushes += Int(entry.accepted)
        Self.keep(&self.summary.fewestPushes, Int64(entry.accepted), token, store, isLess: true)
        Self.keep(&self.summary.mostPushes, Int64(entry.accepted), token, store)
        if entry.leastDistanceMillis != .max {
            Self.keep(
                &self.summary.leastDistanceMillis, Int64(entry.leastDistanceMillis), token, store, isLess: true)
        }
        Self.keep(&self.summary.mostInFlight, Int64(entry.inFlightPeak), token, store)
        let starts = store.eachCard(ofToken: token) { device in
            self.summary.cards += 1
            let card = store.devices[device]
            if let phone = store.phones[Int32(device)] {
                if phone.channel >= 0 { self.summary.listening += 1 }
                self.summary.messages += Int(phone.messageCount)
            }
            Self.keep(&self.summary.mostHighPriorityPerHour, Int64(card.highPriorityPeak), token, store)
            self.shown.add(self.shownKey(card), token: token, device: device)
            self.alerts.add(Self.alertsKey(card), token: token, device: device)
        }
        guard store.isStartToken(token) else { return }
        self.summary.phonesByCards[starts.cardCount, default: 0] += 1
        self.summary.startsOverBudget += starts.overBudgetCount
        Self.keep(&self.summary.mostStartsPerHour, Int64(starts.startsPerHourPeak), token, store)
    }

    private static func keep(
        _ extreme: inout DeviceSummary.Extreme?, _ value: Int64, _ token: Int, _ store: DeviceStore,
        isLess: Bool = false
    ) {
        if let known = extreme, isLess ? known.value <= value : known.value >= value { return }
        extreme = DeviceSummary.Extreme(value: value, token: TokenHex.encode(store.tokens.token(token)))
    }

    private func shownKey(_ card: Device) -> ShownKey {
        ShownKey(
            card: card.status(atSeconds: self.nowMillis / 1_000, rules: self.rules), stampSeconds: card.stampSeconds,
            contentHash: card.contentHash, attributesHash: card.attributesHash)
    }

    private static func alertsKey(_ card: Device) -> AlertsKey {
        AlertsKey(count: card.alertCount, hash: card.alertsHash)
    }

    // MARK: Between the passes

    /// Ends the first pass: puts the groups in order and determines what most cards show.
    mutating func order(in store: DeviceStore) {
        let (shown, alerts) = (self.shown.inOrder(), self.alerts.inOrder())
        self.usual = (shown.first?.key, alerts.first?.key)
        self.summary.shown = shown.prefix(self.query.groupsMax).map { key, group in
            let card = store.devices[group.device]
            return DeviceSummary.Shown(
                cards: group.cards, card: key.card,
                stampSeconds: key.stampSeconds == .min ? nil : key.stampSeconds,
                // The example may have received something newer after it was counted. Its new content is not that of
                // the group, and is left out.
                contentState: self.shownKey(card) == key ? card.contentState : [], contentHash: key.contentHash,
                attributes: card.attributes,
                example: TokenHex.encode(store.tokens.token(group.token)))
        }
        self.summary.cardsShownOtherwise =
            shown.dropFirst(self.query.groupsMax).reduce(self.shown.otherwise) { $0 + $1.value.cards }
        self.summary.alerts = alerts.prefix(self.query.groupsMax).map { key, group in
            DeviceSummary.Alerted(
                cards: group.cards, alerts: Int(key.count), hash: key.hash,
                newest: store.devices[group.device].alerts.last ?? [],
                example: TokenHex.encode(store.tokens.token(group.token)))
        }
        self.summary.cardsAlertedOtherwise =
            alerts.dropFirst(self.query.groupsMax).reduce(self.alerts.otherwise) { $0 + $1.value.cards }
    }

    // MARK: The second pass

    mutating func compare(_ token: Int, in store: DeviceStore) {
        let entry = store.tokens[token]
        guard entry.state == .alive else { return }
        var (showsOther, alertedOther, isOverBudget, cameTwice) = (false, false, false, false)
        let starts = store.eachCard(ofToken: token) { device in
            let card = store.devices[device]
            if self.shownKey(card) != self.usual.shown { showsOther = true }
            if Self.alertsKey(card) != self.usual.alerts { alertedOther = true }
            if let most = self.query.highPriorityPerHourMax, card.highPriorityPeak > most { isOverBudget = true }
            if let most = self.query.bothWaysMax, Int(store.phones[Int32(device)]?.bothWaysCount ?? 0) > most {
                cameTwice = true
            }
        }
        var ways: [DeviceSummary.Differing.Way] = []
        if showsOther { ways.append(.shown) }
        if alertedOther { ways.append(.alerts) }
        if let least = self.query.leastDistanceMillis, entry.leastDistanceMillis != .max,
            Int64(entry.leastDistanceMillis) < least
        {
            ways.append(.distance)
        }
        if Int(entry.inFlightPeak) > self.query.inFlightMax { ways.append(.inFlight) }
        if isOverBudget { ways.append(.highPriority) }
        if let most = self.query.startsPerHourMax, starts.startsPerHourPeak > most { ways.append(.starts) }
        if starts.cardCount > self.query.cardsMax { ways.append(.cards) }
        if cameTwice { ways.append(.bothWays) }
        guard !ways.isEmpty else { return }
        self.summary.differingCount += 1
        guard self.summary.differing.count < self.query.differingMax else { return }
        self.summary.differing.append(
            DeviceSummary.Differing(token: TokenHex.encode(store.tokens.token(token)), ways: ways))
    }
}
