public import APNSProtocol

/// A shard's way to APNs, as its loop sees it. It is called on the shard's loop, within a turn. It asks for a turn when
/// it has answers, or credit that a push waits for.
public protocol PushSide: AnyObject {
    /// Removes the answers that have arrived, each push's exactly once. `answers` is empty; its capacity is reused.
    func takeAnswers(into answers: inout [PushAnswer])

    /// Passes requests to `fill` one after the other, and sends each that it has filled: at most `max`, as long as
    /// there is credit on the route and `fill` returns `true`. `fill` must set every field.
    /// - Returns: number of requests filled.
    func submit(route: UInt16, max: Int, fill: (inout PushRequest) -> Bool) -> Int

    /// Asks for credit on the route, because pushes wait for it.
    func wantsCredit(route: UInt16)

    /// Ends the turn: the submitted requests leave.
    func flush()
}
