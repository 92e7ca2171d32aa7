import APNSProtocol
import PushModel

/// A request about a channel that is kept, or a broadcast on one, on its way to Apple and back.
struct KeptRequest {
    var worker: Int
    var id: PushID
    var kind: RequestKind
    var home: KeptHome
    /// Empty where none is named.
    var channel: String
    /// Whether the channel to be created stores messages.
    var stores = false
    /// Body of a broadcast.
    var body: [UInt8] = []
    var priority = 0
    var expirationSeconds: Int64 = 0
    /// When it left, steady.
    var leftMillis: Int64
    /// When Apple gets it, and when the answer comes.
    var arrivesMillis: Int64
    var answersMillis: Int64
    /// It came to Apple, or never will.
    var isOver = false
    /// What the worker hears; `nil`: what Apple says when it gets it.
    var result: PushAnswer.Result?
    /// The worker has heard, or nobody will.
    var isAnswered = false
}
