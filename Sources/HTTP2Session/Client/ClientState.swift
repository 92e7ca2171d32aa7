import CNGHTTP2

/// One request under way.
struct ClientStream: StreamEntry {
    static var unused: ClientStream { ClientStream() }

    var isInUse = false
    var streamID: Int32 = 0
    var tag: UInt32 = 0
    var request = OutgoingMessage()
    /// The encoder's plan for the header fields; -1 once they are written.
    var plan = -1
    /// Count of the session's output at which END_STREAM of the request was serialised; `nil` before.
    var requestEnd: UInt64?
    var status: UInt16 = 0
    /// Whether the header fields of the final answer are complete: later ones are trailers.
    var hasFinalFields = false
    var retryAfterSeconds: Int64 = -1
    /// The part of the response body that is kept.
    var response = GrowingBytes()
    var responseByteCount = 0
    /// Whether END_STREAM of the response arrived.
    var responseEnded = false
    /// The code of the peer's RST_STREAM; `nil` without one.
    var peerReset: HTTP2ErrorCode?
    /// Whether the final event has been given; the entry waits for nghttp2 to close the stream.
    var isAnswered = false

    mutating func begin(tag: UInt32) {
        self.isInUse = true
        self.streamID = 0
        self.tag = tag
        self.requestEnd = nil
        self.status = 0
        self.hasFinalFields = false
        self.retryAfterSeconds = -1
        self.response.removeAll()
        self.responseByteCount = 0
        self.responseEnded = false
        self.peerReset = nil
        self.isAnswered = false
    }

    mutating func free() {
        self.request.free()
        self.response.free()
    }
}

/// What is kept of the answer on one stream beyond what is kept of every answer.
struct KeptAnswer {
    let keeping: HTTP2AnswerKeeping
    var field: [UInt8] = []

    init(_ keeping: HTTP2AnswerKeeping) { self.keeping = keeping }
}

/// Everything that the C side sees of a client session. It is behind a pointer, because nghttp2 calls back while the
/// session is in a call to it: no access to the whole struct may last across a call into nghttp2.
struct ClientState {
    let settings: HTTP2ClientSettings
    var streams = EntryTable<ClientStream>()
    var inbox = HTTP2ClientEvents()
    var line = SessionLine()
    var remoteSettingsReceived = false
    /// Last stream id of the peer's GOAWAY.
    var goAwayLastStreamID: Int32?
    /// Whether we sent or queued GOAWAY.
    var isClosing = false
    /// By stream id: the few answers that are kept. They are apart from the streams, because a push does not need them.
    var kept: [Int32: KeptAnswer] = [:]
    /// The stream of the previous header callback. Most callbacks of a stream follow each other.
    private var recentStreamID: Int32 = 0
    private var recentEntry = 0

    init(settings: HTTP2ClientSettings) { self.settings = settings }

