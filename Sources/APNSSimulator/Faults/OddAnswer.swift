public import HTTP2Session

/// An answer that APNs never gave yet: an unknown status, no `apns-id`, a body of any kind, or one that stops half-way.
public struct OddAnswer: Sendable, Equatable {
    /// How the answer's stream ends.
    public enum Ending: Sendable, Equatable {
        /// END_STREAM, as any answer.
        case complete
        /// Header fields and body were sent, and nothing follows: the stream stays open.
        case stall
        /// Header fields and body were sent, then RST_STREAM.
        case reset(HTTP2ErrorCode)
    }

    /// `:status`, 100...999.
    public var status: Int
    /// `false`: no `apns-id`.
    public var sendsMessageID: Bool
    /// Need not be JSON. With `emptyFrameCount` or an ending other than `.complete`, what is over `halfBodyByteCountMax` is left out.
    public var body: [UInt8]
    /// DATA frames without a byte that come before the body. 0...`emptyFrameCountMax`.
    public var emptyFrameCount: Int
    /// How the answer's stream ends.
    public var ending: Ending
    /// The device gets the push all the same.
    public var applied: Bool

    /// A window that a client leaves at its default has room for it.
    public static let halfBodyByteCountMax = 1_024
    /// The most empty DATA frames that one answer may have.
    public static let emptyFrameCountMax = 1_000

    /// What is out of range is brought into it: `status` into 100...999, `emptyFrameCount` into
    /// 0...`emptyFrameCountMax`.
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

    /// An HTTP/2 library would not send it: its frames are written by hand.
    var needsFrames: Bool { self.emptyFrameCount > 0 || self.ending != .complete }

    /// HEADERS without `apns-id`, DATA, and RST_STREAM if asked for.
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
