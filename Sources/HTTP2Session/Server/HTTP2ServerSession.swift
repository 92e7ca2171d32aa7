import CNGHTTP2

/// The server's side of one HTTP/2 connection, over bytes: no socket, no clock, no lock. nghttp2 underneath. It answers
/// what it is told to and can misbehave on demand, for a simulator.
///
/// Confined to one thread or event loop. A turn: `receive`, `takeEvents`, `respond` …, `takeOutput` until it gives
/// nothing, write that out. `receive` and `takeOutput` both may leave events. Close the connection when `isFinished`.
public final class HTTP2ServerSession {
    private let state: UnsafeMutablePointer<ServerState>
    private let session: OpaquePointer
    private let allocator: UnsafeMutablePointer<SessionAllocator>

    /// Queues our SETTINGS; `drain` gives them.
    public init(settings: HTTP2ServerSettings = HTTP2ServerSettings()) {
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: ServerState(settings: settings))
        self.allocator = SessionAllocator.make()

        let callbacks = ServerCallbacks.make()
        defer { nghttp2_session_callbacks_del(callbacks) }
        var option: OpaquePointer?
        precondition(nghttp2_option_new(&option) == 0, "no memory for HTTP/2 options")
        defer { nghttp2_option_del(option) }
        nghttp2_option_set_no_http_messaging(option, settings.checksMessages ? 0 : 1)
        nghttp2_option_set_no_auto_window_update(option, settings.acknowledgesData ? 0 : 1)
        nghttp2_option_set_no_closed_streams(option, 1)
        // nghttp2's guard against rapid resets ends a connection of more than 1,000 in a burst by a GOAWAY INTERNAL_ERROR
        // without a word, in some of its versions. A sender whose answers do not come in time resets as many.
        mailboat_allow_any_stream_resets(option)
        var memory = SessionAllocator.functions(self.allocator)
        var made: OpaquePointer?
        precondition(
            nghttp2_session_server_new3(&made, callbacks, self.state, option, &memory) == 0,
            "no memory for an HTTP/2 session")
        self.session = made!

