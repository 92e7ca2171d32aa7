/// What happened on a server connection. It is a plain value; ranges refer to the arrays of `HTTP2ServerEvents`.
public enum HTTP2ServerEvent: Equatable, Sendable {
    /// The header block of a request is complete (only with `HTTP2ServerSettings.announcesHeaders`). `fields` is a
    /// range of `HTTP2ServerEvents.fields`.
    case requestHeaders(streamID: Int32, fields: Range<Int>)
    /// A whole request arrived: header fields in their order, duplicates kept, pseudo-header fields first; trailers at
    /// the end, if any.
    case request(HTTP2ServerRequest)
    /// A malformed request (RFC 9113 §8.1.1) was answered with RST_STREAM PROTOCOL_ERROR; `detail` says why in words.
    /// It is given instead of `request`, with `HTTP2ServerSettings.checksMessages`.
    case requestMalformed(streamID: Int32, detail: Range<Int>)
    /// The stream has ended, for any reason; `NO_ERROR` after an answer that was sent completely. No more answers are
    /// possible on it.
    case streamClosed(streamID: Int32, errorCode: HTTP2ErrorCode)
    /// The client acknowledged our last SETTINGS.
    case settingsAcknowledged
    /// The client sent GOAWAY.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
    /// The client answered our PING with this payload.
    case pingAcknowledged(payload: UInt64)
    /// GOAWAY was put into our output: by `goAway` or `terminate`, or because the peer broke the protocol. `debugData`
    /// then says how.
    case goAwaySent(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
}

/// One whole request as the server got it.
public struct HTTP2ServerRequest: Equatable, Sendable {
    /// The stream that the answer goes to.
    public var streamID: Int32
    /// Range of `HTTP2ServerEvents.fields`.
    public var fields: Range<Int>
    /// Whether fields were dropped because they exceeded `requestFieldsByteCountMax`.
    public var fieldsTruncated: Bool
    /// The size of the field list as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 §6.5.2): names, values and 32 bytes for each field.
    public var fieldListByteCount: Int
    /// Range of `HTTP2ServerEvents.bytes`: the part of the body that was kept.
    public var body: Range<Int>
    /// Number of bytes the client sent; more than `body.count` if the body was over the limit.
    public var bodyByteCount: Int
}

/// The ranges of one header field in `HTTP2ServerEvents.bytes`.
public struct HTTP2FieldRange: Equatable, Sendable {
    /// The bytes of the name, unchanged.
    public var name: Range<Int>
    /// The bytes of the value, unchanged.
    public var value: Range<Int>
}

/// Events in the order they happened, with the bytes they refer to. Pass it to `takeEvents` again and again, so that
/// its memory is reused.
public struct HTTP2ServerEvents: Sendable {
    /// What happened since the events were last taken, oldest first.
    public internal(set) var events: [HTTP2ServerEvent] = []
    /// The header fields that ranges of the events refer to.
    public internal(set) var fields: [HTTP2FieldRange] = []
    /// The bytes that ranges of the events and of the fields refer to.
    public internal(set) var bytes: [UInt8] = []

    /// A value without events.
    public init() {}

    /// Removes the events; the memory is kept.
    public mutating func removeAll() {
        self.events.removeAll(keepingCapacity: true)
        self.fields.removeAll(keepingCapacity: true)
        self.bytes.removeAll(keepingCapacity: true)
    }
}
