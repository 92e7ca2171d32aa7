import CNGHTTP2

/// The client's side of one HTTP/2 connection. It works on bytes alone and has no socket, clock or lock. It uses
/// nghttp2.
///
/// It is confined to one thread or event loop. In a turn, pass what arrived to `receive`, call `takeEvents`, and
/// `submit` new requests. Then call `takeOutput` (or `drain`) until it returns nothing, and write the output. Any call
/// of a method may add events.
///
/// `receive` does not report the peer's protocol errors: nghttp2 answers them with GOAWAY. After each `receive`, write
/// the output, look for `.goAwaySent`, and close the connection when `isFinished`.
public final class HTTP2ClientSession: HTTP2Endpoint {
    private let state: UnsafeMutablePointer<ClientState>

    /// Makes a session and queues the connection preface and our SETTINGS as its first output.
    public init(settings: HTTP2ClientSettings = HTTP2ClientSettings()) {
        self.state = .allocate(capacity: 1)
        self.state.initialize(to: ClientState(settings: settings))
        super.init(
            state: self.state, line: self.state.pointer(to: \.line)!, callbacks: ClientCallbacks.set,
            make: nghttp2_session_client_new3
        ) { option in
            // nghttp2 does not check HTTP's own rules here: the checks cost 9 % of a request. Only `:status` and
            // `retry-after` of a response are read, and the code that reads them checks them. Framing, HPACK and flow
            // control are always checked.
            nghttp2_option_set_no_http_messaging(option, 1)
        }
        self.submitSettings(settings)
        if settings.firstStreamID > 1 { nghttp2_session_set_next_stream_id(self.session, settings.firstStreamID) }
    }

    deinit {
        self.delete()
        self.state.pointee.free()
        self.state.deinitialize(count: 1)
        self.state.deallocate()
    }

