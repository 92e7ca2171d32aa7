import APNSProtocol
import PushEngine
import PushModel

/// Withdrawals (`"alert": null`), with which the upstream service takes an alert back. The alert may have sounded
/// before. A worker that has read the withdrawal must not send the alert.
extension SimulationWorld {
    /// Plan and state of withdrawals. They are drawn with a separate generator, so that worlds without them do not
    /// change.
    struct Withdrawals {
        var random: SplitMix64
        /// Percentage of events without an alert that withdraw earlier alerts.
        let percent: Int
        /// Withdrawals that a worker has read since it got the partition, by worker and activity.
        var read: [Int: [Int: [SourcePosition]]] = [:]

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x5151_5151_5151_5151)
            self.percent = [0, 0, 15, 50].randomElement(using: &self.random)!
        }

        mutating func draw() -> Bool {
            self.percent > 0 && Int.random(in: 0..<100, using: &self.random) < self.percent
        }
    }

    /// Remembers a withdrawal that a worker has read in its activity's own partition. The worker processes it at once.
    func rememberWithdrawal(_ event: WrittenEvent, at position: SourcePosition, worker: SimulatedWorker) {
        guard event.withdrawsAlert else { return }
        // An event withdraws nothing if it has already expired, or if its timestamp is too far ahead of the worker's
        // clock.
        let nowSeconds = self.now(of: worker).wallSeconds
        guard event.expiresSeconds ?? .max > nowSeconds,
            event.timestampSeconds <= nowSeconds + EventRules.timestampAheadSecondsMax
        else { return }
        // An event after an end has the outcome `late`, or begins another life of the activity. The earlier alert does
        // not belong to that life.
        let isLate = self.order[..<event.number].contains {
            self.written[$0]!.activity == event.activity && self.written[$0]!.kind == .end
        }
        guard !isLate else { return }
        self.withdrawals.read[worker.number, default: [:]][event.activity, default: []].append(position)
    }

    /// Forgets withdrawals in a partition that the worker has just got. The worker knows only what is in `state` at
    /// that moment.
    func forgetWithdrawals(_ partition: Int32, worker: SimulatedWorker) {
        for activity in self.phones.indices where self.home(of: activity) == partition {
            self.withdrawals.read[worker.number]?[activity] = nil
        }
    }

    /// Checks that a push does not bring an alert whose withdrawal its worker has read. A start needs an alert, so it
    /// keeps a withdrawn one.
    func checkWithdrawn(_ flight: Flight, body: String) {
        guard !flight.isStart, !flight.isBehind, let number = self.alertNumber(in: body),
            let alert = self.written[self.order[number]], alert.kind != .start
        else { return }
        for position in self.withdrawals.read[flight.worker]?[flight.activity] ?? []
        where self.withdraws(position, alert) && !self.hasStart(flight.activity) {
            self.fail(
                "worker \(flight.worker) sends the alert of event \(number) of activity \(flight.activity), and has read at \(position) that it is withdrawn"
            )
        }
    }

    /// Whether the activity has a start event. A start keeps an earlier alert that is merged into it, and that alert
    /// stays even if the start is not sent.
    private func hasStart(_ activity: Int) -> Bool {
        self.order.contains { self.written[$0]!.activity == activity && self.written[$0]!.kind == .start }
    }

    /// Whether some later event withdraws the alert of this event.
    func isWithdrawn(_ alert: WrittenEvent) -> Bool {
        self.order[alert.number...].contains {
            self.written[$0]!.withdrawsAlert && self.written[$0]!.activity == alert.activity
                && self.withdraws($0, alert)
        }
    }

    /// Whether an event withdraws an earlier event's alert. It does not if the alert's event has a newer timestamp. An
    /// end counts as the newest event, even if its timestamp is older.
    func withdraws(_ position: SourcePosition, _ alert: WrittenEvent) -> Bool {
        let event = self.written[position]!
        return event.number > alert.number
            && (event.kind == .end || event.timestampSeconds >= alert.timestampSeconds)
    }
}
