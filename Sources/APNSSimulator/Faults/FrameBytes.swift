/// HTTP/2 frames written by hand (RFC 9113 §4.1), for frames that a correct session would not send.
struct FrameBytes {
    enum FrameType: UInt8 {
        case data = 0, headers = 1, resetStream = 3, settings = 4, pushPromise = 5, ping = 6, windowUpdate = 8
        case continuation = 9
        /// A type that no standard defines, which must be ignored (RFC 9113 §4.1).
        case unknown = 0x42
    }

    static let endStream: UInt8 = 1
    static let endHeaders: UInt8 = 4

    private(set) var bytes: [UInt8] = []

    /// - Parameter announced: the length in the frame's header; `nil` for the payload's length.
    mutating func append(
        type: FrameType, flags: UInt8 = 0, streamID: Int32, announced: Int? = nil, _ payload: [UInt8]
    ) {
        let count = UInt32(announced ?? payload.count)
        self.bytes += [UInt8(count >> 16 & 255), UInt8(count >> 8 & 255), UInt8(count & 255), type.rawValue, flags]
        self.bytes += Self.number(UInt32(bitPattern: streamID))
        self.bytes += payload
    }

    /// Four bytes, the highest first.
    static func number(_ value: UInt32) -> [UInt8] {
        [UInt8(value >> 24), UInt8(value >> 16 & 255), UInt8(value >> 8 & 255), UInt8(value & 255)]
    }
}
