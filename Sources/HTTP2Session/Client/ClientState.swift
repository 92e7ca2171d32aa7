import CNGHTTP2

/// One request that has no final event yet, or whose stream is still open.
struct ClientStream: StreamEntry {
    static var unused: ClientStream { ClientStream() }

    var isInUse = false
    var streamID: Int32 = 0
    var tag: UInt32 = 0
    var request = OutgoingMessage()
    /// The number of the encoder's plan for the request's header fields; -1 when they have been written.
    var plan = -1
    /// The output's `appendedByteCount` after the last byte of the request; `nil` until that byte is serialised.
    var requestEnd: UInt64?
    var status: UInt16 = 0
    /// Whether the header fields of the final answer are complete. Later fields are trailers.
    var hasFinalFields = false
    var retryAfterSeconds: Int64 = -1
    /// The first bytes of the response body, up to the limit.
    var response = GrowingBytes()
    var responseByteCount = 0
    /// Whether the response is complete: END_STREAM has arrived.
    var responseEnded = false
    /// The error code of the peer's RST_STREAM; `nil` if none arrived.
    var peerReset: HTTP2ErrorCode?
    /// Whether the final event was recorded. The entry then waits until nghttp2 closes the stream.
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

/// The extra parts of one answer that its request asked to keep.
struct KeptAnswer {
    let keeping: HTTP2AnswerKeeping
    var field: [UInt8] = []

    init(_ keeping: HTTP2AnswerKeeping) { self.keeping = keeping }
}

/// The state of a client session that nghttp2's callbacks read and change. The struct is behind a pointer, because
/// nghttp2's functions call back before they return. Swift must not hold exclusive access to the struct while such a
/// function runs.
struct ClientState {
    let settings: HTTP2ClientSettings
    var streams = EntryTable<ClientStream>()
    var inbox = HTTP2ClientEvents()
    var line = SessionLine()
    var remoteSettingsReceived = false
    /// The last stream id that the peer's GOAWAY names; `nil` before it arrives.
    var goAwayLastStreamID: Int32?
    /// Whether GOAWAY was queued or sent.
    var isClosing = false
    /// The extra parts of answers that are kept, by stream id. They are stored apart from `streams`, because pushes
    /// have none.
    var kept: [Int32: KeptAnswer] = [:]
    /// The stream of the previous callback. Most callbacks are for the same stream as the one before.
    private var recentStreamID: Int32 = 0
    private var recentEntry = 0

    init(settings: HTTP2ClientSettings) { self.settings = settings }

    /// The entry of the open stream with this id; `nil` if there is none.
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
            // A header block begins with `:status`. Values of an interim answer (1xx, RFC 9110 §15.2) are dropped.
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

    /// Handles the end of a header block that does not end the stream. If it was the final answer's block, only
    /// trailers may follow.
    mutating func fieldsReceived(_ session: OpaquePointer, _ streamID: Int32) {
        guard let entry = self.entry(session, streamID), entry.pointee.status >= 200 else { return }
        entry.pointee.hasFinalFields = true
    }

    /// Marks the answer as complete. Returns `true` if the request is not complete: the rest of it need not be sent
    /// (RFC 9113 §8.1).
    mutating func endReceived(_ session: OpaquePointer, _ streamID: Int32) -> Bool {
        guard let entry = self.entry(session, streamID) else { return false }
        entry.pointee.responseEnded = true
        return entry.pointee.requestEnd == nil
    }

    /// Writes the encoder's HEADERS frame in place of the one that nghttp2 has made for the stream.
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

    /// Writes a DATA frame that nghttp2 sends for a stream: the frame's header and the next bytes of the body.
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

    /// Whether the whole request was taken from the session's output.
    func requestHasLeft(_ entry: UnsafeMutablePointer<ClientStream>) -> Bool {
        guard let end = entry.pointee.requestEnd else { return false }
        return self.line.output.takenByteCount >= end
    }

    /// Records the final event of a stream that has closed.
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

    /// Records the final event of a stream that this side resets. Returns `false` if the stream already had one.
    mutating func resetLocally(_ entry: UnsafeMutablePointer<ClientStream>, _ errorCode: HTTP2ErrorCode) -> Bool {
        guard !entry.pointee.isAnswered else { return false }
        self.fail(entry, self.requestHasLeft(entry) ? .resetLocally(errorCode) : .requestIncomplete)
        return true
    }

    /// Records the final event of each stream that has none.
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

/// The value of a text of 1 to 9 decimal digits; `nil` for any other text.
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
