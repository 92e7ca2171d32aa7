/// The SETTINGS that a server session sends, and how much it keeps of a request. The default SETTINGS are those that
/// APNs was seen to send.
public struct HTTP2ServerSettings: Sendable {
    /// The first SETTINGS_MAX_CONCURRENT_STREAMS that is sent.
    public var concurrentStreamsMax: UInt32 = 1_000
    /// The first SETTINGS_INITIAL_WINDOW_SIZE, bytes.
    public var initialWindowByteCount: UInt32 = 65_535
    /// Flow-control window of the whole connection, bytes: 65,535...2^31-1. A WINDOW_UPDATE at the start raises it
    /// above 65,535.
    public var connectionWindowByteCount: UInt32 = 65_535
    /// The first SETTINGS_HEADER_TABLE_SIZE, bytes.
    public var headerTableByteCount: UInt32 = 4_096
    /// The first SETTINGS_MAX_FRAME_SIZE, bytes. 16,384...16,777,215.
    public var frameByteCountMax: UInt32 = 16_384
    /// The first SETTINGS_MAX_HEADER_LIST_SIZE, bytes.
    public var headerListByteCountMax: UInt32 = 8_000
    /// Maximum number of bytes of a request body that are kept. The rest is counted and dropped.
    public var requestBodyByteCountMax = 8_192
    /// Maximum number of bytes of all header fields of a request. Fields beyond it are dropped, and the request is
    /// flagged.
    public var requestFieldsByteCountMax = 16_384
    /// Whether there is a `.requestHeaders` event when a header block is complete, before the body.
    public var announcesHeaders = false
    /// Whether received DATA is acknowledged by WINDOW_UPDATE. If not, a client that has used up its window waits until
    /// `releaseWindows`.
    public var acknowledgesData = true
    /// Whether HTTP's rules for header fields are checked, such as the order of pseudo-header fields. Requests are
    /// cheaper without these checks. Framing and HPACK are always checked.
    public var checksMessages = true

    /// The defaults.
    public init() {}
}

/// A change of our SETTINGS while a connection is open. `nil` leaves a value unchanged.
public struct HTTP2SettingsChange: Equatable, Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS: maximum number of requests that the client may have open.
    public var concurrentStreamsMax: UInt32?
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes: the window of each stream, including open ones.
    public var initialWindowByteCount: UInt32?
    /// SETTINGS_HEADER_TABLE_SIZE, bytes: maximum size of the client's dynamic table.
    public var headerTableByteCount: UInt32?
    /// SETTINGS_MAX_FRAME_SIZE, bytes: 16,384...16,777,215.
    public var frameByteCountMax: UInt32?
    /// SETTINGS_MAX_HEADER_LIST_SIZE, bytes, counted as in RFC 9113 §6.5.2.
    public var headerListByteCountMax: UInt32?

    public init(
        concurrentStreamsMax: UInt32? = nil, initialWindowByteCount: UInt32? = nil, headerTableByteCount: UInt32? = nil,
        frameByteCountMax: UInt32? = nil, headerListByteCountMax: UInt32? = nil
    ) {
        self.concurrentStreamsMax = concurrentStreamsMax
        self.initialWindowByteCount = initialWindowByteCount
        self.headerTableByteCount = headerTableByteCount
        self.frameByteCountMax = frameByteCountMax
        self.headerListByteCountMax = headerListByteCountMax
    }
}
