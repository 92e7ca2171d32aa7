import CNGHTTP2

/// The common part of both sides of an HTTP/2 connection: receiving, sending and PING. It works on bytes alone and has
/// no socket, clock or lock. It uses nghttp2. The only subclasses are `HTTP2ClientSession` and `HTTP2ServerSession`.
///
/// It is confined to one thread or event loop.
public class HTTP2Endpoint {
    /// Default size of the pieces in which output is serialised, bytes.
    public static let outputByteCountDefault = 256 * 1024

    let session: OpaquePointer
    private let allocator: UnsafeMutablePointer<SessionAllocator>
    /// A part of the subclass's state, which exists longer than nghttp2's session.
    private let line: UnsafeMutablePointer<SessionLine>

    /// - Parameters:
    ///   - state: the pointer that nghttp2 passes to the callbacks. The subclass calls `delete` before it frees this
    ///     memory.
    ///   - line: the `SessionLine` within the state.
    ///   - setCallbacks: sets the callbacks of the subclass. nghttp2 copies them.
    ///   - make: `nghttp2_session_client_new3` or `nghttp2_session_server_new3`.
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

    /// Frees nghttp2's session. A subclass calls this first in its `deinit`, and nothing afterwards.
    final func delete() {
        nghttp2_session_del(self.session)
        SessionAllocator.destroy(self.allocator)
    }

    // MARK: Bytes

    /// Takes any number of bytes from the peer, split anywhere. The bytes are not kept after the call.
    @discardableResult
    public final func receive(_ bytes: RawSpan) -> HTTP2SessionResult {
        if let detail = self.line.pointee.failure { return .failed(detail: detail) }
        let result = bytes.withUnsafeBytes { bytes -> Int in
            guard let base = bytes.baseAddress, bytes.count > 0 else { return 0 }
            return nghttp2_session_mem_recv(self.session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return result < 0 ? self.fail(Int32(truncatingIfNeeded: result)) : .ok
    }

    /// Passes at most `byteCountMax` bytes for the peer to `body`. When `body` returns, these bytes are removed and
    /// count as sent. `body` must not call this session. If there is nothing to write now, returns `nil` without
    /// calling `body`.
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

    /// Copies bytes for the peer to the start of `buffer` and returns their number. 0 means that there is nothing to
    /// write now.
    public final func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        self.takeOutput(byteCountMax: buffer.count) { output in
            output.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return output.byteCount
        } ?? 0
    }

    /// Appends the bytes that can be written now to `output`, at most `byteCountMax`. It is meant for tests and quiet
    /// connections.
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

    /// Lets nghttp2 serialise frames until the output holds about `byteCount` bytes, or nothing is left to send.
    private func serialise(upTo byteCount: Int) {
        guard self.line.pointee.failure == nil else { return }
        self.line.pointee.outputLimit = byteCount
        while self.line.pointee.output.count < byteCount {
            // nghttp2 returns a piece of frames, valid until the next `mem_send`. DATA frames are not in it: the
            // send-data callback appends them. HEADERS frames are, but the frame-send callback has already appended
            // ours instead.
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

    /// Queues a PING. The peer's acknowledgement becomes an event with this payload.
    public final func ping(payload: UInt64) {
        withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = nghttp2_submit_ping(self.session, 0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
    }

    // MARK: Present state

    /// Whether the session still reads: more bytes from the peer are expected.
    public final var wantsRead: Bool {
        self.line.pointee.failure == nil && nghttp2_session_want_read(self.session) != 0
    }

    /// Whether there are bytes to write.
    public final var wantsWrite: Bool {
        self.line.pointee.failure == nil
            && (self.line.pointee.output.count > 0 || nghttp2_session_want_write(self.session) != 0)
    }

    /// Whether this session has nothing left to read or write. The owner must then close the connection.
    public final var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
