import CNGHTTP2

/// The server's side of one HTTP/2 connection, over bytes: no socket, no clock, no lock. nghttp2 underneath. It answers what it is told
/// to and can misbehave on demand, for a simulator.
///
/// Confined to one thread or event loop. A turn: `receive`, `takeEvents`, `respond` …, `drain` until 0, write that out. `receive` and
/// `drain` both may leave events. Close the connection when `isFinished`.
public final class HTTP2ServerSession {
    /// Queues our SETTINGS; `drain` gives them.
    public init(settings: HTTP2ServerSettings = HTTP2ServerSettings()) { preconditionFailure("to be filled in") }

    /// Feeds bytes that came from the client, any number, cut anywhere. They are not kept.
    public func receive(_ bytes: RawSpan) -> HTTP2SessionResult { preconditionFailure("to be filled in") }

    /// Fills `buffer` from the start with bytes to be written to the client and returns how many; 0: nothing to write now.
    public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int { preconditionFailure("to be filled in") }

    /// Appends to `output` all that can be written now, at most about `byteCountMax`.
    public func drain(appendingTo output: inout [UInt8], byteCountMax: Int = .max) { preconditionFailure("to be filled in") }

    /// Hands over the events since the last call: what is in `events` is dropped, its memory is used for the events to come.
    public func takeEvents(into events: inout HTTP2ServerEvents) { preconditionFailure("to be filled in") }

    /// Queues the answer of a request. The template's first field is `:status`. `values` and `body` are copied. `false`: the stream is
    /// unknown, closed or answered already, or the values do not fit the template.
    @discardableResult
    public func respond(streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>) -> Bool {
        preconditionFailure("to be filled in")
    }

    /// Queues RST_STREAM. An unknown stream id is ignored.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode) { preconditionFailure("to be filled in") }

    /// Queues SETTINGS. Streams the client opens above a lowered limit before it acknowledged are refused (REFUSED_STREAM), after that the
    /// connection ends with PROTOCOL_ERROR.
    public func change(_ settings: HTTP2SettingsChange) { preconditionFailure("to be filled in") }

    /// Queues a PING; its acknowledgement is `.pingAcknowledged` with the same payload.
    public func ping(payload: UInt64) { preconditionFailure("to be filled in") }

    /// Queues GOAWAY and stays open: streams up to `lastStreamID` may still be answered, those above are closed and new ones ignored.
    /// `lastStreamID` `nil`: the highest the client opened. Debug data is sent as it is given (APNs: `{"reason":"Shutdown"}`).
    public func goAway(lastStreamID: Int32? = nil, errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        preconditionFailure("to be filled in")
    }

    /// Queues GOAWAY and stops reading: after the next `drain` the session is finished.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) { preconditionFailure("to be filled in") }

    /// With `acknowledgesData` off: gives the client back the window it has used so far.
    public func releaseWindows() { preconditionFailure("to be filled in") }

    /// Requests begun and not closed.
    public var openStreamCount: Int { preconditionFailure("to be filled in") }

    /// Highest stream id the client has opened; 0: none.
    public var lastStreamID: Int32 { preconditionFailure("to be filled in") }

    /// nghttp2 expects input.
    public var wantsRead: Bool { preconditionFailure("to be filled in") }

    /// `drain` would give bytes.
    public var wantsWrite: Bool { preconditionFailure("to be filled in") }

    /// Neither reads nor writes any more: close the connection.
    public var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