        self.change(
            HTTP2SettingsChange(
                concurrentStreamsMax: settings.concurrentStreamsMax,
                initialWindowByteCount: settings.initialWindowByteCount,
                headerTableByteCount: settings.headerTableByteCount, frameByteCountMax: settings.frameByteCountMax,
                headerListByteCountMax: settings.headerListByteCountMax))
        if settings.connectionWindowByteCount > 65_535 {
            nghttp2_session_set_local_window_size(
                self.session, 0, 0,
                Int32(truncatingIfNeeded: min(settings.connectionWindowByteCount, UInt32(Int32.max))))
        }
    }

    deinit {
        nghttp2_session_del(self.session)
        SessionAllocator.destroy(self.allocator)
        self.state.pointee.free()
        self.state.deinitialize(count: 1)
        self.state.deallocate()
    }

    // MARK: Bytes

    /// Feeds bytes that came from the client, any number, cut anywhere. They are not kept.
    @discardableResult
    public func receive(_ bytes: RawSpan) -> HTTP2SessionResult {
        if let detail = self.state.pointee.failure { return .failed(detail: detail) }
        let result = bytes.withUnsafeBytes { bytes -> Int in
            guard let base = bytes.baseAddress, bytes.count > 0 else { return 0 }
            return nghttp2_session_mem_recv(self.session, base.assumingMemoryBound(to: UInt8.self), bytes.count)
        }
        return result < 0 ? self.fail(Int32(truncatingIfNeeded: result)) : .ok
    }

    /// Lends the bytes to be written to the client, about `byteCountMax` of them at most, and forgets them when `body`
    /// returns. `body` must not call this session. `nil`, and no call of `body`: there is nothing to write now.
    public func takeOutput<Result>(
        byteCountMax: Int = HTTP2ClientSession.outputByteCountDefault, _ body: (RawSpan) -> Result
    ) -> Result? {
        self.serialise(upTo: byteCountMax)
        let output = self.state.pointee.output.bytes
        guard output.count > 0 else { return nil }
        let count = min(output.count, byteCountMax)
        let result = body(RawSpan(_unsafeBytes: UnsafeRawBufferPointer(rebasing: output[..<count])))
        self.state.pointee.output.discard(count)
        return result
    }

    /// Fills `buffer` from the start with bytes to be written to the client and returns how many; 0: nothing to write
    /// now.
    public func drain(into buffer: UnsafeMutableRawBufferPointer) -> Int {
        self.takeOutput(byteCountMax: buffer.count) { output in
            output.withUnsafeBytes { buffer.copyMemory(from: $0) }
            return output.byteCount
        } ?? 0
    }

    /// Appends to `output` all that can be written now, at most `byteCountMax`.
    public func drain(appendingTo output: inout [UInt8], byteCountMax: Int = .max) {
        var left = byteCountMax
        while left > 0 {
            let count = self.takeOutput(byteCountMax: min(left, HTTP2ClientSession.outputByteCountDefault)) { bytes in
                bytes.withUnsafeBytes { output.append(contentsOf: $0) }
                return bytes.byteCount
            }
            guard let count else { return }
            left -= count
        }
    }

    private func serialise(upTo byteCount: Int) {
        guard self.state.pointee.failure == nil else { return }
        self.state.pointee.outputLimit = byteCount
        while self.state.pointee.output.count < byteCount {
            // See `HTTP2ClientSession.serialise`.
            var piece: UnsafePointer<UInt8>?
            let count = nghttp2_session_mem_send(self.session, &piece)
            if count < 0 { _ = self.fail(Int32(truncatingIfNeeded: count)) }
            guard count > 0, let piece else { return }
            if self.state.pointee.headersReplaced {
                self.state.pointee.headersReplaced = false
            } else {
                self.state.pointee.output.append(piece, count)
            }
        }
    }

    private func fail(_ code: Int32) -> HTTP2SessionResult {
        let detail = String(cString: nghttp2_strerror(code))
        self.state.pointee.failure = detail
        return .failed(detail: detail)
    }

    /// Hands over the events since the last call: what is in `events` is dropped, its memory is used for the events to
    /// come.
    public func takeEvents(into events: inout HTTP2ServerEvents) {
        events.removeAll()
        self.state.pointee.hasMalformedRequests = false
        swap(&events, &self.state.pointee.inbox)
    }

    // MARK: Answers

    /// Queues the answer of a request, also before the request is complete. The template's first field is `:status`.
    /// `values` and `body` are copied. `false`: the stream is unknown, closed or answered already, or the values do not
    /// fit the template.
    @discardableResult
    public func respond(
        streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>
    ) -> Bool {
        guard self.state.pointee.failure == nil, values.count == template.variableCount,
            let index = slotIndex(nghttp2_session_get_stream_user_data(self.session, streamID))
        else { return false }
        let slot = self.state.pointee.streams[index]
        guard !slot.pointee.isAnswered else { return false }
        slot.pointee.response.fill(values: values, body: body)
        // No fields: see `HeaderEncoder`.
        let result: Int32
        if body.count == 0 {
            result = nghttp2_submit_response(self.session, streamID, nil, 0, nil)
        } else {
            var provider = nghttp2_data_provider(
                source: nghttp2_data_source(fd: Int32(truncatingIfNeeded: index)),
                read_callback: ServerCallbacks.readBody)
            result = nghttp2_submit_response(self.session, streamID, nil, 0, &provider)
        }
        guard result == 0 else { return false }
        slot.pointee.isAnswered = true
        slot.pointee.plan = self.state.pointee.encoder.plan(for: template)
        return true
    }

    /// The same with a body in an array; without one the answer ends with its header fields.
    @inlinable @discardableResult
    public func respond(
        streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: [UInt8] = []
    ) -> Bool {
        self.respond(streamID: streamID, template, values: values, body: body.span)
    }

    /// Queues RST_STREAM. A stream id that is not open is ignored.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode) {
        guard let index = slotIndex(nghttp2_session_get_stream_user_data(self.session, streamID)) else { return }
        self.state.pointee.streams[index].pointee.isResetByOwner = true
        nghttp2_submit_rst_stream(self.session, 0, streamID, errorCode.rawValue)
    }

    // MARK: Connection

    /// Queues SETTINGS. Streams the client opens above a lowered limit before it acknowledged are refused
    /// (REFUSED_STREAM), after that the connection ends with PROTOCOL_ERROR. A value outside its range is not sent, nor
    /// are the others of that change; `false` then.
    @discardableResult
    public func change(_ settings: HTTP2SettingsChange) -> Bool {
        var entries: [nghttp2_settings_entry] = []
        func add(_ id: nghttp2_settings_id, _ value: UInt32?) {
            guard let value else { return }
            entries.append(nghttp2_settings_entry(settings_id: Int32(id.rawValue), value: value))
        }
        add(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE, settings.headerTableByteCount)
        add(NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS, settings.concurrentStreamsMax)
        add(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE, settings.initialWindowByteCount)
        add(NGHTTP2_SETTINGS_MAX_FRAME_SIZE, settings.frameByteCountMax)
        add(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE, settings.headerListByteCountMax)
        return nghttp2_submit_settings(self.session, 0, entries, entries.count) == 0
    }

    /// Queues a PING; its acknowledgement is `.pingAcknowledged` with the same payload.
    public func ping(payload: UInt64) {
        withUnsafeBytes(of: payload.bigEndian) { bytes in
            _ = nghttp2_submit_ping(self.session, 0, bytes.baseAddress?.assumingMemoryBound(to: UInt8.self))
        }
    }

    /// Queues GOAWAY and stays open: streams up to `lastStreamID` may still be answered, those above are closed and new
    /// ones ignored. `lastStreamID` `nil`: the highest the client opened; an even one is lowered to the client's stream
    /// before it. Debug data is sent as it is given (APNs: `{"reason":"Shutdown"}`).
    public func goAway(lastStreamID: Int32? = nil, errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        let asked = max(0, lastStreamID ?? self.state.pointee.lastStreamID)
        let last = asked == 0 || asked % 2 == 1 ? asked : asked - 1
        nghttp2_submit_goaway(self.session, 0, last, errorCode.rawValue, debugData, debugData.count)
    }

    /// Queues GOAWAY and stops reading: after the next `drain` the session is finished.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) {
        nghttp2_session_terminate_session(self.session, errorCode.rawValue)
    }

    /// With `acknowledgesData` off: gives the client back the window it has used so far.
    public func releaseWindows() {
        guard !self.state.pointee.settings.acknowledgesData else { return }
        nghttp2_session_consume_connection(self.session, self.state.pointee.unacknowledgedByteCount)
        self.state.pointee.unacknowledgedByteCount = 0
        for index in 0..<self.state.pointee.streams.count {
            let slot = self.state.pointee.streams[index]
            guard slot.pointee.isInUse, slot.pointee.unacknowledgedByteCount > 0 else { continue }
            nghttp2_session_consume_stream(self.session, slot.pointee.streamID, slot.pointee.unacknowledgedByteCount)
            slot.pointee.unacknowledgedByteCount = 0
        }
    }

    // MARK: What holds now

    /// Requests begun and not closed.
    public var openStreamCount: Int { self.state.pointee.streams.inUseCount }

    /// Highest stream id the client has opened; 0: none.
    public var lastStreamID: Int32 { self.state.pointee.lastStreamID }

    /// `HTTP2ServerEvent.requestMalformed` waits to be taken.
    public var hasMalformedRequests: Bool { self.state.pointee.hasMalformedRequests }

    /// nghttp2 expects input.
    public var wantsRead: Bool { self.state.pointee.failure == nil && nghttp2_session_want_read(self.session) != 0 }

    /// There are bytes to write.
    public var wantsWrite: Bool {
        self.state.pointee.failure == nil
            && (self.state.pointee.output.count > 0 || nghttp2_session_want_write(self.session) != 0)
    }

    /// Neither reads nor writes any more: close the connection.
    public var isFinished: Bool { !self.wantsRead && !self.wantsWrite }
}
