/// Reads JSON values for `EventDecoder`, each with the name of the field it is read for, and turns what is wrong into a rejection a stranger
/// understands. The text of a rejection is only made when one is thrown.
struct EventReader {
    /// The last second with ten digits, in the year 2286. Whatever is above was not counted in seconds.
    static let secondsMax: Int64 = 9_999_999_999
    /// A spelling of a number without exponent and not longer than this is a finite `Double`.
    private static let finiteByteCountMax = 300

    var cursor = JSONCursor()
    /// The field that is being read, for faults of syntax.
    var field: StaticString = "value"

    // MARK: Pieces of JSON

    mutating func openObject(_ bytes: Span<UInt8>) throws(EventRejection) {
        do { try self.cursor.openObject(bytes) } catch { throw self.rejection(of: error) }
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

    mutating func expectEnd(_ bytes: Span<UInt8>) throws(EventRejection) {
        do { try self.cursor.expectEnd(bytes) } catch { throw self.rejection(of: error) }
    }

    // MARK: Values of one kind

    /// A whole object, as it came.
    mutating func object(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        guard try self.kind(bytes) == .object else { throw self.wrongValue(bytes, expected: "a JSON object") }
        return try self.skipValue(bytes)
    }

    mutating func string(_ bytes: Span<UInt8>, expected: StaticString) throws(EventRejection) -> JSONString {
        guard try self.kind(bytes) == .string else { throw self.wrongValue(bytes, expected: "\(expected)") }
        do { return try self.cursor.string(bytes) } catch { throw self.rejection(of: error) }
    }

    mutating func number(_ bytes: Span<UInt8>, expected: StaticString) throws(EventRejection) -> JSONNumber {
        guard try self.kind(bytes) == .number else { throw self.wrongValue(bytes, expected: "\(expected)") }
        do { return try self.cursor.number(bytes) } catch { throw self.rejection(of: error) }
    }

    mutating func bool(_ bytes: Span<UInt8>) throws(EventRejection) -> Bool {
        guard try self.kind(bytes) == .bool else { throw self.wrongValue(bytes, expected: "true or false") }
        let range = try self.skipValue(bytes)
        return range.count == 4
    }

    /// Text of 1 to `byteCountMax` bytes, appended to `text` without escapes.
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

    /// Whole seconds since 1970, `least` or later.
    mutating func seconds(_ bytes: Span<UInt8>, least: Int64) throws(EventRejection) -> Int64 {
        guard try self.kind(bytes) == .number else {
            throw self.wrongValue(bytes, expected: "whole seconds since 1970, a number without quotes")
        }
        let number = try self.number(bytes, expected: "a number")
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

    /// A number that a phone can read as a `Double`, as it came.
    mutating func finiteNumber(_ bytes: Span<UInt8>) throws(EventRejection) -> ByteRange {
        let spelling = try self.number(bytes, expected: "a number").spelling
        var isPlain = Int(spelling.count) <= Self.finiteByteCountMax
        for index in spelling.range where bytes[index] | 0x20 == UInt8(ascii: "e") { isPlain = false }
        if isPlain { return spelling }
        var digits: [UInt8] = []
        digits.append(copying: bytes.extracting(spelling.range))
        guard let value = Double(String(decoding: digits, as: UTF8.self)), value.isFinite else {
            throw self.wrongValue(bytes, spelling, expected: "a number a double can hold")
        }
        return spelling
    }

    /// Whether `string` reads `text`, whatever escapes it is spelt with.
    func spells(_ bytes: Span<UInt8>, _ string: JSONString, _ text: StaticString) -> Bool {
        guard string.hasEscapes else { return bytes.spells(text, in: string.content) }
        let plain = JSONEscape.text(of: string, in: bytes)
        return plain.span.spells(text, in: ByteRange(start: 0, count: plain.count))
    }

    // MARK: Rejections

    /// What is wrong with the field that is being read.
    func reject(_ reason: String) -> EventRejection { EventRejection(field: "\(self.field)", reason: reason) }

    /// Passes the value that begins here and rejects it, quoting it.
    mutating func wrongValue(_ bytes: Span<UInt8>, expected: String) -> EventRejection {
        do {
            let isNull = try self.cursor.peekKind(bytes) == .null
            let range = try self.cursor.skipValue(bytes)
            return self.wrongValue(
                bytes, range, expected: isNull ? "\(expected); leave the field out when there is none" : expected)
        } catch { return self.rejection(of: error) }
    }

    func wrongValue(_ bytes: Span<UInt8>, _ range: ByteRange, expected: String) -> EventRejection {
        self.reject("is \(RejectionText.quoted(bytes.extracting(range.range))): expected \(expected)")
    }

    func rejection(of fault: JSONFault) -> EventRejection {
        self.reject("is not valid JSON: at byte \(fault.index) of the record's value, \(fault.expectation)")
    }

    // MARK: Numbers

    /// The value of a whole number's spelling, held at the ends of `Int64`.
    static func integer(_ bytes: Span<UInt8>, _ spelling: ByteRange) -> Int64 {
        let isNegative = bytes[Int(spelling.start)] == UInt8(ascii: "-")
        var value: Int64 = 0
        for index in spelling.range.dropFirst(isNegative ? 1 : 0) {
            let (tens, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflowToo) = tens.addingReportingOverflow(Int64(bytes[index] - UInt8(ascii: "0")))
            if overflow || overflowToo { return isNegative ? .min : .max }
            value = sum
        }
        return isNegative ? -value : value
    }

    /// What a number out of range probably is.
    private static func hint(seconds: Int64) -> String {
        switch seconds {
        case 100_000_000_000_000_000...: "; this looks like nanoseconds, divide it by 1,000,000,000"
        case 100_000_000_000_000...: "; this looks like microseconds, divide it by 1,000,000"
        case 100_000_000_000...: "; this looks like milliseconds, divide it by 1,000"
        case (Self.secondsMax + 1)...: "; this is after the year 2286"
        case ..<0: "; this is negative"
        default: "; this looks like a duration, or a date counted from 2001"
        }
    }
}
