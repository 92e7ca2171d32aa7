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

    /// The text of a fault about a name that is not a setting and does not resemble one.
    static let unknown = "is not a setting"

    /// The line of the file in which the setting was given; `nil`: it was not given in a file.
    var line: Int? {
        guard let location, let colon = location.lastIndex(of: ":") else { return nil }
        return Int(location[location.index(after: colon)...])
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

extension [ConfigurationFault] {
    /// The faults in the order of the file's lines. Those that are not in the file follow in their present order.
    var inOrderOfLines: [ConfigurationFault] {
        self.enumerated().sorted { one, other in
            (one.element.line ?? .max, one.offset) < (other.element.line ?? .max, other.offset)
        }.map(\.element)
    }
}

/// All faults of a configuration at once.
public struct ConfigurationError: Error, Equatable, Sendable, CustomStringConvertible {
    /// The faults, in the order of the file's lines; at least one.
    public var faults: [ConfigurationFault]

    public init(faults: [ConfigurationFault]) { self.faults = faults }

    /// What helps with several of the faults, in a sentence without a full stop; `nil`: their texts say everything.
    public var advice: String? {
        self.faults.contains { $0.text == ConfigurationFault.unknown }
            ? "'mailboat run --print-settings' lists all settings" : nil
    }

    public var description: String {
        (self.faults.map(\.description) + [self.advice].compactMap(\.self)).joined(separator: "\n")
    }
}
