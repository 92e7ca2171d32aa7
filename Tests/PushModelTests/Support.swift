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

/// The rejection of a value, `nil` when it is taken.
func rejection(_ json: String) -> EventRejection? {
    do {
        _ = try decode(json)
        return nil
    } catch { return error }
}

extension Array where Element == UInt8 {
    func text(_ range: ByteRange) -> String { String(decoding: self[range.range], as: UTF8.self) }
}

/// A small generator with one word of state (Steele, Lea, Flood: "Fast splittable pseudorandom number generators").
struct SplitMix64: RandomNumberGenerator {
    var state: UInt64
    init(seed: UInt64) { self.state = seed }
    mutating func next() -> UInt64 {
        self.state &+= 0x9E37_79B9_7F4A_7C15
        var word = self.state
        word = (word ^ (word >> 30)) &* 0xBF58_476D_1CE4_E5B9
        word = (word ^ (word >> 27)) &* 0x94D0_49BB_1331_11EB
        return word ^ (word >> 31)
    }
}
