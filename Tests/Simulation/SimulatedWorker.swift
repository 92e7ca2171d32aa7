import APNSProtocol
import PushEngine
import ShardLoop

/// One worker process: the loop of its one shard, between the ports of the simulated world, and what the worker's other threads remember.
/// A process that ends is not used again.
final class SimulatedWorker {
    let number: Int
    /// The pod that the worker runs in; its successor there has another number.
    let seat: Int
    /// The production loop. During its turn, calls from its ports must not touch it.
    var loop: ShardLoop
    let catchUpMaxMillis: Int64
    /// The difference between its clocks and the world's. Machines agree neither on when they were started nor quite on
    /// what time it is.
    let steadyOffsetMillis: Int64
    var wallOffsetMillis: Int64

    /// A partition as the worker's consumer has it.
    struct Owned {
        /// By input topic: where reading begins, where the log ended at assignment, and what is read next.
        var starts: [Int64]
        var logEnds: [Int64]
        var positions: [Int64]
        /// Whether its queues are read.
        var isRunning = false
        /// Which of the world's assignments this is.
        var assignment = 0
        /// Nothing is read before this time: the rest of the records has not been fetched yet.
        var readsFromMillis: Int64 = 0
        /// Since when the partition has been running; and whether it could not read because activities waited for room.
        var runsSinceMillis: Int64 = 0
        var hasHadNoRoom = false
        /// Offset of its marker in `state`: earlier records were read.
        var markerOffset: Int64?
    }
    var partitions: [Int32: Owned] = [:]
    /// By partition: how far Kafka has acknowledged its records in `state`, without the claim. `isOwn`: this owner was
    /// told so, not an earlier one.
    var stateEnds: [Int32: (hasClaim: Bool, end: Int64?, isOwn: Bool)] = [:]
    /// By partition: where its `state` began at assignment.
    var stateStarts: [Int32: Int64] = [:]

    /// The traces that the worker keeps; `nil`: none.
    var traces: SimulatedTraces?
    /// Partitions beyond those that existed when `state` was written.
    var inlets = SimulatedInlets()
    /// Kafka's deliveries, to be read in a turn.
    var inbox: [SimulatedKafka.Delivery] = []
    /// Whether its Kafka client has ended: it takes no records.
    var clientHasEnded = false
    /// Records that were not acknowledged when a turn last ended.
    var unacknowledgedCount = 0
    /// Greatest number of records that have waited because clients ended, until everything is acknowledged.
    var outdatedMax = 0
    /// Events from the group.
    var events: [(event: SimulatedGroup.Event, comesMillis: Int64)] = []
    /// Offsets to be committed, as the worker's committer keeps them.
    var commits: CommitQueue
    /// When the group is asked again after a refusal; `nil`: no need to ask.
    var askDueMillis: Int64?
    /// Activities whose events it has read again. A former owner may have read them, and this worker may not have taken
    /// them yet.
    var replayed: Set<Int> = []
    /// Partitions that the loop has let go of, until what is on its way is committed: their last positions.
    var leaving: [(partition: Int32, positions: [CommitPosition])] = []
    /// Parts of `state` being read.
    var sections: [SimulatedSection] = []
    /// Answers of APNs, for the next turn.
    var answers: [PushAnswer] = []
    /// When credit that a push waits for is available again; `nil`: no push waits.
    var creditDueMillis: Int64?

    /// The group confirms its ownership from here to the lease's end.
    var leaseFromMillis: Int64 = .max
    var leaseEndsMillis: Int64 = .max
    /// Until when a signal has stopped the process, and when a signal woke it up.
    var stoppedUntilMillis: Int64?
    var runsSinceMillis = Int64.min
    /// Until when the coordinator does not hear of it.
    var isolatedUntilMillis: Int64?
    /// Whether it was told to stop: it leaves the group when its partitions are given back.
    var isStopping = false
    /// Number of steps until it dies; `nil`: it lives.
    var fuse: Int?
    var isAlive = true

    init(
        number: Int, seat: Int, world: SimulationWorld, configuration: ShardLoopConfiguration,
        steadyOffsetMillis: Int64, wallOffsetMillis: Int64
    ) {
        self.number = number
        self.seat = seat
        let log = SimulatedLog(world: world)
        let push = SimulatedPushSide(world: world)
        self.loop = ShardLoop(configuration: configuration, randomSeed: world.random.next(), log: log, push: push)
        self.catchUpMaxMillis = configuration.engine.settings.catchUpMaxMillis
        self.commits = CommitQueue(lease: OwnershipLease(sessionTimeoutMillis: SimulatedGroup.sessionMillis))
        self.steadyOffsetMillis = steadyOffsetMillis
        self.wallOffsetMillis = wallOffsetMillis
        log.worker = self
        push.worker = self
    }

    var isStopped: Bool { self.stoppedUntilMillis != nil }
    var runs: Bool { self.isAlive && !self.isStopped }
}
