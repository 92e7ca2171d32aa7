import DeviceModel
import PushEngine

/// One activity as the world outside sees it: the phone behind its tokens, and the upstream service that writes its events.
struct SimulatedPhone {
    var key: String
    var device = Device()
    /// The token APNs takes for this activity now; `nil` before the app has one.
    var token: String?
    var startToken: String?
    var hasFrequentUpdates = false
    /// Updates were written before there was any token: the app started this activity itself.
    var hasEvents = false
    var hasStarted = false
    var tokenCount = 0
    /// Time of the newest event written, seconds; the next is drawn around it.
    var lastEventSeconds: Int64
}

/// One event as it was written, for the judge.
struct WrittenEvent {
    enum Kind { case register, start, update, end, malformed }
    var kind: Kind
    var activity: Int
    var timestampSeconds: Int64
    /// The payload this event alone would have become.
    var body: String
    var isHighPriority: Bool
}
