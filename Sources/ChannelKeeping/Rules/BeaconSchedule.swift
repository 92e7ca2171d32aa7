/// The times at which an audience's `end` is broadcast again on a channel that stores no message. Each such broadcast
/// is a beacon. Without beacons, a phone that was away would keep a live card for ever. The times are 1, 5, 15 and 30
/// minutes after the end, then each full hour after the end, while the channel lingers.
public struct BeaconSchedule: Equatable, Sendable {
    private let firstMillis: [Int64]
    private let hourMillis: Int64

    /// How long the channel lingers, milliseconds.
    public let lingerMillis: Int64

    /// - Parameter minuteMillis: length of a minute, which a demonstration shortens.
    public init(lingerMillis: Int64, minuteMillis: Int64 = 60_000) {
        self.lingerMillis = lingerMillis
        self.firstMillis = [1, 5, 15, 30].map { $0 * minuteMillis }
        self.hourMillis = 60 * minuteMillis
    }

    /// Number of beacons that are due while the channel lingers.
    public var count: Int { self.dueCount(afterMillis: self.lingerMillis - 1) }

    /// When the beacon of this index is due, milliseconds after the end; `nil`: the channel is gone by then.
    public func offsetMillis(of index: Int) -> Int64? {
        guard index >= 0 else { return nil }
        let first = self.firstMillis.count
        let hours = Int64(clamping: index - first + 1)
        let (hourly, overflowed) = hours.multipliedReportingOverflow(by: self.hourMillis)
        let offset = index < first ? self.firstMillis[index] : overflowed ? .max : hourly
        return offset < self.lingerMillis ? offset : nil
    }

    /// Number of beacons that are due by this time, in milliseconds after the end. One beacon makes up for all missed
    /// ones.
    public func dueCount(afterMillis elapsed: Int64) -> Int {
        let elapsed = min(elapsed, self.lingerMillis - 1)
        let first = self.firstMillis.count { $0 <= elapsed }
        guard first == self.firstMillis.count else { return first }
        return first + Int(clamping: elapsed / self.hourMillis)
    }

    /// Time that has passed since the end, milliseconds. It is measured by the wall clock, and is at least the time at
    /// which the last beacon was due. So a clock that was set back makes no beacon due again, and does not restart the
    /// lingering.
    /// - Parameter beaconsSent: the number in the channel's record.
    public func elapsedMillis(endedMillis: Int64, beaconsSent: Int, wallMillis: Int64) -> Int64 {
        let proven = beaconsSent > 0 ? self.offsetMillis(of: min(beaconsSent, self.count) - 1) ?? 0 : 0
        return max(wallMillis - endedMillis, proven, 0)
    }
}
