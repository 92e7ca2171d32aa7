/// What happened on a server connection. Plain bits; ranges refer to the arrays of `HTTP2ServerEvents`.
public enum HTTP2ServerEvent: Equatable, Sendable {
    /// The header block of a request is complete (only with `HTTP2ServerSettings.announcesHeaders`). `fields`: range of
    /// `fields`.
    case requestHeaders(streamID: Int32, fields: Range<Int>)
    /// A whole request: header fields in their order, duplicates kept, pseudo-header fields first; trailers at the end,
    /// if any.
    case request(HTTP2ServerRequest)
    /// A request that is malformed (RFC 9113 §8.1.1) was answered with RST_STREAM PROTOCOL_ERROR; `detail` says why in words. Given instead of
    /// `request`, with `HTTP2ServerSettings.checksMessages`.
    case requestMalformed(streamID: Int32, detail: Range<Int>)
    /// The stream is over, for whatever reason; `NO_ERROR` after an answer that was sent wholly. Nothing more may be
    /// answered on it.
    case streamClosed(streamID: Int32, errorCode: HTTP2ErrorCode)
    /// The client took over our last SETTINGS.
    case settingsAcknowledged
    /// The client sent GOAWAY.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
    /// The client answered our PING with this payload.
    case pingAcknowledged(payload: UInt64)
    /// GOAWAY was put into our output: by `goAway`/`terminate`, or because the peer broke the protocol, which
    /// `debugData` says in words.
    case goAwaySent(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
}

/// One whole request as the server got it.
public struct HTTP2ServerRequest: Equatable, Sendable {
    /// The stream that the answer goes to.
    public var streamID: Int32
    /// Range of `HTTP2ServerEvents.fields`.
    public var fields: Range<Int>
    /// Fields were dropped because they exceeded `requestFieldsByteCountMax`.
    public var fieldsTruncated: Bool
    /// The size of the field list as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 §6.5.2): names, values and 32 bytes for each field.
    public var fieldListByteCount: Int
    /// Range of `HTTP2ServerEvents.bytes`: what was kept of the body.
    public var body: Range<Int>
    /// Bytes the client sent; more than `body.count` when the body was over the limit.
    public var bodyByteCount: Int
}

/// Where one header field lies in `HTTP2ServerEvents.bytes`.
public struct HTTP2FieldRange: Equatable, Sendable {
    /// The bytes of the name, as they came.
    public var name: Range<Int>
    /// The bytes of the value, as they came.
    public var value: Range<Int>
}

/// Events in the order they happened, with the bytes they refer to. Given to `takeEvents` again and again: it keeps its
/// memory.
public struct HTTP2ServerEvents: Sendable {
    /// What happened since the events were last taken, oldest first.
    public internal(set) var events: [HTTP2ServerEvent] = []
    /// The header fields that ranges of the events refer to.
    public internal(set) var fields: [HTTP2FieldRange] = []
    /// The bytes that ranges of the events and of the fields refer to.
    public internal(set) var bytes: [UInt8] = []

    /// No events yet.
    public init() {}

    /// Forgets the events; the memory is kept.
    public mutating func removeAll() {
        self.events.removeAll(keepingCapacity: true)
        self.fields.removeAll(keepingCapacity: true)
        self.bytes.removeAll(keepingCapacity: true)
    }
}
