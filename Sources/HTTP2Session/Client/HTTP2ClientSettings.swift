/// The SETTINGS that a client session sends, and the session's own limits.
public struct HTTP2ClientSettings: Sendable {
    /// Maximum number of streams that this side opens at a time, even if the peer allows more. Memory grows with the
    /// number of streams used.
    public var concurrentStreamsMax = 1_000
    /// Maximum length of a request body, bytes. `submit` refuses a longer one.
    public var requestBodyByteCountMax = 16_384
    /// Maximum number of bytes of a response body that are kept. The rest is counted and dropped.
    public var responseBodyByteCountMax = 1_024
    /// Our SETTINGS_INITIAL_WINDOW_SIZE: how many bytes of a response body may arrive before we acknowledge them.
    /// 0...2^31-1.
    public var initialWindowByteCount: UInt32 = 65_535
    /// Our SETTINGS_HEADER_TABLE_SIZE: maximum size of the peer's compression table, bytes.
    public var headerTableByteCount: UInt32 = 4_096
    /// Our SETTINGS_MAX_HEADER_LIST_SIZE: maximum size of a response's header fields, bytes.
    public var headerListByteCountMax: UInt32 = 16_384
    /// The first stream id; an odd number. Only a test of exhausted ids sets it.
    public var firstStreamID: Int32 = 1

    /// The defaults.
    public init() {}
}
