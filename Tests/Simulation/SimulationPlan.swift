import PushEngine
import PushModel

/// What one seed makes of a run: how often things happen, and which faults are on. In a drawn plan some faults are off
/// and others wild.
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
    /// Percent of events at which the token dies without a successor; the app may upload another later.
    var deadTokenPercent: Int
    /// Percent of pushes where the verdict on the token is older than its registration.
    var staleVerdictPercent: Int
    /// Whether all outcomes are published. Otherwise only outcomes of pushes are published, and nothing is played that
    /// needs the others.
    var publishesAll: Bool
    /// How often the upstream service writes an event twice, in a hundred.
    var duplicatePercent: Int
    var unregisteredPercent: Int
    var startPercent: Int
    var expiresPercent: Int
    var largePercent: Int
    var creditMax: Int
    /// Number of pods that may run a worker each.
    var seats: Int
    /// Whether membership is static, so that the successor in a seat takes over at once.
    var isStatic: Bool
    /// Greatest error of a machine's wall clock, in either direction.
    var clockSkewMillisMax: Int64
    var produceFailurePercent: Int
    var unacknowledgedMax: Int
    var compactionPercent: Int
    /// Percentage of events that a disturbance follows.
    var disturbancePercent: Int
    /// Kinds of disturbances that may happen.
    var disturbances: [Disturbance]
    /// Percentage of events after which a worker gets other settings.
    var reconfigurationPercent = 0
    /// Percentage of suitable moments at which an aimed fault strikes.
    var strikePercent: Int
    /// Kinds of aimed faults that may happen.
    var strikes: [Strike]
    /// Greatest delay of records that a dead worker had on their way.
    var lateMillisMax: Int64
    /// Greatest additional delay of an outcome, compared with other records.
    var outcomeDelayMillisMax: Int64
    var alertPercent: Int
    /// How often a read finds only a part of the records and leaves the rest to the next turn, in a hundred.
    var partialReadPercent: Int
    /// Greatest pause before the rest of such records is read.
    var readPauseMillisMax: Int64
    /// The configured time for which commits wait for others.
    var commitIntervalMillis: Int64
    /// The configured time for which records on their way to Kafka wait for others.
    var recordHoldMillis: Int64
    /// Percent of hand-overs for which Kafka's library has no room.
    var queueFullPercent: Int
    /// Whether activities are forgotten within the run. Tombstones are then written, and tokens are registered again.
    var livesAreShort: Bool
    var lifetimeMillis: Int64

    /// Faults that are aimed at a moment. Blind draws would meet these moments only once in thousands of runs.
    enum Strike: CaseIterable {
        /// A tombstone leaves, and its worker dies at that moment.
        case tombstone
        /// A former owner's record is stored behind a record of the owner. The owner dies before it has repaired that.
        case lateRecord
        /// A state record is stored in Kafka while outcomes of its worker are under way. The worker dies, and the
        /// outcomes may be lost.
        case outcomeUnderWay
        /// The phone gets another token while a push is under way to it.
        case pushUnderWay
        /// A push leaves while a former owner's record is on its way to the partition's `state`. The worker dies as the
        /// push leaves.
        case pushOverLateRecord
        /// Kafka needs seconds to store an owner's marker, while a former owner's record is on its way.
        case slowMarker
        /// While APNs is away an event arrives that soon expires. The activity's last event follows, which is older and
        /// does not expire.
        case lastWord
    }

    enum Disturbance: CaseIterable {
        case crash, stop, isolation, rebalance, scaling, brokerOutage, apnsOutage, clockStep
    }
    /// Activities that are channels, and whether each keeps the most recent message. They are drawn with a generator of
    /// their own, so that worlds without channels stay as they were.
    var channels: [Int: Bool] = [:]
    /// How often a listening phone goes off or returns after a step of the upstream service.
    var sleepPercent = 0
    var app: AppConfiguration
    /// The plan of audiences. There are none unless they are drawn, with a generator of their own.
    var audiences = AudiencePlan()
    /// The plan of kept channels. There are none unless they are drawn, with a generator of their own.
    var kept = KeptPlan()
    /// The plan of traces. There are none unless they are drawn, with a generator of their own.
    var traces = TracePlan()
    /// The plan of refusals. There are none unless they are drawn, with a generator of their own.
    var refusals = RefusalPlan()
    /// The plan of Kafka clients that end. None ends unless that is drawn, with a generator of its own.
    var producers = ProducerPlan()

    /// One world in this many has channels.
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
        // Suppose that APNs takes a message, its answer is lost, and APNs calls the repeated message malformed. Then no
        // judge could say what the phone shows.
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
        // The state record of an activity that is never quiet waits for a limited number of outcomes.
        self.outcomeDelayMillisMax = min(self.gapMillisMax * 4, [0, 0, 200, 3_000].randomElement(using: &random)!)
        self.alertPercent = [5, 25, 25, 60].randomElement(using: &random)!
        self.partialReadPercent = [0, 0, 30, 80].randomElement(using: &random)!
        self.readPauseMillisMax = [5, 500, 4_000].randomElement(using: &random)!
        self.commitIntervalMillis = [50, 250, 2_000].randomElement(using: &random)!
        self.recordHoldMillis = [1, 50, 300, 1_000].randomElement(using: &random)!
        self.queueFullPercent = dial(20)
        // An event that was set aside must have an outcome.
        self.livesAreShort = Int.random(in: 0..<4, using: &random) == 0 && self.publishesAll
        self.lifetimeMillis = self.livesAreShort ? Int64.random(in: 10...40, using: &random) * 60_000 : 12 * 3_600_000
        if !self.publishesAll { self.strikes.removeAll { $0 == .pushUnderWay || $0 == .lastWord } }
        if self.strikePercent > 0, !self.strikes.isEmpty { self.refusedMessagePercent = 0 }
        // An activity must not have more outcomes than its state record waits for. This strike may lose the others.
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
        // An activity that is forgotten within an hour gets a new budget and new stamps. Outside of tests that takes 12
        // hours, and no clock is set that far.
        self.app.budgetPerHour = 1_000
        self.app.budgetFrequentPerHour = 1_000
        self.app.retentionAfterEndMillis = self.lifetimeMillis
        self.disturbances.removeAll { $0 == .clockStep }
        self.clockSkewMillisMax = 0
        self.gapMillisMax = [3_000, 60_000, 600_000].randomElement(using: &random)!
    }
}
