/// Reads JSON values for `EventDecoder`, each with the name of its field. Turns a fault into a rejection that anyone
/// understands. The text of a rejection is made only when one is thrown.
struct EventReader {
    /// The last second with ten digits, in the year 2286. A larger number was not counted in seconds.
    static let secondsMax: Int64 = 9_999_999_999
    /// Number of bytes up to which a number without exponent is a finite `Double`.
    private static let finiteByteCountMax = 300

    var cursor = JSONCursor()
    /// The field that is being read, for faults of syntax.
    var field = FieldPath.value

    // MARK: Pieces of JSON

    /// Whether `byte` is the next one that is no white space.
    @inline(__always) mutating func begins(_ bytes: Span<UInt8>, with byte: UInt8) -> Bool {
        self.cursor.significantByte(bytes) == byte
    }

    @inline(__always) mutating func beginsNumber(_ bytes: Span<UInt8>) -> Bool {
        let byte = self.cursor.significantByte(bytes)
        return byte &- UInt8(ascii: "0") < 10 || byte == UInt8(ascii: "-")
    }

    @inline(__always) mutating func openObject(_ bytes: Span<UInt8>) throws(EventRejection) {
        do { try self.cursor.openObject(bytes) } catch { throw self.rejection(of: error) }
    }

    /// The next member's name, if it is one of `EventField` in its ordinary spelling. Otherwise returns `nil` and
    /// passes nothing.
    @inline(__always) mutating func knownName(_ bytes: Span<UInt8>, isFirst: Bool) -> EventField? {
        guard var index = self.cursor.memberStart(bytes, isFirst: isFirst),
            let field = EventField.passName(in: bytes, &index)
        else { return nil }
        self.cursor.index = index
        return field
    }

    /// Whether the next member's name is spelt exactly so, and passes it then. `start` is the result of
    /// `JSONCursor.memberStart`, and `text` ends with the quote and the colon.
    @inline(__always) mutating func passesName(_ bytes: Span<UInt8>, at start: Int, _ text: StaticString) -> Bool {
        guard bytes.spells(text, at: start) else { return false }
        self.cursor.index = start &+ text.utf8CodeUnitCount
        return true
    }

    /// Whether the next value is spelt exactly so, and passes it then. `text` is a whole string with its quotes.
    @inline(__always) mutating func passes(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        guard self.begins(bytes, with: UInt8(ascii: "\"")), bytes.spells(text, at: self.cursor.index) else {
            return false
        }
        self.cursor.index &+= text.utf8CodeUnitCount
        return true
    }

    /// Passes a number that ends the member; `false` if another value is next.
    @inline(__always) mutating func passesNumber(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        guard self.beginsNumber(bytes), bytes.spells(text, at: self.cursor.index) else { return false }
        let end = self.cursor.index &+ text.utf8CodeUnitCount
        let next = bytes.byte(orZeroAt: end)
        guard next == UInt8(ascii: ",") || next == UInt8(ascii: "}") else { return false }
        self.cursor.index = end
        return true
    }

    /// The next member's name; `nil` at the object's end.
    mutating func nextName(_ bytes: Span<UInt8>, isFirst: Bool) throws(EventRejection) -> JSONString? {
        do { return try self.cursor.nextName(bytes, isFirst: isFirst) } catch { throw self.rejection(of: error) }
    }

    mutating func kind(_ bytes: Span<UInt8>) throws(EventRejection) -> JSONKind {
        do { return try self.cursor.peekKind(bytes) } catch { throw self.rejection(of: error) }
    }

    mutating func skipValue(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        do { return try self.cursor.skipValue(bytes) } catch { throw self.rejection(of: error) }
    }

    @inline(__always) mutating func expectEnd(_ bytes: Span<UInt8>) throws(EventRejection) {
        do { try self.cursor.expectEnd(bytes) } catch { throw self.rejection(of: error) }
    }

    // MARK: Values of one kind

    /// Reads a whole object, and returns its range.
    mutating func object(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        guard self.begins(bytes, with: UInt8(ascii: "{")) else {
            throw self.wrongValue(bytes, expected: "a JSON object")
        }
        return try self.skipValue(bytes)
    }

