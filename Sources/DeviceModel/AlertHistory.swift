/// The alerts that a phone was to show, in order. Some were withdrawn later (`"alert": null`): nobody can say whether those
/// had been sent before.
public struct AlertHistory: Sendable {
    private var alerts: [(bytes: [UInt8], seconds: Int64, isWithdrawn: Bool)] = []

    /// No alert.
    public init() {}

    /// An event brought one that the phone is to show, if it is not withdrawn.
    /// - Parameters:
    ///   - alert: the bytes of the alert object; empty: it brought none.
    ///   - seconds: the event's timestamp.
    ///   - isWithdrawn: it is known already that a later event withdraws it.
    public mutating func append(_ alert: [UInt8], seconds: Int64, isWithdrawn: Bool = false) {
        guard !alert.isEmpty else { return }
        self.alerts.append((alert, seconds, isWithdrawn))
    }

    /// An event withdrew the alerts that are not newer than that.
    public mutating func withdraw(upTo seconds: Int64) {
        for index in self.alerts.indices where self.alerts[index].seconds <= seconds {
            self.alerts[index].isWithdrawn = true
        }
    }

    /// Whether a phone may have shown this one last. The newest, when nobody withdrew it; else any: those before it may have given way to it
    /// unsent.
    /// - Parameter alert: `nil`: none at all.
    public func mayBeNewest(_ alert: [UInt8]?) -> Bool {
        guard let newest = self.alerts.last else { return alert == nil }
        guard newest.isWithdrawn else { return alert == newest.bytes }
        return alert == nil || self.alerts.contains { $0.bytes == alert }
    }
}