    /// The open stream with this id.
    @inline(__always)
    mutating func entry(_ session: OpaquePointer, _ streamID: Int32) -> UnsafeMutablePointer<ClientStream>? {
        if streamID == self.recentStreamID { return self.streams[self.recentEntry] }
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return nil }
        self.recentStreamID = streamID
        self.recentEntry = index
        return self.streams[index]
    }

    mutating func headerReceived(
        _ session: OpaquePointer, _ streamID: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        // ":status" is the only response field that begins with a colon and has seven bytes.
        if name.count == 7, name[0] == UInt8(ascii: ":") {
            guard let entry = self.entry(session, streamID), !entry.pointee.hasFinalFields else { return }
            // Each header block begins with `:status`. A value from an interim answer (1xx, RFC 9110 §15.2) does not
            // count for this answer.
            entry.pointee.retryAfterSeconds = -1
            if !self.kept.isEmpty { self.kept[streamID]?.field = [] }
            guard let status = decimal(value), (200...999).contains(status) else { return }
            entry.pointee.status = UInt16(truncatingIfNeeded: status)
        } else if name.count == 11, name.elementsEqual("retry-after".utf8) {
            guard let entry = self.entry(session, streamID), !entry.pointee.hasFinalFields,
                let seconds = decimal(value)
            else { return }
            entry.pointee.retryAfterSeconds = seconds
        } else if !self.kept.isEmpty {
            self.keptFieldReceived(session, streamID, name: name, value: value)
        }
    }

    private mutating func keptFieldReceived(
        _ session: OpaquePointer, _ streamID: Int32, name: UnsafeBufferPointer<UInt8>, value: UnsafeBufferPointer<UInt8>
    ) {
        guard let kept = self.kept[streamID], name.elementsEqual(kept.keeping.fieldName),
            value.count <= HTTP2AnswerKeeping.fieldByteCountMax,
            let entry = self.entry(session, streamID), !entry.pointee.hasFinalFields
        else { return }
        self.kept[streamID]?.field = Array(value)
    }

    mutating func dataReceived(_ session: OpaquePointer, _ streamID: Int32, _ bytes: UnsafeRawPointer, _ byteCount: Int)
    {
        guard let entry = self.entry(session, streamID) else { return }
        var byteCountMax = self.settings.responseBodyByteCountMax
        if !self.kept.isEmpty, let kept = self.kept[streamID] { byteCountMax = kept.keeping.bodyByteCountMax }
        let room = byteCountMax - entry.pointee.response.count
        entry.pointee.response.append(bytes, max(0, min(room, byteCount)))
        entry.pointee.responseByteCount += byteCount
    }

    /// Takes the end of a header block that does not end the stream. After the final answer's block, only trailers may
    /// follow.
    mutating func fieldsReceived(_ session: OpaquePointer, _ streamID: Int32) {
        guard let entry = self.entry(session, streamID), entry.pointee.status >= 200 else { return }
        entry.pointee.hasFinalFields = true
    }

    /// Marks the answer as complete. Returns `true` if the request is not complete: the rest need not be sent (RFC 9113
    /// §8.1).
    mutating func endReceived(_ session: OpaquePointer, _ streamID: Int32) -> Bool {
        guard let entry = self.entry(session, streamID) else { return false }
        entry.pointee.responseEnded = true
        return entry.pointee.requestEnd == nil
    }

    /// Writes our HEADERS when nghttp2 sends those of a stream.
    mutating func headersSent(_ session: OpaquePointer, _ streamID: Int32, endsStream: Bool) {
        self.line.headersReplaced = true
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return }
        let entry = self.streams[index]
        self.line.encoder.append(
            plan: entry.pointee.plan, entry.pointee.request, streamID: streamID,
            flags: endsStream ? UInt8(NGHTTP2_FLAG_END_STREAM.rawValue) : 0, to: &self.line.output)
        entry.pointee.plan = -1
        if endsStream { entry.pointee.requestEnd = self.line.output.appendedByteCount }
    }

    /// Writes DATA when nghttp2 sends it for a stream: its frame header and the next bytes of the body.
    @inline(__always)
    mutating func dataSent(_ index: Int, header: UnsafeRawPointer, byteCount: Int) {
        let entry = self.streams[index]
        self.line.output.append(header, 9)
        if byteCount > 0, let bytes = entry.pointee.request.takeBody(byteCount) {
            self.line.output.append(bytes, byteCount)
        }
        if entry.pointee.request.bodyLeft == 0 { entry.pointee.requestEnd = self.line.output.appendedByteCount }
    }

    mutating func streamClosed(_ session: OpaquePointer, _ streamID: Int32, _ errorCode: HTTP2ErrorCode) {
        guard let index = entryIndex(nghttp2_session_get_stream_user_data(session, streamID)) else { return }
        let entry = self.streams[index]
        if !entry.pointee.isAnswered { self.answer(entry, errorCode) }
        if entry.pointee.plan >= 0 { self.line.encoder.forget(plan: entry.pointee.plan) }
        entry.pointee.isInUse = false
        if !self.kept.isEmpty { self.kept[streamID] = nil }
        self.recentStreamID = 0
        self.streams.giveBack(index)
    }

    /// Whether the request's last byte has left this session.
    func requestHasLeft(_ entry: UnsafeMutablePointer<ClientStream>) -> Bool {
        guard let end = entry.pointee.requestEnd else { return false }
        return self.line.output.takenByteCount >= end
    }

    /// Gives a closed stream's final event.
    private mutating func answer(_ entry: UnsafeMutablePointer<ClientStream>, _ errorCode: HTTP2ErrorCode) {
        let stream = entry.pointee
        if stream.responseEnded, stream.status >= 200 {
            let body = stream.response.count == 0 ? 0..<0 : self.inbox.bytes.appendRange(stream.response.bytes)
            self.inbox.events.append(
                .responseFinished(
                    tag: stream.tag, streamID: stream.streamID, status: stream.status, body: body,
                    bodyByteCount: stream.responseByteCount,
                    retryAfterSeconds: stream.retryAfterSeconds))
            if !self.kept.isEmpty, let kept = self.kept[stream.streamID] {
                let value = kept.field.withUnsafeBytes { self.inbox.bytes.appendRange($0) }
                self.inbox.keptFields.append(HTTP2KeptField(tag: stream.tag, value: value))
            }
        } else if stream.responseEnded, stream.peerReset == nil {
            self.fail(entry, .malformedResponse)
        } else if let code = stream.peerReset {
            self.fail(entry, .resetByPeer(code))
        } else if let last = self.goAwayLastStreamID, stream.streamID > last, errorCode == .refusedStream {
            self.fail(entry, .aboveGoAway)
        } else {
            self.fail(entry, self.requestHasLeft(entry) ? .resetLocally(errorCode) : .requestIncomplete)
        }
    }

    private mutating func fail(_ entry: UnsafeMutablePointer<ClientStream>, _ failure: HTTP2StreamFailure) {
        entry.pointee.isAnswered = true
        self.inbox.events.append(
            .streamFailed(tag: entry.pointee.tag, streamID: entry.pointee.streamID, failure: failure))
    }

    /// Gives the final event of a stream that we reset. Returns `false` if it had one.
    mutating func resetLocally(_ entry: UnsafeMutablePointer<ClientStream>, _ errorCode: HTTP2ErrorCode) -> Bool {
        guard !entry.pointee.isAnswered else { return false }
        self.fail(entry, self.requestHasLeft(entry) ? .resetLocally(errorCode) : .requestIncomplete)
        return true
    }

    /// Gives each open stream its final event.
    mutating func failAll() {
        for index in 0..<self.streams.count {
            let entry = self.streams[index]
            guard entry.pointee.isInUse, !entry.pointee.isAnswered else { continue }
            self.fail(entry, self.requestHasLeft(entry) ? .connectionEnded : .requestIncomplete)
        }
    }

    mutating func free() {
        self.streams.free()
        self.line.free()
    }
}

/// The value of 1 to 9 decimal digits and nothing else.
@inline(__always)
func decimal(_ text: UnsafeBufferPointer<UInt8>) -> Int64? {
    guard (1...9).contains(text.count) else { return nil }
    var number: Int64 = 0
    for byte in text {
        guard byte >= UInt8(ascii: "0"), byte <= UInt8(ascii: "9") else { return nil }
        number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return number
}
