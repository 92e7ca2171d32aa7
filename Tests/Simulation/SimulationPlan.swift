import PushEngine
import PushModel

/// Everything that a seed decides about a run: how often things happen, and which faults occur. In some plans a fault
/// never occurs, and in others it is frequent.
package struct SimulationPlan {
    var activities: Int
    var partitions: Int32
    var events: Int
    /// Greatest number of milliseconds between events. A small number makes bursts.
    var gapMillisMax: Int64
    var misplacedPercent: Int
    var malformedPercent: Int
    var failurePercent: Int
    var lostAnswerPercent: Int
    var notProcessedPercent: Int
    var refusedMessagePercent: Int
    var slowAnswerPercent: Int
    var rotationPercent: Int
    /// Percentage of events at which the activity's token dies without a successor. The app may upload another token
    /// later.
    var deadTokenPercent: Int
    /// Percentage of pushes that APNs answers with 410 and a time before the token's registration.
    var staleVerdictPercent: Int
    /// Whether all outcomes are published. Otherwise only outcomes of pushes are published, and the plan leaves out all
    /// faults and events that the judge checks by other outcomes.
    var publishesAll: Bool
    /// Percentage of events that the upstream service writes twice.
    var duplicatePercent: Int
    var unregisteredPercent: Int
    var startPercent: Int
    var expiresPercent: Int
    var largePercent: Int
    var creditMax: Int
    /// Number of pods that may run a worker each.
    var seats: Int
    /// Whether membership of the group is static, so that the next worker in a seat takes over its partitions at once.
    var isStatic: Bool
    /// Greatest error of a machine's wall clock, in either direction.
    var clockSkewMillisMax: Int64
    var produceFailurePercent: Int
    var unacknowledgedMax: Int
    var compactionPercent: Int
    /// Percentage of events that are followed by a disturbance.
    var disturbancePercent: Int
    /// Kinds of disturbances that may happen.
    var disturbances: [Disturbance]
    /// Percentage of events after which a worker gets other settings.
    var reconfigurationPercent = 0
    /// Percentage of suitable moments at which an aimed fault strikes.
    var strikePercent: Int
    /// Kinds of aimed faults that may happen.
    var strikes: [Strike]
    /// Greatest delay, in milliseconds, of records that a dead worker had sent and Kafka had not stored.
    var lateMillisMax: Int64
    /// Greatest additional delay of an outcome, in milliseconds, compared with other records.
    var outcomeDelayMillisMax: Int64
    var alertPercent: Int
    /// Percentage of reads after which a partition cannot be read for a while, as if its other records had not been
    /// fetched.
    var partialReadPercent: Int
    /// Greatest length, in milliseconds, of a pause after a read (`partialReadPercent`).
    var readPauseMillisMax: Int64
    /// Configured time, in milliseconds, for which a commit waits for other commits.
    var commitIntervalMillis: Int64
    /// Configured time, in milliseconds, for which a record waits for other records before it leaves for Kafka.
    var recordHoldMillis: Int64
    /// Percentage of records for which the queue of Kafka's library has no room when the worker hands them over.
    var queueFullPercent: Int
    /// Whether activities are forgotten during the run. Workers then write tombstones, and apps register tokens again.
    var livesAreShort: Bool
    var lifetimeMillis: Int64

    /// Faults that happen at a chosen moment. Faults at random times would hit these moments only once in thousands of
    /// runs.
    enum Strike: CaseIterable {
        /// A worker dies just as it writes a tombstone.
        case tombstone
        /// A former owner's record is stored behind a record of the present owner. The present owner dies before it has
        /// written its own record again.
        case lateRecord
        /// A worker's state record is stored in Kafka, and its outcomes are still on their way. The worker dies, so the
        /// outcomes may be lost.
        case outcomeUnderWay
        /// The phone's token is replaced while a push to the old token is in flight.
        case pushUnderWay
        /// A push leaves while a former owner's record is on its way to the partition's `state`. The worker that sends
        /// the push dies at that moment.
        case pushOverLateRecord
        /// Kafka needs seconds to store an owner's marker, while a former owner's record is on its way.
        case slowMarker
        /// APNs is unreachable while an event arrives that soon expires. The activity's last event follows. It has an
        /// older timestamp and does not expire.
        case lastWord
    }

    enum Disturbance: CaseIterable {
        case crash, stop, isolation, rebalance, scaling, brokerOutage, apnsOutage, clockStep
    }
    /// Activities that are channels, and whether each channel keeps its most recent message. They are drawn with a
    /// separate generator, so that worlds without channels do not change.
    var channels: [Int: Bool] = [:]
    /// Percentage of the upstream service's steps after which a listening phone is switched off or on.
    var sleepPercent = 0
    var app: AppConfiguration
    /// The plan of audiences. It is empty unless a separate generator draws some.
    var audiences = AudiencePlan()
    /// The plan of kept channels. It is empty unless a separate generator draws some.
    var kept = KeptPlan()
    /// The plan of traces. It is empty unless a separate generator draws some.
    var traces = TracePlan()
    /// The plan of refusals by Kafka. It is empty unless a separate generator draws some.
    var refusals = RefusalPlan()
    /// The plan of Kafka clients that end by a fatal error. None ends unless a separate generator decides so.
    var producers = ProducerPlan()

    /// On average, one in this number of worlds has channels.
    private static let worldsPerChannelWorld = 3

    mutating func drawChannels(random: inout SplitMix64) {
        guard Int.random(in: 0..<Self.worldsPerChannelWorld, using: &random) == 0 else { return }
        self.app.channelStorage = ChannelStoragePolicy.allCases.randomElement(using: &random)!
        for activity in 0..<self.activities where Int.random(in: 0..<3, using: &random) > 0 {
            self.channels[activity] =
                self.app.channelStorage == .ask
                ? Bool.random(using: &random) : self.app.channelStorage == .mostRecent
        }
        self.app.channelMinimumDistanceMillis = [1_000, 4_000, 15_000].randomElement(using: &random)!
        self.app.channelBudgetPerHour = Bool.random(using: &random) ? 0 : Int.random(in: 1...12, using: &random)
        if self.livesAreShort, self.app.channelBudgetPerHour > 0 { self.app.channelBudgetPerHour = 1_000 }
        self.app.productionBroadcastRoute = 0
        self.app.productionManageRoute = Int.random(in: 0..<8, using: &random) == 0 ? nil : 0
        self.sleepPercent = [0, 10, 40].randomElement(using: &random)!
    }

    init(random: inout SplitMix64) {
        func dial(_ max: Int) -> Int { Bool.random(using: &random) ? 0 : Int.random(in: 1...max, using: &random) }
        self.activities = Int.random(in: 1...6, using: &random)
        self.partitions = Int32.random(in: 1...3, using: &random)
        self.events = Int.random(in: 10...120, using: &random)
        self.gapMillisMax = [20, 400, 3_000, 60_000, 600_000].randomElement(using: &random)!
        self.misplacedPercent = dial(40)
        self.malformedPercent = dial(20)
        self.failurePercent = dial(60)
        self.lostAnswerPercent = dial(40)
        self.notProcessedPercent = dial(40)
        self.seats = Int.random(in: 1...3, using: &random)
        self.isStatic = Bool.random(using: &random)
        self.clockSkewMillisMax = [0, 0, 300, 3_000].randomElement(using: &random)!
        self.produceFailurePercent = dial(20)
        self.unacknowledgedMax = Bool.random(using: &random) ? 50_000 : Int.random(in: 4...40, using: &random)
        self.disturbancePercent = [0, 4, 12, 40].randomElement(using: &random)!
        self.disturbances = []
        for kind in Disturbance.allCases where self.disturbancePercent > 0 {
            if Bool.random(using: &random) { self.disturbances.append(kind) }
        }
        self.compactionPercent = dial(40)
        self.refusedMessagePercent = dial(10)
        // Suppose that APNs takes a message, the answer is lost, and APNs calls the repeated message malformed. The
        // judge could then not tell what the phone shows.
        if self.lostAnswerPercent > 0 || !self.disturbances.isEmpty { self.refusedMessagePercent = 0 }
        self.slowAnswerPercent = dial(40)
        self.rotationPercent = dial(15)
        self.deadTokenPercent = dial(8)
        self.staleVerdictPercent = dial(10)
        self.duplicatePercent = dial(20)
        self.unregisteredPercent = dial(50)
        self.startPercent = dial(60)
        self.expiresPercent = dial(50)
        self.largePercent = dial(40)
        self.publishesAll = Int.random(in: 0..<5, using: &random) > 0
        if !self.publishesAll {
            self.rotationPercent = 0
            self.deadTokenPercent = 0
            self.unregisteredPercent = 0
            self.startPercent = 0
            self.expiresPercent = 0
            self.refusedMessagePercent = 0
        }
        self.strikePercent = [0, 30, 80, 80].randomElement(using: &random)!
        self.strikes = Strike.allCases.filter { _ in Bool.random(using: &random) }
        self.lateMillisMax = [12_000, 12_000, 60_000, 180_000].randomElement(using: &random)!
        // A state record waits for a limited number of superseded events' outcomes. So the delay of outcomes is limited
        // too, compared with the gaps between events.
        self.outcomeDelayMillisMax = min(self.gapMillisMax * 4, [0, 0, 200, 3_000].randomElement(using: &random)!)
        self.alertPercent = [5, 25, 25, 60].randomElement(using: &random)!
        self.partialReadPercent = [0, 0, 30, 80].randomElement(using: &random)!
        self.readPauseMillisMax = [5, 500, 4_000].randomElement(using: &random)!
        self.commitIntervalMillis = [50, 250, 2_000].randomElement(using: &random)!
        self.recordHoldMillis = [1, 50, 300, 1_000].randomElement(using: &random)!
        self.queueFullPercent = dial(20)
        // An event that is never sent must have an outcome. So activities are forgotten only if all outcomes are
        // published.
        self.livesAreShort = Int.random(in: 0..<4, using: &random) == 0 && self.publishesAll
        self.lifetimeMillis = self.livesAreShort ? Int64.random(in: 10...40, using: &random) * 60_000 : 12 * 3_600_000
        if !self.publishesAll { self.strikes.removeAll { $0 == .pushUnderWay || $0 == .lastWord } }
        if self.strikePercent > 0, !self.strikes.isEmpty { self.refusedMessagePercent = 0 }
        // A state record waits for a limited number of superseded events' outcomes. This strike may lose the outcomes
        // beyond that number, so the plan has few events for each activity.
        if self.strikes.contains(.outcomeUnderWay) { self.events = min(self.events, 50 * self.activities) }
        self.creditMax = Int.random(in: 1...4, using: &random)
        self.app = AppConfiguration(bundleID: "com.example.pizza")
        self.app.budgetPerHour = Int.random(in: 2...12, using: &random)
        self.app.budgetFrequentPerHour = self.app.budgetPerHour + Int.random(in: 0...10, using: &random)
        self.app.budgetReserve = Int.random(in: 0...1, using: &random)
        self.app.budgetPolicy = Bool.random(using: &random) ? .defer : .downgrade
        self.app.startOnUnknown = Bool.random(using: &random) ? .resend : .drop
        self.app.productionRoute = 0
        guard self.livesAreShort else { return }
        // Activities are forgotten after 10 to 40 minutes here. If one comes back, its budget and its stamps begin
        // anew. So this plan has a budget that is never used up, and no wrong clocks. By default an activity is
        // forgotten an hour after its end, or 12 hours after its last event. Its budget is whole again by then, and no
        // clock is wrong by that much.
        self.app.budgetPerHour = 1_000
        self.app.budgetFrequentPerHour = 1_000
        self.app.retentionAfterEndMillis = self.lifetimeMillis
        self.disturbances.removeAll { $0 == .clockStep }
        self.clockSkewMillisMax = 0
        self.gapMillisMax = [3_000, 60_000, 600_000].randomElement(using: &random)!
    }
}
