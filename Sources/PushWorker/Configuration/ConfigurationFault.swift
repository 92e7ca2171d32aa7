/// One thing wrong with a configuration, in a line an operator can act on. Holds no secret.
public struct ConfigurationFault: Equatable, Sendable, CustomStringConvertible {
    /// The setting's name, such as `budget.per-hour` or `apps.com.example.pizza.budget.per-hour`.
    public var setting: String
    /// Where the setting was given, such as `mailboat.yaml:12` or `MAILBOAT_BUDGET_PER_HOUR`. `nil` when it was not
    /// given, or the program itself gave it.
    public var location: String?
    /// A text that says what is wrong, what was given and what was expected.
    public var text: String

    /// A fault in one line: line breaks in `setting` and `text` become spaces.
    public init(setting: String, location: String? = nil, text: String) {
        self.setting = Self.oneLine(setting)
        self.location = location
        self.text = Self.oneLine(text)
    }

    /// Replaces line breaks. Names and values may have been written over several lines, and some of librdkafka's
    /// reasons end with a line break.
    private static func oneLine(_ text: String) -> String {
        guard text.contains(where: \.isNewline) else { return text }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    public var description: String {
        "\(self.location.map { "\($0): " } ?? "")\(self.setting): \(self.text)"
    }
}

extension [ConfigurationFault] {
    /// The faults without repetitions. A fault in a setting for all apps is found once for each app.
    var eachOnce: [ConfigurationFault] {
        self.enumerated().filter { index, fault in !self[..<index].contains(fault) }.map(\.element)
    }
}

/// All faults of a configuration at once.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The faults, those of the file in the order of its lines; at least one.
    public var faults: [ConfigurationFault]

    public init(faults: [ConfigurationFault]) { self.faults = faults }

    public var description: String { self.faults.map(\.description).joined(separator: "\n") }
}
