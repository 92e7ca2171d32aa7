import Redaction

/// What a person may want to know about one setting; printed by `mailboat run --print-settings`.
public struct SettingDescription: Sendable, Equatable {
    /// Whether a setting is the worker's or an app's.
    public enum Scope: String, Sendable, CaseIterable {
        /// Given once.
        case worker
        /// At the top level for all apps, or below `apps.<bundle id>` for one.
        case app
    }
    /// When a change reaches a worker that runs.
    public enum Effect: String, Sendable, CaseIterable {
        /// With the next decision that it concerns.
        case live
        /// Connections that begin from then on; those there are end when they have carried what they carry, or live on as they are.
        case newConnections = "new connections"
        /// Not before the worker is started again.
        case restart
    }
    /// What a value looks like: what accepts it and the schema for editors go by the same.
    public enum Shape: Sendable, Equatable {
        /// A whole number and a unit, such as `250ms`.
        case duration
        /// A whole number.
        case number(ClosedRange<Int>)
        /// A number that may have a fraction.
        case fraction(ClosedRange<Double>)
        /// `true` or `false`.
        case flag
        /// One of these words.
        case choice([String])
        /// Anything else that is one text.
        case text
        /// One text or several, none of them twice if `isOnce`. With `words`, each is one of those.
        case list(words: [String]?, isOnce: Bool)

        /// Whether several texts may be given.
        public var isList: Bool {
            if case .list = self { true } else { false }
        }

        /// Whether whatever is wrong about a value may be shown: it is a number or a word, and no text that somebody made up.
        var isClosed: Bool {
            switch self {
            case .duration, .number, .fraction, .flag, .choice: true
            case .text, .list: false
            }
        }
    }
    /// Groups and word joined by dots, such as `coalescing.low-priority-window`.
    public var name: String
    /// Whether it is the worker's or an app's.
    public var scope: Scope
    /// When a change of it reaches a worker that runs.
    public var effect: Effect
    /// What its value looks like.
    public var shape: Shape
    /// What numbers count: `pushes`, `slots per shard`. Empty where the type says it.
    public var unit: String
    /// As one would write it; `nil`: there is none.
    public var defaultText: String?
    /// A worker does not start without it.
    public var isRequired: Bool
    /// What is accepted, completing "expected …".
    public var expected: String
    /// One or two sentences.
    public var documentation: String
}

/// A value as it was written, before anybody knows what it means.
enum SettingText: Equatable, Sendable {
    case one(String)
    case list([String])

    /// The texts, each as `show` has it.
    fileprivate func shown(_ show: (String) -> String) -> String {
        switch self {
        case .one(let text): show(text)
        case .list(let texts) where texts.count > 8: "a list of \(texts.count) texts"
        case .list(let texts): "[\(texts.map(show).joined(separator: ", "))]"
        }
    }
}

extension SettingText: Untold {}

/// What a setting's texts are: decides what of them may be shown, of a wrong one in a fault and of one that holds where it changes.
enum SettingTextKind: Sendable {
    /// A number, a duration, a boolean or a word out of a few.
    case closed
    /// The name of something that others know: a topic, a host, a group.
    case name
    /// Brokers.
    case addresses
    /// The path of a file, whose content may have been given in its place.
    case path
    /// A URL, shown in its own way.
    case url
    /// A proxy, or a word that says where one is named.
    case proxy
    /// A secret: taken from the environment alone, and never shown.
    case secret

    /// A wrong value, completing "is …".
    func refused(_ text: SettingText) -> String {
        switch self {
        case .closed: text.shown { ShownText.closed($0) }
        // A port out of range is worth seeing. What has no digits for a port may be a password.
        case .addresses:
            text.shown { Self.hasPorts($0) && ShownText.addresses($0) == $0 ? "\"\($0)\"" : ShownText.withheld($0) }
        case .name, .url, .proxy, .secret: text.shown { ShownText.withheld($0) }
        case .path:
            text.shown { text in text.isEmpty ? "empty" : "\(ShownText.withheld(text)), not a path to one" }
        }
    }

    private static func hasPorts(_ addresses: String) -> Bool {
        addresses.split(separator: ",").allSatisfy { address in
            guard let colon = address.lastIndex(of: ":") else { return false }
            return address[colon...].dropFirst().allSatisfy(\.isNumber)
        }
    }

    /// One that holds.
    func shown(_ text: String) -> String {
        switch self {
        case .closed: text
        case .name: ShownText.isName(text) ? text : "(\(ShownText.withheld(text)))"
        case .addresses: ShownText.addresses(text)
        case .path: ShownText.path(text) ?? "(\(ShownText.withheld(text)))"
        case .url: HTTPEndpoint(text)?.shown ?? "a URL"
        case .proxy: ProxyAddress(text)?.shown ?? (ProxySettings.accepts(text) ? text : "a proxy")
        case .secret: "(a secret)"
        }
    }
}

