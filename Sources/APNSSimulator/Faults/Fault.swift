public import APNSProtocol
public import HTTP2Session

/// Something that goes wrong with requests, on demand. Held until it is used up or cleared; the first of the list that matches a request fires.
public struct Fault: Sendable, Equatable {
    /// What happens to a request it fires for.
    public enum Effect: Sendable, Equatable {
        /// Answered so, without touching the device. `reason` goes into the body as it is; empty: an empty body.
        /// `timestampMillis` is that of a 410. `retryAfterSeconds` is sent as `retry-after`, and `date` as it is: APNs documents neither field.
        case answer(
            status: Int, reason: String, timestampMillis: Int64? = nil, retryAfterSeconds: Int? = nil,
            date: String? = nil)
        /// Answered with this body, which need not be JSON.
        case answerRaw(status: Int, body: [UInt8])
        /// Never answered; the stream stays open. `applied`: the device gets the push all the same.
        case stall(applied: Bool)
        /// RST_STREAM. `applied` makes it a lie for REFUSED_STREAM.
        case reset(HTTP2ErrorCode, applied: Bool)
        /// The TCP connection is cut, without close_notify: every request on it is left without an answer.
        case cut(applied: Bool)
        /// GOAWAY is sent after this request was judged; its answer still comes when its stream is not above `lastStream`.
        case goAway(GoAway)
        /// Answered in a way APNs never did, or half answered.
        case odd(OddAnswer)
        /// Judged and answered as ever, and then this happens to its connection, before the answer is written.
        case then(ConnectionAction)
        /// Carried out twice, and answered as the second time: a phone gets a push twice, and a channel is made twice.
        case twice
        /// Carried out as ever; a creation is answered with this channel id instead of what was made. It need not be base64, nor new.
        case channelID([UInt8])
    }

    /// What happens to a request that it fires for.
    public var effect: Effect
    /// Chance that a matching request is hit, 0...1.
    public var rate: Double
    /// Fires at most so often; `nil`: until cleared.
    public var count: Int?
    /// Matching requests left alone first.
    public var skip: Int
    /// Only requests to tokens beginning so, lower-case hex; empty: all.
    public var tokenPrefix: String
    /// Only requests on this connection, counted from 1; `nil`: all.
    public var connection: Int?
    /// Only requests of this kind; `nil`: all, those that APNs does not know included.
    public var kind: RequestKind?
    /// Only requests whose `apns-channel-id` begins so; empty: all.
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
    /// Which stream a GOAWAY names as the last one that is still answered.
    public enum LastStream: Sendable, Equatable {
        /// The highest the client opened.
        case highest
        /// The request that the fault fires for, or a higher one if that was whole, and judged, before: what the client sent after it is not judged, as the GOAWAY
        /// says. In an action: as `highest`.
        case current
        /// This many streams the client opened last are above it. Those that were judged before stay so: a lie, unless nothing was.
        case below(highestBy: Int)
        /// This stream, whether the client opened it or not.
        case id(Int32)
    }
    /// Why the connection ends; NO_ERROR for a graceful end.
    public var errorCode: HTTP2ErrorCode
    /// Sent as it is; APNs sends `{"reason":"Shutdown"}` and the like, or nothing.
    public var debugData: [UInt8]
    /// The last stream that is still answered.
    public var lastStream: LastStream
    /// The connection is closed once the streams at or below the last one are answered; `false`: it stays open and ignores new streams.
    public var closes: Bool

    /// `reason` becomes the debug data `{"reason":"…"}`, as APNs writes it; `nil`: none.
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

/// A fault of the simulator's list, until it is cleared or used up.
public struct FaultID: Hashable, Sendable {
    /// The number under which the list knows the fault.
    public var rawValue: Int
    public init(rawValue: Int) { self.rawValue = rawValue }
}

/// How slow the simulated APNs is.
public struct Latency: Sendable, Equatable {
    /// Every answer waits this long, milliseconds.
    public var fixedMillis: Int64
    /// Most time that is added, evenly spread, milliseconds.
    public var jitterMillis: Int64

    public init(fixedMillis: Int64 = 0, jitterMillis: Int64 = 0) {
        self.fixedMillis = fixedMillis
        self.jitterMillis = jitterMillis
    }

    /// An hour: longer than any timeout.
    public static let millisMax: Int64 = 3_600_000
}

/// Something done to connections at once.
public enum ConnectionAction: Sendable, Equatable {
    /// Sends a GOAWAY.
    case goAway(GoAway)
    /// TCP ends without close_notify.
    case cut
    /// TCP reset (RST): what is on its way is thrown away.
    case reset
    /// close_notify and end, as a server that restarts in good order, unanswered requests notwithstanding.
    case close
    /// Half a TLS record, then the end.
    case cutMidRecord
    /// Sends SETTINGS with these changes.
    case settings(HTTP2SettingsChange)
    /// Half-dead: nothing is read or written from now on, not even an answer to PING, and the connection stays open.
    case silence
    /// Reads no more than a number of bytes a second from now on, 1 or more; what it reads is answered.
    case slowReads(bytesPerSecond: Int)
    /// Sends no further WINDOW_UPDATE: the client may send what its windows still allow, and then no body.
    case starve
    /// Takes `silence`, `slowReads` and `starve` back: what came meanwhile is read and answered.
    case resume
    /// PING from the server.
    case ping
    /// Frames that no server should send.
    case frames(OddFrames)
}
