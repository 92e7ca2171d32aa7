/// When one phone listened to a channel, and when it could not be reached. `ChannelHistory` needs this to say what the
/// phone must show.
///
/// It is about one card. A phone on which a `start` puts up another card has a new history from then on.
public struct ListenerHistory: Sendable {
    /// The card as it was when the phone began to listen.
    public let beginning: Device
    /// When the phone began to listen, milliseconds since 1970.
    public let beganMillis: Int64
    /// When the phone stopped listening, milliseconds since 1970; `Int64.max` if it still listens.
    public private(set) var stoppedMillis: Int64 = .max
    /// When the phone could not be reached, milliseconds since 1970, in order. If it is away now, the last range ends
    /// with `Int64.max`.
    public private(set) var away: [Range<Int64>] = []

    /// A phone that begins to listen at `beganMillis` (milliseconds since 1970) and can be reached.
    public init(beginning: Device = Device(), beganMillis: Int64) {
        self.beginning = beginning
        self.beganMillis = beganMillis
    }

    /// Begins a time in which the phone cannot be reached. Does nothing if it is away already. `atMillis` is since
    /// 1970, and not before the last change.
    public mutating func leave(atMillis: Int64) {
        guard self.away.last?.upperBound != .max else { return }
        self.away.append(atMillis..<Int64.max)
    }

    /// Ends the time in which the phone cannot be reached. Does nothing if it is online. `atMillis` is since 1970, and
    /// not before the last change.
    public mutating func comeBack(atMillis: Int64) {
        guard let last = self.away.last, last.upperBound == .max else { return }
        self.away[self.away.count - 1] = last.lowerBound..<max(atMillis, last.lowerBound)
    }

    /// Ends the phone's listening; its card stays. `atMillis` is since 1970, and not before the last change.
    public mutating func stop(atMillis: Int64) { self.stoppedMillis = min(self.stoppedMillis, atMillis) }

    /// Whether something that happened within `window` reached the phone.
    func hears(within window: ClosedRange<Int64>) -> ChannelHistory.Certainty {
        if window.upperBound < self.beganMillis || window.lowerBound >= self.stoppedMillis { return .never }
        if self.away.contains(where: { $0.lowerBound <= window.lowerBound && window.upperBound < $0.upperBound }) {
            return .never
        }
        let isThroughout = window.lowerBound >= self.beganMillis && window.upperBound < self.stoppedMillis
        let isAwayInPart = self.away.contains {
            $0.lowerBound <= window.upperBound && window.lowerBound < $0.upperBound
        }
        return isThroughout && !isAwayInPart ? .certain : .possible
    }
}