/// What settings are put into.
protocol SettingsRoot: Sendable {
    /// With every setting at its default.
    static var standard: Self { get }
}

/// One setting, whole: what it is called, where its value goes, what is accepted. Its default is what stands there in
/// `Root.standard`. The tables of these are all there is to know about configuration; parsing, checks and documentation
/// follow from them.
struct SettingRow<Root: SettingsRoot>: Sendable {
    let description: SettingDescription
    /// Puts the value in its place; `false`: it is not what is expected.
    let apply: @Sendable (_ text: SettingText, _ root: inout Root) -> Bool
    /// The value that stands there, as one would write it; `nil`: none.
    let text: @Sendable (_ root: Root) -> String?
    /// The value as anybody may see it: without what may be a secret.
    let shownText: @Sendable (_ root: Root) -> String?
    /// What of its texts may be shown.
    let kind: SettingTextKind
    /// Puts the value that stands in one root into another.
    let copy: @Sendable (_ source: Root, _ root: inout Root) -> Void

    private init<Value>(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope,
        shape: SettingDescription.Shape,
        unit: String = "", defaultText: String?,
        isRequired: Bool = false,
        expected: String, kind: SettingTextKind = .closed, _ documentation: String,
        keyPath: any WritableKeyPath<Root, Value> & Sendable, show: @escaping @Sendable (Value) -> [String]?,
        parse: @escaping @Sendable (SettingText) -> Value?
    ) {
        self.description = SettingDescription(
            name: name, scope: scope, effect: effect, shape: shape, unit: unit, defaultText: defaultText,
            isRequired: isRequired,
            expected: expected,
            documentation: documentation)
        self.apply = { text, root in
            guard let value = parse(text) else { return false }
            root[keyPath: keyPath] = value
            return true
        }
        self.kind = kind
        self.text = { root in show(root[keyPath: keyPath])?.joined(separator: ",") }
        self.shownText = { root in show(root[keyPath: keyPath])?.map(kind.shown).joined(separator: ",") }
        self.copy = { source, root in root[keyPath: keyPath] = source[keyPath: keyPath] }
    }
}

extension SettingRow {
    static func duration(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        in range: ClosedRange<Int64>,
        _ keyPath: any WritableKeyPath<Root, Int64> & Sendable, _ documentation: String
    ) -> Self {
        let (low, high) = (DurationText.format(millis: range.lowerBound), DurationText.format(millis: range.upperBound))
        return Self(
            name, effect: effect, scope: scope, shape: .duration,
            defaultText: DurationText.format(millis: Root.standard[keyPath: keyPath]),
            expected: "a duration from \(low) to \(high), such as 250ms, 5s or 2m", documentation, keyPath: keyPath,
            show: { [DurationText.format(millis: $0)] }
        ) { text in
            guard case .one(let text) = text, let millis = DurationText.parse(text), range.contains(millis) else {
                return nil
            }
            return millis
        }
    }

    static func number(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        in range: ClosedRange<Int>, unit: String,
        _ keyPath: any WritableKeyPath<Root, Int> & Sendable, _ documentation: String
    ) -> Self {
        Self(
            name, effect: effect, scope: scope, shape: .number(range), unit: unit,
            defaultText: "\(Root.standard[keyPath: keyPath])",
            expected: "a whole number from \(range.lowerBound) to \(range.upperBound)", documentation, keyPath: keyPath,
            show: { ["\($0)"] }
        ) { text in
            guard case .one(let text) = text, let number = Int(text), range.contains(number) else { return nil }
            return number
        }
    }

    static func fraction(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        in range: ClosedRange<Double>, unit: String,
        _ keyPath: any WritableKeyPath<Root, Double> & Sendable, _ documentation: String
    ) -> Self {
        Self(
            name, effect: effect, scope: scope, shape: .fraction(range), unit: unit,
            defaultText: "\(Root.standard[keyPath: keyPath])",
            expected: "a number from \(range.lowerBound) to \(range.upperBound)", documentation, keyPath: keyPath,
            show: { ["\($0)"] }
        ) { text in
            guard case .one(let text) = text, let number = Double(text), range.contains(number) else { return nil }
            return number
        }
    }

