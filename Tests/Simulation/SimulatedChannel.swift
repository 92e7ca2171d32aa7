import APNSProtocol
import DeviceModel

/// A broadcast channel: what APNs stores of it, what the judge remembers of its broadcasts, and a second phone that
/// listens.
struct SimulatedChannel {
    /// Whether the channel keeps the most recent message (policy 1).
    var stores: Bool
    /// A second phone that listens and is sometimes off. The first phone, `SimulatedPhone.device`, is always on.
    var sleeper = Device()
    var isSleeperOn = true
    /// The message that APNs keeps for phones that are off, and the time at which APNs drops it.
    var stored: (body: [UInt8], priority: Int, untilSeconds: Int64)?
    /// The newest messages that the phone that is always on has shown.
    var newest = NewestMessages()
    /// The newest messages that the sleeper has got.
    var sleeperNewest = NewestMessages()
    /// By worker: departure time of the last broadcast after which the minimum distance must be kept, in steady time.
    var departures: [Int: Int64] = [:]
    /// When a worker got its latest answer, if that answer had status 429, by worker, in steady time.
    var refusals: [Int: Int64] = [:]
    /// Workers that APNs has told the channel's storage policy, and that have not lost or forgotten the channel since.
    var answeredWorkers: Set<Int> = []
}

/// The newest message of a channel, and its newest message with content. Stamp and body together identify a message. A
/// stamp alone does not, because a channel that begins again after its end may reach the same stamp again.
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

/// A worker's request for a channel's storage policy, with the answer that it will get.
struct ChannelQuestion {
    var worker: Int
    var activity: Int
    var answer: PushAnswer
    var answersMillis: Int64
}
