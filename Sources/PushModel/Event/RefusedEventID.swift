/// Finds the `id` of an event that is refused. Its outcome then names the event, although another field is at fault.
public enum RefusedEventID {
    /// Returns the text of `id` in UTF-8, as an accepted event would have it. It is empty if the value is not JSON from
    /// end to end, has no `id`, or has one that is not valid. The whole value is read, so call it only for refused
    /// events.
    /// - Parameter framing: what may surround the event's JSON object.
    public static func text(in value: Span<UInt8>, framing: EventFraming = .auto) -> [UInt8] {
        let start = framing == .auto ? EventPrefix(of: value).byteCount : 0
        do throws(EventRejection) {
            guard framing == .auto, case .envelope(let envelope) = CloudEventEnvelope.find(in: value, from: start)
            else { return try Self.member(of: value, from: start, isWhole: true) }
            let own = try Self.member(of: value, from: envelope.dataStart, isWhole: false)
            return own.isEmpty ? try Self.string(in: value, from: Int(envelope.id.withQuotes.start)) : own
        } catch { return [] }
    }

    /// Reads the member `id` of the object that begins at `start`; empty: there is none.
    /// - Parameter isWhole: whether only white space may follow the object.
    private static func member(
        of value: Span<UInt8>, from start: Int, isWhole: Bool
    ) throws(EventRejection) -> [UInt8] {
        var reader = EventReader()
        reader.cursor.index = start
        var (id, isFirst) = ([UInt8](), true)
        try reader.openObject(value)
        while let name = try reader.nextName(value, isFirst: isFirst) {
            isFirst = false
            guard reader.spells(value, name, "id") else {
                _ = try reader.skipValue(value)
                continue
            }
            guard id.isEmpty else { throw reader.reject("is given twice") }
            try Self.read(value, by: &reader, into: &id)
        }
        if isWhole { try reader.expectEnd(value) }
        return id
    }

    private static func string(in value: Span<UInt8>, from start: Int) throws(EventRejection) -> [UInt8] {
        var reader = EventReader()
        reader.cursor.index = start
        var id: [UInt8] = []
        try Self.read(value, by: &reader, into: &id)
        return id
    }

    private static func read(
        _ value: Span<UInt8>, by reader: inout EventReader, into id: inout [UInt8]
    ) throws(EventRejection) {
        _ = try reader.text(value, byteCountMax: EventDecoder.idByteCountMax, expected: "a string", into: &id)
    }
}
