/// Values that may be shown nowhere, for texts that somebody else writes: those of a library or a broker, which may repeat them.
package struct WithheldValues: Sendable {
    /// Shorter ones would be found in every text.
    private static let byteCountMin = 4
    private static let mark = "***"
    private var values: [String] = []

    /// Withholds nothing yet.
    package init() {}

    /// Also each line of it: it may be repeated by lines.
    package mutating func append(_ value: String) {
        for part in [value] + value.split(whereSeparator: \.isNewline).map(String.init)
        where part.utf8.count >= Self.byteCountMin && !self.values.contains(part) {
            self.values.append(part)
        }
        // What holds another comes first.
        self.values.sort { $0.utf8.count > $1.utf8.count }
    }

    /// The text with stars in their place.
    package func struck(from text: String) -> String {
        self.values.reduce(text) { said, value in said.replacing(value, with: Self.mark) }
    }
}

extension WithheldValues: Untold {}
