import CommandSupport
import Foundation
import PushModel

/// The numbers of one demo, as `--summary FILE` writes them.
struct DemoSummary: Codable, Equatable {
    struct Percentiles: Codable, Equatable {
        var p50: Double
        var p99: Double
    }

    /// Events taken from the input topics, each counted once: a record forwarded to its own partition is not counted again there.
    var eventsConsumed: Int
    /// Requests APNs answered with 200.
    var pushesAccepted: Int
    /// Events that gave way to a newer one before they were sent.
    var eventsMerged: Int
    /// By name; every outcome there is, also those that did not occur.
    var outcomes: [String: Int]
    /// Events without an outcome at the end.
    var pending: Int
    var devicesChecked: Int
    /// Devices that show what they would show had every event been pushed alone and in order.
    var devicesEquivalent: Int
    /// Devices that got more high-priority pushes in an hour than their app's budget allows.
    var budgetViolations: Int
    /// From the newest event's record time to APNs' answer, milliseconds; waits for pacing, windows and tokens included.
    var eventToAcceptedMs: Percentiles

    /// Everything that keeps this from being a success, in words; empty: a success.
    var faults: [String] {
        var faults: [String] = []
        let outcomeCount = self.outcomes.values.reduce(0, +)
        if self.eventsConsumed != outcomeCount + self.pending {
            faults.append(
                "conservation: \(self.eventsConsumed) events consumed, but \(outcomeCount) outcomes + \(self.pending) pending"
            )
        }
        if self.pending != 0 { faults.append("\(self.pending) events are still pending") }
        if self.pushesAccepted == 0 { faults.append("no push was accepted") }
        if self.devicesChecked == 0 { faults.append("no device was checked") }
        if self.devicesEquivalent != self.devicesChecked {
            faults.append(
                "\(self.devicesChecked - self.devicesEquivalent) of \(self.devicesChecked) devices show something else")
        }
        if self.budgetViolations != 0 { faults.append("\(self.budgetViolations) devices got more than their budget") }
        return faults
    }

    /// Writes the summary as JSON. Throws a `CommandFailure` with the path and what the file system says.
    func write(to path: String) throws { try SummaryFile.write(self, to: path) }

    /// The summary for a reader.
    func lines(seconds: Double) -> [String] {
        let outcomes = Outcome.allCases.compactMap { outcome -> String? in
            let count = self.outcomes["\(outcome.name)"] ?? 0
            return count == 0 ? nil : "\(NumberText.grouped(count)) \(outcome.name)"
        }
        return [
            "events consumed     \(NumberText.grouped(self.eventsConsumed)) in \(Self.decimal(seconds)) s",
            "pushes accepted     \(NumberText.grouped(self.pushesAccepted)) (\(NumberText.grouped(self.eventsMerged)) events merged into newer ones)",
            "outcomes            \(outcomes.joined(separator: ", "))",
            "pending             \(NumberText.grouped(self.pending))",
            "devices             \(NumberText.grouped(self.devicesEquivalent)) of \(NumberText.grouped(self.devicesChecked)) show exactly what they should",
            "budget violations   \(self.budgetViolations)",
            "event to accepted   p50 \(Self.decimal(self.eventToAcceptedMs.p50)) ms, p99 \(Self.decimal(self.eventToAcceptedMs.p99)) ms "
                + "(deliberate waits included)",
        ]
    }

    private static func decimal(_ number: Double) -> String { String(format: "%.1f", number) }
}
