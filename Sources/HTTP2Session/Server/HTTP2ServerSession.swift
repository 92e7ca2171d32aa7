import CNGHTTP2

/// The server's side of one HTTP/2 connection, over bytes: no socket, no clock, no lock. It uses nghttp2. The owner
/// decides each answer, and can make it misbehave on demand, for a simulator.
///
/// It is confined to one thread or event loop. In a turn, call `receive`, `takeEvents`, `respond` …, then `takeOutput`
/// until it gives nothing, and write the output. `receive` and `takeOutput` both may leave events. Close the connection
/// when `isFinished`.
public final class HTTP2ServerSession: HTTP2Endpoint {
    private let state: UnsafeMutablePointer<ServerState>

    /// A session that has queued our SETTINGS; `drain` gives them.
    public init(settings: HTTP2ServerSettings = HTTP2ServerSettings()) {
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: ServerState(settings: settings))
        super.init(
            state: self.state, line: self.state.pointer(to: \.line)!, callbacks: ServerCallbacks.set,
            make: nghttp2_session_server_new3
        ) { option in
            nghttp2_option_set_no_http_messaging(option, settings.checksMessages ? 0 : 1)
            nghttp2_option_set_no_auto_window_update(option, settings.acknowledgesData ? 0 : 1)
            nghttp2_option_set_no_closed_streams(option, 1)
            // In some versions, nghttp2's guard against rapid resets silently ends a connection with more than 1,000 in
            // a burst, by a GOAWAY INTERNAL_ERROR. A sender that waits too long for answers may reset that many.
            mailboat_allow_any_stream_resets(option)
        }
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
        self.delete()
        self.state.pointee.free()
        self.state.deinitialize(count: 1)
        self.state.deallocate()
    }

    // MARK: Events

    /// Gives the events since the last call. The content of `events` is dropped, and its memory is used for the next
    /// events.
    public func takeEvents(into events: inout HTTP2ServerEvents) {
        events.removeAll()
        self.state.pointee.hasMalformedRequests = false
        swap(&events, &self.state.pointee.inbox)
    }

    // MARK: Answers

    /// Queues the answer of a request, which need not be complete. The template's first field is `:status`. `values`
    /// and `body` are copied. Returns `false` if the stream is unknown, closed or answered already, or the values do
    /// not fit the template.
    @discardableResult
    public func respond(
        streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>
    ) -> Bool {
        guard self.state.pointee.line.failure == nil, values.count == template.variableCount,
            let index = entryIndex(nghttp2_session_get_stream_user_data(self.session, streamID))
        else { return false }
        let entry = self.state.pointee.streams[index]
        guard !entry.pointee.isAnswered else { return false }
        entry.pointee.response.fill(values: values, body: body)
        // nghttp2 gets no fields: see `HeaderEncoder`.
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
        entry.pointee.isAnswered = true
        entry.pointee.plan = self.state.pointee.line.encoder.plan(for: template)
        return true
    }

    /// Answers with a body in an array. Without one the answer ends with its header fields.
    @inlinable @discardableResult
    public func respond(
        streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: [UInt8] = []
    ) -> Bool {
        self.respond(streamID: streamID, template, values: values, body: body.span)
    }

    /// Queues RST_STREAM. A stream id that is not open is ignored.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode) {
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(self.session, streamID)) else { return }
        self.state.pointee.streams[index].pointee.isResetByOwner = true
        nghttp2_submit_rst_stream(self.session, 0, streamID, errorCode.rawValue)
    }

    // MARK: Connection

    /// Queues SETTINGS. Before the client has acknowledged a lowered limit, streams above it are refused
    /// (REFUSED_STREAM); afterwards the connection ends with PROTOCOL_ERROR. Returns `false`, and sends none of the
    /// change, if a value is outside its range.
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

    /// Queues GOAWAY and stays open: streams up to `lastStreamID` may still be answered, those above are closed and new
    /// ones ignored. `nil` means the highest that the client opened. An even `lastStreamID` is lowered to the client's
    /// stream before it. Debug data is sent unchanged (APNs: `{"reason":"Shutdown"}`).
    public func goAway(lastStreamID: Int32? = nil, errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        let asked = max(0, lastStreamID ?? self.state.pointee.lastStreamID)
        let last = asked == 0 || asked % 2 == 1 ? asked : asked - 1
        nghttp2_submit_goaway(self.session, 0, last, errorCode.rawValue, debugData, debugData.count)
    }

    /// Queues GOAWAY and stops reading: after the next `drain` the session is finished.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) {
        nghttp2_session_terminate_session(self.session, errorCode.rawValue)
    }

    /// Returns to the client the window it has used so far, with `acknowledgesData` off.
    public func releaseWindows() {
        guard !self.state.pointee.settings.acknowledgesData else { return }
        nghttp2_session_consume_connection(self.session, self.state.pointee.unacknowledgedByteCount)
        self.state.pointee.unacknowledgedByteCount = 0
        for index in 0..<self.state.pointee.streams.count {
            let entry = self.state.pointee.streams[index]
            guard entry.pointee.isInUse, entry.pointee.unacknowledgedByteCount > 0 else { continue }
            nghttp2_session_consume_stream(self.session, entry.pointee.streamID, entry.pointee.unacknowledgedByteCount)
            entry.pointee.unacknowledgedByteCount = 0
        }
    }

    // MARK: Present state

    /// Number of requests begun and not closed.
    public var openStreamCount: Int { self.state.pointee.streams.inUseCount }

    /// Highest stream id the client has opened; 0 if none.
    public var lastStreamID: Int32 { self.state.pointee.lastStreamID }

    /// Whether `HTTP2ServerEvent.requestMalformed` waits to be taken.
    public var hasMalformedRequests: Bool { self.state.pointee.hasMalformedRequests }
}
