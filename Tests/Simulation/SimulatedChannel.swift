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
    /// The sleeper was off when the last message came, and has not got it.
    var sleeperMissedLast = false
    /// By worker: when its last broadcast left that APNs looked at, and when it last heard that there were too many; steady, the world's.
    var departures: [Int: Int64] = [:]
    var refusals: [Int: Int64] = [:]
    /// Workers that have been told what it keeps.
    var toldWorkers: Set<Int> = []
}

/// A question about a channel on its way, and its answer.
struct ChannelQuestion {
    var worker: Int
    var activity: Int
    var answer: PushAnswer
    var answersMillis: Int64
}
