/// How a server session introduces itself and what it keeps of a request. The defaults are APNs' own, as seen on the
/// wire.
public struct HTTP2ServerSettings: Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS announced first.
    public var concurrentStreamsMax: UInt32 = 1_000
    /// SETTINGS_INITIAL_WINDOW_SIZE announced first.
    public var initialWindowByteCount: UInt32 = 65_535
    /// Window of the whole connection; raised over 65,535 with a WINDOW_UPDATE at start. 65,535...2^31-1.
    public var connectionWindowByteCount: UInt32 = 65_535
    /// SETTINGS_HEADER_TABLE_SIZE announced first.
    public var headerTableByteCount: UInt32 = 4_096
    /// SETTINGS_MAX_FRAME_SIZE announced first. 16,384...16,777,215.
    public var frameByteCountMax: UInt32 = 16_384
    /// SETTINGS_MAX_HEADER_LIST_SIZE announced first.
    public var headerListByteCountMax: UInt32 = 8_000
    /// Bytes of a request body that are kept; the rest is counted and dropped.
    public var requestBodyByteCountMax = 8_192
    /// Bytes of all header fields of a request that are kept; fields past it are dropped and the request is flagged.
    public var requestFieldsByteCountMax = 16_384
    /// Give `.requestHeaders` when the header block is complete, before the body.
    public var announcesHeaders = false
    /// `false`: received DATA is not acknowledged by WINDOW_UPDATE until `releaseWindows`; the peer stalls when its
    /// window is used up.
    public var acknowledgesData = true
    /// `false`: HTTP rules for header fields (pseudo-header order, forbidden names …) are not checked, which is
    /// cheaper. Framing and HPACK always are.
    public var checksMessages = true

    /// The defaults.
    public init() {}
}

/// A change of our SETTINGS on a running connection. `nil` leaves a value alone.
public struct HTTP2SettingsChange: Equatable, Sendable {
    /// SETTINGS_MAX_CONCURRENT_STREAMS: requests that the client may have open.
    public var concurrentStreamsMax: UInt32?
    /// SETTINGS_INITIAL_WINDOW_SIZE, bytes: the window of each stream, those that are open included.
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
