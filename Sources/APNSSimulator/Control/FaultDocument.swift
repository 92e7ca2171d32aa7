import APNSProtocol
import HTTP2Session

/// The fault that a `POST /faults` describes. The help of the control API lists the same names.
enum FaultDocument {
    case fault(Fault)
    case latency(Latency)
    case listLag(millis: Int64)
    case refuse(Bool)
    case mute(Bool)
    case streams(UInt32)
    case action(ConnectionAction, connection: Int?)

    private static let numberMax = Int(Int32.max)

    static func read(_ body: [UInt8]) throws(FlatDocument.Refusal) -> FaultDocument {
        var document = try FlatDocument(body)
        guard let kind = try document.text("kind") else {
            throw FlatDocument.Refusal(text: "'kind' is missing. \(Self.kinds)")
        }
        let read: FaultDocument
        switch kind {
        case "answer", "odd", "stall", "reset", "cut", "goaway", "then", "twice", "channel-id":
            read = try Self.requestFault(kind, &document)
        case "latency":
            let most = Int(Latency.millisMax)
            read = .latency(
                Latency(
                    fixedMillis: Int64(try document.integer("millis", in: 0...most) ?? 0),
                    jitterMillis: Int64(try document.integer("jitterMillis", in: 0...most) ?? 0)))
        case "list-lag":
            guard let millis = try document.integer("millis", in: 0...Int(Latency.millisMax)) else {
                throw FlatDocument.Refusal(text: "'millis' is missing: the age of a list of channels")
            }
            read = .listLag(millis: Int64(millis))
        case "refuse":
            read = .refuse(try document.bool("on") ?? true)
        case "mute":
            read = .mute(try document.bool("on") ?? true)
        case "streams":
            guard let streams = try document.integer("max", in: 0...Self.numberMax) else {
                throw FlatDocument.Refusal(text: "'max' is missing: the SETTINGS_MAX_CONCURRENT_STREAMS to announce")
            }
            read = .streams(UInt32(streams))
        case "now":
            let connection = try document.integer("connection", in: 1...Self.numberMax)
            read = .action(try Self.action(&document), connection: connection)
        default:
            throw FlatDocument.Refusal(text: "'kind' is '\(kind)'. \(Self.kinds)")
        }
        try document.finish()
        return read
    }

    private static let kinds =
        "Known: answer, odd, stall, reset, cut, goaway, then, twice, channel-id, latency, list-lag, refuse, mute, streams, now"

    private static func requestFault(_ kind: String, _ document: inout FlatDocument) throws(FlatDocument.Refusal)
        -> FaultDocument
    {
        let effect: Fault.Effect
        switch kind {
        case "answer": effect = try Self.answer(&document)
        case "odd": effect = .odd(try Self.odd(&document))
        case "then": effect = .then(try Self.action(&document))
        case "twice": effect = .twice
        case "channel-id": effect = .channelID(try Self.channelID(&document))
        case "stall": effect = .stall(applied: try document.bool("applied") ?? false)
        case "reset":
            effect = .reset(
                try Self.errorCode(&document) ?? .internalError, applied: try document.bool("applied") ?? false)
        case "cut": effect = .cut(applied: try document.bool("applied") ?? false)
        default: effect = .goAway(try Self.goAway(&document))
        }
        let prefix = try document.text("token") ?? ""
        guard prefix.allSatisfy({ $0.isASCII && $0.isHexDigit }) else {
            throw FlatDocument.Refusal(text: "'token' must be the first hex digits of a device token")
        }
        return .fault(
            Fault(
                effect, rate: try document.fraction("rate") ?? 1,
                count: try document.integer("count", in: 1...Self.numberMax),
                skip: try document.integer("skip", in: 0...Self.numberMax) ?? 0, tokenPrefix: prefix,
                connection: try document.integer("connection", in: 1...Self.numberMax),
                kind: try Self.requestKind(&document), channelPrefix: try document.text("channel") ?? ""))
    }

