import CommandSupport
import Foundation
import PushEngine
import PushModel

/// The numbers of one demo, as `--summary FILE` writes them.
struct DemoSummary: Codable, Equatable, Sendable {
    struct Percentiles: Codable, Equatable {
        var p50: Double
        var p99: Double
    }

    /// The fans of the match, who are members of an audience.
    struct Members: Codable, Equatable {
        var checked: Int
        /// Phones that show the end of the match and rang as they should have.
        var equivalent: Int
        /// Phones that rang for the goal that was cancelled.
        var heardGoalTakenBack: Int
        /// Number of times that a version was due to a member.
        var due: Int
        /// What became of the due versions, by name. Results that did not occur are included.
        var results: [String: Int]
        /// Members that are still owed a version at the end.
        var waiting: Int
        var starts: Starts
    }

    /// The kick-off, which puts up the fans' cards.
    struct Starts: Codable, Equatable {
        /// Phones with one card that the kick-off has put up.
        var cards: Int
        /// Start members that were owed the kick-off.
        var due: Int
        /// What became of the due starts, by name. Results that did not occur are included.
        var results: [String: Int]
        /// Start members that are still owed the kick-off at the end.
        var waiting: Int
    }

    /// The channel of the match.
    struct Channel: Codable, Equatable {
        /// Phones that listened to the channel.
        var listeners: Int
        /// Channels that were made for the match.
        var opened: Int
        /// Versions that APNs accepted on the channel.
        var broadcasts: Int
        /// Number of times that the end of the match was broadcast again.
        var beacons: Int
        /// Channels that were deleted again.
        var closed: Int
    }

    /// Events taken from the input topics, each counted once. A forwarded record is not counted again in its own
    /// partition.
    var eventsConsumed: Int
    /// Requests that APNs answered with 200.
    var pushesAccepted: Int
    /// Events that gave way to a newer one before they were sent.
    var eventsMerged: Int
    /// Outcomes by name. Outcomes that did not occur are included.
    var outcomes: [String: Int]
    /// Events without an outcome at the end.
    var pending: Int
    var devicesChecked: Int
    /// Devices that show what they would show if every event had been pushed alone and in order.
    var devicesEquivalent: Int
    /// Devices that got more high-priority pushes in an hour than their app's budget allows.
    var budgetViolations: Int
    var members: Members
    var channel: Channel
    /// Time from the record of a delivered event to the record of its outcome, in milliseconds. Includes waits for
    /// pacing, windows and tokens.
    var eventToAcceptedMs: Percentiles

    /// Every reason why the demo failed, in words; empty: a success.
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
        if self.members.checked == 0 { faults.append("no member of the audience was checked") }
        if self.members.equivalent != self.members.checked {
            faults.append(
                "\(self.members.checked - self.members.equivalent) of \(self.members.checked) members show something else"
            )
        }
        if self.members.starts.cards == 0 { faults.append("no card was put up by the start of the audience") }
        if self.members.starts.cards != self.members.starts.due {
            faults.append(
                "\(self.members.starts.due) fans were to be started, \(self.members.starts.cards) have one card")
        }
        let startResultCount = self.members.starts.results.values.reduce(0, +)
        if self.members.starts.due != startResultCount + self.members.starts.waiting {
            faults.append(
                "conservation: \(self.members.starts.due) members were due a start, but \(startResultCount) are done with and "
                    + "\(self.members.starts.waiting) wait")
        }
        let resultCount = self.members.results.values.reduce(0, +)
        if self.members.due != resultCount + self.members.waiting {
            faults.append(
                "conservation: \(self.members.due) members were due something, but \(resultCount) are done with and "
                    + "\(self.members.waiting) wait")
        }
        if self.channel.opened != 1 || self.channel.closed != self.channel.opened {
            faults.append(
                "\(self.channel.opened) channels were opened for the match and \(self.channel.closed) closed, expected one of each"
            )
        }
        if self.channel.broadcasts == 0 { faults.append("nothing was broadcast on the channel of the match") }
        if self.channel.beacons == 0 { faults.append("the end of the match was not broadcast again") }
        if self.members.waiting != 0 { faults.append("\(self.members.waiting) members wait for something") }
        if self.budgetViolations != 0 { faults.append("\(self.budgetViolations) devices got more than their budget") }
        return faults
    }

    /// Writes the summary as JSON.
    /// - Throws: a `CommandFailure` with the path and the file system's message.
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
            "members             \(NumberText.grouped(self.members.equivalent)) of \(NumberText.grouped(self.members.checked)) show exactly what they should; "
                + "\(NumberText.grouped(self.members.heardGoalTakenBack)) heard of the goal that was taken back",
            "members' accounts   \(self.members.account)",
            "starts              \(NumberText.grouped(self.members.starts.cards)) of \(NumberText.grouped(self.members.starts.due)) fans' cards were put up by the kick-off, one each",
            "channel             \(NumberText.grouped(self.channel.listeners)) fans listened to \(self.channel.broadcasts) broadcasts; the end was repeated "
                + "\(self.channel.beacons) times; \(self.channel.closed) of \(self.channel.opened) channels deleted again",
            "budget violations   \(self.budgetViolations)",
            "event to accepted   p50 \(Self.decimal(self.eventToAcceptedMs.p50)) ms, p99 \(Self.decimal(self.eventToAcceptedMs.p99)) ms "
                + "(deliberate waits included)",
        ]
    }

    private static func decimal(_ number: Double) -> String { String(format: "%.1f", number) }
}

extension DemoSummary.Channel {
    /// Takes the channel's numbers from the worker's counters, except `listeners`.
    init(listeners: Int, _ counters: EngineCounters) {
        self.init(
            listeners: listeners, opened: Int(counters.channelsCreated),
            broadcasts: Int(counters.channelBroadcastsAccepted), beacons: Int(counters.channelBeacons),
            closed: Int(counters.channelsDeleted))
    }
}

extension DemoSummary.Starts {
    /// Counts the starts.
    /// - Parameter counters: the worker's counters of start members.
    init(_ comparison: ExpectedMembers.Comparison, _ counters: MemberCounters) {
        self.init(
            cards: comparison.started, due: Int(counters.due), results: counters.results,
            waiting: Int(counters.waiting))
    }
}

extension MemberCounters {
    /// Results of what was due, by name.
    fileprivate var results: [String: Int] {
        [
            "accepted": Int(self.accepted), "superseded": Int(self.superseded), "expired": Int(self.expired),
            "gone": Int(self.gone), "failed": Int(self.failed), "unknown": Int(self.unknown), "left": Int(self.left),
            "handed-over": Int(self.handedOver),
        ]
    }
}

extension DemoSummary.Members {
    /// Counts the members.
    /// - Parameters:
    ///   - counters: the worker's counters of members with an update token.
    ///   - starts: the worker's counters of start members.
    init(_ comparison: ExpectedMembers.Comparison, _ counters: MemberCounters, starts: MemberCounters) {
        self.init(
            checked: comparison.checked, equivalent: comparison.equivalent,
            heardGoalTakenBack: comparison.heardTakenBack, due: Int(counters.due),
            results: counters.results, waiting: Int(counters.waiting), starts: .init(comparison, starts))
    }

    /// What was owed to members, and its results.
    fileprivate var account: String {
        let results = self.results.filter { $0.value > 0 }.sorted { $0.key < $1.key }
            .map { "\(NumberText.grouped($0.value)) \($0.key)" }
        return
            "\(NumberText.grouped(self.due)) due = \((results + ["\(self.waiting) waiting"]).joined(separator: " + "))"
    }
}
