import PushEngine
import PushModel

/// A phone with a push-to-start token, which can belong to any number of audiences. A start of an audience puts up a
/// card on it.
struct SimulatedStarter {
    /// The push-to-start token, in lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// Whether the phone can listen on a channel for the card that a start puts up.
    let isChannelCapable: Bool
    /// Whether APNs no longer takes the token.
    var isDead = false
    /// The token's joins and leaves, in the order of the log.
    var movements: [Movement] = []
    /// Index of the last movement that each worker has read since it got the partition, by worker.
    var lastRead: [Int: Int] = [:]
    /// Index of the movement that was read last, by any worker.
    var newestRead: Int?
    /// Pushes that left for each start event, by the event's index in the world's order.
    var pushes: [Int: [Push]] = [:]
    /// Number of cards that each start event has put up, by the event's index in the world's order.
    var cards: [Int: Int] = [:]
    /// Starts of the last hour that left and were not refused, by the start event's index. A start that was sent twice
    /// counts from its last push.
    var spent: [Int: SimulatedMember.Ten] = [:]

    struct Movement {
        var position: SourcePosition
        /// The life of an audience that the phone joins or leaves. `nil`: it leaves all audiences.
        var audience: Int?
        var isJoin: Bool
        /// When the movement was written, by the steady clock.
        var writtenMillis: Int64
        /// When the movement's offset was committed, by the steady clock. `nil`: it is not committed yet.
        var committedMillis: Int64?
    }

    struct Push {
        var worker: Int
        var id: PushID
        /// Number of the assignment that gave the partition to the worker.
        var assignment: Int
        var leftMillis: Int64
        var end = End.open

        enum End { case open, accepted, refused, unknown }
    }
}
