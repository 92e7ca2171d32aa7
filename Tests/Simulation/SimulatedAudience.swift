import DeviceModel
import PushModel

/// One life of an audience as phones and publishers see it: its start, its ends, and the versions that were sent.
struct SimulatedAudience {
    /// Index into `SimulationPlan.apps`.
    let app: UInt16
    /// Index of the audience's first life in `SimulationWorld.phones`. Records in Kafka have one name for all lives of
    /// an audience.
    let first: Int
    /// Index of the audience's start event in the world's order. `nil`: the audience has no start event.
    var start: Int?
    /// Where each `end` was written, and when, by the steady clock.
    var ends: [(position: SourcePosition, millis: Int64)] = []
    /// Whether some partition pushed an older version after a newer one. This is allowed if the newer version has
    /// expired, or has no room for the older version's alert.
    var hasGoneBack = false
    /// Versions by stamp.
    var versions: [Int64: Version] = [:]
    /// Times at which pushes of any version left, by partition, in ascending order.
    var departures: [Int32: [Int64]] = [:]
    /// When the last push with priority 10 left, by partition.
    var lastHighMillis: [Int32: Int64] = [:]
    /// When the first push with an event's alert left, by event and partition.
    var alertDepartures: [Int: [Int32: Int64]] = [:]

    struct Version {
        /// The version's body without its alert.
        var body: [UInt8]
        /// The event that made the version, as an index into the world's order.
        var event: Int?
        /// The event whose content the version has, as an index into the world's order. It is an earlier event if
        /// `event` is an end without content.
        var content: Int?
        var isUpdate: Bool
        /// Whether the audience's owner, when it made the version, may not have known what the former owner had sent.
        var isBehind: Bool
        /// When the version's first push left, by tenure, on the steady clock.
        var first: [Tenure: Int64] = [:]
    }
    /// The time for which one worker owns a partition after one assignment.
    struct Tenure: Hashable {
        var partition: Int32
        var worker: Int
        /// Number of the assignment with which the tenure began.
        var assignment: Int
    }
}

/// A device token that joins audiences, and the phone behind it.
struct SimulatedMember {
    /// The token, in lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// Whether APNs no longer takes the token.
    var isDead = false
    /// Whether a worker has sent a push to the dead token, and APNs has refused it.
    var isRefused = false
    /// The token's joins and leaves, in the order of the log.
    var movements: [Movement] = []
    /// The card that the phone shows of each audience, by the audience's life. The phone keeps its card when it leaves
    /// the audience, and still has it if it returns.
    var cards: [Int: MemberCard] = [:]
    /// By worker: departure time of the last push to the token that may have reached the phone.
    var departures: [Int: Int64] = [:]
    var tens: [Ten] = []
    /// Index of the last movement that each worker has read since it got the partition, by worker.
    var lastRead: [Int: Int] = [:]
    /// Index of the movement that was read last, by any worker.
    var newestRead: Int?

    struct Movement {
        var position: SourcePosition
        /// The life of an audience that the member belongs to after this movement. `nil`: the member belongs to none.
        var audience: Int?
        var isFrequent: Bool
        /// When the movement was written, by the steady clock.
        var writtenMillis: Int64
        /// When the movement's offset was committed, by the steady clock.
        var committedMillis: Int64?
        /// Whether the member joins an audience that it did not belong to just before.
        var isArrival: Bool
        /// The channel on which the member listens, as the movement's record says.
        var channel: String?
    }

    /// A push of priority 10 that counts as spent.
    struct Ten {
        var worker: Int
        var id: PushID
        /// When the phone got the push, by the steady clock. While that is not known: when the push left.
        var atMillis: Int64
        /// Total time by which all clocks had been set ahead when the push left, in milliseconds.
        var aheadMillis: Int64
    }

    /// The channel on which the phone listens for each audience's card, by the audience's life. The app may not have
    /// reported it.
    var listening: [Int: String] = [:]
    /// Whether the phone's app reports the channel when it joins.
    var saysChannel = false
    /// Whether the phone stopped listening before workers could know of that. Such a phone may miss alerts.
    var mayMissAlerts = false
    /// Number of broadcasts that the phone heard, by version. The key names the audience too, because stamps of two
    /// audiences can be equal. A phone may listen to two audiences, because it may still listen to one that it has
    /// left.
    var heard: [SimulationWorld.VersionName: Int] = [:]
    /// Number of pushes that the phone got through its token, by version.
    var got: [SimulationWorld.VersionName: Int] = [:]

    /// The last push that left for the member.
    var service: Service?

    struct Service {
        var audience: Int
        var tenure: SimulatedAudience.Tenure
        var id: PushID
        var millis: Int64
        var stampSeconds: Int64
        /// Whether the push counts as part of a round.
        var isInTurn = false
        /// When the worker got the answer that APNs took the push.
        var acceptedMillis: Int64?
    }

    var movement: Movement? { self.movements.last }
    /// The life of an audience that the member belongs to, according to the upstream service's records. `nil`: it
    /// belongs to none.
    var audience: Int? { self.movements.last?.audience }

    /// The join with which the member's present stay in its audience began. Later joins to the same audience do not
    /// count.
    var arrival: Movement? { self.movements.last { $0.isArrival } }
}

/// What one phone shows of one audience.
struct MemberCard {
    var device = Device()
    /// What the phone would show if no push had an alert.
    var silent = Device()
    /// The newest stamp that the phone has taken from a worker that owned the partition at that moment.
    var newestStamp = Int64.min
    /// Number of the worker that sent the push with `newestStamp`.
    var newestStampWorker = -1
    /// The push that brought `newestStamp`.
    var newestStampPush: PushID?
    /// Sequence number of the judge's evidence when the worker heard that APNs had taken `newestStampPush`. `.max`: it
    /// has not heard that.
    var newestStampHeardAt = Int.max
    /// Pushes with alerts that left for the phone, in order, by the alert's event. A push is removed when it is certain
    /// that it did not arrive.
    var alerts: [Int: [AlertPush]] = [:]
    /// Events whose content the phone has shown.
    var shown: Set<Int> = []
    /// Events whose alerts the phone has shown, in order.
    var alertsShown: [Int] = []

    struct AlertPush {
        var worker: Int
        var id: PushID
        /// How often partitions had changed hands when the push left.
        var moves: Int
        /// Whether the worker knows that APNs took the push.
        var isAccepted = false
        /// Whether the worker treats the push as one whose answer will stay unknown.
        var isUnknown = false
    }
}
