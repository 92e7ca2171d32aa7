public import HTTP2Session

/// An answer of a kind that APNs has never given: an unknown status, no `apns-id`, any body, or an incomplete one.
public struct OddAnswer: Sendable, Equatable {
    /// How the answer's stream ends.
    public enum Ending: Sendable, Equatable {
        /// END_STREAM, as in any answer.
        case complete
        /// Header fields and body are sent, and nothing follows: the stream stays open.
        case stall
        /// Header fields and body are sent, then RST_STREAM.
        case reset(HTTP2ErrorCode)
    }

    /// `:status`, 100...999.
    public var status: Int
    /// Whether the answer has an `apns-id`.
    public var sendsMessageID: Bool
    /// The body, which need not be JSON. With `emptyFrameCount`, or an ending other than `.complete`, it is cut at
    /// `halfBodyByteCountMax`.
    public var body: [UInt8]
    /// Number of empty DATA frames before the body. 0...`emptyFrameCountMax`.
    public var emptyFrameCount: Int
    /// How the answer's stream ends.
    public var ending: Ending
    /// Whether the device gets the push all the same.
    public var applied: Bool

    /// Maximum number of bytes of an incomplete body. The default window of a client has room for it.
    public static let halfBodyByteCountMax = 1_024
    /// The most empty DATA frames that one answer may have.
    public static let emptyFrameCountMax = 1_000

    /// Values out of range are limited: `status` into 100...999, `emptyFrameCount` into 0...`emptyFrameCountMax`.
    public init(
        status: Int = 200, sendsMessageID: Bool = true, body: [UInt8] = [], emptyFrameCount: Int = 0,
        ending: Ending = .complete, applied: Bool = false
    ) {
        self.status = min(max(status, 100), 999)
        self.sendsMessageID = sendsMessageID
        self.body = body
        self.emptyFrameCount = min(max(emptyFrameCount, 0), Self.emptyFrameCountMax)
        self.ending = ending
        self.applied = applied
    }

    /// Whether the answer's frames are written by hand, because an HTTP/2 library would not send them.
    var needsFrames: Bool { self.emptyFrameCount > 0 || self.ending != .complete }

    /// The frames: HEADERS without `apns-id`, DATA, and RST_STREAM if requested.
    func frames(streamID: Int32) -> [UInt8] {
        var frames = FrameBytes()
        // `:status` is number 8 of HPACK's static table (RFC 7541 appendix A): a literal that is not indexed.
        let status = Array(String(self.status).utf8)
        frames.append(type: .headers, flags: FrameBytes.endHeaders, streamID: streamID, [0x08, 3] + status)
        for _ in 0..<self.emptyFrameCount { frames.append(type: .data, streamID: streamID, []) }
        let body = Array(self.body.prefix(Self.halfBodyByteCountMax))
        switch self.ending {
        case .complete:
            frames.append(type: .data, flags: FrameBytes.endStream, streamID: streamID, body)
        case .stall:
            if !body.isEmpty { frames.append(type: .data, streamID: streamID, body) }
        case .reset(let code):
            if !body.isEmpty { frames.append(type: .data, streamID: streamID, body) }
            frames.append(type: .resetStream, streamID: streamID, FrameBytes.number(code.rawValue))
        }
        return frames.bytes
    }
}
