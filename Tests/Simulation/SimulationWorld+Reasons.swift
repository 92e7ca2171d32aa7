import PushEngine
import PushModel

/// Whether what outcomes say is so, and in which order a phone has shown things.
extension SimulationWorld {
    /// Set aside only for a reason: a worker that had forgotten what it knew would have none.
    mutating func judgeReasons(_ activity: Int) {
        let phone = self.phones[activity]
        var registered: Int64?
        var hasEnd = false
        var hasStart = false
        for position in self.order where self.written[position]!.activity == activity {
            let event = self.written[position]!
            let names = Set((self.evidence.outcomes[position] ?? []).map(\.name))
            if names.contains("unregistered"), let registered, !hasEnd,
                event.writtenMillis - registered < Self.lifeMillis
            {
                self.fail("\(position) is unregistered, and activity \(activity) had registered before")
            }
            if names.contains("rejected"), event.kind != .start, !hasStart, !phone.hasLostToken {
                self.fail("\(position) is rejected, and no token of activity \(activity) has died")
            }
            if names.contains("expired"), event.kind != .start, !hasStart, event.expiresSeconds == nil {
                self.fail("\(position) is expired, and had no time to expire at")
            }
            if names.contains("late"), !hasEnd {
                self.fail("\(position) is late, and activity \(activity) had not ended")
            }
            switch event.kind {
            case .register: registered = event.writtenMillis
            case .end: hasEnd = true
            case .start: hasStart = true
            case .update: if registered != nil { registered = event.writtenMillis }
            case .malformed: break
            }
        }
    }

    /// An activity is remembered for that long after its last event, less what clocks are set.
    private static let lifeMillis: Int64 = 11 * 3_600_000

    /// A push has shown something: which event's content, and which one's alert.
    mutating func noteShown(_ flight: Flight) {
        let body = String(decoding: flight.body, as: UTF8.self)
        if let alert = self.alertNumber(in: body) { self.shown.insert(self.order[alert]) }
        guard let number = self.eventNumber(in: body) else { return }
        self.shown.insert(self.order[number])
        self.phones[flight.activity].shown.append(
            SimulatedPhone.Shown(
                event: number, epoch: flight.epoch, isUpdate: body.hasPrefix("{\"aps\":{\"event\":\"update\"")))
    }

    /// The phone has never shown an older state after a newer one that is known to have been sent. After a crash a replay may come once
    /// more, so only what one owner sent is looked at.
    mutating func judgeOrder(_ activity: Int) {
        let shown = self.phones[activity].shown
        for (earlier, later) in zip(shown, shown.dropFirst()) where earlier.epoch == later.epoch && later.isUpdate {
            let before = self.order[earlier.event]
            let after = self.order[later.event]
            let isOlder =
                (self.written[after]!.timestampSeconds, later.event) < (
                    self.written[before]!.timestampSeconds, earlier.event
                )
            if isOlder, !self.isUnknown(before) {
                self.fail("activity \(activity): event \(later.event) was shown after event \(earlier.event)")
            }
        }
    }
}
