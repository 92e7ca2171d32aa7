import APNSProtocol
import PushEngine
import ShardLoop

/// One worker process: the loop of its one shard, between the ports of the simulated world, and what the worker's other threads remember.
/// A process that ends is not used again.
final class SimulatedWorker {
    let number: Int
    /// Which pod it runs in; its successor there has another number.
    let seat: Int
    /// The production loop. While it has a turn, what its ports call must leave it alone.
    var loop: ShardLoop
    let catchUpMaxMillis: Int64
    /// Its clocks against the world's: machines agree neither on when they were started nor quite on what time it is.
    let steadyOffsetMillis: Int64
    var wallOffsetMillis: Int64

    /// A partition as the worker's consumer has it.
    struct Owned {
        /// By input topic: where reading begins, where the log ended at assignment, and what is read next.
        var starts: [Int64]
        var logEnds: [Int64]
        var positions: [Int64]
        /// Its queues are read.
        var isRunning = false
        /// Which of the world's assignments this is.
        var assignment = 0
        /// Nothing is read before: the rest of what there was has not been fetched yet.
        var readsFromMillis: Int64 = 0
        /// Since when it runs; and whether it could not read, as activities waited for room.
        var runsSinceMillis: Int64 = 0
        var hasHadNoRoom = false
        /// Where its marker came to lie in `state`: what lies before was read.
        var markerOffset: Int64?
    }
    var partitions: [Int32: Owned] = [:]
    /// By partition: how far Kafka has acknowledged what it wrote to `state`, the claim aside.
    /// `isOwn`: it was said to this owner, and not to those before.
    var stateEnds: [Int32: (hasClaim: Bool, end: Int64?, isOwn: Bool)] = [:]
    /// By partition: where its `state` began when it came.
    var stateStarts: [Int32: Int64] = [:]

    /// `nil`: it keeps none.
    var traces: SimulatedTraces?
    /// Partitions beyond those that `state` was written for.
    var inlets = SimulatedInlets()
    /// What Kafka says about records, to be read in a turn.
    var inbox: [SimulatedKafka.Delivery] = []
    /// Whether its Kafka client has ended: it takes nothing.
    var clientHasEnded = false
    /// Records that were not acknowledged when a turn last ended.
    var unacknowledgedCount = 0
    /// Records at most that wait because clients ended, until everything is acknowledged.
    var outdatedMax = 0
    /// What the group says.
    var events: [(event: SimulatedGroup.Event, comesMillis: Int64)] = []
    /// What is to be committed, as the worker's committer keeps it.
    var commits: CommitQueue
    /// When the group is asked again after a refusal; `nil`: it need not be.
    var askDueMillis: Int64?
    /// Activities where it has read again what a former owner may have read, and may not have taken yet.
    var replayed: Set<Int> = []
    /// Partitions that the loop has let go of, until what is on its way is committed: their last positions.
    var leaving: [(partition: Int32, positions: [CommitPosition])] = []
    /// Parts of `state` being read.
    var sections: [SimulatedSection] = []
    /// What APNs has answered, for the next turn.
    var answers: [PushAnswer] = []
    /// When there is credit again that a push waits for; `nil`: none does.
    var creditDueMillis: Int64?

    /// The group confirms its ownership from the one to the other.
    var leaseFromMillis: Int64 = .max
    var leaseEndsMillis: Int64 = .max
    /// Stopped by a signal until then; and when one woke it up.
    var stoppedUntilMillis: Int64?
    var runsSinceMillis = Int64.min
    /// The coordinator does not hear of it until then.
    var isolatedUntilMillis: Int64?
    /// It was told to stop: it leaves the group when its partitions are given back.
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
