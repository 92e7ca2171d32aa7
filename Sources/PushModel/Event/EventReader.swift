/// Reads JSON values for `EventDecoder`, and knows which field is being read. It turns a fault into a rejection in
/// plain words. The text of a rejection is made only when one is thrown.
struct EventReader {
    /// The last second since 1970 that has ten digits, in the year 2286. A larger number is not in seconds.
    static let secondsMax: Int64 = 9_999_999_999
    /// A number of at most this many bytes, and without exponent, is certainly a finite `Double`.
    private static let finiteByteCountMax = 300

    var cursor = JSONCursor()
    /// The field that is being read. It is named in rejections.
    var field = FieldPath.value

    // MARK: Pieces of JSON

    /// Whether `byte` is the next byte after white space.
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

    /// Passes the next member's name if it is one of `EventField` in the usual spelling, and returns the field.
    /// Otherwise returns `nil` and passes nothing.
    @inline(__always) mutating func knownName(_ bytes: Span<UInt8>, isFirst: Bool) -> EventField? {
        guard var index = self.cursor.memberStart(bytes, isFirst: isFirst),
            let field = EventField.passName(in: bytes, &index)
        else { return nil }
        self.cursor.index = index
        return field
    }

    /// Passes the next member's name if it is spelt exactly as `text`, and returns whether it is. `start` is the result
    /// of `JSONCursor.memberStart`. `text` ends with the quote and the colon.
    @inline(__always) mutating func passesName(_ bytes: Span<UInt8>, at start: Int, _ text: StaticString) -> Bool {
        guard bytes.spells(text, at: start) else { return false }
        self.cursor.index = start &+ text.utf8CodeUnitCount
        return true
    }

    /// Passes the next value if it is spelt exactly as `text`, and returns whether it is. `text` is a whole string with
    /// its quotes.
    @inline(__always) mutating func passes(_ bytes: Span<UInt8>, _ text: StaticString) -> Bool {
        guard self.begins(bytes, with: UInt8(ascii: "\"")), bytes.spells(text, at: self.cursor.index) else {
            return false
        }
        self.cursor.index &+= text.utf8CodeUnitCount
        return true
    }

    /// Passes a number if it is spelt exactly as `text` and ends the member, and returns whether it is.
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

    /// Passes an object with everything in it, and returns its range.
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

    /// Reads a string of 1 to `byteCountMax` bytes, and appends its text to `text` without escapes.
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

    /// Reads a whole number of seconds since 1970, which must be at least `least`.
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

    /// The next value, if it is a whole number of ten digits, as dates from 2001 to 2286 are. The value is not passed.
    @inline(__always) private mutating func tenDigits(_ bytes: Span<UInt8>) -> Int64? {
        let first = self.cursor.significantByte(bytes)
        let index = self.cursor.index
        guard first > UInt8(ascii: "0"), bytes.count &- index > 10 else { return nil }
        // There are more than ten bytes.
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

    /// Whether the text of `string`, with its escapes resolved, equals `text`.
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

    /// The rejection of the value that begins here. Its text shows the value. The value is passed.
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

    /// The value of a whole number, clamped to the range of `Int64`.
    static func integer(_ bytes: Span<UInt8>, _ spelling: ByteRange) -> Int64 {
        let isNegative = bytes[Int(spelling.start)] == UInt8(ascii: "-")
        var value: Int64 = 0
        var digits = spelling.range
        if isNegative { digits = digits.lowerBound + 1..<digits.upperBound }
        if digits.count <= 18 {
            // A number of this length always fits, and the cursor has checked that all its bytes are there.
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

    /// The number that eight digits spell, with the first digit in the lowest byte. Neighbouring digits are joined to
    /// groups of two, then four, then eight.
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

    /// A hint at what a number out of range may be.
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
