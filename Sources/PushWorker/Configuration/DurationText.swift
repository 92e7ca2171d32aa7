/// Durations as an operator writes them: a whole number and a unit, `250ms`, `1s`, `5m`, `2h`, `1d`.
enum DurationText {
    private static let units: [(name: String, millis: Int64)] = [
        ("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000),
    ]

    /// The duration in milliseconds; `nil` when `text` is not a duration, or is too long for 64 bits.
    static func parse(_ text: String) -> Int64? {
        let digits = text.prefix { $0.isASCII && $0.isNumber }
        let unit = text.dropFirst(digits.count)
        guard let number = Int64(digits), let millis = Self.units.first(where: { $0.name == unit })?.millis else {
            return nil
        }
        let (product, overflow) = number.multipliedReportingOverflow(by: millis)
        return overflow ? nil : product
    }

    /// The shortest text that `parse` reads as this duration.
    static func format(millis: Int64) -> String {
        if millis == 0 { return "0s" }
        let unit = Self.units.last { millis % $0.millis == 0 } ?? Self.units[0]
        return "\(millis / unit.millis)\(unit.name)"
    }
}
