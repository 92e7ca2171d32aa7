/// How a developer wants cards of one kind to be drawn: where each key of a `content-state` is shown.
public struct CardTemplate: Equatable, Sendable {
    /// One line of a card.
    public struct Line: Equatable, Sendable {
        /// The text before the value.
        public var label: String
        /// Path of the value in the `content-state`.
        public var key: String
    }

    /// The cards that a template is for. All given conditions must match; without any, the template is for every card.
    public struct Condition: Equatable, Sendable {
        /// The activity, or its beginning followed by `*`.
        public var activity: String?
        /// `attributes-type` of the start that put the card up.
        public var attributesType: String?
        /// Paths that the content must have.
        public var keys: [String] = []
    }

    /// The cards that the template is for.
    public var when = Condition()
    /// Path of the line in large type; `nil`: none.
    public var title: String?
    /// Lines in order.
    public var lines: [Line] = []
    /// Path of a number from 0 to 1, or from 1 to 100.
    public var progress: String?
    /// Path of a `Date` in Swift's default coding: seconds since 2001. The card counts down to it, or up from it.
    public var timer: String?
    /// Path of the value before the camera in the Dynamic Island; `nil`: the title.
    public var leading: String?
    /// Path of the value behind the camera; `nil`: the progress, or the first line.
    public var trailing: String?
    /// Path of the value beside another activity; `nil`: the value behind the camera.
    public var minimal: String?

    /// Maximum number of templates at once.
    public static let countMax = 16
    /// Maximum number of lines of a template. A phone has no room for more.
    public static let linesMax = CardFace.rowsMax
    /// Maximum number of keys that a condition may name.
    static let keysMax = 16

    /// Whether the template is for this card.
    func fits(_ content: JSONTree, activity: String, attributesType: String) -> Bool {
        if let wanted = self.when.activity {
            let isBeginning = wanted.hasSuffix("*")
            guard isBeginning ? activity.hasPrefix(wanted.dropLast()) : activity == wanted else { return false }
        }
        if let wanted = self.when.attributesType, wanted != attributesType { return false }
        return self.when.keys.allSatisfy { content.value(at: $0) != nil }
    }
}

// MARK: Reading

extension CardTemplate {
    /// Why a document is not a valid set of templates.
    public struct Fault: Error, Equatable, Sendable {
        /// The field that is wrong, and what was expected.
        public var description: String
    }

    private static let names = [
        "when", "title", "lines", "progress", "timer", "leading", "trailing", "minimal",
    ]
    private static let conditionNames = ["activity", "attributes-type", "keys"]

    /// Reads one template, or several as `{"templates": […]}`. The first that matches a card draws it.
    public static func read(_ document: JSONTree) throws(Fault) -> [CardTemplate] {
        guard case .object(let members) = document else {
            throw Fault(description: "expected an object: a template, or {\"templates\": […]}")
        }
        guard let list = document["templates"] else { return [try CardTemplate(document, path: "")] }
        guard members.count == 1, case .array(let elements) = list else {
            throw Fault(description: "“templates” must be an array, and the only member")
        }
        guard elements.count <= Self.countMax else {
            throw Fault(
                description: "“templates” has \(elements.count) elements: expected at most \(Self.countMax)")
        }
        var templates: [CardTemplate] = []
        for (index, element) in elements.enumerated() {
            templates.append(try CardTemplate(element, path: "templates.\(index)."))
        }
        return templates
    }

    private init(_ document: JSONTree, path: String) throws(Fault) {
        try Self.check(document, has: Self.names, path: path)
        self.title = try Self.text(document["title"], "\(path)title")
        self.progress = try Self.text(document["progress"], "\(path)progress")
        self.timer = try Self.text(document["timer"], "\(path)timer")
        self.leading = try Self.text(document["leading"], "\(path)leading")
        self.trailing = try Self.text(document["trailing"], "\(path)trailing")
        self.minimal = try Self.text(document["minimal"], "\(path)minimal")
        if let condition = document["when"] {
            try Self.check(condition, has: Self.conditionNames, path: "\(path)when.")
            self.when.activity = try Self.text(condition["activity"], "\(path)when.activity")
            self.when.attributesType = try Self.text(condition["attributes-type"], "\(path)when.attributes-type")
            let keys = try Self.list(condition["keys"], "\(path)when.keys", countMax: Self.keysMax)
            for (index, key) in keys.enumerated() {
                self.when.keys.append(try Self.text(key, "\(path)when.keys.\(index)") ?? "")
            }
        }
        for (index, line) in try Self.list(document["lines"], "\(path)lines", countMax: Self.linesMax).enumerated() {
            self.lines.append(try Self.line(line, "\(path)lines.\(index)"))
        }
        guard self.title != nil || self.progress != nil || self.timer != nil || !self.lines.isEmpty else {
            let subject = path.isEmpty ? "the template" : "“\(path.dropLast())”"
            throw Fault(description: "\(subject) draws nothing: expected title, lines, progress or timer")
        }
    }

