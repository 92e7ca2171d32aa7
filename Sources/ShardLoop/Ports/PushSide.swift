public import APNSProtocol

/// A shard's way to APNs, as its loop sees it. Called on the shard's loop, within a turn. When it has answers, or credit that a push waits
/// for, it asks for a turn.
public protocol PushSide: AnyObject {
    /// Takes out the answers that have come, each push's exactly once. `answers` is empty; its capacity is left for the next ones.
    func takeAnswers(into answers: inout [PushAnswer])

    /// Lends a request to `fill` again and again, which fills it whole and returns `true`, and puts it on its way: at most `max`, as long as
    /// there is credit on the route and `fill` does not return `false`.
    /// - Returns: how many were filled.
    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int

    /// Pushes wait for credit on the route.
    func wantsCredit(route: UInt16)

    /// The turn is over: what was submitted leaves.
    func flush()
}
