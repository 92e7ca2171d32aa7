/// Makes the bytes between a sample's name and its value. If samples begin with the same labels, the bytes of those
/// labels are made only once.
enum MetricLabels {
    /// All labels, and the space before the value.
    static func whole(_ labels: [(name: String, value: String)]) -> [UInt8] { self.begun(labels) + self.end(labels) }

    /// The first labels, without the end. `rest`, or `number` and `numberEnd`, follow.
    static func begun(_ labels: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for label in labels { self.append(label.name, label.value, to: &bytes) }
        return bytes
    }

    /// The labels that follow `begun(first)`, with the end.
    static func rest(after first: [String], _ labels: [(name: String, value: String)]) -> [UInt8] {
        var bytes: [UInt8] = []
        for label in labels {
            self.append(label.name, label.value, isFirst: first.isEmpty && bytes.isEmpty, to: &bytes)
        }
        return bytes + (first.isEmpty && labels.isEmpty ? [UInt8(ascii: " ")] : Array("} ".utf8))
    }

    /// The beginning of a label that follows `begun(first)` and whose value is a number. The number and `numberEnd`
    /// follow.
    static func number(_ name: String) -> [UInt8] { Array(",\(name)=\"".utf8) }
    /// The end after a number.
    static let numberEnd = Array("\"} ".utf8)

    private static func end(_ labels: [(name: String, value: String)]) -> [UInt8] {
        labels.isEmpty ? [UInt8(ascii: " ")] : Array("} ".utf8)
    }

    private static func append(_ name: String, _ value: String, to bytes: inout [UInt8]) {
        self.append(name, value, isFirst: bytes.isEmpty, to: &bytes)
    }

    private static func append(_ name: String, _ value: String, isFirst: Bool, to bytes: inout [UInt8]) {
        bytes.append(isFirst ? UInt8(ascii: "{") : UInt8(ascii: ","))
        bytes.append(contentsOf: name.utf8)
        bytes.append(contentsOf: "=\"".utf8)
        self.appendEscaped(value, alsoQuotes: true, to: &bytes)
        bytes.append(UInt8(ascii: "\""))
    }

    /// Appends text with escaped backslashes and line feeds. In a label's value, quotes are escaped, too.
    static func appendEscaped(_ text: String, alsoQuotes: Bool, to bytes: inout [UInt8]) {
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\\"): bytes.append(contentsOf: "\\\\".utf8)
            case UInt8(ascii: "\n"): bytes.append(contentsOf: "\\n".utf8)
            case UInt8(ascii: "\"") where alsoQuotes: bytes.append(contentsOf: "\\\"".utf8)
            default: bytes.append(byte)
            }
        }
    }
}