    mutating func string(_ bytes: Span<UInt8>, expected: StaticString) throws(EventRejection) -> JSONString {
        guard self.begins(bytes, with: UInt8(ascii: "\"")) else {
            throw self.wrongValue(bytes, expected: "\(expected)")
        }
        do { return try self.cursor.string(bytes) } catch { throw self.rejection(of: error) }
    }

    mutating func number(_ bytes: Span<UInt8>, expected: StaticString) throws(EventRejection) -> JSONNumber {
        guard self.beginsNumber(bytes) else { throw self.wrongValue(bytes, expected: "\(expected)") }
        do { return try self.cursor.number(bytes) } catch { throw self.rejection(of: error) }
    }

    mutating func bool(_ bytes: Span<UInt8>) throws(EventRejection) -> Bool {
        guard try self.kind(bytes) == .bool else { throw self.wrongValue(bytes, expected: "true or false") }
        let range = try self.skipValue(bytes)
        return range.count == 4
    }

    /// Reads text of 1 to `byteCountMax` bytes, and appends it to `text` without escapes.
    mutating func text(
        _ bytes: Span<UInt8>, byteCountMax: Int, expected: StaticString, into text: inout [UInt8]
    ) throws(EventRejection) -> ByteRange {
        let string = try self.string(bytes, expected: expected)
        let start = text.count
        JSONEscape.appendText(of: string, in: bytes, to: &text)
        let byteCount = text.count - start
        if byteCount == 0 { throw self.reject("is empty: expected \(expected)") }
        if byteCount > byteCountMax { throw self.reject("has \(byteCount) bytes: at most \(byteCountMax) are allowed") }
        return ByteRange(start: start, count: byteCount)
    }

    /// Reads whole seconds since 1970, `least` or later.
    mutating func seconds(_ bytes: Span<UInt8>, least: Int64) throws(EventRejection) -> Int64 {
        if let seconds = self.tenDigits(bytes), seconds >= least {
            self.cursor.index &+= 10
            return seconds
        }
        let number = try self.number(bytes, expected: "whole seconds since 1970, a number without quotes")
        guard number.isWhole else {
            throw self.wrongValue(
                bytes, number.spelling, expected: "whole seconds since 1970, without fraction or exponent")
        }
        let seconds = Self.integer(bytes, number.spelling)
        guard seconds >= least, seconds <= Self.secondsMax else {
            throw self.wrongValue(
                bytes, number.spelling, expected: "whole seconds since 1970\(Self.hint(seconds: seconds))")
        }
        return seconds
    }

    /// The next value, if it is a whole number of ten digits: a date between 2001 and 2286. The value is not passed.
    @inline(__always) private mutating func tenDigits(_ bytes: Span<UInt8>) -> Int64? {
        let first = self.cursor.significantByte(bytes)
        let index = self.cursor.index
        guard first > UInt8(ascii: "0"), bytes.count &- index > 10 else { return nil }
        // More than ten bytes are present.
        let word = unsafe bytes.word(uncheckedAt: index)
        let (ninth, tenth, next) = unsafe (
            bytes[unchecked: index &+ 8] &- UInt8(ascii: "0"), bytes[unchecked: index &+ 9] &- UInt8(ascii: "0"),
            bytes[unchecked: index &+ 10]
        )
        guard Span<UInt8>.stopsAmongDigits(in: word) == 0, ninth < 10, tenth < 10,
            next == UInt8(ascii: ",") || next == UInt8(ascii: "}")
        else { return nil }
        return Self.eightDigits(word) &* 100 &+ Int64(ninth) &* 10 &+ Int64(tenth)
    }

    /// Reads a number that a phone can read as a `Double`, and returns its range.
    mutating func finiteNumber(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        let number = try self.number(bytes, expected: "a number")
        let spelling = number.spelling
        if Int(spelling.count) <= Self.finiteByteCountMax, number.isWhole || !Self.hasExponent(bytes, spelling) {
            return spelling
        }
        var digits: [UInt8] = []
        digits.append(copying: bytes.extracting(spelling.range))
        guard let value = Double(String(decoding: digits, as: UTF8.self)), value.isFinite else {
            throw self.wrongValue(bytes, spelling, expected: "a number a double can hold")
        }
        return spelling
    }

