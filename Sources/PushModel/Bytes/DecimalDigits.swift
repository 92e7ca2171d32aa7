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
        let digitCount = Self.count(value)
        let end = target.count + digitCount
        target.append(contentsOf: repeatElement(0, count: digitCount))
        var rest = value
        for index in stride(from: end - 1, through: end - digitCount, by: -1) {
            let (quotient, remainder) = rest.quotientAndRemainder(dividingBy: 10)
            target[index] = UInt8(ascii: "0") + UInt8(remainder)
            rest = quotient
        }
    }

    /// How many bytes `append` would write.
    public static func count(_ value: Int64) -> Int {
        Self.count(value.magnitude) + (value < 0 ? 1 : 0)
    }

    /// How many digits `value` has.
    public static func count(_ value: UInt64) -> Int {
        var (count, rest) = (1, value)
        while rest >= 10 {
            rest /= 10
            count += 1
        }
        return count
    }
}
