import APNSPool
import APNSSimulator
import HTTP2Session
import PushModel

@testable import PushTransport

/// The faults of the simulated APNs in one run, drawn from a seed. Some faults hit single requests during the whole
/// run. Steps hit whole connections one after another. The faults never lie: a request that is called unprocessed is
/// unprocessed.
struct TortureSchedule: Sendable {
    enum Step: Sendable, CustomStringConvertible {
        /// Applies an action to the `onNth` connection (0 is the oldest open one). `nil` means all connections.
        case act(ConnectionAction, onNth: Int?)
        /// Sets a stream limit for all connections, and restores it after some requests.
        case streams(UInt32)
        /// Allows no new streams until all requests in flight are answered.
        case noStreams
        /// Cuts all connections, and refuses some new ones.
        case outage(refusals: Int)
        /// Cuts all connections, and accepts the next one without TLS.
        case halfOpen
        /// Delays answers by up to this number of milliseconds.
        case latency(Int64)

        var description: String {
            switch self {
            case .act(let action, let nth): "\(action) on \(nth.map { "#\($0)" } ?? "all")"
            case .streams(let streams): "streams \(streams)"
            case .noStreams: "no streams"
            case .outage(let refusals): "outage, \(refusals) refusals"
            case .halfOpen: "half-open"
            case .latency(let millis): "latency \(millis) ms"
            }
        }
    }

    let seed: UInt64
    let configuration: SimulatorConfiguration
    let requestFaults: [Fault]
    let steps: [Step]

    init(seed: UInt64) {
        self.seed = seed
        var random = SplitMix64(seed: seed)
        var configuration = SimulatorConfiguration()
        configuration.randomSeed = seed
        configuration.concurrentStreamsMax = [3, 50, 500].randomElement(using: &random) ?? 50
        if Bool.random(using: &random) { configuration.initialWindowByteCount = 200 }
        if Bool.random(using: &random) { configuration.headerTableByteCount = 0 }
        configuration.collapsesOnRejection = Bool.random(using: &random)
        self.configuration = configuration

        // In each run some faults are off, and others are frequent.
        var faults: [Fault] = []
        for effect in Self.effects where Int.random(in: 0..<3, using: &random) > 0 {
            let rate = [0.002, 0.005, 0.02].randomElement(using: &random) ?? 0.005
            faults.append(Fault(effect, rate: Self.endsConnection(effect) ? 0.002 : rate))
        }
        self.requestFaults = faults
        self.steps = Self.steps.shuffled(using: &random)
    }

    private static func endsConnection(_ effect: Fault.Effect) -> Bool {
        switch effect {
        case .cut, .goAway, .then, .stall: true
        case .odd(let odd): odd.ending == .stall
        case .answer, .answerRaw, .reset, .twice, .channelID: false
        }
    }

    /// GOAWAY with APNs' own JSON.
    private static let shutdown = GoAway(reason: "Shutdown", lastStream: .current)

    private static let effects: [Fault.Effect] = [
        .answer(status: 503, reason: "ServiceUnavailable"), .answer(status: 500, reason: "InternalServerError"),
        .answer(status: 429, reason: "TooManyRequests"), .answer(status: 499, reason: "NobodyKnowsThis"),
        .answerRaw(status: 503, body: []), .answerRaw(status: 502, body: Array("<html>".utf8)),
        .odd(OddAnswer(status: 999, body: [0xff, 0x00, 0x7b])), .odd(OddAnswer(status: 299)),
        .odd(OddAnswer(status: 100)), .odd(OddAnswer(sendsMessageID: false, applied: true)),
        .odd(OddAnswer(status: 503, sendsMessageID: false, body: Array(repeating: 0x7b, count: 5_000))),
        .odd(OddAnswer(emptyFrameCount: 20, applied: true)),
        .odd(OddAnswer(ending: .reset(.internalError), applied: true)),
        .odd(OddAnswer(body: [1, 2, 3], ending: .reset(.cancel))),
        .odd(OddAnswer(ending: .stall, applied: true)),
        .stall(applied: true), .stall(applied: false),
        .reset(.refusedStream, applied: false), .reset(.internalError, applied: true), .reset(.cancel, applied: false),
        .reset(.enhanceYourCalm, applied: true), .reset(.noError, applied: false),
        .cut(applied: true), .cut(applied: false),
        .goAway(Self.shutdown), .goAway(GoAway()),
        .goAway(GoAway(errorCode: .enhanceYourCalm, reason: "Maximum active streams violated", lastStream: .current)),
        .then(.reset), .then(.cutMidRecord), .then(.close),
    ]

    private static let steps: [Step] = [
        // Several GOAWAYs in a row, with and without an error, and with and without APNs' JSON.
        .act(.goAway(GoAway(reason: "Shutdown", closes: false)), onNth: nil), .act(.goAway(GoAway()), onNth: nil),
        .act(.goAway(GoAway(errorCode: .internalError, reason: "InternalServerError")), onNth: nil),
        .act(.goAway(GoAway(errorCode: .protocolError, lastStream: .highest)), onNth: 0),
        .streams(1), .noStreams, .streams(2),
        .act(.settings(HTTP2SettingsChange(initialWindowByteCount: 1, headerTableByteCount: 0)), onNth: nil),
        .act(.settings(HTTP2SettingsChange(initialWindowByteCount: 65_535, headerTableByteCount: 4_096)), onNth: nil),
        .act(.settings(HTTP2SettingsChange(initialWindowByteCount: 0)), onNth: 0),
        .act(.silence, onNth: 0), .act(.starve, onNth: 0), .act(.slowReads(bytesPerSecond: 20_000), onNth: 0),
        .act(.ping, onNth: nil),
        .act(.cut, onNth: 0), .act(.reset, onNth: nil), .act(.cutMidRecord, onNth: 0), .act(.close, onNth: nil),
        .act(.frames(.empty), onNth: nil), .act(.frames(.unknown), onNth: 0), .act(.frames(.window), onNth: nil),
        .act(.frames(.giant), onNth: 0), .act(.frames(.emptyPing), onNth: 0), .act(.frames(.pushPromise), onNth: 0),
        .act(.frames(.settingsOnStream), onNth: 0), .act(.frames(.dataOnConnection), onNth: 0),
        .act(.frames(.windowOverflow), onNth: 0), .act(.frames(.windowZero), onNth: 0),
        .act(.frames(.continuation), onNth: 0), .act(.frames(.headersUnasked), onNth: 0),
        .act(.frames(.garbage), onNth: nil),
        .outage(refusals: 2), .halfOpen, .latency(30),
    ]
}
