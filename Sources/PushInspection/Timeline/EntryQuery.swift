import PushModel

/// What a person searches for in the timeline: `activity:order-7 is:superseded -status:200 Anne`. Every part must
/// match.
public struct EntryQuery: Equatable, Sendable {
    /// Why a query cannot be understood.
    public struct Fault: Error, Equatable, Sendable {
        /// The part that is wrong, and what was expected.
        public var description: String
    }

    /// Maximum length of a query, in bytes.
    public static let byteCountMax = 512
    /// Words that `is:` takes: kinds of entries, outcomes, verdicts and traits.
    public static let words: [String] =
        ["event", "push", "note", "pending", "alert", "merged", "downgraded"]
        + Outcome.allCases.map { "\($0.name)" } + PushVerdict.Word.allCases.map(\.rawValue)
        + [PhoneStatus.Word.doubtfulDate.name]

    /// Names before a colon. `push` is the id by which APNs knows a push; `entry` is the number of a line.
    public static let names = ["app", "activity", "event", "is", "status", "phone", "push", "entry"]

    private enum Filter: Equatable {
        case app(String)
        case activity(String)
        case activityPrefix(String)
        case kind(String)
        case word(String)
        case status(Int)
        case phone(Int)
        case entry(Int)
        case messageID(String)
        case text(String)
    }

    private struct Part: Equatable {
        var filter: Filter
        var isNegated: Bool
    }

    private var parts: [Part] = []

    /// Reads what was typed. Blank text matches every entry.
    public init(_ text: String) throws(Fault) {
        guard text.utf8.count <= Self.byteCountMax else {
            throw Fault(description: "a search has at most \(Self.byteCountMax) bytes")
        }
        for piece in Self.pieces(of: text) {
            let isNegated = piece.hasPrefix("-") && piece.count > 1
            let plain = isNegated ? piece.dropFirst() : piece
            self.parts.append(Part(filter: try Self.filter(String(plain)), isNegated: isNegated))
        }
    }

    /// The query that finds exactly what an activity, audience or channel has: `activity:order-7`, in quotes where the
    /// id would be read in another way.
    public static func text(ofActivity id: String) -> String {
        let isPlain = !id.contains { $0.isWhitespace } && !id.hasSuffix("*") && !id.hasPrefix("\"")
        return isPlain ? "activity:\(id)" : "activity:\"\(id)\""
    }

    /// Parts of a query. Blanks separate parts, except within the quotes of `activity:"two words"`.
    private static func pieces(of text: String) -> [Substring] {
        var pieces: [Substring] = []
        var rest = text[...]
        while true {
            rest = rest.drop(while: \.isWhitespace)
            guard !rest.isEmpty else { return pieces }
            let quoted = rest.prefixMatch(of: /-?activity:".+?"(?=\s|$)/)
            let piece = quoted.map { rest[$0.range] } ?? rest.prefix { !$0.isWhitespace }
            pieces.append(piece)
            rest = rest[piece.endIndex...]
        }
    }

    private static func activity(_ value: String) -> Filter {
        if value.count > 2, value.hasPrefix("\""), value.hasSuffix("\"") {
            return .activity(String(value.dropFirst().dropLast()))
        }
        return value.hasSuffix("*")
            ? .activityPrefix(String(value.dropLast())) : .activity(value)
    }

    private static func filter(_ text: String) throws(Fault) -> Filter {
        guard let colon = text.firstIndex(of: ":") else { return .text(text.lowercased()) }
        let name = text[..<colon]
        let value = String(text[text.index(after: colon)...])
        guard Self.names.contains(String(name)) else {
            let known = Self.names.map { $0 + ":" }.joined(separator: ", ")
            throw Fault(description: "“\(name):” is not a field to search by: expected \(known)")
        }
        guard !value.isEmpty else { throw Fault(description: "“\(name):” has no value") }
        switch name {
        case "app": return .app(value.lowercased())
        case "activity": return Self.activity(value)
        case "push": return .messageID(value.lowercased())
        case "event":
            let kinds = EventKind.allCases.map { "\($0.name)" }
            guard kinds.contains(value.lowercased()) else {
                throw Fault(
                    description: "“event:\(value)” is not a kind of event: expected \(kinds.joined(separator: ", "))")
            }
            return .kind(value.lowercased())
        case "is":
            guard Self.words.contains(value.lowercased()) else {
                throw Fault(
                    description:
                        "“is:\(value)” is not a word that “is:” takes: expected \(Self.words.joined(separator: ", "))")
            }
            return .word(value.lowercased())
        default:
            guard let number = Int(value) else { throw Fault(description: "“\(text)” has no number") }
            return name == "status" ? .status(number) : name == "phone" ? .phone(number) : .entry(number)
        }
    }

    /// Activities that the query names whole.
    public var activities: [String] {
        self.parts.compactMap { part in
            if case .activity(let name) = part.filter, !part.isNegated { name } else { nil }
        }
    }

    func matches(_ facts: EntryFacts) -> Bool {
        self.parts.allSatisfy { Self.matches($0.filter, facts) != $0.isNegated }
    }

    private static func matches(_ filter: Filter, _ facts: EntryFacts) -> Bool {
        switch filter {
        case .app(let name): facts.apps.contains { $0.lowercased().contains(name) }
        // The timeline cuts long runs of digits in ids.
        case .activity(let id): facts.activity == TokenText.shortened(id)
        case .activityPrefix(let start): facts.activity.hasPrefix(start)
        case .kind(let name): facts.kinds.contains(name)
        case .word(let word): facts.words.contains(word)
        case .status(let status): facts.statuses.contains(status)
        case .phone(let phone): facts.phones.contains(phone)
        case .entry(let id): facts.id == id
        case .messageID(let id): facts.messageIDs.contains { $0.lowercased() == id }
        case .text(let text): facts.text.lowercased().contains(text)
        }
    }
}