    static func choice<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        _ keyPath: any WritableKeyPath<Root, Value> & Sendable, _ documentation: String
    ) -> Self {
        let names = Value.allCases.map(\.rawValue)
        return Self(
            name, effect: effect, scope: scope, shape: .choice(names),
            defaultText: Root.standard[keyPath: keyPath].rawValue,
            expected: Self.oneOf(names),
            documentation, keyPath: keyPath, show: { [$0.rawValue] }
        ) { text in
            guard case .one(let text) = text else { return nil }
            return Value(rawValue: text)
        }
    }

    static func choices<Value: RawRepresentable<String> & CaseIterable & Sendable>(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        _ keyPath: any WritableKeyPath<Root, [Value]> & Sendable, _ documentation: String
    ) -> Self {
        let names = Value.allCases.map(\.rawValue)
        return Self(
            name, effect: effect, scope: scope, shape: .list(words: names, isOnce: true),
            defaultText: Root.standard[keyPath: keyPath].map(\.rawValue).joined(separator: ","),
            expected: "a list, each once, of \(names.joined(separator: ", "))", documentation, keyPath: keyPath,
            show: { $0.map(\.rawValue) }
        ) { text in
            let texts = Self.elements(text)
            let values = texts.compactMap { Value(rawValue: $0) }
            return values.isEmpty || values.count != texts.count || Set(texts).count != texts.count ? nil : values
        }
    }

    static func flag(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        _ keyPath: any WritableKeyPath<Root, Bool> & Sendable, _ documentation: String
    ) -> Self {
        Self(
            name, effect: effect, scope: scope, shape: .flag, defaultText: "\(Root.standard[keyPath: keyPath])",
            expected: "true or false", documentation,
            keyPath: keyPath, show: { ["\($0)"] }
        ) { text in
            guard case .one(let text) = text else { return nil }
            return Bool(text)
        }
    }

    /// `isRequired`: what stands there is empty and must be replaced.
    static func text(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker,
        isRequired: Bool = false,
        expected: String, kind: SettingTextKind = .name, _ keyPath: any WritableKeyPath<Root, String> & Sendable,
        _ documentation: String, accepts: @escaping @Sendable (String) -> Bool
    ) -> Self {
        Self(
            name, effect: effect, scope: scope, shape: .text,
            defaultText: isRequired ? nil : Root.standard[keyPath: keyPath],
            isRequired: isRequired, expected: expected, kind: kind,
            documentation,
            keyPath: keyPath, show: { [$0] }
        ) { text in
            guard case .one(let text) = text, accepts(text) else { return nil }
            return text
        }
    }

    static func optionalText(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker, expected: String,
        kind: SettingTextKind = .name, _ keyPath: any WritableKeyPath<Root, String?> & Sendable,
        _ documentation: String,
        accepts: @escaping @Sendable (String) -> Bool
    ) -> Self {
        Self(
            name, effect: effect, scope: scope, shape: .text, defaultText: nil, expected: expected, kind: kind,
            documentation, keyPath: keyPath, show: { $0.map { [$0] } }
        ) {
            text in
            guard case .one(let text) = text, accepts(text) else { return nil }
            return .some(text)
        }
    }

    /// One text, or several.
    /// - Parameters:
    ///   - isOnce: none may come twice.
    ///   - acceptsAll: asked about all of them together.
    static func list(
        _ name: String, effect: SettingDescription.Effect, scope: SettingDescription.Scope = .worker, expected: String,
        kind: SettingTextKind = .name, isOnce: Bool = true, _ keyPath: any WritableKeyPath<Root, [String]> & Sendable,
        _ documentation: String, acceptsAll: @escaping @Sendable ([String]) -> Bool = { _ in true },
        accepts: @escaping @Sendable (String) -> Bool
    ) -> Self {
        let standard = Root.standard[keyPath: keyPath]
        return Self(
            name, effect: effect, scope: scope, shape: .list(words: nil, isOnce: isOnce),
            defaultText: standard.isEmpty ? nil : standard.joined(separator: ","),
            expected: expected, kind: kind,
            documentation,
            keyPath: keyPath, show: { $0.isEmpty ? nil : $0 }
        ) { text in
            let texts = Self.elements(text)
            let isRepeated = isOnce && Set(texts).count != texts.count
            return texts.isEmpty || !texts.allSatisfy(accepts) || isRepeated || !acceptsAll(texts) ? nil : texts
        }
    }

    private static func elements(_ text: SettingText) -> [String] {
        switch text {
        case .one(let text): [text]
        case .list(let texts): texts
        }
    }

    private static func oneOf(_ names: [String]) -> String {
        names.count < 2 ? names.joined() : "\(names.dropLast().joined(separator: ", ")) or \(names[names.count - 1])"
    }
}
