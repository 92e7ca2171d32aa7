import DeviceModel
import PushModel

/// One life of an audience as the outside world sees it: the versions that its phones were sent.
struct SimulatedAudience {
    /// Index into `SimulationPlan.apps`.
    let app: UInt16
    /// The audience's first life, as an index into the world's phones. `state` and records use one name for all lives.
    let first: Int
    /// The event that started it, as an index into the world's order.
    var start: Int?
    /// Where and when each `end` was written, steady.
    var ends: [(position: SourcePosition, millis: Int64)] = []
    /// Whether a version left some partition after a newer one, because its alert did not fit there.
    var hasGoneBack = false
    /// Versions by stamp.
    var versions: [Int64: Version] = [:]
    /// By partition: when pushes of any version left; each list grows.
    var departures: [Int32: [Int64]] = [:]
    /// By partition: when the last push with priority 10 left.
    var lastHighMillis: [Int32: Int64] = [:]
    /// By event with an alert: where and when its first push left.
    var alertDepartures: [Int: [Int32: Int64]] = [:]

    struct Version {
        /// The body as it left for a member that gets it without the alert.
        var body: [UInt8]
        /// The event that made the version, as an index into the world's order, and the event whose content it brings.
        /// An end may bring the content of the event before.
        var event: Int?
        var content: Int?
        var isUpdate: Bool
        /// Whether the owner may not have known what the one before had sent.
        var isBehind: Bool
        /// When its first push left, steady.
        var first: [Place: Int64] = [:]
    }
    /// Where pushes of one version leave: a partition, for as long as one worker has it.
    struct Place: Hashable {
        var partition: Int32
        var worker: Int
        /// Number of partitions that had been assigned to the worker until then.
        var assignment: Int
    }
}

/// A token that joins audiences.
struct SimulatedMember {
    /// Lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// Whether APNs no longer takes the token.
    var isDead = false
    /// Whether APNs was asked since, and refused the token.
    var isRefused = false
    /// Joins and leaves, in the order of the token's log.
    var movements: [Movement] = []
    /// By audience, in one life: what the phone shows of it. A phone that returns to an audience has the card that it
    /// had.
    var cards: [Int: MemberCard] = [:]
    /// By worker: when the last push left that APNs looked at.
    var departures: [Int: Int64] = [:]
    var tens: [Ten] = []
    /// By worker: the last movement that it has read since the partition was assigned to it.
    var lastRead: [Int: Int] = [:]
    /// The newest movement that the last reader has read.
    var newestRead: Int?

    struct Movement {
        var position: SourcePosition
        /// The audience that the member is in from here on, in one life; `nil`: none.
        var audience: Int?
        var isFrequent: Bool
        /// When the movement was written, and when its offset was committed, steady.
        var writtenMillis: Int64
        var committedMillis: Int64?
        /// Whether the member enters another audience, or enters one again, from here on.
        var isArrival: Bool
        /// The channel that the member is reported to listen on from here on.
        var channel: String?
    }

    /// A push with priority 10 that counts as spent.
    struct Ten {
        var worker: Int
        var id: PushID
        /// When the phone got it, or when it left, steady.
        var atMillis: Int64
        /// How far clocks had been set ahead then.
        var aheadMillis: Int64
    }

    /// By audience, in one life: the channel that its card listens on, whether that was reported or not.
    var listening: [Int: String] = [:]
    /// Whether its app reports the channel.
    var saysChannel = false
    /// Whether the phone stopped listening before that could be known.
    var mayMissAlerts = false
    /// Broadcasts that the phone heard, and pushes that it got by its token. Audiences may have versions with equal
    /// stamps, and a phone may listen to an audience that it has left.
    var heard: [SimulationWorld.VersionName: Int] = [:]
    var got: [SimulationWorld.VersionName: Int] = [:]

    /// The last push that left for the member.
    var service: Service?

    struct Service {
        var audience: Int
        var place: SimulatedAudience.Place
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

    /// Where the present stay begins: rejoins do not begin another.
    var arrival: Movement? { self.movements.last { $0.isArrival } }
}

/// What one phone shows of one audience.
struct MemberCard {
    var device = Device()
    /// What the phone would show if no push brought an alert.
    var silent = Device()
    /// The newest stamp that the phone took from a living owner, and the owner and push that sent it. Also how much the
    /// judge had seen when that worker heard so.
    var newestStamp = Int64.min
    var newestStampWorker = -1
    var newestStampPush: PushID?
    var newestStampHeardAt = Int.max
    /// Alerts that left for the phone, in order, by their events. Alerts that are known not to have arrived are left
    /// out.
    var alerts: [Int: [AlertPush]] = [:]
    /// Events that the phone has shown, without those whose alert alone arrived.
    var shown: Set<Int> = []
    /// Events whose alerts the phone has shown, in order.
    var alertsShown: [Int] = []

    struct AlertPush {
        var worker: Int
        var id: PushID
        /// How often partitions had changed hands.
        var moves: Int
        /// Whether the worker knows that APNs took the push.
        var isAccepted = false
        /// Whether the worker knows that the push has no known answer.
        var isUnknown = false
    }
}
