/// The SETTINGS that a server session announces, and how much it keeps of a request. The defaults are APNs' own, as
/// seen on the wire.
public struct HTTP2ServerSettings: Sendable {
    /// The first SETTINGS_MAX_CONCURRENT_STREAMS.
    public var concurrentStreamsMax: UInt32 = 1_000
    /// The first SETTINGS_INITIAL_WINDOW_SIZE, bytes.
    public var initialWindowByteCount: UInt32 = 65_535
    /// Window of the whole connection, bytes; a WINDOW_UPDATE at the start raises it over 65,535. 65,535...2^31-1.
    public var connectionWindowByteCount: UInt32 = 65_535
    /// The first SETTINGS_HEADER_TABLE_SIZE, bytes.
    public var headerTableByteCount: UInt32 = 4_096
    /// The first SETTINGS_MAX_FRAME_SIZE, bytes. 16,384...16,777,215.
    public var frameByteCountMax: UInt32 = 16_384
    /// The first SETTINGS_MAX_HEADER_LIST_SIZE, bytes.
    public var headerListByteCountMax: UInt32 = 8_000
    /// Number of bytes of a request body that are kept; the rest is counted and dropped.
    public var requestBodyByteCountMax = 8_192
    /// Number of bytes of all header fields of a request that are kept. Further fields are dropped and the request is
    /// flagged.
    public var requestFieldsByteCountMax = 16_384
    /// Whether `.requestHeaders` is given when the header block is complete, before the body.
    public var announcesHeaders = false
    /// Whether received DATA is acknowledged by WINDOW_UPDATE. If not, the peer stalls when its window is used up,
    /// until `releaseWindows`.
    public var acknowledgesData = true
    /// Whether HTTP rules for header fields (pseudo-header order, forbidden names …) are checked. Without them requests
    /// are cheaper. Framing and HPACK are always checked.
    public var checksMessages = true

    /// The defaults.
    public init() {}
}

/// A change of our SETTINGS on a running connection. `nil` leaves a value unchanged.
public struct HTTP2SettingsChange: Equatable, Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS: requests that the client may have open.
    public var concurrentStreamsMax: UInt32?
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes: the window of each stream, including open ones.
    public var initialWindowByteCount: UInt32?
    /// SETTINGS_HEADER_TABLE_SIZE, bytes: the dynamic table that the client may use.
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