    /// Whether `string` reads `text` once its escapes are resolved.
    func spells(_ bytes: Span<UInt8>, _ string: JSONString, _ text: StaticString) -> Bool {
        guard string.hasEscapes else { return bytes.spells(text, in: string.content) }
        let plain = JSONEscape.text(of: string, in: bytes)
        return plain.span.spells(text, in: ByteRange(start: 0, count: plain.count))
    }

    // MARK: Rejections

    /// The rejection of the field that is being read.
    @inline(never) func reject(_ reason: String) -> EventRejection {
        EventRejection(field: "\(self.field.text)", reason: reason)
    }

    /// Passes the value that begins here, and rejects it with a quotation.
    @inline(never) mutating func wrongValue(_ bytes: Span<UInt8>, expected: String) -> EventRejection {
        do {
            let isNull = try self.cursor.peekKind(bytes) == .null
            let range = try self.cursor.skipValue(bytes)
            return self.wrongValue(
                bytes, range, expected: isNull ? "\(expected); leave the field out when there is none" : expected)
        } catch { return self.rejection(of: error) }
    }

    @inline(never) func wrongValue(_ bytes: Span<UInt8>, _ range: ByteRange, expected: String) -> EventRejection {
        self.reject("is \(RejectionText.quoted(bytes.extracting(range.range))): expected \(expected)")
    }

    @inline(never) func rejection(of fault: JSONFault) -> EventRejection {
        self.reject("is not valid JSON: at byte \(fault.index) of the record's value, \(fault.expectation)")
    }

    // MARK: Numbers

    /// The value of a whole number's spelling, limited to the range of `Int64`.
    static func integer(_ bytes: Span<UInt8>, _ spelling: ByteRange) -> Int64 {
        let isNegative = bytes[Int(spelling.start)] == UInt8(ascii: "-")
        var value: Int64 = 0
        var digits = spelling.range
        if isNegative { digits = digits.lowerBound + 1..<digits.upperBound }
        if digits.count <= 18 {
            // This many digits always fit, and the cursor has passed all of them.
            var index = digits.lowerBound
            if digits.count >= 8 {
                value = Self.eightDigits(unsafe bytes.word(uncheckedAt: index))
                index &+= 8
            }
            while index < digits.upperBound {
                value = value &* 10 &+ Int64(unsafe bytes[unchecked: index] &- UInt8(ascii: "0"))
                index &+= 1
            }
            return isNegative ? -value : value
        }
        for index in digits {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) = tens.addingReportingOverflow(Int64(bytes[index] - UInt8(ascii: "0")))
            if overflow || overflowToo { return isNegative ? .min : .max }
            value = sum
        }
        return isNegative ? -value : value
    }

    /// The number that eight digits spell, the first of them in the lowest byte. Neighbours are joined to two, four and
    /// eight digits.
    @inline(__always) private static func eightDigits(_ word: UInt64) -> Int64 {
        var value = word & 0x0F0F_0F0F_0F0F_0F0F
        value = (value &* 10 &+ value >> 8) & 0x00FF_00FF_00FF_00FF
        value = (value &* 100 &+ value >> 16) & 0x0000_FFFF_0000_FFFF
        value = (value &* 10_000 &+ value >> 32) & 0xFFFF_FFFF
        return Int64(truncatingIfNeeded: value)
    }

    private static func hasExponent(_ bytes: Span<UInt8>, _ spelling: ByteRange) -> Bool {
        for index in spelling.range where bytes[index] | 0x20 == UInt8(ascii: "e") { return true }
        return false
    }

    /// A guess at what a number out of range is.
    private static func hint(seconds: Int64) -> String {
        switch seconds {
        case 100_000_000_000_000_000...: "; this looks like nanoseconds, divide it by 1,000,000,000"
        case 100_000_000_000_000...: "; this looks like microseconds, divide it by 1,000,000"
        case 100_000_000_000...: "; this looks like milliseconds, divide it by 1,000"
        case (Self.secondsMax + 1)...: "; this is after the year 2286"
        case ..<0: "; this is negative"
        case EventDecoder.expirySecondsMin...: "; this is before 2017, or is a date counted from 2001"
        case (RecordTime.earliestSeconds - EventRules.secondsFrom1970To2001)...: EventRules.epoch2001Hint
        default: "; this looks like a duration, or a date counted from 2001"
        }
    }
}
