public import APNSProtocol

/// A shard's way to APNs, as its loop uses it. Its methods are called on the shard's loop, within a turn. The push side
/// requests a turn when it has answers, or credit that a push waits for.
public protocol PushSide: AnyObject {
    /// Removes the answers that have arrived. Each push is answered exactly once.
    /// - Parameter answers: empty; its capacity is reused.
    func takeAnswers(into answers: inout [PushAnswer])

    /// Passes requests to `fill` one after the other, and sends each request that `fill` has filled. It stops after
    /// `max` requests, without credit on the route, or when `fill` returns `false`. `fill` must set every field.
    /// - Returns: number of requests filled.
    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int

    /// Asks for credit on the route, because pushes wait for it.
    func wantsCredit(route: UInt16)

    /// Ends the turn, so that the submitted requests leave.
    func flush()
}
