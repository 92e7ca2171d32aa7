/// Numbers as text.
package enum NumberText {
    /// A number with its noun: `1 event`, `2 events`.
    /// - Parameters:
    ///   - number: the number.
    ///   - noun: in the singular.
    ///   - plural: the plural; `nil`: the noun with an s.
    package static func count(_ number: some BinaryInteger, _ noun: String, plural: String? = nil) -> String {
        "\(number) \(number == 1 ? noun : plural ?? noun + "s")"
    }

    /// 12345 as "12,345".
    package static func grouped(_ number: Int) -> String {
        var digits = String(abs(number))
        var index = digits.endIndex
        while digits.distance(from: digits.startIndex, to: index) > 3 {
            index = digits.index(index, offsetBy: -3)
            digits.insert(",", at: index)
        }
        return number < 0 ? "-" + digits : digits
    }
}
