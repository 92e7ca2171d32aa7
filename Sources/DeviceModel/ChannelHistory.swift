/// The messages that a channel published, in order, and what a listening phone must show after them: device equivalence
/// for broadcasts.
///
/// It relies only on what a storage policy of APNs promises. A phone that is online gets each message. A phone that is
/// away misses it. On a channel that stores, a phone that is back gets the most recent message, unless that has
/// expired. Apple does not say whether a stored message stays when a newer one is not stored. Nor does it say whether a
/// new listener gets an earlier stored message. Both are allowed here.
///
/// So a phone that was always online shows the newest message, and its newest alert has rung. A phone that was away may
/// lack what was sent meanwhile. With the next message it is right again. It never shows an older message after a newer
/// one.
public struct ChannelHistory: Sendable {
    /// One message that APNs accepted.
    public struct Message: Sendable {
        /// The payload as it was sent.
        public let body: [UInt8]
        /// The decoded payload; `nil` if no phone can decode it.
        let content: PushContent?
        /// `apns-priority`.
        public let priority: Int
        /// When APNs accepted the message, milliseconds since 1970.
        public let publishedMillis: Int64
        /// `apns-expiration`, seconds since 1970; 0 if it is not stored.
        public let expirationSeconds: Int64

        /// Time until which a channel that stores keeps the message, milliseconds since 1970.
        var keptUntilMillis: Int64 {
            min(self.expirationSeconds * 1_000, self.publishedMillis + ChannelStorage.storedSecondsMax * 1_000)
        }

        var isStored: Bool { self.keptUntilMillis > self.publishedMillis }
    }

    /// Whether a message reached a phone.
    enum Certainty { case certain, possible, never }

    /// A message on its way to one phone.
    private struct Delivery {
        var atMillis: Int64
        /// Index into `messages`.
        var message: Int
        var isCertain: Bool
    }

    /// Whether the channel keeps its newest message.
    public let storage: ChannelStorage
    /// The messages in the order in which they were accepted.
    public private(set) var messages: [Message] = []

    /// A channel that has published nothing.
    public init(storage: ChannelStorage) { self.storage = storage }

    /// Adds a message that APNs accepted. `atMillis` is since 1970, and not before the time of the last message.
    /// `expirationSeconds` is since 1970; 0 if it must not be stored.
    public mutating func publish(body: [UInt8], priority: Int = 5, atMillis: Int64, expirationSeconds: Int64 = 0) {
        self.messages.append(
            Message(
                body: body, content: try? PayloadReader.read(body.span), priority: priority, publishedMillis: atMillis,
                expirationSeconds: min(max(0, expirationSeconds), PayloadReader.dateSecondsMax)))
    }

    /// What a phone shows if it was online and listened all the time. Compare it with a `ReferenceDevice` that took the
    /// channel's events.
    public func witness(beginning: Device = Device(), rules: DeviceRules = DeviceRules()) -> Device {
        var device = beginning
        for message in self.messages { Self.deliver(message, to: &device, atMillis: message.publishedMillis, rules) }
        return device
    }

    /// The first difference between a phone's state and what the storage policy allows, in words; `nil` if there is
    /// none.
    /// - Parameters:
    ///   - listener: when the phone listened, and when it could be reached.
    ///   - atMillis: when the phone was read, milliseconds since 1970.
    ///   - uncertainMillis: how long a message may be on its way, plus the difference of clocks. A message published
    ///     within this time of a listener's change, or of `atMillis`, may or may not have reached the phone.
    ///   - rules: those of the phone.
    ///   - countingCards: as for `Device.firstDifference(from:countingCards:)`.
    public func firstFault(
        of phone: Device, listener: ListenerHistory, atMillis: Int64 = .max, uncertainMillis: Int64 = 0,
        rules: DeviceRules = DeviceRules(), countingCards: Bool = true
    ) -> String? {
        let states = self.possibleStates(
            of: listener, atMillis: atMillis, uncertainMillis: max(0, uncertainMillis), rules: rules)
        if states.contains(where: { phone.equivalent(to: $0, countingCards: countingCards) }) { return nil }
        // Describe the difference from the newest possible state, because that is what a phone lacks most often.
        guard let newest = states.max(by: { $0.stampSeconds < $1.stampSeconds }),
            let difference = phone.firstDifference(from: newest, countingCards: countingCards)
        else { return nil }
        return states.count == 1 ? difference : "\(difference), or one of \(states.count - 1) older states"
    }

