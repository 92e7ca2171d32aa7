/// Why a stream ended without a whole answer.
public enum HTTP2StreamFailure: Equatable, Sendable {
    /// The peer sent RST_STREAM. `REFUSED_STREAM` means that nothing was processed (RFC 9113 §8.7).
    case resetByPeer(HTTP2ErrorCode)
    /// The stream's id is above the last one that a GOAWAY named: the peer did not and will not process it (RFC 9113
    /// §6.8).
    case aboveGoAway
    /// A part of the request never left this session when the stream or the connection ended, so it cannot have been
    /// processed.
    case requestIncomplete
    /// We reset the stream, by `reset` or because the answer broke the protocol.
    case resetLocally(HTTP2ErrorCode)
    /// The connection ended (`connectionLost`, or a protocol error) after the whole request had left. Nobody knows
    /// whether it was processed.
    case connectionEnded
    /// The stream ended cleanly, but its answer had no valid `:status`.
    case malformedResponse

    /// Whether the peer cannot have processed the request, which may be sent again at once.
    @inlinable public var isKnownUnprocessed: Bool {
        switch self {
        case .resetByPeer(let code): code == .refusedStream
        case .aboveGoAway, .requestIncomplete: true
        case .resetLocally, .connectionEnded, .malformedResponse: false
        }
    }
}

/// What happened on a client connection. It is a plain value; byte ranges refer to `HTTP2ClientEvents.bytes`.
public enum HTTP2ClientEvent: Equatable, Sendable {
    /// A whole answer arrived. `tag` is the one passed to `submit`. `retryAfterSeconds` is -1 without a `retry-after`
    /// in whole seconds. `bodyByteCount` exceeds `body.count` if the body was longer than what is kept. There is one
    /// event per stream, whose credit is then free again.
    case responseFinished(
        tag: UInt32, streamID: Int32, status: UInt16, body: Range<Int>, bodyByteCount: Int, retryAfterSeconds: Int64)
    /// The stream ended without a whole answer. There is one event per stream, whose credit is then free again.
    case streamFailed(tag: UInt32, streamID: Int32, failure: HTTP2StreamFailure)
    /// SETTINGS arrived from the peer; read `remoteConcurrentStreamsMax` and `credit` again.
    case settingsChanged(concurrentStreamsMax: UInt32)
    /// The peer takes no new streams. Streams above `lastStreamID` fail as `.aboveGoAway` in the events that follow;
    /// the others still finish.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
    /// The peer answered our PING with this payload.
    case pingAcknowledged(payload: UInt64)
    /// GOAWAY was put into our output: by `terminate`, or (with an error code other than NO_ERROR) because the peer
    /// broke the protocol. `debugData` then says how. Write the output of `drain`, then close the connection.
    case goAwaySent(errorCode: HTTP2ErrorCode, debugData: Range<Int>)
}

/// What one answer keeps beyond what is kept of every answer.
public struct HTTP2AnswerKeeping: Sendable {
    /// Longest value of the field that is kept; a longer one counts as missing.
    public static let fieldByteCountMax = 4_096

    /// The name of a header field, lower case. Its value is given as an `HTTP2KeptField`.
    public var fieldName: [UInt8]
    /// Number of bytes of the body that are kept, instead of `HTTP2ClientSettings.responseBodyByteCountMax`.
    public var bodyByteCountMax: Int

    public init(fieldName: [UInt8], bodyByteCountMax: Int) {
        self.fieldName = fieldName
        self.bodyByteCountMax = bodyByteCountMax
    }
}

/// The header field of an answer that its request asked to keep.
public struct HTTP2KeptField: Equatable, Sendable {
    /// The tag passed to `submit`.
    public var tag: UInt32
    /// Range of the field's value in `HTTP2ClientEvents.bytes`; empty if the answer had none.
    public var value: Range<Int>
}

/// Events in the order they happened, with the bytes they refer to. Pass it to `takeEvents` again and again, so that
/// its memory is reused.
public struct HTTP2ClientEvents: Sendable {
    /// What happened since the events were last taken, oldest first.
    public internal(set) var events: [HTTP2ClientEvent] = []
    /// Kept fields, one for each `responseFinished` whose request asked for it, in the same order.
    public internal(set) var keptFields: [HTTP2KeptField] = []
    /// The bytes that ranges of the events refer to.
    public internal(set) var bytes: [UInt8] = []

    /// A value without events.
    public init() {}

    /// Removes the events; the memory is kept.
    public mutating func removeAll() {
        self.events.removeAll(keepingCapacity: true)
        self.keptFields.removeAll(keepingCapacity: true)
        self.bytes.removeAll(keepingCapacity: true)
    }
}
