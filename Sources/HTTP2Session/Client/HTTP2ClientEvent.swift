/// Why a stream ended without a complete answer.
public enum HTTP2StreamFailure: Equatable, Sendable {
    /// The peer sent RST_STREAM with this code. `REFUSED_STREAM` means that nothing was processed (RFC 9113 §8.7).
    case resetByPeer(HTTP2ErrorCode)
    /// The stream's id is above the last one that the peer's GOAWAY names. The peer does not process the stream (RFC
    /// 9113 §6.8).
    case aboveGoAway
    /// The stream or the connection ended before the whole request had left this session. The request cannot have been
    /// processed.
    case requestIncomplete
    /// This side reset the stream, by `reset` or because the answer broke the protocol.
    case resetLocally(HTTP2ErrorCode)
    /// `connectionLost` was called after the whole request had left. It is unknown whether the request was processed.
    case connectionEnded
    /// The stream ended cleanly, but its answer had no valid `:status`.
    case malformedResponse

    /// Whether the request was certainly not processed. It may then be sent again at once.
    @inlinable public var isKnownUnprocessed: Bool {
        switch self {
        case .resetByPeer(let code): code == .refusedStream
        case .aboveGoAway, .requestIncomplete: true
        case .resetLocally, .connectionEnded, .malformedResponse: false
        }
    }
}

/// What happened on a client connection. Ranges of bytes refer to `HTTP2ClientEvents.bytes`.
public enum HTTP2ClientEvent: Equatable, Sendable {
    /// A complete answer arrived. `tag` is the one passed to `submit`. `retryAfterSeconds` is -1 unless there was a
    /// `retry-after` in whole seconds. `bodyByteCount` is more than `body.count` if a part of the body was dropped.
    /// This event is the last of its stream, and the stream no longer counts against `credit`.
    case responseFinished(
        tag: UInt32, streamID: Int32, status: UInt16, body: Range<Int>, bodyByteCount: Int, retryAfterSeconds: Int64)
    /// The stream ended without a complete answer. This event is the last of its stream. A stream that this side reset
    /// counts against `credit` until RST_STREAM is serialised; other streams no longer count.
    case streamFailed(tag: UInt32, streamID: Int32, failure: HTTP2StreamFailure)
    /// The peer's SETTINGS arrived. `remoteConcurrentStreamsMax` and `credit` may have changed.
    case settingsChanged(concurrentStreamsMax: UInt32)
    /// The peer sent GOAWAY and takes no new streams. Streams above `lastStreamID` fail as `.aboveGoAway` in the
    /// following events; the others still finish.
    case goAwayReceived(lastStreamID: Int32, errorCode: HTTP2ErrorCode, debugData: Range<Int>)
    /// The peer answered our PING with this payload.
    case pingAcknowledged(payload: UInt64)
    /// GOAWAY was put into the output, by `goAway` or `terminate`, or because the peer broke the protocol. After a
    /// fault of the peer, `errorCode` is not NO_ERROR, and `debugData` describes the fault. Write the output, and close
    /// the connection when `isFinished`.
    case goAwaySent(errorCode: HTTP2ErrorCode, debugData: Range<Int>)
}

/// What to keep of one answer, in addition to what is kept of every answer.
public struct HTTP2AnswerKeeping: Sendable {
    /// Maximum length of the kept field's value, bytes. A longer value counts as missing.
    public static let fieldByteCountMax = 4_096

    /// The name of the header field to keep, in lower case. Its value is given as an `HTTP2KeptField`.
    public var fieldName: [UInt8]
    /// Maximum number of bytes of the body that are kept. It replaces `HTTP2ClientSettings.responseBodyByteCountMax`.
    public var bodyByteCountMax: Int

    public init(fieldName: [UInt8], bodyByteCountMax: Int) {
        self.fieldName = fieldName
        self.bodyByteCountMax = bodyByteCountMax
    }
}

/// The header field that a request asked to keep of its answer.
public struct HTTP2KeptField: Equatable, Sendable {
    /// The tag that was passed to `submit`.
    public var tag: UInt32
    /// Range of the field's value in `HTTP2ClientEvents.bytes`; empty if the answer did not have the field.
    public var value: Range<Int>
}

/// Events in the order in which they happened, with the bytes that they refer to. Pass the same value to every
/// `takeEvents`, so that its memory is reused.
public struct HTTP2ClientEvents: Sendable {
    /// The events since the last `takeEvents`, oldest first.
    public internal(set) var events: [HTTP2ClientEvent] = []
    /// The kept fields: one for each `responseFinished` whose request asked for it, in the order of the events.
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
