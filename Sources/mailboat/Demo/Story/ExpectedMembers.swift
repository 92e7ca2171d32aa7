import APNSSimulator
import DeviceModel
import Upstream

/// What each member of an audience must show, and the alerts that it may have received on the way. It knows nothing of
/// the worker.
struct ExpectedMembers {
    private struct Event {
        var recordMillis: Int64
        var hasAlert: Bool
        /// Whether a later event soon took the alert back. The alert may have reached some phones.
        var isTakenBack = false
    }

    private struct Join {
        /// The token for updates.
        var token: String
        /// Whether the audience's start put up the card before the join.
        var isStarted: Bool
        /// Whether the phone listens to the audience's channel.
        var listens: Bool
        /// When the join was published, milliseconds since 1970. For a phone that was started and listens: when its
        /// card was seen.
        var recordMillis: Int64
    }
    private var joins: [Join] = []
    private var events: [Event] = []
    /// Two reference phones: one whose card was put up by push, and one whose app put it up.
    private var started = ReferenceDevice()
    private var unstarted = ReferenceDevice()

    /// Time, in milliseconds, within which a join and an event may be seen in either order. They are in different
    /// partitions.
    private static let tieMillis: Int64 = 3_000
    /// Least distance, in milliseconds, at which two pushes reach a phone. A worker sends them a second apart, but on a
    /// busy machine the first may take longer.
    private static let leastDistanceMillis = 500

    /// Adds a phone.
    /// - Parameters:
    ///   - isStarted: whether the audience's start put up the card.
    ///   - listens: whether the phone listens to the audience's channel from then on.
    mutating func join(token: String, isStarted: Bool = false, listens: Bool = false, recordMillis: Int64) {
        self.joins.append(Join(token: token, isStarted: isStarted, listens: listens, recordMillis: recordMillis))
    }

    /// Takes an `event` that was published for the audience.
    mutating func take(_ event: StoryEvent, recordMillis: Int64) throws {
        if event.withdrawsAlert, let last = self.events.indices.last, self.events[last].hasAlert {
            self.events[last].isTakenBack = true
        }
        let payload = event.payload(recordMillis: recordMillis)
        try self.started.take(payload: payload, nowMillis: recordMillis)
        // A member with an update token never rings for a start.
        guard event.kind != .start else { return }
        self.events.append(Event(recordMillis: recordMillis, hasAlert: event.alert != nil))
        try self.unstarted.take(payload: payload, nowMillis: recordMillis)
    }

    /// Compares the actual phones with the expected ones.
    /// - Parameter actual: gives the phone of a token; `nil`: APNs has never seen the token.
    func compare(with actual: (_ token: String) -> SimulatedDevice?) -> Comparison {
        var comparison = Comparison()
        for join in self.joins {
            let token = join.token
            comparison.checked += 1
            guard let phone = actual(token) else {
                comparison.differences.append("fan \(token.prefix(8))…: nothing was pushed to it")
                continue
            }
            let later = self.events.filter { $0.hasAlert && $0.recordMillis >= join.recordMillis }
            let due = later.count { !$0.isTakenBack && $0.recordMillis >= join.recordMillis + Self.tieMillis }
            // The phone rang for the start, too.
            let heard = Int(phone.device.alertCount) - (join.isStarted ? 1 : 0)
            if join.isStarted, phone.device.cardCount == 1 { comparison.started += 1 }
            if join.listens { comparison.listening += 1 }
            if heard > later.count(where: { !$0.isTakenBack }) { comparison.heardTakenBack += 1 }
            if let difference = self.difference(of: phone, join, heard: heard, alerts: due...later.count) {
                comparison.differences.append("fan \(token.prefix(8))…: \(difference)")
            } else {
                comparison.equivalent += 1
            }
        }
        return comparison
    }

    /// What differs on one phone.
    /// - Parameter heard: how often the phone rang since it joined.
    private func difference(
        of phone: SimulatedDevice, _ join: Join, heard: Int, alerts: ClosedRange<Int>
    ) -> String? {
        let expected = join.isStarted ? self.started.device : self.unstarted.device
        if let difference = phone.device.firstDifference(from: expected, countingCards: join.isStarted) {
            return difference
        }
        if !alerts.contains(heard) {
            return "it rang \(heard) times, expected \(alerts.lowerBound) to \(alerts.upperBound) times"
        }
        if phone.bothWays > 0 {
            return "\(phone.bothWays) times it got by its token what the channel had brought, or the other way round"
        }
        // A phone gets at most the start, the newest version at the join, and the later events. A phone that listens
        // gets these over the channel, and one push that puts up its card or brings what it missed.
        let most = join.listens ? 1 : self.events.count + (join.isStarted ? 2 : 0)
        if phone.accepted > most { return "it got \(phone.accepted) pushes, expected at most \(most)" }
        if phone.inFlightPeak > 1 { return "\(phone.inFlightPeak) pushes were on their way to it at once" }
        if let least = phone.leastDistanceMillis, least < Self.leastDistanceMillis {
            return "two pushes arrived within \(least) ms"
        }
        return nil
    }

    struct Comparison {
        var checked = 0
        var equivalent = 0
        /// Phones on which the start put up one card.
        var started = 0
        /// Phones that listen to the channel.
        var listening = 0
        /// Phones that rang for an alert that was taken back.
        var heardTakenBack = 0
        /// One line for each phone that shows something else.
        var differences: [String] = []
    }
}
