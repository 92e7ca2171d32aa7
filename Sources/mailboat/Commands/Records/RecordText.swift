import CommandSupport
import PushModel

/// A record of an input topic as a person writes it: `{"key": …, "value": …}`, or the event alone.
struct RecordText: Equatable {
    struct Header: Equatable {
        var name: String
        var value: [UInt8]
    }

    /// Why the text is not a record.
    struct Fault: Error, Equatable { var reason: String }

    /// The key; `nil`: missing or null.
    var key: [UInt8]?
    /// The value's bytes, unchanged; `nil`: a null value.
    var value: [UInt8]?
    var partition: Int32?
    /// The record's time, milliseconds since 1970.
    var timestampMillis: Int64?
    var headers: [Header] = []
    /// Whether the event was written alone, without its key.
    var isBare = false

    /// Creates the text of a record in Kafka.
    init(key: [UInt8]?, value: [UInt8]?) {
        self.key = key
        self.value = value
    }

    /// Reads one JSON value that `JSONValueSplitter` has found.
    init(_ bytes: [UInt8]) throws(Fault) {
        guard try Self.isEnvelope(bytes) else {
            self.value = bytes
            self.isBare = true
            return
        }
        var hasValue = false
        var seen: Set<String> = []
        try Self.eachMember(bytes) { (name, cursor) throws(Fault) in
            guard seen.insert(name).inserted else { throw Fault(reason: "“\(name)” is given twice") }
            switch name {
            case "key": self.key = try Self.text(&cursor, bytes, name)
            case "value":
                hasValue = true
                self.value = try Self.value(&cursor, bytes)
            case "partition":
                let partition = try Self.integer(&cursor, bytes, name, in: 0...Int64(Int32.max))
                self.partition = Int32(partition)
            case "timestamp":
                self.timestampMillis = try Self.integer(&cursor, bytes, name, in: 0...253_402_300_799_999)
            case "headers": self.headers = try Self.headers(&cursor, bytes)
            default:
                throw Fault(
                    reason:
                        "“\(name)” is not a field of a record: expected “key”, “value”, “partition”, “headers” or “timestamp”"
                )
            }
        }
        guard hasValue else { throw Fault(reason: "“value” is missing: expected the event, or null") }
    }

    // MARK: Pieces

    /// Whether the text is an object without `event` and with a field `key` or `value`, which no event has.
    private static func isEnvelope(_ bytes: [UInt8]) throws(Fault) -> Bool {
        guard bytes.first == UInt8(ascii: "{") else { return false }
        var isEnvelope = false
        var isEvent = false
        try Self.eachMember(bytes) { (name, cursor) throws(Fault) in
            if name == "key" || name == "value" { isEnvelope = true }
            if name == "event" { isEvent = true }
            _ = try Self.whole { () throws(JSONFault) in try cursor.skipValue(bytes.span) }
        }
        return isEnvelope && !isEvent
    }

    /// Calls `body` before the value of each field. `body` must read the value.
    private static func eachMember(
        _ bytes: [UInt8], _ body: (String, inout JSONCursor) throws(Fault) -> Void
    ) throws(Fault) {
        var cursor = JSONCursor()
        try Self.whole { () throws(JSONFault) in try cursor.openObject(bytes.span) }
        try Self.eachMember(&cursor, bytes, body)
    }

    private static func eachMember(
        _ cursor: inout JSONCursor, _ bytes: [UInt8], _ body: (String, inout JSONCursor) throws(Fault) -> Void
    ) throws(Fault) {
        var isFirst = true
        while let name = try Self.whole({ () throws(JSONFault) in try cursor.nextName(bytes.span, isFirst: isFirst) }) {
            isFirst = false
            try body(String(decoding: JSONEscape.text(of: name, in: bytes.span), as: UTF8.self), &cursor)
        }
    }

    private static func whole<Value>(_ read: () throws(JSONFault) -> Value) throws(Fault) -> Value {
        do { return try read() } catch {
            throw Fault(reason: "is not valid JSON: at byte \(error.index), \(error.expectation)")
        }
    }

    private static func kind(_ cursor: inout JSONCursor, _ bytes: [UInt8]) throws(Fault) -> JSONKind {
        try Self.whole { () throws(JSONFault) in try cursor.peekKind(bytes.span) }
    }

    /// A string's text, or `nil` for null.
    private static func text(_ cursor: inout JSONCursor, _ bytes: [UInt8], _ name: String) throws(Fault) -> [UInt8]? {
        switch try Self.kind(&cursor, bytes) {
        case .string:
            let string = try Self.whole { () throws(JSONFault) in try cursor.string(bytes.span) }
            return JSONEscape.text(of: string, in: bytes.span)
        case .null:
            _ = try Self.whole { () throws(JSONFault) in try cursor.skipValue(bytes.span) }
            return nil
        case .object, .array, .number, .bool: throw Fault(reason: "“\(name)” is no string")
        }
    }

    /// Reads the value. An object keeps its bytes; a string is sent as its text, so that anything can be sent; null is
    /// a null value.
    private static func value(_ cursor: inout JSONCursor, _ bytes: [UInt8]) throws(Fault) -> [UInt8]? {
        switch try Self.kind(&cursor, bytes) {
        case .string, .null: return try Self.text(&cursor, bytes, "value")
        case .object, .array, .number, .bool:
            let range = try Self.whole { () throws(JSONFault) in try cursor.skipValue(bytes.span) }
            return Array(bytes[range.range])
        }
    }

    private static func integer(
        _ cursor: inout JSONCursor, _ bytes: [UInt8], _ name: String, in bounds: ClosedRange<Int64>
    ) throws(Fault) -> Int64 {
        let fault = Fault(reason: "“\(name)” is no whole number from \(bounds.lowerBound) to \(bounds.upperBound)")
        guard try Self.kind(&cursor, bytes) == .number else { throw fault }
        let number = try Self.whole { () throws(JSONFault) in try cursor.number(bytes.span) }
        let spelling = String(decoding: bytes[number.spelling.range], as: UTF8.self)
        guard let value = Int64(spelling), bounds.contains(value) else { throw fault }
        return value
    }

    private static func headers(_ cursor: inout JSONCursor, _ bytes: [UInt8]) throws(Fault) -> [Header] {
        let fault = Fault(reason: "“headers” is no object of strings")
        guard try Self.kind(&cursor, bytes) == .object else { throw fault }
        try Self.whole { () throws(JSONFault) in try cursor.openObject(bytes.span) }
        var headers: [Header] = []
        try Self.eachMember(&cursor, bytes) { (name, cursor) throws(Fault) in
            guard let value = try Self.text(&cursor, bytes, "headers.\(name)") else { throw fault }
            headers.append(Header(name: name, value: value))
        }
        return headers
    }
}
