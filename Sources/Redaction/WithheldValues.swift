/// Secret values to be removed from texts of others, such as a library or a broker, which may repeat them.
package struct WithheldValues: Sendable {
    /// Length from which on a value is removed: shorter ones would be found in every text.
    private static let byteCountMin = 4
    private static let mark = "***"
    private var values: [String] = []

    /// An instance without values.
    package init() {}

    /// Adds a value, and each line of it, because texts may repeat it by lines.
    package mutating func append(_ value: String) {
        for part in [value] + value.split(whereSeparator: \.isNewline).map(String.init)
        where part.utf8.count >= Self.byteCountMin && !self.values.contains(part) {
            self.values.append(part)
        }
        // A value that contains another must be replaced first.
        self.values.sort { $0.utf8.count > $1.utf8.count }
    }

    /// The text with stars instead of the values.
    package func struck(from text: String) -> String {
        self.values.reduce(text) { said, value in said.replacing(value, with: Self.mark) }
    }
}

extension WithheldValues: Redacted {}
