import APNSProtocol
import PushEngine
import ShardLoop

/// One worker process: its loop (of a single shard) between ports to the simulated world, and what a worker's other
/// threads remember. A process that has ended is not used again.
final class SimulatedWorker {
    let number: Int
    /// The pod in which the worker runs. The next worker in that pod has another number.
    let seat: Int
    /// The production loop. Its ports must not call it during its turn.
    var loop: ShardLoop
    let catchUpMaxMillis: Int64
    /// Difference between this worker's steady clock and the world's. Steady clocks differ because machines start at
    /// different times.
    let steadyOffsetMillis: Int64
    /// Difference between this worker's wall clock and the world's. It is small, unless a disturbance sets the clock.
    var wallOffsetMillis: Int64

    /// A partition that the worker's consumer owns.
    struct Owned {
        /// Offsets at which reading begins, by input topic.
        var starts: [Int64]
        /// Ends of the logs at assignment, by input topic.
        var logEnds: [Int64]
        /// Offsets to be read next, by input topic.
        var positions: [Int64]
        /// Whether the worker reads the partition's input topics.
        var isRunning = false
        /// Number of the assignment that gave the partition to the worker.
        var assignment = 0
        /// Time before which the worker gets no more records, as if its consumer had not fetched them yet.
        var readsFromMillis: Int64 = 0
        /// Time since which the partition has been running.
        var runsSinceMillis: Int64 = 0
        /// Whether the partition could not be read for a while, because the engine had no room for more records.
        var hasHadNoRoom = false
        /// Offset of the worker's first marker in `state`. The worker restores the records below it.
        var markerOffset: Int64?
    }
    var partitions: [Int32: Owned] = [:]
    /// What Kafka has acknowledged in `state`, by partition. `hasClaim`: whether this worker's claim is acknowledged.
    /// `end`: the offset after the last acknowledged record that is not a claim. Until this worker has such a record,
    /// former owners' commits give the offset. `isOwn`: whether `end` is the end of a record of this worker.
    var stateEnds: [Int32: (hasClaim: Bool, end: Int64?, isOwn: Bool)] = [:]
    /// Offset at which `state` began at assignment, by partition.
    var stateStarts: [Int32: Int64] = [:]

    /// The checks of the worker's traces. `nil`: the worker traces nothing.
    var traces: SimulatedTraces?
    /// State of the worker's inlets. An inlet is a partition that was added to `events` during the run, and for which
    /// `state` was not written.
    var inlets = SimulatedInlets()
    /// Kafka's answers about records, which the worker reads in its next turn.
    var inbox: [SimulatedKafka.Delivery] = []
    /// Whether the Kafka client has ended, so that it takes no records.
    var clientHasEnded = false
    /// Number of unacknowledged records at the end of the last turn.
    var unacknowledgedCount = 0
    /// Maximum number of additional records that may be unacknowledged because clients ended. It is reset when all
    /// records are acknowledged.
    var outdatedMax = 0
    /// Events of the group for this worker, with the time at which each arrives.
    var events: [(event: SimulatedGroup.Event, comesMillis: Int64)] = []
    /// Offsets to be committed. `CommitQueue` is the production code.
    var commits: CommitQueue
    /// When the worker asks the group again after a refusal. `nil`: it need not ask.
    var askDueMillis: Int64?
    /// Activities with replayed events that the worker has read, and may not have processed yet. A former owner may
    /// have pushed such an event.
    var replayed: Set<Int> = []
    /// Partitions that the loop has released, with their last positions. They stay here until these positions are
    /// committed.
    var leaving: [(partition: Int32, positions: [CommitPosition])] = []
    /// Ranges of `state` that the worker is reading.
    var sections: [SimulatedSection] = []
    /// Answers of APNs, which the worker reads in its next turn.
    var answers: [PushAnswer] = []
    /// When credit is available again for a push that waits for it. `nil`: no push waits for credit.
    var creditDueMillis: Int64?

    /// Beginning of the lease that the group has confirmed.
    var leaseFromMillis: Int64 = .max
    /// End of the lease that the group has confirmed.
    var leaseEndsMillis: Int64 = .max
    /// When the stopped process continues. `nil`: it is not stopped.
    var stoppedUntilMillis: Int64?
    /// When the process last continued after a stop.
    var runsSinceMillis = Int64.min
    /// When the coordinator hears of the worker again. `nil`: the worker is not isolated.
    var isolatedUntilMillis: Int64?
    /// Whether the worker was told to end. It leaves the group when all its partitions are given back.
    var isStopping = false
    /// Number of further port calls after which the worker dies. `nil`: no death is planned.
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
