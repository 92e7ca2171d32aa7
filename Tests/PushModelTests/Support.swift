import PushModel

/// Decodes a value written as text.
func decode(_ json: String) throws(EventRejection) -> (event: DecodedEvent, value: [UInt8]) {
    try decode(bytes: Array(json.utf8))
}

func decode(bytes: [UInt8]) throws(EventRejection) -> (event: DecodedEvent, value: [UInt8]) {
    var event = DecodedEvent()
    try EventDecoder.decode(bytes.span, into: &event)
    return (event, bytes)
}

/// The rejection of a value, or `nil` when the value is accepted.
func rejection(_ json: String) -> EventRejection? {
    do {
        _ = try decode(json)
        return nil
    } catch { return error }
}

extension Array where Element == UInt8 {
    func text(_ range: ByteRange) -> String { String(decoding: self[range.range], as: UTF8.self) }
}
