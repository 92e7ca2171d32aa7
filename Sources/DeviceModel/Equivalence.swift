extension Device {
    /// Whether both devices show the same: see `firstDifference(from:)`.
    public func equivalent(to expected: Device, countingCards: Bool = true) -> Bool {
        self.firstDifference(from: expected, countingCards: countingCards) == nil
    }

    /// The first difference between what this device and `expected` show, in words; `nil` if there is none.
    ///
    /// Compared: life, content, relevance, stale and dismissal date, the newest alert, attributes, number of cards. Not
    /// compared: stamps, budget and number of pushes or alerts taken, because merging changes these and the phone shows
    /// none of them.
    /// - Parameters:
    ///   - countingCards: `false` if a `start` may be pushed twice (its answer was lost, and the policy is to resend).
    ///   - alerts: the possible newest alerts; `nil` for that of `expected`.
    public func firstDifference(
        from expected: Device, countingCards: Bool = true, alerts: AlertHistory? = nil
    ) -> String? {
        if self.isEnded != expected.isEnded {
            return "the activity \(self.lifeInWords), expected that it \(expected.lifeInWords)"
        }
        if self.isUntouched != expected.isUntouched {
            return "the device \(self.isUntouched ? "shows nothing" : "shows something"), expected "
                + (expected.isUntouched ? "nothing" : "content-state \(Self.words(expected.contentState))")
        }
        if self.contentState != expected.contentState {
            return "content-state is \(Self.words(self.contentState)), expected \(Self.words(expected.contentState))"
        }
        if !(alerts?.mayBeNewest(self.alerts.last) ?? (self.alerts.last == expected.alerts.last)) {
            return "newest alert is \(Self.words(self.alerts.last)), expected \(Self.words(expected.alerts.last))"
        }
        if self.relevanceScore != expected.relevanceScore {
            return
                "relevance-score is \(Self.words(self.relevanceScore)), expected \(Self.words(expected.relevanceScore))"
        }
        if self.staleDateSeconds != expected.staleDateSeconds {
            return
                "stale-date is \(Self.words(self.staleDateSeconds)), expected \(Self.words(expected.staleDateSeconds))"
        }
        if self.dismissalDateSeconds != expected.dismissalDateSeconds {
            return
                "dismissal-date is \(Self.words(self.dismissalDateSeconds)), expected \(Self.words(expected.dismissalDateSeconds))"
        }
        if self.attributesType != expected.attributesType {
            return
                "attributes-type is \(Self.words(self.attributesType)), expected \(Self.words(expected.attributesType))"
        }
        if self.attributes != expected.attributes {
            return "attributes are \(Self.words(self.attributes)), expected \(Self.words(expected.attributes))"
        }
        if countingCards, self.cardCount != expected.cardCount {
            return "\(self.cardCount) cards were started, expected \(expected.cardCount)"
        }
        return nil
    }

    private var isUntouched: Bool { self.phase == .untouched }

    private var isEnded: Bool {
        switch self.phase {
        case .untouched, .active: return false
        case .ended, .endedBySystem: return true
        }
    }

    private var lifeInWords: String {
        switch self.phase {
        case .untouched: return "has not been touched"
        case .active: return "lives"
        case .ended: return "has ended"
        case .endedBySystem: return "was ended by the system"
        }
    }

    /// Maximum number of bytes of a value that a difference shows.
    private static let wordsByteCountMax = 400

    private static func words(_ bytes: [UInt8]?) -> String {
        guard let bytes, !bytes.isEmpty else { return "absent" }
        let text = String(decoding: bytes.prefix(Self.wordsByteCountMax), as: UTF8.self)
        return bytes.count > Self.wordsByteCountMax ? "\(text)… (\(bytes.count) bytes)" : text
    }

    private static func words(_ number: (some CustomStringConvertible)?) -> String { number?.description ?? "absent" }
}
