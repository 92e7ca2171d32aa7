import CNGHTTP2

/// What both sides of an HTTP/2 connection do alike: bytes in, bytes out, PING. No socket, no clock, no lock; nghttp2 underneath. The sides are
/// `HTTP2ClientSession` and `HTTP2ServerSession`; nobody else derives from it.
///
/// Confined to one thread or event loop.
public class HTTP2Endpoint {
    /// Output is serialised in pieces of about this many bytes unless the caller says otherwise.
    public static let outputByteCountDefault = 256 * 1024

    let session: OpaquePointer
    private let allocator: UnsafeMutablePointer<SessionAllocator>
    /// Lies in the state of the side, which outlives the session.
    private let line: UnsafeMutablePointer<SessionLine>

    /// - Parameters:
    ///   - state: what nghttp2 gives to `callbacks`. Its owner calls `delete` before it gives the memory back.
    ///   - line: lies in it.
    ///   - callbacks: are given back here; nghttp2 keeps a copy.
    ///   - make: `nghttp2_session_client_new3` or its counterpart.
    init(
        state: UnsafeMutableRawPointer, line: UnsafeMutablePointer<SessionLine>, callbacks: OpaquePointer,
        make: (
            UnsafeMutablePointer<OpaquePointer?>?, OpaquePointer?, UnsafeMutableRawPointer?, OpaquePointer?,
            UnsafeMutablePointer<nghttp2_mem>?
        ) -> Int32,
        options: (OpaquePointer?) -> Void
    ) {
        self.line = line
        self.allocator = SessionAllocator.make()
        defer { nghttp2_session_callbacks_del(callbacks) }
        var option: OpaquePointer?
        precondition(nghttp2_option_new(&option) == 0, "no memory for HTTP/2 options")
        defer { nghttp2_option_del(option) }
        options(option)
        var memory = SessionAllocator.functions(self.allocator)
        var made: OpaquePointer?
        precondition(make(&made, callbacks, state, option, &memory) == 0, "no memory for an HTTP/2 session")
        self.session = made!
    }

    /// Ends nghttp2's part: the last that is done to a session, and the first thing in the `deinit` of a side.
    final func delete() {
        nghttp2_session_del(self.session)
        SessionAllocator.destroy(self.allocator)
    }

    // MARK: Bytes

    /// Feeds bytes that came from the peer, any number, cut anywhere. They are not kept.
    @discardableResult
    public final func receive(_ bytes: RawSpan) -> HTTP2SessionResult {
        if let detail = self.line.pointee.failure { return .failed(detail: detail) }
        let result = bytes.withUnsafeBytes { bytes -> Int in
            guard let base = bytes.baseAddress, bytes.count > 0 else { return 0 }
            return nghttp2_session_mem_recv(self.session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return result < 0 ? self.fail(Int32(truncatingIfNeeded: result)) : .ok
    }

    /// Lends the bytes to be written to the peer, about `byteCountMax` of them at most, and forgets them when `body`
    /// returns: they count as sent. `body` must not call this session. `nil`, and no call of `body`: there is nothing
    /// to write now.
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

    /// Fills `buffer` from the start with bytes to be written to the peer and returns how many; 0: nothing to write
    /// now.
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

    /// Has nghttp2 serialise frames until the output holds about `byteCount` bytes or there is nothing more to send.
    private func serialise(upTo byteCount: Int) {
        guard self.line.pointee.failure == nil else { return }
        self.line.pointee.outputLimit = byteCount
        while self.line.pointee.output.count < byteCount {
            // The piece lives until the next `mem_send`. DATA frames are not given here: the send-data callback appends
            // them itself. HEADERS are, but the on-frame-send callback has appended ours by then.
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

    // MARK: What holds now

    /// nghttp2 expects input.
    public final var wantsRead: Bool {
        self.line.pointee.failure == nil && nghttp2_session_want_read(self.session) != 0
    }

    /// There are bytes to write.
    public final var wantsWrite: Bool {
        self.line.pointee.failure == nil
            && (self.line.pointee.output.count > 0 || nghttp2_session_want_write(self.session) != 0)
    }

    /// Whether neither side has anything left to read or write: close the connection.
    public final var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
