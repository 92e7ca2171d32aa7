import APNSProtocol
import PushModel

/// A request about a kept channel: its creation, reading, listing or deletion, or a broadcast on it. The request takes
/// time to reach Apple, and the answer takes time to reach the worker.
struct KeptRequest {
    var worker: Int
    var id: PushID
    var kind: RequestKind
    var home: KeptHome
    /// Id of the channel. It is empty if the request names none.
    var channel: String
    /// Whether the channel to be created stores its most recent message.
    var stores = false
    /// Body of the request if it is a broadcast.
    var body: [UInt8] = []
    var priority = 0
    var expirationSeconds: Int64 = 0
    /// When the request left, by the steady clock.
    var leftMillis: Int64
    /// When Apple gets the request, by the steady clock.
    var arrivesMillis: Int64
    /// When the worker gets the answer, by the steady clock.
    var answersMillis: Int64
    /// Whether Apple has carried out the request, or never will, because the request was refused or is lost.
    var isOver = false
    /// The answer that the worker gets. `nil`: Apple decides it when the request arrives.
    var result: PushAnswer.Result?
    /// Whether the worker has got the answer, or will never get one.
    var isAnswered = false
}