    private func submitSettings(_ settings: HTTP2ClientSettings) {
        let entries = [
            nghttp2_settings_entry(settings_id: Int32(NGHTTP2_SETTINGS_ENABLE_PUSH.rawValue), value: 0),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_HEADER_TABLE_SIZE.rawValue), value: settings.headerTableByteCount),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_INITIAL_WINDOW_SIZE.rawValue),
                value: settings.initialWindowByteCount),
            nghttp2_settings_entry(
                settings_id: Int32(NGHTTP2_SETTINGS_MAX_HEADER_LIST_SIZE.rawValue),
                value: settings.headerListByteCountMax),
        ]
        nghttp2_submit_settings(self.session, 0, entries, entries.count)
    }

    // MARK: Events

    /// Moves the events since the last call into `events`. The former content of `events` is dropped, and its memory is
    /// reused.
    public func takeEvents(into events: inout HTTP2ClientEvents) {
        events.removeAll()
        swap(&events, &self.state.pointee.inbox)
    }

    // MARK: Requests

    /// Queues one request. `values` and `body` are copied, so both may be refilled right after the call. With an empty
    /// `body` the request has no DATA frames. The stream has one final event, which has this `tag`.
    public func submit(
        _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>, tag: UInt32
    ) -> HTTP2SubmitResult {
        guard self.state.pointee.line.failure == nil, !self.state.pointee.isClosing,
            self.state.pointee.goAwayLastStreamID == nil
        else {
            return .closing
        }
        guard values.count == template.variableCount else {
            return .valueCountMismatch(expected: template.variableCount)
        }
        let bodyMax = self.state.pointee.settings.requestBodyByteCountMax
        guard body.count <= bodyMax else { return .bodyTooLong(byteCountMax: bodyMax) }
        guard self.streamIDsLeft > 0 else { return .streamIDsExhausted }
        guard self.credit > 0 else { return .noCredit }

        let index = self.state.pointee.streams.take()
        let entry = self.state.pointee.streams[index]
        entry.pointee.begin(tag: tag)
        entry.pointee.request.fill(values: values, body: body)
        entry.pointee.plan = self.state.pointee.line.encoder.plan(for: template)

        // nghttp2 gets no header fields: see `HeaderEncoder`.
        let streamID: Int32
        if body.count == 0 {
            streamID = nghttp2_submit_request(self.session, nil, nil, 0, nil, streamUserData(index))
        } else {
            var provider = nghttp2_data_provider(
                source: nghttp2_data_source(fd: Int32(truncatingIfNeeded: index)),
                read_callback: ClientCallbacks.readBody)
            streamID = nghttp2_submit_request(self.session, nil, nil, 0, &provider, streamUserData(index))
        }
        guard streamID > 0 else {
            self.state.pointee.line.encoder.forget(plan: entry.pointee.plan)
            entry.pointee.isInUse = false
            self.state.pointee.streams.giveBack(index)
            return streamID == NGHTTP2_ERR_STREAM_ID_NOT_AVAILABLE.rawValue ? .streamIDsExhausted : .closing
        }
        entry.pointee.streamID = streamID
        return .submitted(streamID: streamID)
    }

    /// Queues one request, and keeps additional parts of its answer.
    public func submit(
        _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: Span<UInt8>, tag: UInt32,
        keeping: HTTP2AnswerKeeping
    ) -> HTTP2SubmitResult {
        let result = self.submit(template, values: values, body: body, tag: tag)
        if case .submitted(let streamID) = result { self.state.pointee.kept[streamID] = KeptAnswer(keeping) }
        return result
    }

    /// Queues one request with a body in an array. With an empty array, the request ends with its header fields.
    @inlinable
    public func submit(
        _ template: HTTP2HeaderTemplate, values: borrowing HTTP2HeaderValues, body: [UInt8] = [], tag: UInt32
    ) -> HTTP2SubmitResult {
        self.submit(template, values: values, body: body.span, tag: tag)
    }

    /// Resets a stream, and records its final event at once: `.resetLocally`, or `.requestIncomplete` if the request
    /// had not completely left. The stream counts against `credit` until RST_STREAM is serialised. An unknown or
    /// finished stream id is ignored.
    public func reset(streamID: Int32, errorCode: HTTP2ErrorCode = .cancel) {
        guard let index = self.index(streamID: streamID) else { return }
        self.reset(self.state.pointee.streams[index], errorCode)
    }

    /// Whether the whole request of an open stream was taken as output. Only then can the peer have processed it.
    /// Returns `true` for an unknown stream.
    public func hasLeft(streamID: Int32) -> Bool {
        guard let index = self.index(streamID: streamID) else { return true }
        return self.state.pointee.requestHasLeft(self.state.pointee.streams[index])
    }

    private func index(streamID: Int32) -> Int? {
        // nghttp2 has no stream for a request that is still queued, so all entries are searched.
        entryIndex(nghttp2_session_get_stream_user_data(self.session, streamID))
            ?? self.state.pointee.streams.firstIndex { $0.streamID == streamID }
    }

    private func reset(_ entry: UnsafeMutablePointer<ClientStream>, _ errorCode: HTTP2ErrorCode) {
        guard self.state.pointee.resetLocally(entry, errorCode) else { return }
        nghttp2_submit_rst_stream(self.session, 0, entry.pointee.streamID, errorCode.rawValue)
    }

    /// Takes back all requests that have not completely left, for example after the peer has lowered its stream limit.
    /// Each gets `.requestIncomplete` at once, and may be sent on another connection.
    public func withdrawUnsent() {
        for index in 0..<self.state.pointee.streams.count {
            let entry = self.state.pointee.streams[index]
            guard entry.pointee.isInUse, entry.pointee.requestEnd == nil else { continue }
            self.reset(entry, .cancel)
        }
    }

    // MARK: Connection

    /// Queues GOAWAY. Open streams still finish, and new requests are refused. The session is finished when the last
    /// stream ends.
    public func goAway(errorCode: HTTP2ErrorCode = .noError, debugData: [UInt8] = []) {
        self.state.pointee.isClosing = true
        nghttp2_submit_goaway(self.session, 0, 0, errorCode.rawValue, debugData, debugData.count)
    }

    /// Queues GOAWAY and stops reading. The session is finished after the next `drain`. `connectionLost` then gives the
    /// remaining streams their final events.
    public func terminate(errorCode: HTTP2ErrorCode = .noError) {
        self.state.pointee.isClosing = true
        nghttp2_session_terminate_session(self.session, errorCode.rawValue)
    }

    /// Ends the session because its connection is gone. Each open stream gets its final event: `.requestIncomplete` or
    /// `.connectionEnded`. Afterwards `submit` returns `.closing`, and nothing is read or written. Further calls do
    /// nothing.
    public func connectionLost() {
        self.state.pointee.failAll()
        if self.state.pointee.line.failure == nil { self.state.pointee.line.failure = "the connection has ended" }
        self.state.pointee.line.output.discard(self.state.pointee.line.output.count)
    }

    // MARK: Present state

    /// Number of streams that were opened and are not finished.
    public var openStreamCount: Int { self.state.pointee.streams.inUseCount }

    /// The peer's present SETTINGS_MAX_CONCURRENT_STREAMS. It is 100 until the peer's first SETTINGS arrive, and
    /// `UInt32.max` if they set none.
    public var remoteConcurrentStreamsMax: UInt32 {
        nghttp2_session_get_remote_settings(self.session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)
    }

    /// Whether the peer's first SETTINGS have arrived.
    public var remoteSettingsReceived: Bool { self.state.pointee.remoteSettingsReceived }

    /// Number of requests that may be submitted now: the lower of our stream limit and the peer's, minus the open
    /// streams. At most `streamIDsLeft`, never negative, and 0 after GOAWAY.
    public var credit: Int {
        guard self.state.pointee.line.failure == nil, nghttp2_session_check_request_allowed(self.session) != 0,
            !self.state.pointee.isClosing
        else {
            return 0
        }
        let limit = min(self.state.pointee.settings.concurrentStreamsMax, Int(self.remoteConcurrentStreamsMax))
        return max(0, min(limit - self.openStreamCount, self.streamIDsLeft))
    }

    /// Number of requests that can still get a stream id.
    public var streamIDsLeft: Int {
        max(0, ((1 << 31) - Int(nghttp2_session_get_next_stream_id(self.session)) + 1) / 2)
    }
}
