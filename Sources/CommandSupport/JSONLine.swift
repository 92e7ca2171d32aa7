import Foundation

/// One JSON object on one line.
package enum JSONLine {
    /// The value with its keys in order, without a line end.
    package static func text(_ value: some Encodable) -> String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding fails only for infinite numbers and NaN, and commands have none.
        return (try? encoder.encode(value)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
