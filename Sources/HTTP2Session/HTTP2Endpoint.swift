import CNGHTTP2

/// What both sides of an HTTP/2 connection have in common: bytes in, bytes out, PING. No socket, no clock, no lock; it
/// uses nghttp2. The sides are `HTTP2ClientSession` and `HTTP2ServerSession`, the only subclasses.
///
/// It is confined to one thread or event loop.
public class HTTP2Endpoint {
    /// Output is serialised in pieces of about this many bytes, unless the caller chooses another size.
    public static let outputByteCountDefault = 256 * 1024

    let session: OpaquePointer
    private let allocator: UnsafeMutablePointer<SessionAllocator>
    /// Part of the side's state, which outlives the session.
    private let line: UnsafeMutablePointer<SessionLine>

    /// - Parameters:
    ///   - state: what nghttp2 passes to the callbacks. Its owner calls `delete` before it frees the memory.
    ///   - line: part of the state.
    ///   - setCallbacks: sets the callbacks of one side. nghttp2 keeps a copy of them.
    ///   - make: `nghttp2_session_client_new3` or its counterpart.
    init(
        state: UnsafeMutableRawPointer, line: UnsafeMutablePointer<SessionLine>,
        callbacks setCallbacks: (OpaquePointer) -> Void,
        make: (
            UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?,
            UnsafeMutablePointer<nghttp2_mem>?
        ) -> Int32,
        options: (OpaquePointer?) -> Void
    ) {
        self.line = line
        self.allocator = SessionAllocator.make()
        var callbacks: OpaquePointer?
        precondition(nghttp2_session_callbacks_new(&callbacks) == 0, "no memory for HTTP/2 callbacks")
        defer { nghttp2_session_callbacks_del(callbacks) }
        setCallbacks(callbacks!)
        var option: OpaquePointer?
        precondition(nghttp2_option_new(&option) == 0, "no memory for HTTP/2 options")
        defer { nghttp2_option_del(option) }
        options(option)
        var memory = SessionAllocator.functions(self.allocator)
        var made: OpaquePointer?
        precondition(make(&made, callbacks, state, option, &memory) == 0, "no memory for an HTTP/2 session")
        self.session = made!
    }

    /// Ends nghttp2's session. It is the last call to a session, and the first thing in the `deinit` of a side.
    final func delete() {
        nghttp2_session_del(self.session)
        SessionAllocator.destroy(self.allocator)
    }

    // MARK: Bytes

    /// Takes bytes that arrived from the peer, any number, cut anywhere. They are not kept.
    @discardableResult
    public final func receive(_ bytes: RawSpan) -> HTTP2SessionResult {
        if let detail = self.line.pointee.failure { return .failed(detail: detail) }
        let result = bytes.withUnsafeBytes { bytes -> Int in
            guard let base = bytes.baseAddress, bytes.count > 0 else { return 0 }
            return nghttp2_session_mem_recv(self.session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return result < 0 ? self.fail(Int32(truncatingIfNeeded: result)) : .ok
    }

    /// Passes `body` the bytes to write to the peer, about `byteCountMax` at most, and forgets them when it returns:
    /// they count as sent. `body` must not call this session. Returns `nil`, without a call of `body`, if there is
    /// nothing to write now.
    public final func takeOutput<Result>(
        byteCountMax: Int = HTTP2Endpoint.outputByteCountDefault, _ body: (RawSpan) -> Result
    ) -> Result? {
        self.serialise(upTo: byteCountMax)
        let output = self.line.pointee.output.bytes
        guard output.count > 0 else { return nil }
        let count = min(output.count, byteCountMax)
        let result = body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: output[..<count])))
        self.line.pointee.output.discard(count)
        return result
    }

    /// Fills `buffer` from the start with bytes to write to the peer and returns their number; 0 if there is nothing to
    /// write now.
    public final func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        self.takeOutput(byteCountMax: buffer.count) { output in
            output.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return output.byteCount
        } ?? 0
    }

    /// Appends to `output` all that can be written now, at most `byteCountMax`. For tests and quiet connections.
    public final func drain(appendingTo output: inout [UInt8], byteCountMax: Int = .max) {
        var left = byteCountMax
        while left > 0 {
            let count = self.takeOutput(byteCountMax: min(left, Self.outputByteCountDefault)) { bytes in
                bytes.withUnsafeBytes { output.append(contentsOf: $0) }
                return bytes.byteCount
            }
            guard let count else { return }
            left -= count
        }
    }

    /// Lets nghttp2 serialise frames until the output holds about `byteCount` bytes or there is nothing more to send.
    private func serialise(upTo byteCount: Int) {
        guard self.line.pointee.failure == nil else { return }
        self.line.pointee.outputLimit = byteCount
        while self.line.pointee.output.count < byteCount {
            // The piece is valid until the next `mem_send`. DATA frames are not returned here: the send-data callback
            // appends them itself. HEADERS are, but the on-frame-send callback has appended ours by then.
            var piece: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &piece)
            if count < 0 { _ = self.fail(Int32(truncatingIfNeeded: count)) }
            guard count > 0, let piece else { return }
            if self.line.pointee.headersReplaced {
                self.line.pointee.headersReplaced = false
            } else {
                self.line.pointee.output.append(piece, count)
            }
        }
    }

    private func fail(_ code: Int32) -> HTTP2SessionResult {
        let detail = String(cString: nghttp2_strerror(code))
        self.line.pointee.failure = detail
        return .failed(detail: detail)
    }

    /// Queues a PING; its acknowledgement is an event with the same payload.
    public final func ping(payload: UInt64) {
        withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = nghttp2_submit_ping(self.session, 0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
    }

    // MARK: Present state

    /// Whether nghttp2 expects input.
    public final var wantsRead: Bool {
        self.line.pointee.failure == nil && nghttp2_session_want_read(self.session) != 0
    }

    /// Whether there are bytes to write.
    public final var wantsWrite: Bool {
        self.line.pointee.failure == nil
            && (self.line.pointee.output.count > 0 || nghttp2_session_want_write(self.session) != 0)
    }

    /// Whether neither side has anything left to read or write: close the connection.
    public final var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
