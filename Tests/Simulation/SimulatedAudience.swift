import DeviceModel
import PushModel

/// One life of an audience as the world outside sees it: the versions that its phones were sent.
struct SimulatedAudience {
    /// Index into `SimulationPlan.apps`.
    let app: UInt16
    /// Its first life, as an index into the world's phones: `state` and records name all of them alike.
    let first: Int
    /// The event that started it, as an index into the world's order.
    var start: Int?
    /// Where and when each `end` was written, steady.
    var ends: [(position: SourcePosition, millis: Int64)] = []
    /// A version left some partition after a newer one, as its alert did not fit there.
    var hasGoneBack = false
    /// By stamp.
    var versions: [Int64: Version] = [:]
    /// By partition: when pushes left that brought any of them; each list grows.
    var departures: [Int32: [Int64]] = [:]
    /// By partition: when a push with priority 10 left last.
    var lastHighMillis: [Int32: Int64] = [:]
    /// By event that brought an alert: where and when its first push left.
    var alertDepartures: [Int: [Int32: Int64]] = [:]

    struct Version {
        /// As it left for a member whose alert it does not bring.
        var body: [UInt8]
        /// The event that made it, as an index into the world's order, and the one whose content it brings: an end may bring that of the one
        /// before.
        var event: Int?
        var content: Int?
        var isUpdate: Bool
        /// Its owner may not have known what the one before had sent.
        var isBehind: Bool
        /// When its first push left, steady.
        var first: [Place: Int64] = [:]
    }
    /// Where pushes of one version leave: a partition as long as one worker has it.
    struct Place: Hashable {
        var partition: Int32
        var worker: Int
        /// Counts the worker's partitions that came to it.
        var assignment: Int
    }
}

/// A token that joins audiences.
struct SimulatedMember {
    /// Lower-case hex.
    let token: String
    let keyBytes: [UInt8]
    let isDevelopment: Bool
    /// APNs takes it no more.
    var isDead = false
    /// APNs was asked since, and said so.
    var isRefused = false
    /// What it was told, in the order of its log.
    var movements: [Movement] = []
    /// By audience, in one life: what the phone shows of it. A phone that comes back to an audience has the card that it had.
    var cards: [Int: MemberCard] = [:]
    /// By worker: when its last push left that APNs looked at.
    var departures: [Int: Int64] = [:]
    var tens: [Ten] = []
    /// By worker: the last movement that it has read since the partition came to it.
    var lastRead: [Int: Int] = [:]
    /// The newest that the last reader has read.
    var newestRead: Int?

    struct Movement {
        var position: SourcePosition
        /// The audience it is in from here on, in one life; `nil`: none.
        var audience: Int?
        var isFrequent: Bool
        /// When it was written, and when its offset was committed, steady.
        var writtenMillis: Int64
        var committedMillis: Int64?
        /// It is in another audience, or in one again, from here on.
        var isArrival: Bool
        /// The channel that it is said to listen on from here on.
        var channel: String?
    }

    /// A push with priority 10 that is out.
    struct Ten {
        var worker: Int
        var id: PushID
        /// When the phone got it, or when it left, steady.
        var atMillis: Int64
        /// How far clocks had been set ahead then.
        var aheadMillis: Int64
    }

    /// By audience, in one life: the channel that its card listens on, whether that was told or not.
    var listening: [Int: String] = [:]
    /// Its app tells of it.
    var saysChannel = false
    /// It has listened no more before that could be known.
    var mayMissAlerts = false
    /// Broadcasts that it heard, and pushes that it got by its token. Audiences may have versions of the same stamp, and it may listen to one
    /// that it has left.
    var heard: [SimulationWorld.VersionName: Int] = [:]
    var got: [SimulationWorld.VersionName: Int] = [:]

    /// The last push that left for it.
    var service: Service?

    struct Service {
        var audience: Int
        var place: SimulatedAudience.Place
        var id: PushID
        var millis: Int64
        var stampSeconds: Int64
        /// The round had come to it.
        var isInTurn = false
        /// When its worker heard that APNs took it.
        var acceptedMillis: Int64?
    }

    var movement: Movement? { self.movements.last }
    /// The audience that the upstream service has it in, in one life.
    var audience: Int? { self.movements.last?.audience }

    /// Where its present stay begins: rejoins do not begin another.
    var arrival: Movement? { self.movements.last { $0.isArrival } }
}

/// What one phone shows of one audience.
struct MemberCard {
    var device = Device()
    /// What the phone would show had no push brought an alert.
    var silent = Device()
    /// The newest stamp that the phone took from a living owner, the owner and push that sent it, and how much the judge had seen when that
    /// worker heard so.
    var newestStamp = Int64.min
    var newestStampWorker = -1
    var newestStampPush: PushID?
    var newestStampHeardAt = Int.max
    /// Alerts that left for the phone, by the event that brought each, in order. Alerts that are known not to have arrived are left out.
    var alerts: [Int: [AlertPush]] = [:]
    /// Events that the phone has shown, without those where only the alert came.
    var shown: Set<Int> = []
    /// Events whose alerts it has shown, in order.
    var alertsShown: [Int] = []

    struct AlertPush {
        var worker: Int
        var id: PushID
        /// How often partitions had changed hands.
        var moves: Int
        /// It is known to its worker that APNs took it.
        var isAccepted = false
        /// Its worker has heard that nobody knows.
        var isUnknown = false
    }
}
