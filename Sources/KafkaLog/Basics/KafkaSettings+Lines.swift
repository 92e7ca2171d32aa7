/// Reads properties from text with `name=value` on each line, as in the files of Kafka's own tools. Empty lines and
/// lines that begin with '#' are ignored.
extension KafkaSettings {
    /// Reads properties from the text of a file. Spaces around names and values are removed.
    /// - Throws: `PropertiesFault` for the first line that is not a property.
    public init(lines text: String) throws(PropertiesFault) {
        self.init()
        for (index, line) in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline).enumerated() {
            let line = line.trimmingSpaces()
            guard !line.isEmpty, !line.hasPrefix("#") else { continue }
            guard let sign = line.firstIndex(of: "="), sign != line.startIndex else {
                throw PropertiesFault(line: index + 1)
            }
            self.append(
                String(line[..<sign].trimmingSpaces()), String(line[line.index(after: sign)...].trimmingSpaces()))
        }
    }
}

/// A line that is not a property. The line is not shown, since it may be a password whose name was forgotten.
public struct PropertiesFault: Error, Sendable, Hashable, CustomStringConvertible {
    /// Number of the line, from 1.
    public var line: Int
    public var description: String { "line \(self.line): expected name=value, such as security.protocol=SASL_SSL" }
}

extension Substring {
    func trimmingSpaces() -> Substring {
        let isSpace: (Character) -> Bool = { $0 == " " || $0 == "\t" }
        guard let first = self.firstIndex(where: { !isSpace($0) }), let last = self.lastIndex(where: { !isSpace($0) })
        else { return "" }
        return self[first...last]
    }
}
