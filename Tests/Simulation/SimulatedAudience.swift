import DeviceModel
import PushModel

/// One life of an audience as the outside world sees it: the versions that its phones were sent.
struct SimulatedAudience {
    /// Index into `SimulationPlan.apps`.
    let app: UInt16
    /// The audience's first life, as an index into the world's phones. `state` and records use one name for all lives.
    let first: Int
    /// Index of the start event in the world's order; `nil`: the audience is not started.
    var start: Int?
    /// Where and when each `end` was written, by the steady clock.
    var ends: [(position: SourcePosition, millis: Int64)] = []
    /// Whether some partition pushed an older version after a newer one, because the alert did not fit into the newer
    /// one.
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
        /// The body for members that get the version without its alert.
        var body: [UInt8]
        /// The event that made the version, as an index into the world's order. `content` may be another, because an
        /// end may bring the content of an earlier event.
        var event: Int?
        var content: Int?
        var isUpdate: Bool
        /// Whether the version's owner may not have known what the former owner had sent.
        var isBehind: Bool
        /// When the version's first push left under each tenure, by the steady clock.
        var first: [Tenure: Int64] = [:]
    }
    /// One worker's ownership of a partition, during which it pushes a version.
    struct Tenure: Hashable {
        var partition: Int32
        var worker: Int
        /// Number of the assignment that gave the partition to the worker.
        var assignment: Int
    }
}

/// A token that joins audiences.
struct SimulatedMember {
    /// The token, in lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// Whether APNs no longer takes the token.
    var isDead = false
    /// Whether APNs was asked after the token died, and has refused it.
    var isRefused = false
    /// Joins and leaves, in the order of the token's log.
    var movements: [Movement] = []
    /// What the phone shows of each audience, by the audience's life. A phone that returns to an audience still has its
    /// card.
    var cards: [Int: MemberCard] = [:]
    /// When the last push left that APNs looked at, by worker.
    var departures: [Int: Int64] = [:]
    var tens: [Ten] = []
    /// The last movement that each worker has read since the partition was assigned to it, by worker.
    var lastRead: [Int: Int] = [:]
    /// Index of the movement that was read last, by any worker.
    var newestRead: Int?

    struct Movement {
        var position: SourcePosition
        /// The audience, in one life, that the member is in from this movement on. `nil`: none.
        var audience: Int?
        var isFrequent: Bool
        /// When the movement was written, by the steady clock.
        var writtenMillis: Int64
        /// When the movement's offset was committed, by the steady clock.
        var committedMillis: Int64?
        /// Whether the member enters an audience with this movement, for the first time or again.
        var isArrival: Bool
        /// The channel that the member is reported to listen on from this movement on.
        var channel: String?
    }

    /// A push with priority 10 that counts as spent.
    struct Ten {
        var worker: Int
        var id: PushID
        /// When the phone got the push, by the steady clock. Until then, when the push left.
        var atMillis: Int64
        /// How far clocks had been set ahead at that time.
        var aheadMillis: Int64
    }

    /// The channel that the phone's card of each audience listens on, reported or not, by the audience's life.
    var listening: [Int: String] = [:]
    /// Whether the phone's app reports the channel.
    var saysChannel = false
    /// Whether the phone stopped listening before workers knew that, so that it may miss alerts.
    var mayMissAlerts = false
    /// Number of broadcasts that the phone heard, by version. Audiences may have equal stamps, and a phone may listen
    /// to an audience that it has left.
    var heard: [SimulationWorld.VersionName: Int] = [:]
    /// Number of pushes that the phone got by token, by version.
    var got: [SimulationWorld.VersionName: Int] = [:]

    /// The last push that left for the member.
    var service: Service?

    struct Service {
        var audience: Int
        var tenure: SimulatedAudience.Tenure
        var id: PushID
        var millis: Int64
        var stampSeconds: Int64
        /// Whether the round had reached the member.
        var isInTurn = false
        /// When the worker heard that APNs took the push.
        var acceptedMillis: Int64?
    }

    var movement: Movement? { self.movements.last }
    /// The audience that the member is in by the upstream service's records, in one life.
    var audience: Int? { self.movements.last?.audience }

    /// The join with which the present stay began. Rejoins do not begin another stay.
    var arrival: Movement? { self.movements.last { $0.isArrival } }
}

/// What one phone shows of one audience.
struct MemberCard {
    var device = Device()
    /// What the phone would show if no push brought an alert.
    var silent = Device()
    /// The newest stamp that the phone took from a living owner.
    var newestStamp = Int64.min
    /// The owner that sent `newestStamp`.
    var newestStampWorker = -1
    /// The push that brought `newestStamp`.
    var newestStampPush: PushID?
    /// Sequence number of the judge's evidence when the owner heard that this push had arrived.
    var newestStampHeardAt = Int.max
    /// Pushes with alerts that left for the phone, in order, by the alert's event. Alerts that are known not to have
    /// arrived are left out.
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
        /// Whether the worker has given the push up as one without an answer.
        var isUnknown = false
    }
}
