import CommandSupport
import PushWorker
import Redaction

/// Counts records that were read while a filter let none through, and says which name was probably meant.
struct ReadInVain {
    /// Names beyond these are not compared.
    private static let namesMax = 10_000
    /// As many are named where none is near.
    private static let shownNamesMax = 5

    private(set) var readCount = 0
    /// Records that name no app, though one is asked for.
    private var withoutAppCount = 0
    /// The names that records have, by the option that asks for one.
    private var seen: [String: Set<String>] = [:]

    mutating func noteRecord() { self.readCount += 1 }

    /// A record has this name where an option asks for another.
    /// - Parameter name: `nil`: it has none.
    mutating func note(_ name: String?, of option: String) {
        guard let name else { return self.withoutAppCount += option == "--app" ? 1 : 0 }
        if self.seen[option, default: []].count < Self.namesMax { self.seen[option, default: []].insert(name) }
    }

    /// A sentence for standard error.
    /// - Parameters:
    ///   - asked: the names that were asked for, by option.
    ///   - place: where the records lie.
    func sentence(asked: [(option: String, name: String)], in place: String) -> String {
        guard self.readCount > 0 else { return "no record lies in \(place) since then" }
        var text = "\(NumberText.count(self.readCount, "record")) of \(place) read, and none fits"
        for (option, name) in asked {
            let seen = self.seen[option, default: []].sorted()
            guard !seen.isEmpty, !seen.contains(name) else { continue }
            if let near = NearSpelling.of(name, among: seen) {
                text += "; \(option): did you mean \(ShownText.name(near))?"
            } else if seen.count <= Self.shownNamesMax {
                text += "; \(option): there are \(seen.map(ShownText.name).joined(separator: ", "))"
            } else {
                text += "; \(option): none of \(NumberText.grouped(seen.count)) names is near to it"
            }
        }
        if self.withoutAppCount > 0 {
            text += "; \(NumberText.count(self.withoutAppCount, "record")) without an app passed over"
        }
        return text
    }
}
