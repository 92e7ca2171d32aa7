import ArgumentParser
import Redaction

/// The option `--since`.
enum SinceText {
    private static let units: [Character: Int64] = ["s": 1, "m": 60, "h": 3_600, "d": 86_400]

    /// Smallest positive number that is read as seconds since 1970: a moment in 2001. No Kafka record is older. A
    /// smaller number probably lacks its unit.
    private static let momentMin: Int64 = 1_000_000_000
    private static let yearSeconds: Int64 = 31_557_600

    /// The moment that a text names, in milliseconds since 1970.
    /// - Parameter text: seconds since 1970, or a time ago such as `30m`, `2h` or `7d`.
    /// - Throws: a `ValidationError` if the text is neither.
    static func millis(_ text: String, nowMillis: Int64) throws -> Int64 {
        if let seconds = Int64(text), (1..<Self.momentMin).contains(seconds) {
            throw ValidationError(
                "--since is \(seconds), a moment of \(1970 + seconds / Self.yearSeconds): expected seconds since 1970, or a time ago with its unit, such as \(seconds)s or \(seconds)m"
            )
        }
        if let seconds = Int64(text), (0...(1 << 40)).contains(seconds) { return seconds * 1_000 }
        guard let unit = text.last.flatMap({ Self.units[$0] }), let count = Int64(text.dropLast()),
            (0...1_000_000).contains(count)
        else {
            throw ValidationError(
                "--since is \(ShownText.closed(text)): expected seconds since 1970, or a time ago such as 30m, 2h or 7d"
            )
        }
        return nowMillis - count * unit * 1_000
    }
}
