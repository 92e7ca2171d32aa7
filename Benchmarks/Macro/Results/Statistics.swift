/// The values of repeated measurements.
struct Sample: Equatable {
    private(set) var values: [Double] = []

    init(_ values: [Double] = []) { self.values = values }

    mutating func add(_ value: Double) { self.values.append(value) }

    var isEmpty: Bool { self.values.isEmpty }

    /// The median: the middle value, or the mean of the two in the middle. 0 without values.
    var median: Double {
        let sorted = self.values.sorted()
        guard !sorted.isEmpty else { return 0 }
        let middle = sorted.count / 2
        return sorted.count % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2
    }

    var min: Double { self.values.min() ?? 0 }
    var max: Double { self.values.max() ?? 0 }
}

extension Double {
    /// The number with three significant digits. Large numbers are whole.
    var short: String {
        guard self.isFinite else { return "-" }
        let magnitude = abs(self)
        if magnitude == 0 { return "0" }
        let digits = magnitude >= 100 ? 0 : magnitude >= 10 ? 1 : magnitude >= 1 ? 2 : 3
        return self.rounded(digits: digits)
    }

    private func rounded(digits: Int) -> String {
        var scale = 1.0
        for _ in 0..<digits { scale *= 10 }
        let whole = Int64((abs(self) * scale).rounded())
        let sign = self < 0 && whole > 0 ? "-" : ""
        guard digits > 0 else { return sign + Self.grouped(whole) }
        let fraction = String(whole % Int64(scale))
        return sign + "\(whole / Int64(scale))." + String(repeating: "0", count: digits - fraction.count) + fraction
    }

    private static func grouped(_ whole: Int64) -> String {
        var text = ""
        for (index, digit) in String(whole).reversed().enumerated() {
            if index > 0, index % 3 == 0 { text.append(",") }
            text.append(digit)
        }
        return String(text.reversed())
    }
}
