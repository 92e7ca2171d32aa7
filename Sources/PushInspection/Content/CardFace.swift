/// What a card shows, drawn from a `content-state` by the first template whose keys it has.
///
/// The page has no code of the app. A face shows what arrived, in the places where an app would show it.
public struct CardFace: Equatable, Sendable {
    /// How a `content-state` is laid out.
    public enum Template: String, Sendable, CaseIterable {
        /// Two sides and their scores.
        case match
        /// A status and its progress.
        case delivery
        /// Names and values.
        case generic
        /// A template that a developer gave.
        case own
    }

    /// One side of a match.
    public struct Side: Equatable, Sendable {
        /// The side's name, or `Home` and `Away`.
        public var name: String
        /// The score as spelt.
        public var score: String
    }

    /// One line of the card: a name and its value.
    public struct Row: Equatable, Sendable {
        /// The value's key.
        public var name: String
        /// The value as text, cut if it is long.
        public var value: String
        /// Path of the value in the `content-state`.
        public var key: String
    }

    /// The template that matches.
    public var template: Template
    /// The line in large type; empty: none.
    public var headline: String
    /// Text before the camera in the Dynamic Island.
    public var leading: String
    /// Text behind the camera.
    public var trailing: String
    /// A few characters for when another activity has the island.
    public var minimal: String
    /// Progress, 0...1; `nil`: the card has none.
    public var progress: Double?
    /// When a timer runs out, or since when it runs, seconds since 1970; `nil`: the card has no timer.
    public var timerSeconds: Int64?
    /// Home and away of a match; otherwise empty.
    public var sides: [Side]
    /// Values that the card lists by name.
    public var rows: [Row]
    /// Keys that a developer's template names and the content lacks.
    public var missing: [String] = []

    /// Maximum number of rows of a card. A phone has no room for more.
    public static let rowsMax = 6
    static let valueCharactersMax = 60
    static let islandCharactersMax = 10
    static let minimalCharactersMax = 4

    /// Draws an object. A value that is not an object gives an empty face.
    public init(_ content: JSONTree) {
        guard case .object(let members) = content else {
            self = CardFace(template: .generic)
            return
        }
        if let face = Self.match(members) ?? Self.delivery(members) {
            self = face
        } else {
            self = Self.generic(members)
        }
    }

    init(template: Template) {
        self.template = template
        (self.headline, self.leading, self.trailing, self.minimal) = ("", "", "", "")
        (self.sides, self.rows) = ([], [])
    }

    // MARK: Templates

    private static func match(_ members: [JSONTree.Member]) -> CardFace? {
        guard let home = Self.find(["homeScore", "home"], in: members), home.value.double != nil,
            let away = Self.find(["awayScore", "away"], in: members), away.value.double != nil
        else { return nil }
        let homeName = Self.find(["homeTeam", "homeName"], in: members)
        let awayName = Self.find(["awayTeam", "awayName"], in: members)
        let clock = Self.find(["clock", "minute", "period", "status"], in: members)
        var face = CardFace(template: .match)
        face.sides = [
            Side(name: Self.text(homeName?.value) ?? "Home", score: home.value.plainText),
            Side(name: Self.text(awayName?.value) ?? "Away", score: away.value.plainText),
        ]
        face.headline = clock.map { $0.name == "minute" ? "\($0.value.plainText)′" : $0.value.plainText } ?? ""
        face.leading = Self.cut(home.value.plainText, Self.islandCharactersMax)
        face.trailing = Self.cut(away.value.plainText, Self.islandCharactersMax)
        face.minimal = Self.cut("\(home.value.plainText):\(away.value.plainText)", Self.minimalCharactersMax + 1)
        face.rows = Self.rows(members, without: [home, away, homeName, awayName, clock])
        return face
    }

    private static func delivery(_ members: [JSONTree.Member]) -> CardFace? {
        let status = Self.find(["status", "deliveryStatus", "state"], in: members).flatMap {
            if case .string = $0.value { $0 } else { nil }
        }
        let progress = Self.find(["progress", "fraction"], in: members).flatMap { $0.value.double == nil ? nil : $0 }
        guard status != nil || progress != nil else { return nil }
        var face = CardFace(template: .delivery)
        face.progress = progress?.value.double.map(Self.fraction)
        let percent = face.progress.map { "\(Int(($0 * 100).rounded())) %" }
        face.headline = Self.text(status?.value) ?? percent ?? ""
        face.rows = Self.rows(members, without: [status, progress])
        face.leading = Self.cut(face.headline, Self.islandCharactersMax)
        face.trailing = Self.cut(percent ?? face.rows.first?.value ?? "", Self.islandCharactersMax)
        face.minimal = Self.cut(face.trailing.isEmpty ? face.leading : face.trailing, Self.minimalCharactersMax + 1)
        return face
    }