    private static func line(_ line: JSONTree, _ path: String) throws(Fault) -> Line {
        if case .string(let key) = line, !key.isEmpty { return Line(label: key, key: key) }
        guard case .object = line else {
            throw Fault(
                description: "“\(path)” is \(line.text.prefix(40)): expected a key, or {\"label\": …, \"key\": …}")
        }
        try Self.check(line, has: ["label", "key"], path: "\(path).")
        guard let key = try Self.text(line["key"], "\(path).key") else {
            throw Fault(description: "“\(path).key” is missing: expected a key of the content-state")
        }
        return Line(label: try Self.text(line["label"], "\(path).label") ?? key, key: key)
    }

    private static func check(_ tree: JSONTree, has names: [String], path: String) throws(Fault) {
        guard case .object(let members) = tree else {
            let subject = path.isEmpty ? "the document" : "“\(path.dropLast())”"
            throw Fault(description: "\(subject) is \(tree.text.prefix(40)): expected an object")
        }
        for member in members where !names.contains(member.name) {
            throw Fault(
                description:
                    "“\(path)\(member.name.prefix(40))” is not a field: expected \(names.joined(separator: ", "))")
        }
    }

    private static func text(_ value: JSONTree?, _ path: String) throws(Fault) -> String? {
        guard let value else { return nil }
        guard case .string(let text) = value, !text.isEmpty else {
            throw Fault(description: "“\(path)” is \(value.text.prefix(40)): expected a text that is not empty")
        }
        return text
    }

    private static func list(_ value: JSONTree?, _ path: String, countMax: Int) throws(Fault) -> [JSONTree] {
        guard let value else { return [] }
        guard case .array(let elements) = value, elements.count <= countMax else {
            throw Fault(description: "“\(path)” is \(value.text.prefix(40)): expected at most \(countMax) in an array")
        }
        return elements
    }
}

// MARK: Drawing

extension CardFace {
    /// Draws content with the first matching template, or with the page's own if none matches.
    public init(_ content: JSONTree, templates: [CardTemplate], activity: String, attributesType: String) {
        let template = templates.first { $0.fits(content, activity: activity, attributesType: attributesType) }
        guard let template else {
            self.init(content)
            return
        }
        self.init(content, template)
    }

    private init(_ content: JSONTree, _ template: CardTemplate) {
        self.init(template: .own)
        func text(_ path: String?) -> String? {
            path.flatMap { content.value(at: $0) }.map { Self.cut($0.plainText, Self.valueCharactersMax) }
        }
        self.headline = text(template.title) ?? ""
        self.progress = template.progress.flatMap { content.value(at: $0)?.double }.map(Self.fraction)
        self.timerSeconds = template.timer.flatMap { content.value(at: $0)?.double }.flatMap {
            Int64(exactly: ($0 + Double(DateLens.referenceSeconds)).rounded())
        }
        self.rows = template.lines.map { Row(name: $0.label, value: text($0.key) ?? "—", key: $0.key) }
        let named = [template.title, template.progress, template.timer].compactMap(\.self) + template.lines.map(\.key)
        self.missing = named.filter { content.value(at: $0) == nil }
        let percent = self.progress.map { "\(Int(($0 * 100).rounded())) %" }
        self.leading = Self.cut(text(template.leading) ?? self.headline, Self.islandCharactersMax)
        self.trailing = Self.cut(
            text(template.trailing) ?? percent ?? self.rows.first?.value ?? "", Self.islandCharactersMax)
        self.minimal = Self.cut(
            text(template.minimal) ?? (self.trailing.isEmpty ? self.leading : self.trailing),
            Self.minimalCharactersMax + 1)
    }
}

extension CardTemplate {
    /// The template in the form that can be read again.
    public var json: JSONTree {
        var members: [JSONTree.Member] = []
        func add(_ name: String, _ text: String?, to members: inout [JSONTree.Member]) {
            if let text { members.append(.init(name, .string(text))) }
        }
        if self.when != Condition() {
            var condition: [JSONTree.Member] = []
            add("activity", self.when.activity, to: &condition)
            add("attributes-type", self.when.attributesType, to: &condition)
            if !self.when.keys.isEmpty { condition.append(.init("keys", .array(self.when.keys.map { .string($0) }))) }
            members.append(.init("when", .object(condition)))
        }
        add("title", self.title, to: &members)
        if !self.lines.isEmpty {
            members.append(
                .init(
                    "lines",
                    .array(
                        self.lines.map { line in
                            line.label == line.key
                                ? .string(line.key) : ["label": .string(line.label), "key": .string(line.key)]
                        })))
        }
        add("progress", self.progress, to: &members)
        add("timer", self.timer, to: &members)
        add("leading", self.leading, to: &members)
        add("trailing", self.trailing, to: &members)
        add("minimal", self.minimal, to: &members)
        return .object(members)
    }
}
