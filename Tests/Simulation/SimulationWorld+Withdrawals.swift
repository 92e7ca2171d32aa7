import APNSProtocol
import PushEngine
import PushModel

/// `"alert": null`: the upstream service takes an alert back. Nobody can tell whether it was in time, but a worker that has read so says it no
/// more.
extension SimulationWorld {
    /// What concerns withdrawals alone. It is drawn apart: a world without any is as it was.
    struct Withdrawals {
        var random: SplitMix64
        /// Share of events without an alert that withdraw those before, in a hundred.
        let percent: Int
        /// By worker and activity: the withdrawals it has read since it has the partition.
        var read: [Int: [Int: [SourcePosition]]] = [:]

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x5151_5151_5151_5151)
            self.percent = [0, 0, 15, 50].randomElement(using: &self.random)!
        }

        mutating func draw() -> Bool {
            self.percent > 0 && Int.random(in: 0..<100, using: &self.random) < self.percent
        }
    }

    /// A worker has read an event, and takes it now: it does not wait for it any longer, as it belongs to the partition.
    func noteWithdrawal(_ event: WrittenEvent, at position: SourcePosition, worker: SimulatedWorker) {
        guard event.withdrawsAlert else { return }
        // One that is set aside when it comes withdraws nothing: it has expired, or its time lies too far ahead of the worker's clock.
        let nowSeconds = self.now(of: worker).wallSeconds
        guard event.expiresSeconds ?? .max > nowSeconds,
            event.timestampSeconds <= nowSeconds + EventRules.timestampAheadSecondsMax
        else { return }
        // What comes after an end is late, or begins a life that the alert before is no part of.
        let isLate = self.order[..<event.number].contains {
            self.written[$0]!.activity == event.activity && self.written[$0]!.kind == .end
        }
        guard !isLate else { return }
        self.withdrawals.read[worker.number, default: [:]][event.activity, default: []].append(position)
    }

    /// The worker has the partition anew: what it knows of it comes from `state`.
    func forgetWithdrawals(_ partition: Int32, worker: SimulatedWorker) {
        for activity in self.phones.indices where self.home(of: activity) == partition {
            self.withdrawals.read[worker.number]?[activity] = nil
        }
    }

    /// A push leaves. Its alert has not been withdrawn, as far as its worker has read. A start needs one, whatever becomes of it.
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

    /// An alert that a start has taken over stays, and waits on should the start not be sent.
    private func hasStart(_ activity: Int) -> Bool {
        self.order.contains { self.written[$0]!.activity == activity && self.written[$0]!.kind == .start }
    }

    /// Whether some event withdraws the alert that this one brought.
    func isWithdrawn(_ alert: WrittenEvent) -> Bool {
        self.order[alert.number...].contains {
            self.written[$0]!.withdrawsAlert && self.written[$0]!.activity == alert.activity
                && self.withdraws($0, alert)
        }
    }

    /// Not a newer one, and not one that was written later. An end is the last word whatever its time.
    func withdraws(_ position: SourcePosition, _ alert: WrittenEvent) -> Bool {
        let event = self.written[position]!
        return event.number > alert.number
            && (event.kind == .end || event.timestampSeconds >= alert.timestampSeconds)
    }
}
