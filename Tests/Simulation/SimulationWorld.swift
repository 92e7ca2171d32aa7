import APNSProtocol
import DeviceModel
import PushEngine
import PushModel
import ShardLoop

/// Whole workers (the production loop with all that is in it) on a virtual clock, with a simulated Kafka, group, APNs and phones.
/// One seed is one run.
package final class SimulationWorld {
    static let topics = ["liveactivity.events", "liveactivity.routed"]
    static let beginMillis: Int64 = 1_000_000

    package let seed: UInt64
    /// Tells what happens, line by line; `nil`: nobody listens.
    let trace: ((String) -> Void)?
    var random: SplitMix64
    package let plan: SimulationPlan
    var kafka = SimulatedKafka()
    var group: SimulatedGroup
    /// Living ones, stopped ones included.
    var workers: [SimulatedWorker] = []
    var workerCount = 0
    /// By seat: when a process begins there; `nil`: one runs, or none is wanted.
    var seatBegins: [Int64?]
    /// By seat: the last process that ran there.
    var seatLast: [Int?]
    var steadyMillis = SimulationWorld.beginMillis
    var wallOffsetMillis: Int64 = 1_700_000_000_000
    /// How far all clocks were set ahead, altogether, and how far back; and how far one was set against the others.
    var aheadMillis: Int64 = 0
    var behindMillis: Int64 = 0
    var differenceMillis: Int64 = 0
    /// When all clocks were set, steady, and what they had shown until then.
    var wallsBeforeSteps: [(steadyMillis: Int64, wallSeconds: Int64)] = []
    var brokerAwayUntilMillis: Int64 = 0
    var apnsAwayUntilMillis: Int64 = 0
    /// Activities that get no further event as long as there are others.
    var hasHeardLast: Set<Int> = []
    var commitsUnderWay: [CommitUnderWay] = []
    var phones: [SimulatedPhone] = []
    var written: [SourcePosition: WrittenEvent] = [:]
    var order: [SourcePosition] = []
    var flights: [Flight] = []
    /// Questions about channels that are on their way.
    var questions: [ChannelQuestion] = []
    /// What concerns channels alone is drawn from it: a world without any is as it was.
    var channelRandom: SplitMix64
    /// Randomness of audiences and their members.
    var audienceRandom: SplitMix64
    /// Randomness of what owners say when audiences die.
    var voidRandom: SplitMix64
    var lateVoids: [LateVoid] = []
    var members: [SimulatedMember] = []
    /// By token.
    var memberNumbers: [String: Int] = [:]
    /// Phones with push-to-start tokens, and what concerns them alone.
    var startRandom: SplitMix64
    var starters: [SimulatedStarter] = []
    var starterNumbers: [String: Int] = [:]
    /// Finds them by the token's hash.
    var starterHashes: [String: Int] = [:]
    /// Start members for whom an outcome says that nobody knows whether they were started, by start event as an index into `order`.
    var unheardStarts: [Int: Set<Int>] = [:]
    /// Channels that are kept for audiences, phones that listen on them, and what concerns those alone.
    var keptRandom: SplitMix64
    var apple = SimulatedApple()
    var keptRequests: [KeptRequest] = []
    /// By number: what `state` says of them, as their keeper's owner has read it. And by partition: that owner's epoch.
    var keptRecords: [KeptHome: [Int64: StateRecordDescription.KeptChannel]] = [:]
    var keptEpochs: [Int32: Int64] = [:]
    /// Ids that `state` has, or had, as ours.
    var durableChannels: Set<String> = []
    /// What outcomes have told.
    var openedChannels: [OpenedChannel] = []
    /// Channels that were told, closed ones included, what publishers have sent to them, in order, and the randomness of that.
    var toldChannels: [String] = []
    var straightEvents: [SourcePosition: StraightEvent] = [:]
    var straightOrder: [SourcePosition] = []
    var straightRandom: SplitMix64
    var reconfigurationRandom: SplitMix64
    var keptSleepers: [String: KeptSleeper] = [:]
    /// By channel: the phone that only listens. Broadcasts are refused until then, steady; channels that are one of two of a creation; and what
    /// concerns those alone.
    var onlyListeners: [String: OnlyListener] = [:]
    var broadcastsRefusedUntilMillis = Int64.min
    var secondChannels: Set<String> = []
    var outageRandom: SplitMix64
    /// How many channels the list has that a worker has heard since its last creation.
    var listedCounts: [ListReader: Int] = [:]
    /// By audience: who is to begin to listen after its next broadcast.
    var comers: [Int: Int] = [:]
    /// By channel and worker: when its last broadcast left, steady.
    var broadcastsLeft: [String: [Int: Int64]] = [:]
    /// What concerns refusals alone: for which topics nothing is taken until when, which workers are started again, and which events could not
    /// be forwarded.
    var refusalRandom: SplitMix64
    /// What concerns clients that end alone.
    var producerRandom: SplitMix64
    var refusalWindow: (topics: Set<SimulatedKafka.Topic>, untilMillis: Int64) = ([], 0)
    var restarts: [Int: Int64] = [:]
    var stranded: Set<SourcePosition> = []
    /// What concerns traces alone.
    var traceRandom: SplitMix64
    var spanCount: UInt64 = 0
    /// Traces that processes have told by their end.
    package internal(set) var traceTally = TraceTally()
    /// What operators say, and what concerns that alone.
    var pauseRandom: SplitMix64
    var orders: [SimulatedOrder] = []
    /// By partition of `routed`, in its order.
    var pauses: [Int32: [SimulatedPause]] = [:]
    /// By partition of `routed`: how far any worker has read it.
    var routedReadEnds: [Int32: Int64] = [:]
    /// By partition: what workers have heard of pushes of each version.
    var tallies: [VersionName: [Int32: VersionTally]] = [:]
    /// The last records of their kind, the former by partition.
    var passRecords: [VersionName: [Int32: ManyRecord]] = [:]
    var audienceRecords: [VersionName: ManyRecord] = [:]
    /// Update tokens that are told later.
    var comingBack: [ComingBack] = []
    /// By partition: when it changed hands, steady.
    var moveTimes: [Int32: [Int64]] = [:]
    /// By partition: when its owner's Kafka client ended, or another took its place, steady.
    var clientTimes: [Int32: [(millis: Int64, hasClient: Bool)]] = [:]
    var clientEnds = ClientEnds()
    /// Times at which a partition came to a worker.
    var assignmentCount = 0
    var flightCount = 0
    /// What did not hold; empty: everything did.
    package internal(set) var faults: [String] = []
    var faultsAreOn = true
    /// By activity: units of high priority that are out.
    var budgetUnits: [[BudgetUnit]]
    /// By activity: units that a worker may take for being out.
    var possibleUnits: [[BudgetUnit]]
    /// By activity: whose push was refused last.
    var refunds: [Int: Int] = [:]
    var lastStamps: [Int64]
    var lastBodies: [String]
    /// Times at which a partition changed hands, crashes included.
    var moves = 0
    /// Events whose content, or alert, some phone has shown.
    var shown: Set<SourcePosition> = []
    var sentBodies: Set<[UInt8]> = []
    var evidence = SimulationEvidence()
    /// The activity that most of the next events are about, and their number.
    var focus: (activity: Int, events: Int)?
    var audienceStrikes = 0
    var voidStrikes = 0
    /// By partition, audience's key and worker: how much the judge had seen when the last record of progress was made that lies in `state`.
    var progressMadeAt: [Int32: [String: [Int: Int]]] = [:]
    /// By partition and audience's key: when records came to lie in `state` that its members are voided, steady.
    var voidTimes: [Int32: [String: [Int64]]] = [:]
    /// Tokens that APNs has called dead, and meant it.
    var tokensRefused: Set<String> = []
    var withdrawals: Withdrawals
    var recordTimes: RecordTimes
    var framing: Framing
    var deadArrivals: DeadArrivals
    var staleDates: StaleDates
    var lateness: Lateness
    var startStrikes: StartStrikes
    /// Randomness of what concerns only alerts where nobody knows whether they came.
    var lostAlertRandom: SplitMix64
    /// By channel whose end was broadcast again in vain: since when its worker knows, or nothing explains that it waits, steady.
    var failedBeacons: [String: Int64] = [:]
    var losses = SimulatedLosses()
    var growth: Growth
    var clusterMove: ClusterMove

    struct CommitUnderWay {
        var worker: Int
        /// The worker's membership when it asked.
        var membership: Int
        var positions: [CommitPosition]
        /// What is said of each.
        var notes: [PositionNote] = []
        /// Partitions given back once it is answered.
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
        /// `apns-expiration`.
        var expirationSeconds: Int64 = 0
        /// When the request reaches APNs, and when its answer comes.
        var arrivesMillis: Int64
        var answersMillis: Int64
        var result: PushAnswer.Result?
        var isApplied: Bool
        /// It came to APNs.
        var hasArrived = false
        /// The activity's partition, and whether the worker has given it up since.
        var partition: Int32 = 0
        var partitionLives = true
        /// Its owner had not read all that lay in the log at its assignment: it had waited for that long enough.
        var isBehind = false
        /// The member that the push is for, its stamp, and the event whose alert it brings.
        var member: Int?
        var stampSeconds: Int64 = 0
        var alert: Int?
        /// The start member that the push is for, and the event.
        var starter: Int?
        var start: Int?
    }

    /// - Parameters:
    ///   - audiencesPercent: worlds that have audiences, in a hundred. A seed means another world with another share.
    ///   - startsPercent: of these, worlds that have start members, in a hundred.
    ///   - keptPercent: of worlds with audiences, those that keep channels for them, in a hundred.
    ///   - movesPercent: worlds that move to another cluster, in a hundred.
    ///   - hasRefusals: some worlds have a Kafka that refuses records for good.
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

    /// Where its records lie. All events of one activity go the same way, as one producer's partitioner sends them.
    func writtenPartition(of activity: Int) -> Int32 {
        if let moved = self.growth.moved[activity] { return moved }
        let key = self.phones[activity].keyBytes
        let partition = Murmur2.partition(key: key.span, count: self.plan.partitions)
        // Partitions ask the owner that an audience's key names.
        let mayBeElsewhere = !self.plan.audiences.trustsPlacement || !self.isAudience(activity)
        guard activity % 3 == 2, self.plan.misplacedPercent > 0, mayBeElsewhere else { return partition }
        return (partition + 1) % self.plan.partitions
    }

    /// The world's wall clock.
    var wallMillis: Int64 { self.steadyMillis + self.wallOffsetMillis }
    var wallSeconds: Int64 { self.wallMillis / 1_000 }

    /// How long the run lasted on the virtual clock.
    package var simulatedMillis: Int64 { self.steadyMillis - Self.beginMillis }

    /// What the worker's clocks say.
    func now(of worker: SimulatedWorker) -> EngineTime {
        EngineTime(
            steadyMillis: self.steadyMillis + worker.steadyOffsetMillis,
            wallMillis: self.wallMillis + worker.wallOffsetMillis)
    }

    func chance(_ percent: Int) -> Bool {
        self.faultsAreOn && Int.random(in: 0..<100, using: &self.random) < percent
    }

    func tell(_ text: @autoclosure () -> String) {
        guard let trace = self.trace else { return }
        trace("\(self.steadyMillis - Self.beginMillis) ms: \(Self.withoutFill(text()))")
    }
    /// Contents, alerts and tokens are filled up with one letter: of many the last few are left out.
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
        self.tell("FAULT \(text)")
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
        // Waits for tokens, deferred budgets and backoff: a little more than the life of an activity settles everything.
        self.runUntil(self.steadyMillis + 14 * 3_600_000)
        // An audience that has none but those who came after its last version lives on with them.
        if !self.audienceNumbers.isEmpty { self.runUntil(self.steadyMillis + self.plan.lifetimeMillis) }
        // Start members stay this long.
        if !self.starters.isEmpty { self.runUntil(self.steadyMillis + AudiencePlan.starterLifeMillis) }
        self.checkSettled()
    }

    /// Runs from one thing that happens to the next.
    func runUntil(_ endMillis: Int64) {
        var steps = 0
        while true {
            self.step()
            steps += 1
            // Minutes in steps of a millisecond, while Kafka's queue is full again and again.
            if steps > 300_000 { return self.fail("the world does not come to rest") }
            let next = self.nextMillis(before: endMillis)
            guard next < endMillis else { break }
            self.steadyMillis = max(self.steadyMillis + 1, next)
        }
        self.steadyMillis = max(self.steadyMillis, endMillis)
        self.step()
    }

    /// Whatever is due now, once.
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
            // What comes behind the first is heard after it, and who is cut off hears nothing of its group.
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
