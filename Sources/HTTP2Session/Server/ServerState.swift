import CNGHTTP2

/// One request that is being received or answered.
struct ServerStream: StreamEntry {
    static var unused: ServerStream { ServerStream() }

    /// The lengths of one field's name and value. Their bytes follow those of the previous field in `fieldBytes`.
    struct FieldLengths {
        var name: UInt32
        var value: UInt32
    }

    var isInUse = false
    var streamID: Int32 = 0
    var fieldBytes = GrowingBytes()
    var fieldLengths: [FieldLengths] = []
    var fieldsTruncated = false
    var fieldListByteCount = 0
    /// Why the request is malformed; `nil` if no fault was found yet.
    var malformation: String?
    /// Whether the session's owner asked to reset the stream.
    var isResetByOwner = false
    /// The first bytes of the body, up to the limit.
    var body = GrowingBytes()
    var bodyByteCount = 0
    /// Number of bytes of the body that were received and not acknowledged (with `acknowledgesData` off).
    var unacknowledgedByteCount = 0
    var isAnswered = false
    var response = OutgoingMessage()
    /// The number of the encoder's plan for the answer's header fields; -1 if there is no answer yet, or the fields are
    /// written.
    var plan = -1

    mutating func begin(streamID: Int32) {
        self.isInUse = true
        self.streamID = streamID
        self.fieldBytes.removeAll()
        self.fieldLengths.removeAll(keepingCapacity: true)
        self.fieldsTruncated = false
        self.fieldListByteCount = 0
        self.malformation = nil
        self.isResetByOwner = false
        self.body.removeAll()
        self.bodyByteCount = 0
        self.unacknowledgedByteCount = 0
        self.isAnswered = false
        self.plan = -1
    }

    mutating func free() {
        self.fieldBytes.free()
        self.body.free()
        self.response.free()
    }
}

/// The state of a server session that nghttp2's callbacks read and change. `ClientState` explains why it is behind a
/// pointer.
struct ServerState {
    let settings: HTTP2ServerSettings
    var streams = EntryTable<ServerStream>()
    var inbox = HTTP2ServerEvents()
    var line = SessionLine()
    var lastStreamID: Int32 = 0
    /// Number of bytes that the connection has received and not acknowledged (with `acknowledgesData` off).
    var unacknowledgedByteCount = 0
    /// Whether `requestMalformed` is among the events that were not taken yet.
    var hasMalformedRequests = false
    /// Number of bytes that a field takes in addition to its text (RFC 9113 §6.5.2).
    static let fieldOverheadByteCount = 32
    private var recentStreamID: Int32 = 0
    private var recentEntry = 0

    init(settings: HTTP2ServerSettings) { self.settings = settings }

