/// The alerts that a phone had to show, in order. Some were withdrawn later (`"alert": null`), and nobody can say
/// whether those had been sent before.
public struct AlertHistory: Sendable {
    private var alerts: [(bytes: [UInt8], seconds: Int64, isWithdrawn: Bool)] = []

    /// A history without alerts.
    public init() {}

    /// Adds the alert of an event, which the phone must show unless it is withdrawn.
    /// - Parameters:
    ///   - alert: the bytes of the alert object; empty if the event has none.
    ///   - seconds: the event's timestamp.
    ///   - isWithdrawn: whether a later event is known to withdraw it.
    public mutating func append(_ alert: [UInt8], seconds: Int64, isWithdrawn: Bool = false) {
        guard !alert.isEmpty else { return }
        self.alerts.append((alert, seconds, isWithdrawn))
    }

    /// Withdraws the alerts that are not newer than `seconds`, as an event with `"alert": null` does.
    public mutating func withdraw(upTo seconds: Int64) {
        for index in self.alerts.indices where self.alerts[index].seconds <= seconds {
            self.alerts[index].isWithdrawn = true
        }
    }

    /// Whether this may be the last alert that a phone has shown. If the newest alert was not withdrawn, only the
    /// newest may be. Otherwise any alert may be, because later ones may have been replaced before they were sent.
    /// - Parameter alert: `nil` for no alert at all.
    public func mayBeNewest(_ alert: [UInt8]?) -> Bool {
        guard let newest = self.alerts.last else { return alert == nil }
        guard newest.isWithdrawn else { return alert == newest.bytes }
        return alert == nil || self.alerts.contains { $0.bytes == alert }
    }
}
