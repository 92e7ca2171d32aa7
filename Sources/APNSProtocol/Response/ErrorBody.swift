/// The body of an answer other than 200, and the debug data of a GOAWAY: `{"reason": "…", "timestamp": …}`.
public enum ErrorBody {
    /// Takes what can be had. An empty, cut off or foreign body gives an empty reason; nothing is an error.
    ///
    /// - Returns: `reason`, at most `reasonByteCountMax` bytes of it; `timestamp` in milliseconds since 1970.
    public static func parse(_ body: Span<UInt8>) -> (reason: String, timestampMillis: Int64?) {
        ("", nil)
    }
}
