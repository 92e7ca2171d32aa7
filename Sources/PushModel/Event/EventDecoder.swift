/// Reads one record's value (contract §2 and §3).
public enum EventDecoder {
    /// The largest value of an event: 16 KiB.
    public static let valueByteCountMax = 16_384
    /// How deep objects and arrays may nest, the event's own object included.
    public static let depthMax = 64

    /// Decodes `value` into `event`, which is reset first. When this throws, `event` holds nothing of use.
    public static func decode(_ value: Span<UInt8>, into event: inout DecodedEvent) throws(EventRejection) {
        throw EventRejection(field: "event", reason: "cannot be decoded yet")
    }
}
