public import APNSProtocol
public import HTTP2Session

/// A fault that happens to requests on demand. It stays until it is used up or cleared. The first fault in the list
/// that matches a request fires.
public struct Fault: Sendable, Equatable {
    /// The effect on a request.
    public enum Effect: Sendable, Equatable {
        /// The request gets this answer, and the device does not get the push. `reason` is written to the body
        /// unchanged; an empty one gives an empty body. `timestampMillis` is that of a 410. `retryAfterSeconds` is sent
        /// as `retry-after`, and `date` unchanged: APNs documents neither field.
        case answer(
            status: Int, reason: String, timestampMillis: Int64? = nil, retryAfterSeconds: Int? = nil,
            date: String? = nil)
        /// The request gets this body, which need not be JSON.
        case answerRaw(status: Int, body: [UInt8])
        /// The request is never answered; the stream stays open. With `applied` the device gets the push all the same.
        case stall(applied: Bool)
        /// The stream is reset. With `applied` the device gets the push all the same, even if REFUSED_STREAM denies
        /// that.
        case reset(HTTP2ErrorCode, applied: Bool)
        /// The TCP connection is cut without close_notify, so that no request on it is answered.
        case cut(applied: Bool)
        /// GOAWAY is sent after this request was judged. The request is still answered if its stream is not above
        /// `lastStream`.
        case goAway(GoAway)
        /// The answer is of a kind APNs never gave, or incomplete.
        case odd(OddAnswer)
        /// The request is judged and answered as usual. The action is done to its connection before the answer is
        /// written.
        case then(ConnectionAction)
        /// The request is carried out twice, and the second result is the answer: a phone gets a push twice, or a
        /// channel is made twice.
        case twice
        /// The request is carried out as usual. If it makes a channel, the answer has this channel id instead of the
        /// right one. The id need not be base64 or new.
        case channelID([UInt8])
    }

    /// The effect on a request.
    public var effect: Effect
    /// Chance that a matching request is affected, 0...1.
    public var rate: Double
    /// Maximum number of times that the fault fires; `nil` for no limit.
    public var count: Int?
    /// Number of matching requests that are skipped first.
    public var skip: Int
    /// Limits the fault to tokens with this beginning, lower-case hex; empty for all.
    public var tokenPrefix: String
    /// Limits the fault to this connection, counted from 1; `nil` for all.
    public var connection: Int?
    /// Limits the fault to requests of this kind; `nil` for all, even those unknown to APNs.
    public var kind: RequestKind?
    /// Limits the fault to requests whose `apns-channel-id` has this beginning; empty for all.
    public var channelPrefix: String

    public init(
        _ effect: Effect, rate: Double = 1, count: Int? = nil, skip: Int = 0, tokenPrefix: String = "",
        connection: Int? = nil, kind: RequestKind? = nil, channelPrefix: String = ""
    ) {
        self.effect = effect
        self.rate = rate
        self.count = count
        self.skip = skip
        self.tokenPrefix = tokenPrefix
        self.connection = connection
        self.kind = kind
        self.channelPrefix = channelPrefix
    }
}

/// A GOAWAY as the simulator sends it.
public struct GoAway: Sendable, Equatable {
    /// The last stream that is still answered, as the GOAWAY names it.
    public enum LastStream: Sendable, Equatable {
        /// The highest stream that the client opened.
        case highest
        /// The stream of the request that the fault hit, or a higher stream that was judged before. Requests on higher
        /// streams are not judged, as the GOAWAY says. In a `ConnectionAction`, `current` means the same as `highest`.
        case current
        /// The last stream is this number of streams below the client's highest. If a higher stream was already judged,
        /// the GOAWAY wrongly says that this stream was not judged.
        case below(highestBy: Int)
        /// This stream, whether the client opened it or not.
        case id(Int32)
    }
    /// Why the connection ends; NO_ERROR for a graceful end.
    public var errorCode: HTTP2ErrorCode
    /// The debug data, sent unchanged. APNs sends `{"reason":"Shutdown"}` and the like, or nothing.
    public var debugData: [UInt8]
    /// The last stream that is still answered.
    public var lastStream: LastStream
    /// Whether the connection is closed once the streams up to the last one are answered. If not, it stays open and
    /// ignores new streams.
    public var closes: Bool

    /// A GOAWAY. `reason` becomes the debug data `{"reason":"…"}`, as APNs writes it; `nil` for none.
    public init(
        errorCode: HTTP2ErrorCode = .noError, reason: String? = nil, lastStream: LastStream = .highest,
        closes: Bool = true
    ) {
        self.errorCode = errorCode
        self.debugData = reason.map { Array("{\"reason\":\"\($0)\"}".utf8) } ?? []
        self.lastStream = lastStream
        self.closes = closes
    }
}

/// Identifies a fault of the simulator's list, also after it was cleared or used up.
public struct FaultID: Hashable, Sendable {
    /// The fault's number, counted from 1. A number is never used again.
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
}

/// How slow the simulated APNs is.
public struct Latency: Sendable, Equatable {
    /// The delay of every answer, milliseconds.
    public var fixedMillis: Int64
    /// Longest random delay that is added, evenly spread, milliseconds.
    public var jitterMillis: Int64

    public init(fixedMillis: Int64 = 0, jitterMillis: Int64 = 0) {
        self.fixedMillis = fixedMillis
        self.jitterMillis = jitterMillis
    }

    /// Maximum of each delay, milliseconds: an hour, which is longer than any timeout.
    public static let millisMax: Int64 = 3_600_000
}

/// An action on connections that is done at once.
public enum ConnectionAction: Sendable, Equatable {
    /// Sends a GOAWAY.
    case goAway(GoAway)
    /// TCP ends without close_notify.
    case cut
    /// TCP is reset (RST): data on its way is lost.
    case reset
    /// The connection is closed with close_notify, as when a server restarts in good order, even if requests are
    /// unanswered.
    case close
    /// Half a TLS record is sent, then the connection ends.
    case cutMidRecord
    /// Sends SETTINGS with these changes.
    case settings(HTTP2SettingsChange)
    /// The connection is half-dead: it stays open, but nothing is read or written from now on, not even an answer to
    /// PING.
    case silence
    /// At most this number of bytes a second is read from now on, 1 or more. What is read is answered.
    case slowReads(bytesPerSecond: Int)
    /// No further WINDOW_UPDATE is sent: the client may send what its windows still allow, and then no body.
    case starve
    /// `silence`, `slowReads` and `starve` end: what arrived meanwhile is read and answered.
    case resume
    /// PING from the server.
    case ping
    /// Frames that no server should send.
    case frames(OddFrames)
}
