/// Integers as decimal ASCII digits.
public enum DecimalDigits {
    /// Appends `value` in decimal, with a minus sign when negative.
    public static func append(_ value: Int64, to target: inout [UInt8]) {
        if value < 0 { target.append(UInt8(ascii: "-")) }
        Self.append(value.magnitude, to: &target)
    }

    /// Appends `value` in decimal.
    public static func append(_ value: UInt64, to target: inout [UInt8]) {
        // Room is made first, then filled from the last digit, so that no digits have to be turned round.
        let start = target.count
        target.append(contentsOf: repeatElement(UInt8(ascii: "0"), count: Self.count(value)))
        var digits = target.mutableSpan
        var index = digits.count
        var rest = value
        while index > start, rest > 0 {
            index -= 1
            let quotient = rest / 10
            digits[index] = UInt8(ascii: "0") &+ UInt8(truncatingIfNeeded: rest &- quotient &* 10)
            rest = quotient
        }
    }

    /// How many bytes `append` would write.
    public static func count(_ value: Int64) -> Int {
        Self.count(value.magnitude) + (value < 0 ? 1 : 0)
    }

    /// How many digits `value` has.
    public static func count(_ value: UInt64) -> Int {
        var count = 1
        var bound: UInt64 = 10
        while value >= bound {
            count += 1
            if count == 20 { break }  // The next bound would not fit.
            bound &*= 10
        }
        return count
    }
}
