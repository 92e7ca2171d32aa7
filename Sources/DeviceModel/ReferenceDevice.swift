/// What the phone would show if every event had been pushed in order of arrival: the expected side of device
/// equivalence.
///
/// Events carry the producer's timestamps, where equal seconds are ordered by arrival, but a device needs strictly
/// increasing stamps. So an event older than the newest one taken is ignored with its alert. Any other is pushed with
/// the stamp max(its timestamp, last stamp + 1). `end` is taken whatever its timestamp. Do not pass events that expired
/// or were rejected.
public struct ReferenceDevice: Sendable {
    /// The phone after the events taken so far.
    public private(set) var device = Device()
    /// The alerts that the phone had to show, and those that were withdrawn.
    public private(set) var alerts = AlertHistory()
    private var newestTimestamp: Int64 = .min

    /// A phone without events.
    public init() {}

    /// Takes one event.
    /// - Parameters:
    ///   - content: ranges into `source`; its `stampSeconds` is the *event's* timestamp, seconds since 1970.
    ///   - source: the buffer that holds the bytes, such as the event's JSON.
    ///   - nowMillis: milliseconds since 1970.
    @discardableResult
    public mutating func take(_ content: PushContent, source: Span<UInt8>, nowMillis: Int64 = 0) -> Device.Reaction {
        switch content.event {
        case .start, .end: break
        case .update: if content.stampSeconds < self.newestTimestamp { return .ignoredOlder }
        }
        var pushed = content
        if self.device.stampSeconds != .min {
            pushed.stampSeconds = max(content.stampSeconds, self.device.stampSeconds + 1)
        }
        let reaction = self.device.apply(pushed, body: source, priority: 5, nowMillis: nowMillis)
        if reaction == .shown || reaction == .shownAsSecondCard {
            self.newestTimestamp = max(self.newestTimestamp, content.stampSeconds)
            if !content.alert.isEmpty {
                self.alerts.append(self.device.alerts.last ?? [], seconds: content.stampSeconds)
            }
        }
        return reaction
    }

    /// Takes one event as the payload that it would become on its own (`{"aps": …}`), with its timestamp as the stamp.
    @discardableResult
    public mutating func take(payload: [UInt8], nowMillis: Int64 = 0) throws(PayloadFault) -> Device.Reaction {
        let content = try PayloadReader.read(payload.span)
        return self.take(content, source: payload.span, nowMillis: nowMillis)
    }

    /// Takes the `"alert": null` of an event, which no payload contains. Earlier alerts are withdrawn when the event
    /// arrives, even if the event is ignored.
    /// - Parameter seconds: the event's timestamp; `Int64.max` for an `end`, which is final.
    public mutating func withdrawAlerts(upTo seconds: Int64) { self.alerts.withdraw(upTo: seconds) }
}
