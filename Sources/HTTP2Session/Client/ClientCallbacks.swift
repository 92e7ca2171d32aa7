import CNGHTTP2

/// The callbacks of nghttp2 on the client's side. Each records in `ClientState` what happened. None calls nghttp2's
/// receive or send functions: the library forbids that in callbacks.
enum ClientCallbacks {
    @inline(__always)
    private static func state(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ClientState> {
        context!.assumingMemoryBound(to: ClientState.self)
    }

    static func set(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            session, frame, name, nameCount, value, valueCount, _, context in
            Self.state(context).pointee.headerReceived(
                session!, frame!.pointee.hd.stream_id, name: UnsafeBufferPointer(start: name, count: nameCount),
                value: UnsafeBufferPointer(start: value, count: valueCount))
            return 0
        }
        nghttp2_session_callbacks_set_on_data_chunk_recv_callback(callbacks) {
            session, _, streamID, bytes, byteCount, context in
            Self.state(context).pointee.dataReceived(session!, streamID, bytes!, byteCount)
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_recv_callback(callbacks) { session, frame, context in
            Self.frameReceived(session!, frame!, Self.state(context))
            return 0
        }
        nghttp2_session_callbacks_set_on_stream_close_callback(callbacks) { session, streamID, errorCode, context in
            Self.state(context).pointee.streamClosed(session!, streamID, HTTP2ErrorCode(rawValue: errorCode))
            return 0
        }
        nghttp2_session_callbacks_set_on_frame_send_callback(callbacks) { session, frame, context in
            Self.frameSent(session!, frame!, Self.state(context))
            return 0
        }
        nghttp2_session_callbacks_set_send_data_callback(callbacks) { _, _, header, byteCount, source, context in
            let state = Self.state(context)
            state.pointee.dataSent(Int(source!.pointee.fd), header: header!, byteCount: byteCount)
            return state.pointee.line.isFull ? NGHTTP2_ERR_PAUSE.rawValue : 0
        }
    }

    /// Returns how many bytes of a stream's body go into the next DATA frame: see `bodyPiece`.
    static let readBody: nghttp2_data_source_read_callback = { _, _, _, length, flags, source, context in
        let entry = ClientCallbacks.state(context).pointee.streams[Int(source!.pointee.fd)]
        return bodyPiece(left: entry.pointee.request.bodyLeft, length: length, flags: flags!)
    }

    private static func frameReceived(
        _ session: OpaquePointer, _ frame: UnsafePointer<nghttp2_frame>, _ state: UnsafeMutablePointer<ClientState>
    ) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else {
                if UInt32(header.type) == NGHTTP2_HEADERS.rawValue {
                    state.pointee.fieldsReceived(session, header.stream_id)
                }
                return
            }
            if state.pointee.endReceived(session, header.stream_id) {
                nghttp2_submit_rst_stream(session, 0, header.stream_id, HTTP2ErrorCode.cancel.rawValue)
            }
        case NGHTTP2_RST_STREAM.rawValue:
            state.pointee.entry(session, header.stream_id)?.pointee.peerReset =
                HTTP2ErrorCode(rawValue: frame.pointee.rst_stream.error_code)
        case NGHTTP2_SETTINGS.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) == 0 else { return }
            state.pointee.remoteSettingsReceived = true
            state.pointee.line.encoder.peerAllowsTable(
                nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE))
            state.pointee.inbox.events.append(
                .settingsChanged(
                    concurrentStreamsMax: nghttp2_session_get_remote_settings(
                        session, NGHTTP2_SETTINGS_MAX_CONCURRENT_STREAMS)))
        case NGHTTP2_PING.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 else { return }
            state.pointee.inbox.events.append(.pingAcknowledged(payload: pingPayload(frame.pointee.ping)))
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            state.pointee.goAwayLastStreamID = goAway.last_stream_id
            state.pointee.inbox.events.append(
                .goAwayReceived(
                    lastStreamID: goAway.last_stream_id, errorCode: HTTP2ErrorCode(rawValue: goAway.error_code),
                    debugData: state.pointee.inbox.bytes.appendRange(debugData(goAway))))
        default: return
        }
    }

    private static func frameSent(
        _ session: OpaquePointer, _ frame: UnsafePointer<nghttp2_frame>, _ state: UnsafeMutablePointer<ClientState>
    ) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            state.pointee.headersSent(
                session, header.stream_id, endsStream: header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0)
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            state.pointee.isClosing = true
            state.pointee.inbox.events.append(
                .goAwaySent(
                    errorCode: HTTP2ErrorCode(rawValue: goAway.error_code),
                    debugData: state.pointee.inbox.bytes.appendRange(debugData(goAway))))
        default: return
        }
    }
}
