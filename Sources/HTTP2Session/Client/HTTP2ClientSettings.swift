/// The SETTINGS that a client session announces, and its own limits.
public struct HTTP2ClientSettings: Sendable {
    /// Maximum number of streams that this side opens at once, whatever the peer allows. The memory of a session grows
    /// to this many stream entries.
    public var concurrentStreamsMax = 1_000
    /// Maximum number of bytes of a request body; `submit` refuses more.
    public var requestBodyByteCountMax = 16_384
    /// Number of bytes of a response body that are kept; the rest is counted and dropped.
    public var responseBodyByteCountMax = 1_024
    /// Our SETTINGS_INITIAL_WINDOW_SIZE: bytes that a response body may take before we acknowledge them. 0...2^31-1.
    public var initialWindowByteCount: UInt32 = 65_535
    /// Our SETTINGS_HEADER_TABLE_SIZE: bytes that the peer's compressor may use.
    public var headerTableByteCount: UInt32 = 4_096
    /// Our SETTINGS_MAX_HEADER_LIST_SIZE, bytes.
    public var headerListByteCountMax: UInt32 = 16_384
    /// First stream id; odd. Only a test of exhausted ids sets it.
    public var firstStreamID: Int32 = 1

    /// The defaults.
    public init() {}
}
