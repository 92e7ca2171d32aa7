/// When one phone listened to a channel, and when it could not be reached: what `ChannelHistory` needs to say what the phone must show.
///
/// Tells of one card. A phone on which a `start` puts up another one has a new history from then on.
public struct ListenerHistory: Sendable {
    /// The card as it was when the phone began to listen.
    public let beginning: Device
    /// When it began to listen, milliseconds since 1970.
    public let beganMillis: Int64
    /// When it listened no more, milliseconds since 1970; `Int64.max`: it still does.
    public private(set) var stoppedMillis: Int64 = .max
    /// When it could not be reached, milliseconds since 1970, in order; the last one may be open and ends with `Int64.max` then.
    public private(set) var away: [Range<Int64>] = []

    /// A phone that begins to listen at `beganMillis` (milliseconds since 1970) and can be reached.
    public init(beginning: Device = Device(), beganMillis: Int64) {
        self.beginning = beginning
        self.beganMillis = beganMillis
    }

    /// It can be reached no more. Does nothing while it is away already. `atMillis` since 1970, not before the last change.
    public mutating func leave(atMillis: Int64) {
        guard self.away.last?.upperBound != .max else { return }
        self.away.append(atMillis..<Int64.max)
    }

    /// It can be reached again. Does nothing while it is there. `atMillis` since 1970, not before the last change.
    public mutating func comeBack(atMillis: Int64) {
        guard let last = self.away.last, last.upperBound == .max else { return }
        self.away[self.away.count - 1] = last.lowerBound..<max(atMillis, last.lowerBound)
    }

    /// It listens no more, and what it shows stays. `atMillis` since 1970, not before the last change.
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
