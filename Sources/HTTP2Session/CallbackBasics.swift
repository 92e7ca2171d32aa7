import CNGHTTP2

// Functions that the callbacks of the client and of the server share.

/// Returns how many bytes of a body go into the next DATA frame: `left`, but at most `length`. The flow-control windows
/// and the frame size give `length`. The send-data callback writes the bytes (NO_COPY). The last piece is flagged as
/// the end.
@inline(__always)
func bodyPiece(left: Int, length: Int, flags: UnsafeMutablePointer<UInt32>) -> Int {
    flags.pointee |= NGHTTP2_DATA_FLAG_NO_COPY.rawValue
    if left <= length { flags.pointee |= NGHTTP2_DATA_FLAG_EOF.rawValue }
    return min(left, length)
}

/// Reads the eight bytes of a PING as a number, the first byte highest.
func pingPayload(_ ping: nghttp2_ping) -> UInt64 {
    withUnsafeBytes(of: ping.opaque_data) { $0.reduce(0) { $0 << 8 | UInt64($1) } }
}

/// The debug data of a GOAWAY. The pointer is valid only during the callback that got the frame.
func debugData(_ goAway: nghttp2_goaway) -> UnsafeRawBufferPointer {
    UnsafeRawBufferPointer(start: goAway.opaque_data, count: goAway.opaque_data_len)
}
