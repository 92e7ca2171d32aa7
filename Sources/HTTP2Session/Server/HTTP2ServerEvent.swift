/// What happened on a server connection. Ranges refer to the arrays of `HTTP2ServerEvents`.
public enum HTTP2ServerEvent: Equatable, Sendable {
    /// The header block of a request is complete. The event is given only with `HTTP2ServerSettings.announcesHeaders`.
    /// `fields` is a range of `HTTP2ServerEvents.fields`.
    case requestHeaders(streamID: Int32, fields: Range<Int>)
    /// A complete request arrived. Its fields are in the order of arrival, with duplicates; trailers come last.
    case request(HTTP2ServerRequest)
    /// A malformed request (RFC 9113 §8.1.1) was answered with RST_STREAM PROTOCOL_ERROR; `detail` says why in words.
    /// With `HTTP2ServerSettings.checksMessages`, this event replaces `request`.
    case requestMalformed(streamID: Int32, detail: Range<Int>)
    /// The stream has ended, and cannot be answered any longer. The code is `NO_ERROR` if an answer was sent
    /// completely.
    case streamClosed(streamID: Int32, errorCode: HTTP2ErrorCode)
    /// The client acknowledged SETTINGS of ours. It acknowledges them in the order in which they were sent.
    case settingsAcknowledged
    /// The client sent GOAWAY.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
    /// The client answered our PING with this payload.
    case pingAcknowledged(payload: UInt64)
    /// GOAWAY was put into the output, by `goAway` or `terminate`, or because the peer broke the protocol. After a
    /// fault of the peer, `debugData` describes the fault.
    case goAwaySent(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
}

/// One complete request as the server got it.
public struct HTTP2ServerRequest: Equatable, Sendable {
    /// The stream of the request, on which it is answered.
    public var streamID: Int32
    /// Range of the request's fields in `HTTP2ServerEvents.fields`.
    public var fields: Range<Int>
    /// Whether fields were dropped because they were longer than `requestFieldsByteCountMax` in total.
    public var fieldsTruncated: Bool
    /// Size of all fields as SETTINGS_MAX_HEADER_LIST_SIZE counts it (RFC 9113 §6.5.2): names, values and 32 bytes for
    /// each field.
    public var fieldListByteCount: Int
    /// Range of the body's kept bytes in `HTTP2ServerEvents.bytes`.
    public var body: Range<Int>
    /// Number of bytes of the body that the client sent. It is more than `body.count` if a part was dropped.
    public var bodyByteCount: Int
}

/// One header field, as ranges in `HTTP2ServerEvents.bytes`.
public struct HTTP2FieldRange: Equatable, Sendable {
    /// Range of the name's bytes, unchanged.
    public var name: Range<Int>
    /// Range of the value's bytes, unchanged.
    public var value: Range<Int>
}

/// Events in the order in which they happened, with the bytes that they refer to. Pass the same value to every
/// `takeEvents`, so that its memory is reused.
public struct HTTP2ServerEvents: Sendable {
    /// The events since the last `takeEvents`, oldest first.
    public internal(set) var events: [HTTP2ServerEvent] = []
    /// The header fields of all events, one after the other. An event has the range of its own fields.
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
