/// How a client session introduces itself and what it allows itself.
public struct HTTP2ClientSettings: Sendable {
    /// Streams this side opens at once, whatever the peer allows. The memory of a session grows to this many stream
    /// entries.
    public var concurrentStreamsMax = 1_000
    /// Bytes of a request body; more is refused by `submit`.
    public var requestBodyByteCountMax = 16_384
    /// Bytes of a response body that are kept; the rest is counted and dropped.
    public var responseBodyByteCountMax = 1_024
    /// SETTINGS_INITIAL_WINDOW_SIZE we announce: bytes a response body may take before we acknowledge them. 0...2^31-1.
    public var initialWindowByteCount: UInt32 = 65_535
    /// SETTINGS_HEADER_TABLE_SIZE we announce: the peer's compressor may use this much.
    public var headerTableByteCount: UInt32 = 4_096
    /// SETTINGS_MAX_HEADER_LIST_SIZE we announce.
    public var headerListByteCountMax: UInt32 = 16_384
    /// First stream id; odd. Only a test of id exhaustion sets it.
    public var firstStreamID: Int32 = 1

    /// The defaults.
    public init() {}
}