    /// The entry of the open stream with this id; `nil` if there is none.
    @inline(__always)
    mutating func entry(_ session: OpaquePointer, _ streamID: Int32) -> UnsafeMutablePointer<ServerStream>? {
        if streamID == self.recentStreamID { return self.streams[self.recentEntry] }
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return nil }
        self.recentStreamID = streamID
        self.recentEntry = index
        return self.streams[index]
    }

    /// Takes an entry for a request whose first header block begins.
    mutating func requestBegan(_ session: OpaquePointer, _ streamID: Int32) {
        let index = self.streams.take()
        self.streams[index].pointee.begin(streamID: streamID)
        nghttp2_session_set_stream_user_data(session, streamID, streamUserData(index))
        self.lastStreamID = max(self.lastStreamID, streamID)
        self.recentStreamID = streamID
        self.recentEntry = index
    }

    mutating func headerReceived(
        _ session: OpaquePointer, _ streamID: Int32, name: UnsafeRawBufferPointer, value: UnsafeRawBufferPointer
    ) {
        guard let entry = self.entry(session, streamID) else { return }
        entry.pointee.fieldListByteCount += name.count + value.count + Self.fieldOverheadByteCount
        guard entry.pointee.fieldBytes.count + name.count + value.count <= self.settings.requestFieldsByteCountMax
        else {
            entry.pointee.fieldsTruncated = true
            return
        }
        entry.pointee.fieldLengths.append(
            ServerStream.FieldLengths(
                name: UInt32(truncatingIfNeeded: name.count), value: UInt32(truncatingIfNeeded: value.count)))
        entry.pointee.fieldBytes.append(name)
        entry.pointee.fieldBytes.append(value)
    }

    mutating func dataReceived(_ session: OpaquePointer, _ streamID: Int32, _ bytes: UnsafeRawPointer, _ byteCount: Int)
    {
        if !self.settings.acknowledgesData { self.unacknowledgedByteCount += byteCount }
        guard let entry = self.entry(session, streamID) else { return }
        let room = self.settings.requestBodyByteCountMax - entry.pointee.body.count
        entry.pointee.body.append(bytes, max(0, min(room, byteCount)))
        entry.pointee.bodyByteCount += byteCount
        entry.pointee.unacknowledgedByteCount += byteCount
    }

    mutating func headersEnded(_ session: OpaquePointer, _ streamID: Int32) {
        guard self.settings.announcesHeaders, let entry = self.entry(session, streamID) else { return }
        self.inbox.events.append(.requestHeaders(streamID: streamID, fields: self.publishFields(entry)))
    }

    mutating func requestEnded(_ session: OpaquePointer, _ streamID: Int32) {
        guard let entry = self.entry(session, streamID) else { return }
        let fields = self.publishFields(entry)
        self.inbox.events.append(
            .request(
                HTTP2ServerRequest(
                    streamID: streamID, fields: fields, fieldsTruncated: entry.pointee.fieldsTruncated,
                    fieldListByteCount: entry.pointee.fieldListByteCount,
                    body: self.inbox.bytes.appendRange(entry.pointee.body.bytes),
                    bodyByteCount: entry.pointee.bodyByteCount)))
    }

    private mutating func publishFields(_ entry: UnsafeMutablePointer<ServerStream>) -> Range<Int> {
        var offset = self.inbox.bytes.count
        let first = self.inbox.fields.count
        self.inbox.bytes.append(contentsOf: entry.pointee.fieldBytes.bytes)
        for lengths in entry.pointee.fieldLengths {
            let name = offset..<offset + Int(lengths.name)
            offset = name.upperBound + Int(lengths.value)
            self.inbox.fields.append(HTTP2FieldRange(name: name, value: name.upperBound..<offset))
        }
        return first..<self.inbox.fields.count
    }

    /// Handles an RST_STREAM that was put into the output. PROTOCOL_ERROR that the owner did not ask for means that the
    /// request broke the rules of HTTP.
    mutating func resetSent(_ session: OpaquePointer, _ streamID: Int32, _ errorCode: HTTP2ErrorCode) {
        guard errorCode == .protocolError, let entry = self.entry(session, streamID), !entry.pointee.isResetByOwner
        else {
            return
        }
        let detail = entry.pointee.malformation ?? "a content-length that is not the body's"
        let start = self.inbox.bytes.count
        self.inbox.bytes.append(contentsOf: detail.utf8)
        self.inbox.events.append(.requestMalformed(streamID: streamID, detail: start..<self.inbox.bytes.count))
        self.hasMalformedRequests = true
    }

    /// Writes the encoder's HEADERS frame in place of the one that nghttp2 has made for the stream.
    mutating func headersSent(_ session: OpaquePointer, _ streamID: Int32, endsStream: Bool) {
        self.line.headersReplaced = true
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return }
        let entry = self.streams[index]
        self.line.encoder.append(
            plan: entry.pointee.plan, entry.pointee.response, streamID: streamID,
            flags: endsStream ? UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) : 0, to: &self.line.output)
        entry.pointee.plan = -1
    }

    /// Writes a DATA frame that nghttp2 sends for a stream: the frame's header and the next bytes of the body.
    mutating func dataSent(_ index: Int, header: UnsafeRawPointer, byteCount: Int) {
        self.line.output.append(header, 9)
        if byteCount > 0, let bytes = self.streams[index].pointee.response.takeBody(byteCount) {
            self.line.output.append(bytes, byteCount)
        }
    }

    mutating func streamClosed(_ session: OpaquePointer, _ streamID: Int32, _ errorCode: HTTP2ErrorCode) {
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return }
        let entry = self.streams[index]
        self.inbox.events.append(.streamClosed(streamID: streamID, errorCode: errorCode))
        if entry.pointee.plan >= 0 { self.line.encoder.forget(plan: entry.pointee.plan) }
        entry.pointee.isInUse = false
        self.recentStreamID = 0
        self.streams.giveBack(index)
    }

    mutating func free() {
        self.streams.free()
        self.line.free()
    }
}
