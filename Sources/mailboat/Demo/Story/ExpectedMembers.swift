import APNSSimulator
import DeviceModel
import Upstream

/// What the members of an audience are to show, each of them, and what they may have been told on the way. Knows nothing of the worker.
struct ExpectedMembers {
    private struct Event {
        var recordMillis: Int64
        var hasAlert: Bool
        /// A later event took its alert back, soon: it may have reached some phones.
        var isTakenBack = false
    }

    /// Tokens, and when their joins were published, milliseconds since 1970.
    private var joins: [(token: String, recordMillis: Int64)] = []
    private var events: [Event] = []
    private var reference = ReferenceDevice()

    /// Joins and events lie on different partitions: within this time nobody can say which was first.
    private static let tieMillis: Int64 = 3_000
    /// A worker keeps a second between two requests to a phone. On a busy machine the first may be on its way for longer than the second.
    private static let leastDistanceMillis = 500

    /// A phone joins.
    mutating func join(token: String, recordMillis: Int64) { self.joins.append((token, recordMillis)) }

    /// `event` was published for the audience.
    mutating func take(_ event: StoryEvent, recordMillis: Int64) throws {
        try self.reference.take(payload: event.payload(recordMillis: recordMillis), nowMillis: recordMillis)
        if event.withdrawsAlert, let last = self.events.indices.last, self.events[last].hasAlert {
            self.events[last].isTakenBack = true
        }
        self.events.append(Event(recordMillis: recordMillis, hasAlert: event.alert != nil))
    }

    /// How the phones there are differ from those there should be.
    /// - Parameter actual: gives the phone behind a token; `nil`: APNs has never seen the token.
    func compare(with actual: (_ token: String) -> SimulatedDevice?) -> Comparison {
        var comparison = Comparison()
        for (token, recordMillis) in self.joins {
            comparison.checked += 1
            guard let phone = actual(token) else {
                comparison.differences.append("fan \(token.prefix(8))…: nothing was pushed to it")
                continue
            }
            let later = self.events.filter { $0.hasAlert && $0.recordMillis >= recordMillis }
            let due = later.count { !$0.isTakenBack && $0.recordMillis >= recordMillis + Self.tieMillis }
            let heard = Int(phone.device.alertCount)
            if heard > later.count(where: { !$0.isTakenBack }) { comparison.heardTakenBack += 1 }
            if let difference = self.difference(of: phone, alerts: due...later.count) {
                comparison.differences.append("fan \(token.prefix(8))…: \(difference)")
            } else {
                comparison.equivalent += 1
            }
        }
        return comparison
    }

    private func difference(of phone: SimulatedDevice, alerts: ClosedRange<Int>) -> String? {
        if let difference = phone.device.firstDifference(from: self.reference.device, countingCards: false) {
            return difference
        }
        if !alerts.contains(Int(phone.device.alertCount)) {
            return
                "it rang \(phone.device.alertCount) times, expected \(alerts.lowerBound) to \(alerts.upperBound) times"
        }
        // The newest at its join, and what came then.
        if phone.accepted > self.events.count {
            return "it got \(phone.accepted) pushes of \(self.events.count) events"
        }
        if phone.inFlightPeak > 1 { return "\(phone.inFlightPeak) pushes were on their way to it at once" }
        if let least = phone.leastDistanceMillis, least < Self.leastDistanceMillis {
            return "two pushes came within \(least) ms"
        }
        return nil
    }

    struct Comparison {
        var checked = 0
        var equivalent = 0
        /// Phones that rang for an alert that was taken back.
        var heardTakenBack = 0
        /// One line for each phone that shows something else.
        var differences: [String] = []
    }
}
