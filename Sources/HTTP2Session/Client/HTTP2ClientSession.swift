import CNGHTTP2

/// The client's side of one HTTP/2 connection, over bytes: no socket, no clock, no lock. nghttp2 underneath.
///
/// Confined to one thread or event loop. A turn of the connection is: `receive` what came, `takeEvents`, `submit` new requests, `drain`
/// until it gives 0, write that out. `receive` and `drain` both may leave events, `submit` leaves none.
///
/// A protocol error of the peer is not an error of `receive`: nghttp2 answers it with GOAWAY. After each feed collect the output, look
/// for `.goAwaySent`, and close when `isFinished`.
public final class HTTP2ClientSession {
    /// Queues the connection preface and our SETTINGS; `drain` gives them.
    public init(settings: HTTP2ClientSettings = HTTP2ClientSettings()) {
        preconditionFailure("to be filled in")
    }

    /// Feeds bytes that came from the peer, any number, cut anywhere. They are not kept.
    public func receive(_ bytes: RawSpan) -> HTTP2SessionResult { preconditionFailure("to be filled in") }

    /// Fills `buffer` from the start with bytes to be written to the peer and returns how many; 0: nothing to write now.
    /// Give it a large buffer (64 KiB and more): frames of many streams are packed into it.
    public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int { preconditionFailure("to be filled in") }

    /// Appends to `output` all that can be written now, at most about `byteCountMax`. For tests and quiet connections.
    public func drain(appendingTo output: inout [UInt8], byteCountMax: Int = .max) { preconditionFailure("to be filled in") }

    /// Hands over the events since the last call: what is in `events` is dropped, its memory is used for the events to come.
    public func takeEvents(into events: inout HTTP2ClientEvents) { preconditionFailure("to be filled in") }

    /// Queues one request. `values` and `body` are copied into memory of the stream that is reused; both may be refilled at once. An empty
    /// `body` is a request without DATA frames. `tag` comes back in the stream's one final event.
    public func submit(_ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>, tag: UInt32) -> HTTP2SubmitResult {
        preconditionFailure("to be filled in")
    }

    /// Resets a stream we opened, with CANCEL or another code. Its final event (`.resetLocally`, or `.requestIncomplete` when it had not
    /// wholly left) comes with the next `drain`. An unknown or finished stream id is ignored.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode = .cancel) { preconditionFailure("to be filled in") }

    /// Queues a PING; its acknowledgement is `.pingAcknowledged` with the same payload.
    public func ping(payload: UInt64) { preconditionFailure("to be filled in") }

    /// Queues GOAWAY. Open streams still finish; nothing new is accepted. The session is finished once the last stream is.
    public func goAway(errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) { preconditionFailure("to be filled in") }

    /// Queues GOAWAY and stops reading: after the next `drain` the session is finished. Call `connectionLost` for the streams left.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) { preconditionFailure("to be filled in") }

    /// Says that the connection is gone: each open stream gets its final event, `.requestIncomplete` or `.connectionEnded`. Afterwards
    /// `submit` answers `.closing` and `drain` 0.
    public func connectionLost() { preconditionFailure("to be filled in") }

    /// Streams opened and not finished.
    public var openStreamCount: Int { preconditionFailure("to be filled in") }

    /// The peer's SETTINGS_MAX_CONCURRENT_STREAMS, live; `UInt32.max` while it has set none.
    public var remoteConcurrentStreamsMax: UInt32 { preconditionFailure("to be filled in") }

    /// `true` once the peer's first SETTINGS came.
    public var remoteSettingsReceived: Bool { preconditionFailure("to be filled in") }

    /// Requests that may be submitted now: the lower of both limits less the open streams; 0 after GOAWAY. Never negative.
    public var credit: Int { preconditionFailure("to be filled in") }

    /// Requests that stream ids are left for.
    public var streamIDsLeft: Int { preconditionFailure("to be filled in") }

    /// nghttp2 expects input.
    public var wantsRead: Bool { preconditionFailure("to be filled in") }

    /// `drain` would give bytes.
    public var wantsWrite: Bool { preconditionFailure("to be filled in") }

    /// Neither reads nor writes any more: close the connection.
    public var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
