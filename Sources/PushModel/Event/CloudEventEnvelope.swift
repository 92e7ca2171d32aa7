/// A CloudEvent in structured mode: one JSON object with the event in its `data` (CloudEvents 1.0, JSON event format).
///
/// Its other attributes are ignored. A producer's `time`, for example, is when something happened upstream, which may
/// be long before the record's time.
struct CloudEventEnvelope {
    /// Index at which the event's object begins.
    let dataStart: Int
    /// The `id` of the CloudEvent.
    let id: JSONString

    /// The result of `find`.
    enum Finding {
        /// The value has no `specversion`, or is not a JSON object.
        case noEnvelope
        case envelope(CloudEventEnvelope)
        case refused(EventRejection)
    }

    /// Reads all members of the value's object. It is called only for values that could not be read as an event.
    /// - Parameter start: index at which the JSON begins.
    static func find(in value: Span<UInt8>, from start: Int) -> Finding {
        var reader = EventReader()
        reader.cursor.index = start
        do throws(EventRejection) { return try Self.read(value, by: &reader) } catch { return .noEnvelope }
    }

    private static func read(_ value: Span<UInt8>, by reader: inout EventReader) throws(EventRejection) -> Finding {
        try reader.openObject(value)
        var (isEnvelope, isBinary, isFirst) = (false, false, true)
        var data: ByteRange?
        var id: JSONString?
        while let name = try reader.nextName(value, isFirst: isFirst) {
            isFirst = false
            if reader.spells(value, name, "specversion") {
                isEnvelope = true
            } else if reader.spells(value, name, "data_base64") {
                isBinary = true
            } else if reader.spells(value, name, "id"), try reader.kind(value) == .string {
                id = try reader.string(value, expected: "a string")
                continue
            } else if reader.spells(value, name, "data") {
                let kind = try reader.kind(value)
                let range = try reader.skipValue(value)
                data = kind == .object ? range : nil
                continue
            }
            _ = try reader.skipValue(value)
        }
        try reader.expectEnd(value)
        guard isEnvelope else { return .noEnvelope }
        guard let data else {
            let found = isBinary ? "is given as “data_base64”" : "is missing or no object"
            return .refused(
                EventRejection(
                    field: "data", reason: "\(found): expected the event as the JSON object of this CloudEvent"))
        }
        guard let id, id.content.count > 0 else {
            return .refused(
                EventRejection(field: "id", reason: "is missing: expected the id of this CloudEvent, a string"))
        }
        return .envelope(CloudEventEnvelope(dataStart: Int(data.start), id: id))
    }
}