    private static func requestKind(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> RequestKind? {
        guard let name = try document.text("request") else { return nil }
        guard let kind = RequestKind.allCases.first(where: { Self.name(of: $0) == name }) else {
            let names = RequestKind.allCases.map(Self.name).joined(separator: ", ")
            throw FlatDocument.Refusal(text: "'request' is '\(name)'. Known: \(names)")
        }
        return kind
    }

    /// Reads a channel id. The id must fit into a header field. It need not look like one of Apple's.
    private static func channelID(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> [UInt8] {
        guard let id = try document.text("id"), (1...Self.channelIDByteCountMax).contains(id.utf8.count),
            id.utf8.allSatisfy({ (0x21...0x7E).contains($0) })
        else {
            throw FlatDocument.Refusal(
                text:
                    "'id' is missing, or does not have 1 to \(Self.channelIDByteCountMax) visible characters: it is the id in the answer to a creation"
            )
        }
        return Array(id.utf8)
    }
    private static let channelIDByteCountMax = 1_024

    /// The kind's name in `request`.
    static func name(of kind: RequestKind) -> String {
        switch kind {
        case .device: "device"
        case .broadcast: "broadcast"
        case .createChannel: "create"
        case .readChannel: "read"
        case .deleteChannel: "delete"
        case .listChannels: "list"
        }
    }

    private static func answer(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> Fault.Effect {
        let named = try document.text("reason")
        let status = try document.integer("status", in: 200...599) ?? named.flatMap(Reason.init(rawValue:))?.status
        guard let status else {
            throw FlatDocument.Refusal(
                text: "'status' is missing (it may only be left out with one of Apple's reasons in 'reason')")
        }
        if let body = try document.text("body") {
            guard named == nil else { throw FlatDocument.Refusal(text: "'body' and 'reason' exclude each other") }
            return .answerRaw(status: status, body: Array(body.utf8))
        }
        guard named?.utf8.allSatisfy({ $0 >= 0x20 && $0 != UInt8(ascii: "\"") && $0 != UInt8(ascii: "\\") }) ?? true
        else {
            throw FlatDocument.Refusal(
                text: "'reason' must be a word without quotes, backslashes and control characters")
        }
        // 2^52 is large enough for any date in milliseconds.
        let timestamp = try document.integer("timestampMillis", in: 0...(1 << 52))
        let retryAfter = try document.integer("retryAfterSeconds", in: 0...86_400)
        let date = try document.text("date")
        guard date?.utf8.allSatisfy({ (0x20...0x7E).contains($0) }) ?? true,
            date?.utf8.count ?? 0 <= Self.dateByteCountMax
        else {
            let form = "such as Sun, 06 Nov 1994 08:49:37 GMT"
            throw FlatDocument.Refusal(
                text: "'date' must have at most \(Self.dateByteCountMax) visible characters, \(form)")
        }
        return .answer(
            status: status, reason: named ?? "", timestampMillis: timestamp.map(Int64.init),
            retryAfterSeconds: retryAfter, date: date)
    }

    private static let dateByteCountMax = 64

    private static func odd(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> OddAnswer {
        var odd = OddAnswer(
            status: try document.integer("status", in: 100...999) ?? 200,
            sendsMessageID: try document.bool("apnsId") ?? true,
            emptyFrameCount: try document.integer("emptyFrames", in: 0...OddAnswer.emptyFrameCountMax) ?? 0,
            applied: try document.bool("applied") ?? false)
        let byteCount = try document.integer("bodyBytes", in: 0...Self.oddBodyByteCountMax)
        if let body = try document.text("body") {
            guard byteCount == nil else {
                throw FlatDocument.Refusal(text: "'body' and 'bodyBytes' exclude each other")
            }
            odd.body = Array(body.utf8)
        } else if let byteCount {
            odd.body = Array(repeating: UInt8(ascii: "x"), count: byteCount)
        }
        switch try document.text("ending") {
        case nil, "complete": break
        case "stall": odd.ending = .stall
        case "reset": odd.ending = .reset(try Self.errorCode(&document) ?? .internalError)
        case let other?:
            throw FlatDocument.Refusal(text: "'ending' is '\(other)'. Known: complete, stall, reset")
        }
        return odd
    }

    /// Maximum of the field `bodyBytes`, which gives the length of an odd answer's body in bytes.
    static let oddBodyByteCountMax = 1 << 20

    private static func action(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> ConnectionAction {
        let names =
            "goaway, cut, reset, cut-mid-record, close, settings, silence, slow-reads, starve, resume, ping, frames"
        switch try document.text("action") {
        case "goaway": return .goAway(try Self.goAway(&document))
        case "cut": return .cut
        case "reset": return .reset
        case "cut-mid-record": return .cutMidRecord
        case "close": return .close
        case "silence": return .silence
        case "starve": return .starve
        case "resume": return .resume
        case "slow-reads":
            guard let bytes = try document.integer("bytesPerSecond", in: 1...Self.numberMax) else {
                throw FlatDocument.Refusal(text: "'bytesPerSecond' is missing: how fast the simulator reads")
            }
            return .slowReads(bytesPerSecond: bytes)
        case "frames":
            let known = OddFrames.allCases.map(\.rawValue).joined(separator: ", ")
            guard let name = try document.text("which") else {
                throw FlatDocument.Refusal(text: "'which' is missing. Known: \(known)")
            }
            guard let frames = OddFrames(rawValue: name) else {
                throw FlatDocument.Refusal(text: "'which' is '\(name)'. Known: \(known)")
            }
            return .frames(frames)
        case "ping": return .ping
        case "settings":
            func setting(_ key: String) throws(FlatDocument.Refusal) -> UInt32? {
                try document.integer(key, in: 0...Self.numberMax).map { UInt32($0) }
            }
            let change = HTTP2SettingsChange(
                concurrentStreamsMax: try setting("maxConcurrentStreams"),
                initialWindowByteCount: try setting("initialWindowSize"),
                headerTableByteCount: try setting("headerTableSize"),
                frameByteCountMax: try document.integer("maxFrameSize", in: 16_384...16_777_215).map { UInt32($0) },
                headerListByteCountMax: try setting("maxHeaderListSize"))
            guard change != HTTP2SettingsChange() else {
                throw FlatDocument.Refusal(
                    text:
                        "no setting given. Known: maxConcurrentStreams, initialWindowSize, headerTableSize, maxFrameSize, maxHeaderListSize"
                )
            }
            return .settings(change)
        case let other?: throw FlatDocument.Refusal(text: "'action' is '\(other)'. Known: \(names)")
        case nil: throw FlatDocument.Refusal(text: "'action' is missing. Known: \(names)")
        }
    }

    private static func goAway(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> GoAway {
        var goAway = GoAway(
            errorCode: try Self.errorCode(&document) ?? .noError, closes: try document.bool("closes") ?? true)
        let debug = try document.text("debug")
        if let reason = try document.text("reason") {
            guard debug == nil else { throw FlatDocument.Refusal(text: "'debug' and 'reason' exclude each other") }
            goAway.debugData = GoAway(reason: reason).debugData
        } else if let debug {
            goAway.debugData = Array(debug.utf8)
        }
        if try document.bool("current") ?? false { goAway.lastStream = .current }
        let below = try document.integer("below", in: 0...Self.numberMax)
        if let id = try document.integer("lastStream", in: 0...Self.numberMax) {
            guard below == nil else { throw FlatDocument.Refusal(text: "'below' and 'lastStream' exclude each other") }
            guard goAway.lastStream != .current else {
                throw FlatDocument.Refusal(text: "'current' and 'lastStream' exclude each other")
            }
            goAway.lastStream = .id(Int32(id))
        } else if let below {
            guard goAway.lastStream != .current else {
                throw FlatDocument.Refusal(text: "'current' and 'below' exclude each other")
            }
            goAway.lastStream = .below(highestBy: below)
        }
        return goAway
    }

    private static let errorCodes: [HTTP2ErrorCode] = [
        .noError, .protocolError, .internalError, .flowControlError, .settingsTimeout, .streamClosed, .frameSizeError,
        .refusedStream,
        .cancel, .compressionError, .connectError, .enhanceYourCalm, .inadequateSecurity, .http11Required,
    ]

    private static func errorCode(_ document: inout FlatDocument) throws(FlatDocument.Refusal) -> HTTP2ErrorCode? {
        guard let name = try document.text("code") else { return nil }
        guard let code = Self.errorCodes.first(where: { $0.description == name }) else {
            let names = Self.errorCodes.map(\.description).joined(separator: ", ")
            throw FlatDocument.Refusal(text: "'code' is '\(name)'. Known: \(names)")
        }
        return code
    }
}
