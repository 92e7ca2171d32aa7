/// What a serializer may have put around an event's JSON object (setting `events.framing`).
public enum EventFraming: String, Sendable, CaseIterable {
    /// Skips a registry's prefix and a byte order mark, and opens a structured CloudEvent.
    case auto
    /// Accepts no framing. A framed value is refused, with a text that says which framing it has.
    case none
}

/// The bytes before a value's JSON.
struct EventPrefix {
    /// Number of bytes that JSON Schema serializers write first: a zero byte, and the schema's number in four bytes,
    /// the highest first (Confluent's wire format).
    static let registryByteCount = 5
    /// U+FEFF in UTF-8. RFC 8259 §8.1 does not allow writers to add it, and allows readers to skip it.
    private static let byteOrderMark: [UInt8] = [0xEF, 0xBB, 0xBF]

    /// The schema's number; `nil` when there is no registry's prefix.
    private(set) var schemaID: UInt32?
    private var hasByteOrderMark = false
    /// The number of bytes before the JSON.
    private(set) var byteCount = 0

    init(of value: Span<UInt8>) {
        self.schemaID = Self.schemaID(value)
        if self.schemaID != nil { self.byteCount = Self.registryByteCount }
        let mark = Self.byteOrderMark
        guard value.count >= self.byteCount + mark.count,
            value.extracting(self.byteCount..<self.byteCount + mark.count).holdsSameBytes(as: mark.span)
        else { return }
        self.hasByteOrderMark = true
        self.byteCount += mark.count
    }

    /// The number in a registry's prefix. `nil` if `bytes` do not begin with such a prefix, or have nothing after it.
    static func schemaID(_ bytes: Span<UInt8>) -> UInt32? {
        guard bytes.count > Self.registryByteCount, bytes[0] == 0 else { return nil }
        var number: UInt32 = 0
        for index in 1..<Self.registryByteCount { number = number << 8 | UInt32(bytes[index]) }
        return number
    }

    /// The prefix's name in a rejection; `nil` when there is no prefix.
    private var name: String? {
        switch (self.schemaID, self.hasByteOrderMark) {
        case (let number?, _): "the five bytes of a schema registry (schema \(number))"
        case (nil, true): "a byte order mark"
        case (nil, false): nil
        }
    }

    /// Why a value with this prefix is refused where framing is not allowed; `nil` when there is no prefix.
    var refusal: EventRejection? {
        guard let name = self.name else { return nil }
        return EventRejection(
            field: "value",
            reason: "begins with \(name): expected one JSON object. Write it without, or set “events.framing” to “auto”"
        )
    }

    /// The rejection. If a value with a registry's prefix is refused as a whole, the rejection also has a hint that the
    /// value may not be JSON.
    func explained(_ rejection: EventRejection) -> EventRejection {
        guard let number = self.schemaID, rejection.field == "value" else { return rejection }
        return EventRejection(
            field: rejection.field,
            reason:
                "\(rejection.reason). It follows the five bytes of a schema registry (schema \(number)): events are "
                + "JSON, neither Avro nor Protobuf")
    }
}
