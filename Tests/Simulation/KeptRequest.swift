import APNSProtocol
import PushModel

/// A request about a channel that is kept, or a broadcast on one, on its way to Apple and back.
struct KeptRequest {
    var worker: Int
    var id: PushID
    var kind: RequestKind
    var home: KeptHome
    /// The channel's id; empty: the request names none.
    var channel: String
    /// Whether the channel to be created stores messages.
    var stores = false
    /// Body of a broadcast.
    var body: [UInt8] = []
    var priority = 0
    var expirationSeconds: Int64 = 0
    /// When the request left, steady.
    var leftMillis: Int64
    /// When Apple gets the request, and when the answer arrives.
    var arrivesMillis: Int64
    var answersMillis: Int64
    /// Whether the request has reached Apple, or never will.
    var isOver = false
    /// The worker's answer; `nil`: what Apple says when it gets the request.
    var result: PushAnswer.Result?
    /// Whether the worker has its answer, or nobody will get one.
    var isAnswered = false
}
