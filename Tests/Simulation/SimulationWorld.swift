import APNSProtocol
import DeviceModel
import PushEngine
import PushModel
import ShardLoop

/// Whole workers on a virtual clock, with a simulated Kafka, group, APNs and phones. Each worker runs the production
/// loop, including the engine. One seed is one run.
package final class SimulationWorld {
    static let topics = ["liveactivity.events", "liveactivity.routed"]
    static let beginMillis: Int64 = 1_000_000

    package let seed: UInt64
    /// Called with each line of the run's log. `nil`: no log is made.
    let trace: ((String) -> Void)?
    var random: SplitMix64
    package let plan: SimulationPlan
    var kafka = SimulatedKafka()
    var group: SimulatedGroup
    /// Workers whose process has not ended. A stopped process is included.
    var workers: [SimulatedWorker] = []
    var workerCount = 0
    /// When the next process begins in each seat, by seat. `nil`: a process runs there, or none is wanted.
    var seatBegins: [Int64?]
    /// Number of the worker that began last in each seat, by seat.
    var seatLast: [Int?]
    var steadyMillis = SimulationWorld.beginMillis
    var wallOffsetMillis: Int64 = 1_700_000_000_000
    /// Total time by which all clocks were set ahead, in milliseconds.
    var aheadMillis: Int64 = 0
    /// Total time by which clocks were set back, in milliseconds. It is too high if the clock of a single worker was
    /// set back.
    var behindMillis: Int64 = 0
    /// Total time by which clocks of single workers were set ahead or back, in milliseconds.
    var differenceMillis: Int64 = 0
    /// Each change of all clocks: when it happened by the steady clock, and the wall time just before it.
    var wallsBeforeSteps: [(steadyMillis: Int64, wallSeconds: Int64)] = []
    var brokerAwayUntilMillis: Int64 = 0
    var apnsAwayUntilMillis: Int64 = 0
    /// Activities that have had their last event. They get further events only if all activities have had their last
    /// one, or if `focus` chooses them.
    var hasHeardLast: Set<Int> = []
    var commitsUnderWay: [CommitUnderWay] = []
    var phones: [SimulatedPhone] = []
    var written: [SourcePosition: WrittenEvent] = [:]
    var order: [SourcePosition] = []
    var flights: [Flight] = []
    /// Workers' requests for a channel's storage policy that are still unanswered.
    var questions: [ChannelQuestion] = []
    /// Randomness for channels. It is a separate generator, so that worlds without channels do not change.
    var channelRandom: SplitMix64
    /// Randomness for audiences and their members.
    var audienceRandom: SplitMix64
    /// Randomness for voids that arrive with a delay.
    var voidRandom: SplitMix64
    var lateVoids: [LateVoid] = []
    var members: [SimulatedMember] = []
    /// Indexes of members, by token.
    var memberNumbers: [String: Int] = [:]
    /// Randomness for start members.
    var startRandom: SplitMix64
    /// Phones with push-to-start tokens.
    var starters: [SimulatedStarter] = []
    var starterNumbers: [String: Int] = [:]
    /// Indexes of start members, by the token's hash.
    var starterHashes: [String: Int] = [:]
    /// Start members that an outcome reports as being in doubt, by the start event's index in `order`.
    var unheardStarts: [Int: Set<Int>] = [:]
    /// Randomness for channels that are kept for audiences.
    var keptRandom: SplitMix64
    /// Apple's channels.
    var apple = SimulatedApple()
    /// Requests about kept channels that are in flight.
    var keptRequests: [KeptRequest] = []
    /// Records of kept channels in `state` that count for their keeper, by home and number.
    var keptRecords: [KeptHome: [Int64: StateRecordDescription.KeptChannel]] = [:]
    /// Epoch of the keeper for which the records in `keptRecords` count, by partition.
    var keptEpochs: [Int32: Int64] = [:]
    /// Ids of all channels that some record of `state` has called the workers' own.
    var durableChannels: Set<String> = []
    /// Channels that outcomes have reported as opened, and not yet as closed.
    var openedChannels: [OpenedChannel] = []
    /// All channels that outcomes have reported as opened. Closed ones are included.
    var reportedChannels: [String] = []
    /// Events that publishers have sent directly to kept channels, by position.
    var straightEvents: [SourcePosition: StraightEvent] = [:]
    var straightOrder: [SourcePosition] = []
    var straightRandom: SplitMix64
    var reconfigurationRandom: SplitMix64
    var keptSleepers: [String: KeptSleeper] = [:]
    /// The phone that only listens, by channel.
    var onlyListeners: [String: OnlyListener] = [:]
    /// Time until which APNs refuses broadcasts, by the steady clock.
    var broadcastsRefusedUntilMillis = Int64.min
    /// Second channels that Apple made for one creation request.
    var secondChannels: Set<String> = []
    /// Randomness for outages of broadcasts, and for wrong answers to requests that create channels.
    var outageRandom: SplitMix64
    /// Number of channels in the list that a worker has read since its last creation request, by reader.
    var listedCounts: [ListReader: Int] = [:]
    /// The member that will begin to listen after the next broadcast on its audience's channel, by audience.
    var comers: [Int: Int] = [:]
    /// Departure time of the last broadcast to which workers must keep the minimum distance, by channel and worker.
    var broadcastsLeft: [String: [Int: Int64]] = [:]
    /// Randomness for Kafka's refusals.
    var refusalRandom: SplitMix64
    /// Randomness for Kafka clients that end.
    var producerRandom: SplitMix64
    var refusalWindow: (topics: Set<SimulatedKafka.Topic>, untilMillis: Int64) = ([], 0)
    var restarts: [Int: Int64] = [:]
    var stranded: Set<SourcePosition> = []
    /// Randomness for traces.
    var traceRandom: SplitMix64
    var spanCount: UInt64 = 0
    /// Counts of traces. A process's counts are added when it ends, or when the run is over.
    package internal(set) var traceTally = TraceTally()
    /// Randomness for operators' commands.
    var pauseRandom: SplitMix64
    /// Commands that operators will give.
    var orders: [SimulatedOrder] = []
    /// Operators' commands that were written to `routed`, in order, by partition.
    var pauses: [Int32: [SimulatedPause]] = [:]
    /// Offset up to which some worker has read `routed`, by partition.
    var routedReadEnds: [Int32: Int64] = [:]
    /// Counts of pushes that workers know to be accepted, by version and partition.
    var tallies: [VersionName: [Int32: VersionTally]] = [:]
    /// The last `pass` record of each version, by version and partition.
    var passRecords: [VersionName: [Int32: ManyRecord]] = [:]
    /// The last `audience` record of each version.
    var audienceRecords: [VersionName: ManyRecord] = [:]
    /// Update tokens that apps will report later.
    var comingBack: [ComingBack] = []
    /// Times at which each partition was assigned to a worker, by partition, in steady time.
    var moveTimes: [Int32: [Int64]] = [:]
    /// Times at which the Kafka client of a partition's owner ended or was replaced, by partition, in steady time.
    var clientTimes: [Int32: [(millis: Int64, hasClient: Bool)]] = [:]
    var clientEnds = ClientEnds()
    /// Number of times that a partition was assigned to a worker.
    var assignmentCount = 0
    var flightCount = 0
    /// The judge's findings as text. Empty: no fault was found.
    package internal(set) var faults: [String] = []
    var faultsAreOn = true
    /// Units of the budget that are spent, by activity.
    var budgetUnits: [[BudgetUnit]]
    /// Units of the budget that a worker may count as spent, by activity.
    var possibleUnits: [[BudgetUnit]]
    /// The worker that got a unit of an activity's budget back because APNs did not take its push, by activity. `state`
    /// may still count the unit as spent.
    var refunds: [Int: Int] = [:]
    var lastStamps: [Int64]
    var lastBodies: [String]
    /// Number of happenings, such as crashes, by which partitions may have changed hands.
    var moves = 0
    /// Events whose content or alert at least one phone has shown.
    var shown: Set<SourcePosition> = []
    /// Bodies that have been sent to APNs, without their stamps. The next owner may send the same message with another
    /// stamp.
    var sentBodies: Set<String> = []
    var evidence = SimulationEvidence()
    /// The activity that most of the next events concern, and the number of such events that are left.
    var focus: (activity: Int, events: Int)?
    var audienceStrikes = 0
    var voidStrikes = 0
    /// Sequence number of the evidence when a worker made its last progress record in `state`, by partition, audience's
    /// key and worker.
    var progressMadeAt: [Int32: [String: [Int: Int]]] = [:]
    /// When voids of an audience's members were stored in `state`, by partition and audience's key, in steady time.
    var voidTimes: [Int32: [String: [Int64]]] = [:]
    /// Dead tokens that APNs has called dead.
    var tokensRefused: Set<String> = []
    var withdrawals: Withdrawals
    var recordTimes: RecordTimes
    var framing: Framing
    var deadArrivals: DeadArrivals
    var staleDates: StaleDates
    var lateness: Lateness
    var startStrikes: StartStrikes
    /// Randomness for lost answers to pushes with alerts, in addition to other lost answers.
    var lostAlertRandom: SplitMix64
    /// When a repeated `end` on a channel failed, by channel, in steady time. While the keeper cannot work, the present
    /// time replaces this time after each step.
    var failedBeacons: [String: Int64] = [:]
    var losses = SimulatedLosses()
    var growth: Growth
    var clusterMove: ClusterMove

    struct CommitUnderWay {
        var worker: Int
        /// Number of the worker's group membership when it sent the commit.
        var membership: Int
        var positions: [CommitPosition]
        /// The metadata of the commit for each position.
        var metadata: [CommitMetadata] = []
        /// Partitions that the worker gives back to the group when the commit is answered.
        var givesBack: [Int32]
        var arrivesMillis: Int64
        var isLost: Bool
    }

    struct Flight {
        var number: Int
        var worker: Int
        var id: PushID
        var activity: Int
        var token: String
        var isStart: Bool
        var body: [UInt8]
        var priority: Int
        /// The header `apns-expiration`.
        var expirationSeconds: Int64 = 0
        /// When the request reaches APNs.
        var arrivesMillis: Int64
        /// When the answer arrives.
        var answersMillis: Int64
        var result: PushAnswer.Result?
        var isApplied: Bool
        /// Whether the request has reached APNs.
        var hasArrived = false
        /// The partition of the activity, member or start member.
        var partition: Int32 = 0
        /// Whether the worker still has `partition`.
        var partitionLives = true
        /// Whether the worker, when it sent the push, had not read everything that was in the partition's logs at
        /// assignment. An owner waits for that only for a limited time.
        var isBehind = false
        /// The member that the push is for.
        var member: Int?
        /// The push's stamp.
        var stampSeconds: Int64 = 0
        /// The event whose alert the push brings, as an index into `order`.
        var alert: Int?
        /// The start member that the push is for.
        var starter: Int?
        /// The start event that the push belongs to, as an index into `order`.
        var start: Int?
    }

    /// Creates the world of a seed.
    /// - Parameters:
    ///   - audiencesPercent: percentage of worlds that have audiences. If it changes, the same seed makes another
    ///     world.
    ///   - startsPercent: percentage of worlds with audiences that also have start members.
    ///   - keptPercent: percentage of worlds with audiences that keep channels for them.
    ///   - movesPercent: percentage of worlds that move to another cluster.
    ///   - hasRefusals: whether Kafka refuses records in some worlds (`RefusalPlan`).
    package init(
        seed: UInt64, audiencesPercent: Int = AudiencePlan.worldsPercent,
        startsPercent: Int = AudiencePlan.startsPercent, keptPercent: Int = KeptPlan.worldsPercent,
        movesPercent: Int = 0, hasRefusals: Bool = true, trace: ((String) -> Void)? = nil
    ) {
        self.seed = seed
        self.withdrawals = Withdrawals(seed: seed)
        self.recordTimes = RecordTimes(seed: seed)
        self.framing = Framing(seed: seed)
        self.deadArrivals = DeadArrivals(seed: seed)
        self.staleDates = StaleDates(seed: seed)
        self.lateness = Lateness(seed: seed)
        self.startStrikes = StartStrikes(seed: seed)
        self.lostAlertRandom = SplitMix64(seed: seed ^ 0x1057_A1E2_1057_A1E2)
        self.growth = Growth(seed: seed)
        self.clusterMove = ClusterMove(seed: seed, worldsPercent: movesPercent)
        self.trace = trace
        self.random = SplitMix64(seed: seed)
        var plan = SimulationPlan(random: &self.random)
        plan.drawLateness(self.lateness)
        self.channelRandom = SplitMix64(seed: ~seed)
        plan.drawChannels(random: &self.channelRandom)
        plan.app.staleDateExpires = self.staleDates.expireUpdates && plan.publishesAll
        self.audienceRandom = SplitMix64(seed: seed ^ 0xA0D1_E4CE_A0D1_E4CE)
        self.voidRandom = SplitMix64(seed: seed ^ 0x701D_701D_701D_701D)
        plan.drawAudiences(worldsPercent: audiencesPercent, random: &self.audienceRandom)
        self.startRandom = SplitMix64(seed: seed ^ 0x57A7_57A7_57A7_57A7)
        plan.drawStarts(worldsPercent: startsPercent, random: &self.startRandom)
        var crowdRandom = SplitMix64(seed: seed ^ 0xC205_D057_A275_0000)
        plan.drawStarterCrowd(random: &crowdRandom)
        self.pauseRandom = SplitMix64(seed: seed ^ 0x9A05_E5E5_9A05_E5E5)
        plan.drawPauses(random: &self.pauseRandom)
        self.keptRandom = SplitMix64(seed: seed ^ 0xC4A2_2E15_C4A2_2E15)
        plan.drawKept(worldsPercent: keptPercent, random: &self.keptRandom)
        plan.drawUnknownAlerts(seed: seed)
        self.outageRandom = SplitMix64(seed: seed ^ 0x007A_6E5A_007A_6E5A)
        plan.drawOutages(random: &self.outageRandom)
        self.straightRandom = SplitMix64(seed: seed ^ 0x57A1_6470_57A1_6470)
        plan.drawStraight(random: &self.straightRandom)
        self.reconfigurationRandom = SplitMix64(seed: seed ^ 0x5E77_1265_5E77_1265)
        plan.drawReconfigurations(random: &self.reconfigurationRandom)
        self.traceRandom = SplitMix64(seed: seed ^ 0x7261_CE50_7261_CE50)
        plan.drawTraces(random: &self.traceRandom)
        self.refusalRandom = SplitMix64(seed: seed ^ 0x2EF0_5ED0_2EF0_5ED0)
        if hasRefusals {
            plan.refusals = RefusalPlan(
                hasAudiences: !plan.audiences.audiences.isEmpty, random: &self.refusalRandom)
        }
        self.producerRandom = SplitMix64(seed: seed ^ 0x920D_0CE2_920D_0CE2)
        plan.producers = ProducerPlan(random: &self.producerRandom)
        self.plan = plan
        self.group = SimulatedGroup(partitions: self.plan.partitions)
        self.seatBegins = (0..<self.plan.seats).map { $0 == 0 ? Self.beginMillis : nil }
        self.seatLast = Array(repeating: nil, count: self.plan.seats)
        self.budgetUnits = Array(repeating: [], count: self.plan.activities)
        self.possibleUnits = Array(repeating: [], count: self.plan.activities)
        self.lastStamps = Array(repeating: 0, count: self.plan.activities)
        self.lastBodies = Array(repeating: "", count: self.plan.activities)
        for seat in 1..<max(1, self.plan.seats) where seat < self.plan.seats {
            if Bool.random(using: &self.random) { self.seatBegins[seat] = Self.beginMillis + 1 }
        }
        for number in 0..<self.plan.activities {
            self.phones.append(self.makePhone(number))
        }
        self.makeAudiences()
        self.makeChannelsOfOthers()
    }

    /// The partition that an activity belongs to.
    func home(of activity: Int) -> Int32 {
        guard !self.plan.audiences.trustsPlacement else { return self.writtenPartition(of: activity) }
        let key = self.phones[activity].keyBytes
        return Murmur2.partition(key: key.span, count: self.plan.partitions)
    }

    /// The partition to which an activity's next records are written. It changes only when the publisher learns of
    /// added partitions.
    func writtenPartition(of activity: Int) -> Int32 {
        if let moved = self.growth.moved[activity] { return moved }
        let key = self.phones[activity].keyBytes
        let partition = Murmur2.partition(key: key.span, count: self.plan.partitions)
        // With `placement: trust`, an audience's events must be in the partition that its key names. Other partitions
        // send their questions about the audience there.
        let mayBeElsewhere = !self.plan.audiences.trustsPlacement || !self.isAudience(activity)
        guard activity % 3 == 2, self.plan.misplacedPercent > 0, mayBeElsewhere else { return partition }
        return (partition + 1) % self.plan.partitions
    }

    /// The world's wall clock.
    var wallMillis: Int64 { self.steadyMillis + self.wallOffsetMillis }
    var wallSeconds: Int64 { self.wallMillis / 1_000 }

    /// Length of the run so far on the virtual clock, in milliseconds.
    package var simulatedMillis: Int64 { self.steadyMillis - Self.beginMillis }

    /// The time that the worker's clocks show.
    func now(of worker: SimulatedWorker) -> EngineTime {
        EngineTime(
            steadyMillis: self.steadyMillis + worker.steadyOffsetMillis,
            wallMillis: self.wallMillis + worker.wallOffsetMillis)
    }

    func chance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.random) < percent
    }

    func log(_ text: @autoclosure () -> String) {
        guard let trace = self.trace else { return }
        trace("\(self.steadyMillis - Self.beginMillis) ms: \(Self.withoutFill(text()))")
    }
    /// Shortens large contents and alerts in a log line. If a character is repeated more than six times in a row, six
    /// of them remain.
    private static func withoutFill(_ text: String) -> String {
        var short = ""
        var (last, count): (Character?, Int) = (nil, 0)
        for character in text {
            count = character == last ? count + 1 : 1
            last = character
            if count <= 6 { short.append(character) }
        }
        return short
    }

    func fail(_ text: String) {
        self.log("FAULT \(text)")
        if self.faults.count < 20 {
            self.faults.append("seed \(self.seed) at \(self.steadyMillis - Self.beginMillis) ms: \(text)")
        }
    }

    // MARK: A run

    /// Plays the whole run.
    package func run() {
        for count in 0..<self.plan.events {
            self.perhapsGrow(afterEvents: count)
            self.perhapsMoveCluster(afterEvents: count)
            if !self.writesAboutAudience() { self.writeSomething() }
            self.perhapsPause()
            self.perhapsSleep()
            self.perhapsSleepOnKept()
            self.perhapsTouchChannels()
            self.perhapsRefuseBroadcasts()
            self.perhapsSendStraight()
            let gap = self.focus == nil ? self.plan.gapMillisMax : min(self.plan.gapMillisMax, 3_000)
            let until = self.steadyMillis + Int64.random(in: 0...gap, using: &self.random)
            self.runUntil(until)
            self.disturb()
            self.perhapsLowerLimits()
            self.perhapsReconfigure()
        }
        self.faultsAreOn = false
        self.releaseVoids { _ in true }
        self.mend()
        self.probeWays()
        // Gives time for everything that may still wait: tokens, deferred budgets and back-off. A little more than the
        // life of an activity is enough.
        self.runUntil(self.steadyMillis + 14 * 3_600_000)
        // An audience stays for another lifetime if its only members joined after its last version.
        if !self.audienceNumbers.isEmpty { self.runUntil(self.steadyMillis + self.plan.lifetimeMillis) }
        // Start members stay even longer than audiences.
        if !self.starters.isEmpty { self.runUntil(self.steadyMillis + AudiencePlan.starterLifeMillis) }
        self.checkSettled()
    }

    /// Plays everything that happens until a given time.
    func runUntil(_ endMillis: Int64) {
        var steps = 0
        while true {
            self.step()
            steps += 1
            // The limit is high because a worker retries every millisecond while Kafka's queue is full, perhaps for
            // minutes.
            if steps > 300_000 { return self.fail("the world does not come to rest") }
            let next = self.nextMillis(before: endMillis)
            guard next < endMillis else { break }
            self.steadyMillis = max(self.steadyMillis + 1, next)
        }
        self.steadyMillis = max(self.steadyMillis, endMillis)
        self.step()
    }

    /// Does everything that is due now, once.
    private func step() {
        self.carryOutOrders()
        self.restartHalted()
        self.runBroker()
        self.runGroup()
        self.fly()
        for worker in self.workers where worker.runs { self.turn(worker) }
        self.workers.removeAll { !$0.isAlive }
        self.judgeBeacons()
    }

    private func nextMillis(before endMillis: Int64) -> Int64 {
        var next = endMillis
        func at(_ millis: Int64?) {
            guard let millis else { return }
            next = min(next, max(millis, self.steadyMillis + 1))
        }
        at(self.kafka.nextArrivalMillis)
        at(self.group.nextExpiryMillis.map { max($0, self.brokerAwayUntilMillis) })
        for begins in self.seatBegins { at(begins) }
        for order in self.orders { at(order.dueMillis) }
        for (number, due) in self.restarts where self.workers.contains(where: { $0.number == number && $0.runs }) {
            at(due)
        }
        for commit in self.commitsUnderWay { at(commit.arrivesMillis) }
        for flight in self.flights {
            if !flight.isApplied { at(flight.arrivesMillis) }
            // A process that is stopped reads no answer.
            let isStopped = self.workers.contains { $0.number == flight.worker && $0.isStopped }
            if flight.result != nil, !isStopped { at(flight.answersMillis) }
        }
        at(self.nextKeptMillis)
        for question in self.questions where self.workers.contains(where: { $0.number == question.worker && $0.runs }) {
            at(question.answersMillis)
        }
        if self.brokerAwayUntilMillis > self.steadyMillis { at(self.brokerAwayUntilMillis) }
        if self.apnsAwayUntilMillis > self.steadyMillis { at(self.apnsAwayUntilMillis) }
        for worker in self.workers {
            at(worker.stoppedUntilMillis)
            at(worker.isolatedUntilMillis)
            guard worker.runs else { continue }
            // Only the first entry of a queue counts, because later entries are handled after it. An isolated worker
            // gets no events of its group.
            at(worker.inbox.first?.comesMillis)
            if worker.isolatedUntilMillis == nil { at(worker.events.first?.comesMillis) }
            for section in worker.sections { at(section.readDueMillis) }
            at(
                worker.loop.deadlineMillis.map {
                    max($0, self.now(of: worker).steadyMillis) - worker.steadyOffsetMillis
                })
            if worker.loop.hasMore { at(self.steadyMillis + 1) }
            at(worker.askDueMillis)
            at(self.inletLookDueMillis(worker))
            if worker.loop.holdsLease {
                at(worker.creditDueMillis)
                at(self.readDueMillis(worker))
            } else if worker.leaseFromMillis > self.steadyMillis, worker.leaseFromMillis != .max {
                at(worker.leaseFromMillis)
            }
        }
        return next
    }
}
