import APNSProtocol
import DeviceModel

/// What APNs has of a channel, what the judge knows of its broadcasts, and a second phone that listens.
struct SimulatedChannel {
    /// It keeps the most recent message (policy 1).
    var stores: Bool
    /// Off now and then; the activity's own phone is always on.
    var sleeper = Device()
    var isSleeperOn = true
    /// What APNs keeps for phones that are off.
    var stored: (body: [UInt8], priority: Int, untilSeconds: Int64)?
    /// The newest stamp that APNs has taken, of any message and of those with a content-state; and what the sleeper has got of both.
    var newest = Stamps()
    var sleeperNewest = Stamps()
    /// By worker: when its last broadcast left that APNs looked at, and when it last heard that there were too many; steady, the world's.
    var departures: [Int: Int64] = [:]
    var refusals: [Int: Int64] = [:]
    /// Workers that have been told what it keeps.
    var toldWorkers: Set<Int> = []
}

/// Stamps of messages.
struct Stamps: Equatable {
    var any: Int64 = 0
    var withContent: Int64 = 0

    mutating func note(_ body: [UInt8]) {
        let text = String(decoding: body, as: UTF8.self)
        guard let range = text.firstRange(of: "\"timestamp\":") else { return }
        let stamp = Int64(text[range.upperBound...].prefix { $0.isNumber }) ?? 0
        self.any = max(self.any, stamp)
        if text.contains("\"content-state\":") { self.withContent = max(self.withContent, stamp) }
    }
}

/// A question about a channel on its way, and its answer.
struct ChannelQuestion {
    var worker: Int
    var activity: Int
    var answer: PushAnswer
    var answersMillis: Int64
}
