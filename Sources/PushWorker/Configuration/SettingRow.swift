import Redaction

/// Description of one setting for a person; printed by `mailboat run --print-settings`.
public struct SettingDescription: Sendable, Equatable {
    /// Whether a setting belongs to the worker or to an app.
    public enum Scope: String, Sendable, CaseIterable {
        /// The setting is given once.
        case worker
        /// The setting is given at the top level for all apps, or below `apps.<bundle id>` for one.
        case app
    }
    /// When a change of the setting takes effect in a running worker.
    public enum Effect: String, Sendable, CaseIterable {
        /// The next decision that depends on the setting uses the new value.
        case live
        /// New connections use the new value. Old ones may keep the old value, or end after their last request.
        case newConnections = "new connections"
        /// The new value is used only after a restart.
        case restart
    }
    /// The form of a value. The check of values and the schema for editors both use it.
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
        /// Any text.
        case text
        /// One text or several. With `isOnce`, no text may be repeated. With `words`, each text must be one of them.
        case list(words: [String]?, isOnce: Bool)

        /// Whether several texts may be given.
        public var isList: Bool {
            if case .list = self { true } else { false }
        }

        /// Whether a wrong value may be shown, because the form allows only numbers and fixed words.
        var isClosed: Bool {
            switch self {
            case .duration, .number, .fraction, .flag, .choice: true
            case .text, .list: false
            }
        }
    }
    /// The setting's groups and last word joined by dots, such as `coalescing.low-priority-window`.
    public var name: String
    /// Whether the setting is the worker's or an app's.
    public var scope: Scope
    /// When a change of the setting takes effect in a running worker.
    public var effect: Effect
    /// The form of the value.
    public var shape: Shape
    /// The unit of a number, such as `pushes` or `slots per shard`. Empty where the form implies the unit.
    public var unit: String
    /// The default as a settings file would give it; `nil` when there is none.
    public var defaultText: String?
    /// Whether a worker needs the setting to start.
    public var isRequired: Bool
    /// Description of what is accepted, completing "expected …".
    public var expected: String
    /// One or two sentences about the setting.
    public var documentation: String
}

/// A value as it was written, before it is interpreted.
enum SettingText: Equatable, Sendable {
    case one(String)
    case list([String])

    /// The text of a value that is not a list; `nil` for a list.
    var one: String? { if case .one(let text) = self { text } else { nil } }

    /// Whether the value is this text, or a list with it.
    func holds(_ text: String) -> Bool {
        switch self {
        case .one(let one): one == text
        case .list(let texts): texts.contains(text)
        }
    }

    /// The value's texts as a fault shows them. `show` returns what may be shown of each.
    fileprivate func shown(_ show: (String) -> String) -> String {
        switch self {
        case .one(let text): show(text)
        case .list(let texts) where texts.count > 8: "a list of \(texts.count) texts"
        case .list(let texts): "[\(texts.map(show).joined(separator: ", "))]"
        }
    }
}

extension SettingText: Redacted {}

/// The kind of a setting's texts. It decides how much of a wrong value a fault may show. It also decides how much of a
/// valid value a log line about a change may show.
enum SettingTextKind: Sendable {
    /// A number, a duration, a boolean or one of a few words.
    case closed
    /// The name of something outside Mailboat: a topic, a host, a group.
    case name
    /// Addresses of brokers.
    case addresses
    /// The path of a file. A fault does not show it, because somebody may have given the file's content instead.
    case path
    /// A URL. `HTTPEndpoint.shown` decides how much of it may be shown.
    case url
    /// A proxy's URL, or one of the words `none` and `environment`.
    case proxy
    /// A secret. It is read only from the environment, and never shown.
    case secret

    /// A wrong value as a fault shows it, completing "is …".
    func refused(_ text: SettingText) -> String {
        switch self {
        case .closed: text.shown { ShownText.closed($0) }
        // A port that is out of range may be shown. A port that is not a number may be a password, so it is hidden.
        case .addresses:
            text.shown { Self.hasPorts($0) && ShownText.addresses($0) == $0 ? "\"\($0)\"" : ShownText.withheld($0) }
        case .name, .url, .proxy, .secret: text.shown { ShownText.withheld($0) }
        case .path:
            text.shown { text in text.isEmpty ? "empty" : "\(ShownText.withheld(text)), not its path" }
        }
    }

    private static func hasPorts(_ addresses: String) -> Bool {
        addresses.split(separator: ",").allSatisfy { address in
            guard let colon = address.lastIndex(of: ":") else { return false }
            return address[colon...].dropFirst().allSatisfy(\.isNumber)
        }
    }

    /// A valid value as a log line about a change shows it.
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

/// A value that settings are stored in.
protocol SettingsRoot: Sendable {
    /// An instance with every setting at its default.
    static var standard: Self { get }
}

/// One setting: its name, where its value is stored, and what is accepted. Its default is the value in `Root.standard`.
/// The tables of rows define the whole configuration. Parsing, checks and documentation follow from them.
struct SettingRow<Root: SettingsRoot>: Sendable {
    let description: SettingDescription
    /// Stores the value; `false` when it is not what is expected.
    let apply: @Sendable (_ text: SettingText, _ root: inout Root) -> Bool
    /// The stored value as a settings file would give it; `nil` when there is none.
    let text: @Sendable (_ root: Root) -> String?
    /// The stored value, without anything that may be a secret.
    let shownText: @Sendable (_ root: Root) -> String?
    /// The kind of the texts, which decides how much of them may be shown.
    let kind: SettingTextKind
    /// Copies the stored value from one root into another.
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
            expected: "\(Self.oneOf(names)), or several of them as a list, each once", documentation, keyPath: keyPath,
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

    /// A row for a setting with one text. With `isRequired`, the default is empty and must be replaced.
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

    /// A row for a setting with one text or several.
    /// - Parameters:
    ///   - isOnce: whether each text may be given only once.
    ///   - acceptsAll: whether all texts together are acceptable.
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