    /// All states that the phone may show: a single one if everything is certain.
    private func possibleStates(
        of listener: ListenerHistory, atMillis: Int64, uncertainMillis: Int64, rules: DeviceRules
    ) -> [Device] {
        var states = [listener.beginning]
        for delivery in self.deliveries(to: listener, atMillis: atMillis, uncertainMillis: uncertainMillis) {
            var next = delivery.isCertain ? [] : states
            for var state in states {
                Self.deliver(self.messages[delivery.message], to: &state, atMillis: delivery.atMillis, rules)
                // Phones that got this message show the same, so the states stay few.
                if !next.contains(where: { $0.stampSeconds == state.stampSeconds && $0.equivalent(to: state) }) {
                    next.append(state)
                }
            }
            states = next
        }
        return states
    }

    private func deliveries(to listener: ListenerHistory, atMillis: Int64, uncertainMillis: Int64) -> [Delivery] {
        var deliveries: [Delivery] = []
        for (index, message) in self.messages.enumerated() {
            let window = Self.window(message.publishedMillis, uncertainMillis)
            guard window.lowerBound <= atMillis else { break }
            let certainty = listener.hears(within: window)
            guard certainty != .never else { continue }
            deliveries.append(
                Delivery(
                    atMillis: message.publishedMillis, message: index,
                    isCertain: certainty == .certain && window.upperBound <= atMillis))
        }
        guard self.storage == .mostRecent else { return deliveries }
        if let index = self.storedIndex(atMillis: listener.beganMillis, uncertainMillis: uncertainMillis) {
            deliveries.append(Delivery(atMillis: listener.beganMillis, message: index, isCertain: false))
        }
        for span in listener.away where span.upperBound <= atMillis && span.upperBound < listener.stoppedMillis {
            guard span.upperBound >= listener.beganMillis,
                let index = self.storedIndex(atMillis: span.upperBound, uncertainMillis: uncertainMillis)
            else { continue }
            deliveries.append(
                Delivery(
                    atMillis: span.upperBound, message: index,
                    isCertain: self.isCertainlyHandedOver(
                        index, to: listener, backMillis: span.upperBound, atMillis: atMillis,
                        uncertainMillis: uncertainMillis)))
        }
        // In order of time, and for the same moment in order of publication. Equal deliveries may be in any order.
        return deliveries.sorted { ($0.atMillis, $0.message) < ($1.atMillis, $1.message) }
    }

    /// Index of the message that may be stored at a time; `nil` for none.
    private func storedIndex(atMillis: Int64, uncertainMillis: Int64) -> Int? {
        guard let index = self.messages.lastIndex(where: { $0.isStored && $0.publishedMillis <= atMillis }),
            self.messages[index].keptUntilMillis > Self.window(atMillis, uncertainMillis).lowerBound
        else { return nil }
        return index
    }

    /// Whether a phone that is back certainly gets the stored message.
    private func isCertainlyHandedOver(
        _ index: Int, to listener: ListenerHistory, backMillis: Int64, atMillis: Int64, uncertainMillis: Int64
    ) -> Bool {
        let window = Self.window(backMillis, uncertainMillis)
        let message = self.messages[index]
        guard message.publishedMillis >= listener.beganMillis, message.keptUntilMillis > window.upperBound,
            window.upperBound <= atMillis, window.upperBound < listener.stoppedMillis
        else { return false }
        // By the end of the window, a newer message may have replaced this one.
        if index + 1 < self.messages.count, self.messages[index + 1].publishedMillis <= window.upperBound {
            return false
        }
        if message.publishedMillis > window.lowerBound { return false }
        // The phone must not go away again before it has certainly got the message.
        return !listener.away.contains { $0.lowerBound >= backMillis && $0.lowerBound <= window.upperBound }
    }

    private static func window(_ millis: Int64, _ uncertainMillis: Int64) -> ClosedRange<Int64> {
        let (low, isLow) = millis.subtractingReportingOverflow(uncertainMillis)
        let (high, isHigh) = millis.addingReportingOverflow(uncertainMillis)
        return (isLow ? .min : low)...(isHigh ? .max : high)
    }

    private static func deliver(_ message: Message, to device: inout Device, atMillis: Int64, _ rules: DeviceRules) {
        guard let content = message.content else {
            device.undecodable(priority: message.priority, nowMillis: atMillis)
            return
        }
        device.apply(content, body: message.body.span, priority: message.priority, nowMillis: atMillis, rules: rules)
    }
}
