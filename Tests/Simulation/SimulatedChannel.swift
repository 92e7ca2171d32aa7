import APNSProtocol
import DeviceModel

/// What APNs has of a channel, what the judge remembers of its broadcasts, and a second phone that listens.
struct SimulatedChannel {
    /// Whether the channel keeps the most recent message (policy 1).
    var stores: Bool
    /// The phone that is off now and then; the activity's own phone is always on.
    var sleeper = Device()
    var isSleeperOn = true
    /// The message that APNs keeps for phones that are off.
    var stored: (body: [UInt8], priority: Int, untilSeconds: Int64)?
    /// The newest messages that APNs has taken.
    var newest = NewestMessages()
    /// The newest messages that the sleeper has got.
    var sleeperNewest = NewestMessages()
    /// When the last broadcast left that APNs looked at, by worker, in steady time.
    var departures: [Int: Int64] = [:]
    /// When the worker last got a 429, by worker, in steady time.
    var refusals: [Int: Int64] = [:]
    /// Workers that have an answer about what the channel keeps.
    var answeredWorkers: Set<Int> = []
}

/// The newest of some messages. A stamp alone does not name a message. A channel that was forgotten after its end
/// begins again, and may reach the end's stamp again.
struct NewestMessages: Equatable {
    struct Message: Equatable {
        var stampSeconds: Int64 = 0
        var body: [UInt8] = []
    }
    var any = Message()
    var withContent = Message()

    mutating func remember(_ body: [UInt8]) {
        let text = String(decoding: body, as: UTF8.self)
        guard let range = text.firstRange(of: "\"timestamp\":") else { return }
        let stampSeconds = Int64(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
        let message = Message(stampSeconds: stampSeconds, body: body)
        if stampSeconds > self.any.stampSeconds { self.any = message }
        if text.contains("\"content-state\":"), stampSeconds > self.withContent.stampSeconds {
            self.withContent = message
        }
    }
}

/// A question about a channel that is on its way, or its answer.
struct ChannelQuestion {
    var worker: Int
    var activity: Int
    var answer: PushAnswer
    var answersMillis: Int64
}
