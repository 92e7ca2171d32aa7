/// One thing wrong with a configuration, in a line an operator can act on. Holds no secret.
public struct ConfigurationFault: Equatable, Sendable, CustomStringConvertible {
    /// The setting's name, such as `budget.per-hour` or `apps.com.example.pizza.budget.per-hour`.
    public var setting: String
    /// Where it was given, such as `mailboat.yaml:12` or `MAILBOAT_BUDGET_PER_HOUR`; `nil`: nowhere, or by the program
    /// itself.
    public var location: String?
    /// What is wrong, what was given and what was expected.
    public var text: String

    /// Line ends in `setting` and `text` become spaces, so that a fault is one line.
    public init(setting: String, location: String? = nil, text: String) {
        self.setting = Self.oneLine(setting)
        self.location = location
        self.text = Self.oneLine(text)
    }

    /// Names and values may have been written over several lines, and librdkafka ends some of its reasons with a line's end.
    private static func oneLine(_ text: String) -> String {
        guard text.contains(where: \.isNewline) else { return text }
        return text.split(whereSeparator: \.isNewline).joined(separator: " ")
    }

    public var description: String {
        "\(self.location.map { "\($0): " } ?? "")\(self.setting): \(self.text)"
    }
}

extension [ConfigurationFault] {
    /// What is wrong with a setting for all apps is found for each of them, and told once.
    var eachOnce: [ConfigurationFault] {
        self.enumerated().filter { index, fault in !self[..<index].contains(fault) }.map(\.element)
    }
}

/// Everything wrong with a configuration, at once.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// At least one, in the order they were found.
    public var faults: [ConfigurationFault]

    public init(faults: [ConfigurationFault]) { self.faults = faults }

    public var description: String { self.faults.map(\.description).joined(separator: "\n") }
}
