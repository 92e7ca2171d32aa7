import PushEngine
import PushModel

/// A phone with a push-to-start token: a member of any number of audiences, whose starts put up cards.
struct SimulatedStarter {
    /// Lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// Whether the phone can have a channel beside its token.
    let isChannelCapable: Bool
    /// Whether APNs no longer takes the token.
    var isDead = false
    /// Joins and leaves that the app reported, in the order of its log.
    var movements: [Movement] = []
    /// Index of the last movement that each worker has read since it got the partition, by worker.
    var lastRead: [Int: Int] = [:]
    /// Index of the movement that was read last, by any worker.
    var newestRead: Int?
    /// Pushes that left for each start event, by the event's index in the world's order.
    var pushes: [Int: [Push]] = [:]
    /// Number of cards that each start event has put up, by the event's index in the world's order.
    var cards: [Int: Int] = [:]
    /// Starts of the last hour that left and were not refused, by start event. A start that was sent twice counts from
    /// its last push.
    var spent: [Int: SimulatedMember.Ten] = [:]

    struct Movement {
        var position: SourcePosition
        /// The audience, in one life, that is joined or left; `nil`: all are left.
        var audience: Int?
        var isJoin: Bool
        /// Steady times at which the movement was written, and at which its offset was committed.
        var writtenMillis: Int64
        var committedMillis: Int64?
    }

    struct Push {
        var worker: Int
        var id: PushID
        /// Number of the assignment that gave the partition to its worker.
        var assignment: Int
        var leftMillis: Int64
        var end = End.open

        enum End { case open, accepted, refused, unknown }
    }
}
