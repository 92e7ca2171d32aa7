/// Secret values to remove from the messages of a library or a broker, which may repeat them.
package struct WithheldValues: Sendable {
    /// Minimum length in bytes of a value that is removed. Shorter values occur in ordinary text.
    private static let byteCountMin = 4
    private static let mark = "***"
    private var values: [String] = []

    /// An instance without values.
    package init() {}

    /// Adds a value and each of its lines, because a message may repeat a single line.
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
