import APNSProtocol
import PushEngine
import ShardLoop

/// One worker process. It has the loop of its one shard, between the ports of the simulated world. It also has what the
/// other threads of a worker remember. A process that has ended is not used again.
final class SimulatedWorker {
    let number: Int
    /// The pod that the worker runs in; its successor there has another number.
    let seat: Int
    /// The production loop. During its turn, calls from its ports must not touch it.
    var loop: ShardLoop
    let catchUpMaxMillis: Int64
    /// Difference between this worker's steady clock and the world's. Machines start at different times, and their wall
    /// clocks differ slightly.
    let steadyOffsetMillis: Int64
    /// Difference between this worker's wall clock and the world's.
    var wallOffsetMillis: Int64

    /// A partition as the worker's consumer has it.
    struct Owned {
        /// Offsets at which reading begins, by input topic.
        var starts: [Int64]
        /// Ends of the logs at assignment, by input topic.
        var logEnds: [Int64]
        /// Offsets to be read next, by input topic.
        var positions: [Int64]
        /// Whether the partition's queues are read.
        var isRunning = false
        /// Number of the assignment that gave the partition to the worker.
        var assignment = 0
        /// Time before which nothing is read, as if the rest of the records had not been fetched yet.
        var readsFromMillis: Int64 = 0
        /// Time since which the partition has been running.
        var runsSinceMillis: Int64 = 0
        /// Whether the partition could not be read because activities waited for room.
        var hasHadNoRoom = false
        /// Offset of the owner's marker in `state`. Earlier records were read.
        var markerOffset: Int64?
    }
    var partitions: [Int32: Owned] = [:]
    /// Acknowledged records in `state`, by partition: whether the claim is among them, and the end of the others.
    /// `isOwn` says whether this owner got the acknowledgements, and not an earlier one.
    var stateEnds: [Int32: (hasClaim: Bool, end: Int64?, isOwn: Bool)] = [:]
    /// Where `state` began at assignment, by partition.
    var stateStarts: [Int32: Int64] = [:]

    /// The traces that the worker keeps; `nil`: it keeps none.
    var traces: SimulatedTraces?
    /// Inlets: partitions beyond those that existed when `state` was written.
    var inlets = SimulatedInlets()
    /// Kafka's answers about records, to be read in the next turn.
    var inbox: [SimulatedKafka.Delivery] = []
    /// Whether the Kafka client has ended, so that it takes no records.
    var clientHasEnded = false
    /// Records that were not acknowledged when a turn last ended.
    var unacknowledgedCount = 0
    /// Greatest number of records that may wait because clients ended. It is reset when everything is acknowledged.
    var outdatedMax = 0
    /// Events from the group, and when each arrives.
    var events: [(event: SimulatedGroup.Event, comesMillis: Int64)] = []
    /// Offsets to be committed, as the worker's committer keeps them.
    var commits: CommitQueue
    /// When the group is asked again after a refusal; `nil`: no need to ask.
    var askDueMillis: Int64?
    /// Activities whose events the worker has read again. A former owner may have read these events, and this worker
    /// may not have taken them yet.
    var replayed: Set<Int> = []
    /// Partitions that the loop has let go of, with their last positions. They stay here until everything on its way is
    /// committed.
    var leaving: [(partition: Int32, positions: [CommitPosition])] = []
    /// Parts of `state` being read.
    var sections: [SimulatedSection] = []
    /// Answers of APNs, for the next turn.
    var answers: [PushAnswer] = []
    /// When credit that a push waits for is available again; `nil`: no push waits.
    var creditDueMillis: Int64?

    /// When the confirmed lease begins.
    var leaseFromMillis: Int64 = .max
    /// When the confirmed lease ends.
    var leaseEndsMillis: Int64 = .max
    /// Time until which a signal has stopped the process.
    var stoppedUntilMillis: Int64?
    /// When a signal last woke the process up.
    var runsSinceMillis = Int64.min
    /// Until when the coordinator does not hear of the worker.
    var isolatedUntilMillis: Int64?
    /// Whether the worker was told to stop. It leaves the group when its partitions are given back.
    var isStopping = false
    /// Number of steps until the worker dies; `nil`: it does not die by itself.
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
