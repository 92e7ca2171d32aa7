import CommandSupport
import Foundation
import KafkaLog
import PushModel

/// Selects the outcomes that are shown.
struct TailFilter {
    /// The app, the key and the outcomes that are shown; `nil` or empty: any.
    var app: String?
    var key: String?
    /// The publisher's id of the event; `nil`: any.
    var eventID: String?
    var outcomes: Set<String> = []
    /// The earliest time of records shown, milliseconds since 1970.
    var sinceMillis: Int64?

    /// The names that were asked for, by option.
    var asked: [(option: String, name: String)] {
        let outcomes = self.outcomes.isEmpty ? nil : self.outcomes.sorted().joined(separator: " or ")
        return [("--key", self.key), ("--app", self.app), ("--event-id", self.eventID), ("--outcome", outcomes)]
            .compactMap { option, name in name.map { (option: option, name: $0) } }
    }

    /// Key prefixes of records about an audience: about its members together, and about its channel.
    private static let audiencePrefixes = ["pass/", "audience/", "start-pass/", "channel/"]

    /// Whether the record is an outcome of an event for the audience that the key names.
    func showsAudience(_ record: OwnedRecord) -> Bool {
        guard let key, record.keyText == key else { return false }
        return Self.line(record)?.audience == key
    }

    /// Whether the record has the key that was asked for, or is about the audience that this key names.
    private func isOfKey(_ record: OwnedRecord) -> Bool {
        guard let key, record.keyText != key else { return true }
        guard let text = record.keyText, Self.audiencePrefixes.contains(where: text.hasPrefix) else { return false }
        return Self.line(record)?.audience == key
    }

    private static func line(_ record: OwnedRecord) -> OutcomeLine? {
        record.value.flatMap { try? JSONDecoder().decode(OutcomeLine.self, from: Data($0)) }
    }

    /// Reads the record; `nil`: it is not shown.
    /// - Parameter vain: collects names that are not the ones asked for.
    func take(_ record: OwnedRecord, vain: inout ReadInVain) -> OutcomeLine? {
        if let sinceMillis, record.timestampMillis < sinceMillis { return nil }
        vain.countRecord()
        guard self.isOfKey(record) else {
            vain.add(record.keyText, of: "--key")
            return nil
        }
        guard let line = Self.line(record) else {
            vain.countForeign()
            return nil
        }
        vain.add(outcome: line.outcome)
        if let app, line.app != app {
            vain.add(line.app, of: "--app")
            return nil
        }
        if let eventID, !line.isAbout(eventID: eventID) {
            vain.add(eventIDOf: line)
            return nil
        }
        guard self.outcomes.isEmpty || self.outcomes.contains(line.outcome) else { return nil }
        return line
    }
}

/// An outcome as a line.
enum TailText {
    /// Colour that shows how good an outcome is.
    private enum Shade: String {
        /// An outcome that needs nothing done.
        case good = "32"
        /// An outcome that usually needs nothing done.
        case plain = "36"
        /// An outcome that somebody may want to look at.
        case doubtful = "33"
        case bad = "31"
    }

    private static func shade(_ outcome: String) -> Shade {
        switch Outcome(named: outcome) {
        case .delivered, .fannedOut, .applied: .good
        case .superseded, .late, .duplicate: .plain
        case .expired, .unregistered, .unknown: .doubtful
        case .rejected, .deadLettered: .bad
        // Records about many members, and outcomes of a later release.
        case nil:
            switch outcome {
            case "audience", "pass", "start-pass", "channel-opened": .good
            case "channel-closed": .plain
            default: .bad
            }
        }
    }

    /// One line for a person: `18:54:39  delivered      com.example.pizza order-7  priority 10, …`.
    /// - Parameters:
    ///   - isColoured: whether the outcome is written in a colour.
    ///   - alikeCount: number of outcomes that the line stands for, this one being the newest; `nil`: for this one
    ///     alone.
    static func line(
        _ line: OutcomeLine, _ record: OwnedRecord, isColoured: Bool, alikeCount: Int? = nil
    ) -> String {
        let time = MomentText.time(millis: record.timestampMillis).dropFirst(11).prefix(8)
        let shown = TerminalText.escaped(line.outcome)
        let padded = shown + String(repeating: " ", count: max(1, 14 - shown.count))
        let outcome = isColoured ? "\u{1b}[\(Self.shade(line.outcome).rawValue)m\(padded)\u{1b}[0m" : padded
        let about = line.activity ?? line.audience ?? line.channel ?? record.keyText ?? ""
        var words: [String] = []
        if let reason = line.reason { words.append(reason) }
        if let status = line.status, status != 200 { words.append("status \(status)") }
        if let priority = line.priority { words.append("priority \(priority)") }
        if let merged = line.merged, merged > 1 { words.append("\(merged) events") }
        if let queued = line.queuedMillis { words.append("waited \(queued) ms") }
        if let apns = line.apnsMillis { words.append("APNs took \(apns) ms") }
        if let into = line.into { words.append("into \(ExplainText.position(into.position))") }
        if let kept = line.kept, !kept.isEmpty { words.append("kept \(kept.joined(separator: " and "))") }
        // A member is known only by the hash of its token. A `rejected` outcome has the hash of a token to forget.
        if line.outcome == "rejected" || line.audience != nil, let hash = line.tokenHash {
            words.append("token #\(hash)")
        }
        if let version = line.version { words.append("version \(version)") }
        if let count = line.partitions, let finished = line.finished, finished < count {
            words.append("\(finished) of \(count) partitions finished")
        }
        if line.members != nil { words += Self.counts(MemberCounts(of: record)) }
        if let starts = line.starts { words.append("starts: \(Self.counts(starts).joined(separator: ", "))") }
        if line.audience != nil, let channel = line.channel { words.append("channel \(channel)") }
        if let listeners = line.listeners { words.append("\(listeners) listening") }
        if let id = line.eventIDs { words.append("id \(id)") }
        if let source = line.source { words.append(ExplainText.position(source)) }
        if let alikeCount { words = ["and \(alikeCount) more like it"] }
        let rest = "\(line.app ?? "-") \(about)  \(SentenceText.list(words))"
        return "\(time)  \(outcome)\(TerminalText.withoutTokens(rest))"
    }

    /// What became of members, in numbers that add up. Zeros are left out, except those of `members` and `accepted`.
    private static func counts(_ counts: MemberCounts?) -> [String] {
        (counts?.all ?? []).filter { $0.count > 0 || ["members", "accepted"].contains($0.name) }
            .map { "\($0.count) \($0.count == 1 && $0.name == "members" ? "member" : $0.name)" }
    }

    /// One JSON object with the record as it is, in `record`, and its position.
    static func json(_ record: OwnedRecord) -> String {
        // The text was read as JSON, so it can be part of JSON. A line feed, a carriage return or a tab in it is not
        // inside a string. Other line ends of Unicode may be.
        let spaces: Set<Unicode.Scalar> = ["\n", "\r", "\t"]
        var value = String.UnicodeScalarView()
        for scalar in (record.valueText ?? "null").unicodeScalars {
            value.append(spaces.contains(scalar) ? " " : scalar)
        }
        return
            "{\"partition\":\(record.partition),\"offset\":\(record.offset),\"writtenMillis\":\(record.timestampMillis),\"record\":\(String(value))}"
    }

    /// Whether to use colours, which are for a person at a terminal (https://no-color.org).
    static func isColoured(isTerminal: Bool, environment: [String: String]) -> Bool {
        isTerminal && (environment["NO_COLOR"] ?? "").isEmpty && environment["TERM"] != "dumb"
    }
}
