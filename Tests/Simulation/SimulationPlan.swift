import PushEngine
import PushModel

/// What one seed makes of a run: how much of what happens, and which faults are on. Drawn so that some faults are off and others wild.
package struct SimulationPlan {
    var activities: Int
    var partitions: Int32
    var events: Int
    /// Milliseconds between events at most; small ones make bursts.
    var gapMillisMax: Int64
    var misplacedPercent: Int
    var malformedPercent: Int
    var failurePercent: Int
    var lostAnswerPercent: Int
    var notProcessedPercent: Int
    var refusedMessagePercent: Int
    var slowAnswerPercent: Int
    var rotationPercent: Int
    /// Share of events at which the token just dies, in a hundred; the app may upload another later.
    var deadTokenPercent: Int
    /// Share of pushes where the verdict on the token is older than its registration, in a hundred.
    var staleVerdictPercent: Int
    /// All outcomes are published; otherwise those of pushes, and nothing happens that the rest would have to tell.
    var publishesAll: Bool
    /// The upstream service writes an event twice.
    var duplicatePercent: Int
    var unregisteredPercent: Int
    var startPercent: Int
    var expiresPercent: Int
    var largePercent: Int
    var creditMax: Int
    /// Pods that may run a worker each.
    var seats: Int
    /// Static membership: the successor in a seat takes over at once.
    var isStatic: Bool
    /// How far a machine's wall clock may be off, either way.
    var clockSkewMillisMax: Int64
    var produceFailurePercent: Int
    var unacknowledgedMax: Int
    var compactionPercent: Int
    /// How often something happens after an event, and what may.
    var disturbancePercent: Int
    var disturbances: [Disturbance]
    /// How often a worker is told of other settings after an event.
    var reconfigurationPercent = 0
    /// How often a moment that is worst for a fault gets one, and which moments are looked for.
    var strikePercent: Int
    var strikes: [Strike]
    /// How late what a dead worker had on its way may arrive.
    var lateMillisMax: Int64
    /// By how much an outcome may be slower than other records.
    var outcomeDelayMillisMax: Int64
    var alertPercent: Int
    /// A read finds less than there is, and the rest is the next turn's.
    var partialReadPercent: Int
    /// How long until then.
    var readPauseMillisMax: Int64
    /// As configured: how long commits, and records on their way to Kafka, wait for others.
    var commitIntervalMillis: Int64
    var recordHoldMillis: Int64
    /// Share of hand-overs for which Kafka's library has no room, in a hundred.
    var queueFullPercent: Int
    /// Activities are forgotten within the run: tombstones are written, and tokens registered once more.
    var livesAreShort: Bool
    var lifetimeMillis: Int64

    /// Faults that are aimed: drawn blindly, these moments are met once in thousands of runs.
    enum Strike: CaseIterable {
        /// A tombstone leaves: its worker dies over it.
        case tombstone
        /// A record of a former owner comes to lie behind one of the owner's: the owner dies before it has repaired that.
        case lateRecord
        /// A state record has come to lie in Kafka while outcomes of the same worker are under way: it dies, and they may be lost.
        case outcomeUnderWay
        /// A push has left: the phone gets another token before it arrives.
        case pushUnderWay
        /// A push leaves while a record that a former owner wrote is on its way to the partition's `state`: the worker dies over it.
        case pushOverLateRecord
        /// Kafka takes seconds over an owner's marker, while what a former owner wrote is on its way.
        case slowMarker
        /// While APNs is away an event comes that soon expires, and behind it an older one that does not: the activity's last.
        case lastWord
    }

    enum Disturbance: CaseIterable {
        case crash, stop, isolation, rebalance, scaling, brokerOutage, apnsOutage, clockStep
    }
    /// Which activities are channels, and of these which keep the most recent message. Drawn apart: a world without any is as it was.
    var channels: [Int: Bool] = [:]
    /// How often, after a step of the upstream service, a phone that listens goes off or comes back.
    var sleepPercent = 0
    var app: AppConfiguration
    /// None, unless drawn: apart as well.
    var audiences = AudiencePlan()
    /// The same.
    var kept = KeptPlan()
    /// The same.
    var traces = TracePlan()
    /// The same.
    var refusals = RefusalPlan()
    /// None, unless drawn apart: how often Kafka clients end.
    var producers = ProducerPlan()

    /// Number of worlds per world with channels.
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
        // A message that APNs takes (its answer is lost) and calls malformed once more has come: nobody could say what the phone shows.
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
        // That an event was set aside has to be told.
        self.livesAreShort = Int.random(in: 0..<4, using: &random) == 0 && self.publishesAll
        self.lifetimeMillis = self.livesAreShort ? Int64.random(in: 10...40, using: &random) * 60_000 : 12 * 3_600_000
        if !self.publishesAll { self.strikes.removeAll { $0 == .pushUnderWay || $0 == .lastWord } }
        if self.strikePercent > 0, !self.strikes.isEmpty { self.refusedMessagePercent = 0 }
        // The limit of outcomes counts here, too: no activity gets that many.
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
        // An activity that is forgotten before its hour is over has its budget and stamps anew: that takes 12 hours, not a clock that is set.
        self.app.budgetPerHour = 1_000
        self.app.budgetFrequentPerHour = 1_000
        self.app.retentionAfterEndMillis = self.lifetimeMillis
        self.disturbances.removeAll { $0 == .clockStep }
        self.clockSkewMillisMax = 0
        self.gapMillisMax = [3_000, 60_000, 600_000].randomElement(using: &random)!
    }
}
