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
    /// By worker: the last movement that it has read since the partition was assigned to it.
    var lastRead: [Int: Int] = [:]
    /// The newest movement that the last reader has read.
    var newestRead: Int?
    /// By start event, as an index into the world's order: pushes that left for it.
    var pushes: [Int: [Push]] = [:]
    /// By start event, as an index into the world's order: number of cards that it has put up.
    var cards: [Int: Int] = [:]
    /// Starts that left and were not refused, within the last hour. Starts that were sent twice have their last push
    /// here.
    var spent: [Int: SimulatedMember.Ten] = [:]

    struct Movement {
        var position: SourcePosition
        /// The audience, in one life, that is joined or left; `nil`: all are left.
        var audience: Int?
        var isJoin: Bool
        /// When the movement was written, and when its offset was committed, steady.
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
