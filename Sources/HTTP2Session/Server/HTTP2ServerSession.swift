import CNGHTTP2

/// The server's side of one HTTP/2 connection. It works on bytes alone and has no socket, clock or lock. It uses
/// nghttp2. The owner decides each answer. A simulator can make the session misbehave.
///
/// It is confined to one thread or event loop. In a turn, call `receive`, `takeEvents` and `respond`. Then call
/// `takeOutput` until it returns nothing, and write the output. `receive` and `takeOutput` may add events. Close the
/// connection when `isFinished`.
public final class HTTP2ServerSession: HTTP2Endpoint {
    private let state: UnsafeMutablePointer<ServerState>

    /// Makes a session and queues our SETTINGS as its first output.
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
            // Some versions of nghttp2 send GOAWAY INTERNAL_ERROR after 1,000 resets in a burst, and so end the
            // connection. A client that gives up requests may send more.
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

    /// Moves the events since the last call into `events`. The former content of `events` is dropped, and its memory is
    /// reused.
    public func takeEvents(into events: inout HTTP2ServerEvents) {
        events.removeAll()
        self.state.pointee.hasMalformedRequests = false
        swap(&events, &self.state.pointee.inbox)
    }

    // MARK: Answers

    /// Queues the answer to a request. The request may still be incomplete. The template's first field is `:status`.
    /// `values` and `body` are copied. Returns `false` if the stream is unknown, closed or already answered, or if the
    /// values do not fit the template.
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
        // nghttp2 gets no header fields: see `HeaderEncoder`.
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

    /// Queues an answer with a body in an array. With an empty array, the answer ends with its header fields.
    @inlinable @discardableResult
    public func respond(
        streamID: Int32, _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: [UInt8] = []
    ) -> Bool {
        self.respond(streamID: streamID, template, values: values, body: body.span)
    }

    /// Queues RST_STREAM for a stream. Does nothing if the stream is not open.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode) {
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(self.session, streamID)) else { return }
        self.state.pointee.streams[index].pointee.isResetByOwner = true
        nghttp2_submit_rst_stream(self.session, 0, streamID, errorCode.rawValue)
    }

    // MARK: Connection

    /// Queues SETTINGS. Until the client has acknowledged a lower limit of streams, streams above the limit are refused
    /// with REFUSED_STREAM. Afterwards a stream above the limit ends the connection with PROTOCOL_ERROR. Returns
    /// `false` and sends nothing if a value is outside its range.
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

    /// Queues GOAWAY and keeps the connection open. Streams up to `lastStreamID` may still be answered. Streams above
    /// it are closed, and new ones are ignored. `nil` means the highest stream that the client has opened. An even
    /// `lastStreamID` is lowered by one, because clients' streams are odd. Debug data is sent unchanged (APNs:
    /// `{"reason":"Shutdown"}`).
    public func goAway(lastStreamID: Int32? = nil, errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        let asked = max(0, lastStreamID ?? self.state.pointee.lastStreamID)
        let last = asked == 0 || asked % 2 == 1 ? asked : asked - 1
        nghttp2_submit_goaway(self.session, 0, last, errorCode.rawValue, debugData, debugData.count)
    }

    /// Queues GOAWAY and stops reading. The session is finished after the next `drain`.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) {
        nghttp2_session_terminate_session(self.session, errorCode.rawValue)
    }

    /// Lets the client send again as many bytes as it has used of its windows. Does nothing unless `acknowledgesData`
    /// is off.
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

    /// Number of requests that have begun and whose streams are not closed.
    public var openStreamCount: Int { self.state.pointee.streams.inUseCount }

    /// The highest stream id that the client has opened; 0 if none.
    public var lastStreamID: Int32 { self.state.pointee.lastStreamID }

    /// Whether `HTTP2ServerEvent.requestMalformed` is among the events that were not taken yet.
    public var hasMalformedRequests: Bool { self.state.pointee.hasMalformedRequests }
}
