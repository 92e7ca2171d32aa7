import CommandSupport
import PushModel
import PushWorker
import Redaction

/// Counts records that were read while a filter let none through, and says which name was probably meant.
struct ReadInVain {
    /// Maximum number of names for each option that are kept for comparison.
    private static let namesMax = 10_000
    /// Number of names that are listed if none resembles the wanted name.
    private static let shownNamesMax = 5

    private(set) var readCount = 0
    /// Number of records of a kind that the command does not read.
    private var foreignCount = 0
    /// Number of records that name no app, although one is asked for.
    private var withoutAppCount = 0
    /// Names that records have, by the option that asks for such a name.
    private var seen: [String: Set<String>] = [:]

    /// The outcomes that records have, by name.
    private(set) var outcomes: Set<String> = []
    /// Number of outcomes of refused events that have no event id, although one is asked for.
    private(set) var refusedWithoutIDCount = 0

    mutating func countRecord() { self.readCount += 1 }

    /// Counts an outcome that has another event id than the one that is asked for, or none.
    mutating func add(eventIDOf line: OutcomeLine) {
        self.add(line.eventID, of: "--event-id")
        if line.eventIDs == nil, line.outcome == "\(Outcome.deadLettered.name)" { self.refusedWithoutIDCount += 1 }
    }

    /// Adds the name of a record's outcome.
    mutating func add(outcome: String) {
        if self.outcomes.count < Self.namesMax { self.outcomes.insert(outcome) }
    }

    /// Whether a record has a name that resembles the one that an option asks for.
    func hasNear(_ name: String, of option: String) -> Bool {
        NearSpelling.of(name, among: self.seen[option, default: []].sorted()) != nil
    }

    /// Whether records were read, and the command reads none of their kind.
    var isForeign: Bool { self.readCount > 0 && self.foreignCount >= self.readCount }

    /// Counts a record of a kind that the command does not read, as in a topic for something else.
    mutating func countForeign() { self.foreignCount += 1 }

    /// Adds a record's name that differs from the name that an option asks for.
    /// - Parameter name: the record's name; `nil`: none.
    mutating func add(_ name: String?, of option: String) {
        guard let name else { return self.withoutAppCount += option == "--app" ? 1 : 0 }
        if self.seen[option, default: []].count < Self.namesMax { self.seen[option, default: []].insert(name) }
    }

    /// The names that were probably meant, for each option that asks for a name that no record has.
    func near(_ asked: [(option: String, name: String)]) -> [String] {
        asked.compactMap { option, name in
            let seen = self.seen[option, default: []].sorted()
            guard !seen.isEmpty, !seen.contains(name) else { return nil }
            if let near = NearSpelling.of(name, among: seen) {
                return "\(option): did you mean \(ShownText.name(near))?"
            }
            return seen.count <= Self.shownNamesMax
                ? "\(option): there are \(seen.map(ShownText.name).joined(separator: ", "))"
                : "\(option): none of \(NumberText.grouped(seen.count)) names is similar"
        }
    }

    /// A sentence for standard error.
    /// - Parameters:
    ///   - asked: the names that were asked for, by option.
    ///   - source: where the records are stored.
    ///   - since: the moment from which on records were read; `nil`: from the beginning.
    ///   - isNear: whether the sentence says which names were probably meant.
    func sentence(
        asked: [(option: String, name: String)], in source: String, since: String? = nil, isNear: Bool = true
    ) -> String {
        guard self.readCount > 0 else { return "nothing in \(source)\(since.map { " since \($0)" } ?? "")" }
        let read = "\(NumberText.count(self.readCount, "record")) of \(source) read, and none "
        guard !self.isForeign else { return read + "is an outcome: is it another topic?" }
        // Names that were asked for come from the command line, and others from records.
        var text =
            read + "matches"
            + asked.map { " \($0.option) \(TerminalText.withoutTokens($0.name))" }.joined(separator: " and")
        if isNear { text += self.near(asked).map { "; \($0)" }.joined() }
        if self.withoutAppCount > 0 {
            text += "; \(NumberText.count(self.withoutAppCount, "record")) without an app passed over"
        }
        return text
    }
}