    private static func generic(_ members: [JSONTree.Member]) -> CardFace {
        var face = CardFace(template: .generic)
        face.rows = Self.rows(members, without: [])
        face.leading = Self.cut(face.rows.first?.value ?? "", Self.islandCharactersMax)
        face.trailing = face.rows.count > 1 ? Self.cut(face.rows[1].value, Self.islandCharactersMax) : ""
        face.minimal = Self.cut(face.trailing.isEmpty ? face.leading : face.trailing, Self.minimalCharactersMax)
        return face
    }

    // MARK: Pieces

    private static func find(_ names: [String], in members: [JSONTree.Member]) -> JSONTree.Member? {
        for name in names { if let member = members.first(where: { $0.name == name }) { return member } }
        return nil
    }

    private static func text(_ value: JSONTree?) -> String? {
        guard case .string(let text)? = value else { return nil }
        return Self.cut(text, Self.valueCharactersMax)
    }

    private static func rows(_ members: [JSONTree.Member], without used: [JSONTree.Member?]) -> [Row] {
        let names = used.compactMap { $0?.name }
        return members.filter { !names.contains($0.name) }.prefix(Self.rowsMax).map {
            Row(name: $0.name, value: Self.cut($0.value.plainText, Self.valueCharactersMax), key: $0.name)
        }
    }

    /// The fraction 0...1 that a number stands for. A number above 1 is a percentage.
    static func fraction(_ number: Double) -> Double { min(1, max(0, number > 1 ? number / 100 : number)) }

    static func cut(_ text: String, _ charactersMax: Int) -> String {
        text.count <= charactersMax ? text : String(text.prefix(charactersMax - 1)) + "…"
    }
}

extension CardFace {
    /// The moment that the card shows for the value at a path; `nil`: the value is drawn as it is.
    private static func moment(at path: String, _ dates: [DateLens.Finding]) -> String? {
        let wanted = JSONTree.dotted(path)
        return dates.first { JSONTree.dotted($0.path) == wanted }?.momentSeconds.map {
            CivilTime(secondsSince1970: $0).minuteText
        }
    }

    /// A text of the Dynamic Island as the page draws it. A date becomes its time of day, or its year if the phone
    /// misreads it.
    private static func islandText(_ text: String, _ dates: [DateLens.Finding]) -> String {
        let beginning = text.hasSuffix("…") ? text.dropLast() : ""
        let date = dates.first {
            $0.momentSeconds != nil && ($0.spelling == text || !beginning.isEmpty && $0.spelling.hasPrefix(beginning))
        }
        guard let date, let seconds = date.momentSeconds else { return text }
        let time = CivilTime(secondsSince1970: seconds)
        return date.isTrouble ? "\(time.year)" : "\(time.clockText.dropLast(3)) UTC"
    }

    /// The face as JSON for the page and the API: values as they arrived, and what the card shows for them, in UTC.
    func json(dates: [DateLens.Finding]) -> JSONTree {
        [
            "template": .string(self.template.rawValue), "headline": .string(self.headline),
            "leading": .string(self.leading), "trailing": .string(self.trailing), "minimal": .string(self.minimal),
            "progress": self.progress.map { .number("\($0)") } ?? .null,
            "leadingText": .string(Self.islandText(self.leading, dates)),
            "trailingText": .string(Self.islandText(self.trailing, dates)),
            "minimalText": .string(Self.islandText(self.minimal, dates)),
            "timer": self.timerSeconds.map { .integer($0) } ?? .null,
            "timerText": self.timerSeconds.map { .string(CivilTime(secondsSince1970: $0).text) } ?? .null,
            "sides": .array(self.sides.map { ["name": .string($0.name), "score": .string($0.score)] }),
            "rows": .array(
                self.rows.map { row in
                    [
                        "name": .string(row.name), "value": .string(row.value), "key": .string(row.key),
                        "text": .string(Self.moment(at: row.key, dates) ?? row.value),
                    ]
                }),
            "missing": .array(self.missing.map { .string($0) }),
        ]
    }
}
