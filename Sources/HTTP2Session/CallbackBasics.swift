import CNGHTTP2

// What the callbacks of both sides share.

/// Number of bytes of a body that go into the next DATA frame: what is left, but at most `length`, which the windows and
/// the frame size allow. The send-data callback writes the bytes themselves (NO_COPY).
@inline(__always)
func bodyPiece(left: Int, length: Int, flags: UnsafeMutablePointer<UInt32>) -> Int {
    flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if left <= length { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return min(left, length)
}

/// The eight bytes of a PING as a number, first byte highest.
func pingPayload(_ ping: nghttp2_ping) -> UInt64 {
    withUnsafeBytes(of: ping.opaque_data) { $0.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The debug data of a GOAWAY. It is valid as long as the frame.
func debugData(_ goAway: nghttp2_goaway) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
}
