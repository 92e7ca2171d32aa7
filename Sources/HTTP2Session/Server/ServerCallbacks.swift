import CNGHTTP2

/// The callbacks of nghttp2 on the server's side. They correspond to `ClientCallbacks`. C functions cannot be generic,
/// so each side has its own.
enum ServerCallbacks {
    @inline(__always)
    private static func state(_ context: UnsafeMutableRawPointer?) -> UnsafeMutablePointer<ServerState> {
        context!.assumingMemoryBound(to: ServerState.self)
    }

    static func set(_ callbacks: OpaquePointer) {
        nghttp2_session_callbacks_set_on_begin_headers_callback(callbacks) { session, frame, context in
            guard frame!.pointee.headers.cat == NGHTTP2_HCAT_REQUEST else { return 0 }
            Self.state(context).pointee.requestBegan(session!, frame!.pointee.hd.stream_id)
            return 0
        }
        nghttp2_session_callbacks_set_on_header_callback(callbacks) {
            session, frame, name, nameCount, value, valueCount, _, context in
            Self.state(context).pointee.headerReceived(
                session!, frame!.pointee.hd.stream_id, name: UnsafeRawBufferPointer(start: name, count: nameCount),
                value: UnsafeRawBufferPointer(start: value, count: valueCount))
            return 0
        }
        // nghttp2 would skip an invalid field and continue. RFC 9113 §8.2.1 makes the whole message malformed.
        nghttp2_session_callbacks_set_on_invalid_header_callback(callbacks) {
            session, frame, name, nameCount, _, _, _, context in
            let streamID = frame!.pointee.hd.stream_id
            let shown = UnsafeBufferPointer(start: name, count: min(nameCount, Self.shownByteCountMax))
            Self.state(context).pointee.entry(session!, streamID)?.pointee.malformation =
                "a field that HTTP does not allow: “\(String(decoding: shown, as: UTF8.self))”"
            nghttp2_submit_rst_stream(
                session, 0, streamID, HTTP2ErrorCode.protocolError.rawValue)
            return NGHTTP2_ERR_TEMPORAL_CALLBACK_FAILURE.rawValue
        }
        nghttp2_session_callbacks_set_on_invalid_frame_recv_callback(callbacks) { session, frame, code, context in
            let entry = Self.state(context).pointee.entry(session!, frame!.pointee.hd.stream_id)
            if entry?.pointee.malformation == nil {
                entry?.pointee.malformation = String(cString: nghttp2_strerror(code))
            }
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

    /// Maximum number of bytes of a client's field name that are shown.
    private static let shownByteCountMax = 40

    /// Returns how many bytes of a stream's body go into the next DATA frame: see `bodyPiece`.
    static let readBody: nghttp2_data_source_read_callback = { _, _, _, length, flags, source, context in
        let entry = ServerCallbacks.state(context).pointee.streams[Int(source!.pointee.fd)]
        return bodyPiece(left: entry.pointee.response.bodyLeft, length: length, flags: flags!)
    }

    private static func frameReceived(
        _ session: OpaquePointer, _ frame: UnsafePointer<nghttp2_frame>, _ state: UnsafeMutablePointer<ServerState>
    ) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue, NGHTTP2_DATA.rawValue:
            if UInt32(header.type) == NGHTTP2_HEADERS.rawValue, frame.pointee.headers.cat == NGHTTP2_HCAT_REQUEST {
                state.pointee.headersEnded(session, header.stream_id)
            }
            guard header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0 else { return }
            state.pointee.requestEnded(session, header.stream_id)
        case NGHTTP2_SETTINGS.rawValue:
            if header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 {
                state.pointee.inbox.events.append(.settingsAcknowledged)
            } else {
                state.pointee.line.encoder.peerAllowsTable(
                    nghttp2_session_get_remote_settings(session, NGHTTP2_SETTINGS_HEADER_TABLE_SIZE))
            }
        case NGHTTP2_PING.rawValue:
            guard header.flags & UInt8(NGHTTP2_FLAG_ACK.rawValue) != 0 else { return }
            state.pointee.inbox.events.append(.pingAcknowledged(payload: pingPayload(frame.pointee.ping)))
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            state.pointee.inbox.events.append(
                .goAwayReceived(
                    lastStreamID: goAway.last_stream_id, errorCode: HTTP2ErrorCode(rawValue: goAway.error_code),
                    debugData: state.pointee.inbox.bytes.appendRange(debugData(goAway))))
        default: return
        }
    }

    private static func frameSent(
        _ session: OpaquePointer, _ frame: UnsafePointer<nghttp2_frame>, _ state: UnsafeMutablePointer<ServerState>
    ) {
        let header = frame.pointee.hd
        switch UInt32(header.type) {
        case NGHTTP2_HEADERS.rawValue:
            state.pointee.headersSent(
                session, header.stream_id, endsStream: header.flags & UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) != 0)
        case NGHTTP2_RST_STREAM.rawValue:
            state.pointee.resetSent(
                session, header.stream_id, HTTP2ErrorCode(rawValue: frame.pointee.rst_stream.error_code))
        case NGHTTP2_GOAWAY.rawValue:
            let goAway = frame.pointee.goaway
            state.pointee.inbox.events.append(
                .goAwaySent(
                    lastStreamID: goAway.last_stream_id, errorCode: HTTP2ErrorCode(rawValue: goAway.error_code),
                    debugData: state.pointee.inbox.bytes.appendRange(debugData(goAway))))
        default: return
        }
    }
}
