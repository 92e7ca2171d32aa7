import PushEngine

/// One worker process: its engine, and what the runner around it remembers. A process that ends is not used again.
final class SimulatedWorker {
    let number: Int
    /// Which pod it runs in; its successor there has another number.
    let seat: Int
    var engine: ShardEngine
    /// Its clocks against the world's: machines agree neither on when they were started nor quite on what time it is.
    let steadyOffsetMillis: Int64
    var wallOffsetMillis: Int64

    struct Owned {
        enum Phase { case claiming, restoring, running, quieting, writing, committing }
        var phase = Phase.claiming
        /// By input topic: where reading begins, where the log ended at assignment, and what is read next.
        var starts: [Int64]
        var logEnds: [Int64]
        var positions: [Int64]
        var restoreNext: Int64 = 0
        var restoreDueMillis: Int64 = 0
        var hasRun = false
        /// Nothing is read before: the rest of what there was has not been fetched yet.
        var readsFromMillis: Int64 = 0
        /// Since when it runs; and whether it could not read, as activities waited for room.
        var runsSinceMillis: Int64 = 0
        var hasHadNoRoom = false
        var quietUntilMillis: Int64 = 0
        var endsAtMillis: Int64 = 0
    }
    var partitions: [Int32: Owned] = [:]

    /// What Kafka did not take, and what waits behind it.
    var retries = RetryQueue<LoggedRecord>()

    struct Repair {
        var partition: Int32
        var next: Int64
        var end: Int64
        var dueMillis: Int64
    }
    var repairs: [Repair] = []
    /// What Kafka says about records, to be read in a turn.
    var inbox: [SimulatedKafka.Delivery] = []
    /// What the group says.
    var events: [(event: SimulatedGroup.Event, comesMillis: Int64)] = []
    var commits: [SimulatedKafka.Place: Int64] = [:]
    var hasCommitUnderWay = false
    var commitDueMillis: Int64 = 0

    /// The group confirms its ownership from the one to the other.
    var leaseFromMillis: Int64 = .max
    var leaseEndsMillis: Int64 = .max
    /// Stopped by a signal until then.
    var stoppedUntilMillis: Int64?
    /// The coordinator does not hear of it until then.
    var isolatedUntilMillis: Int64?
    /// It was told to stop: it leaves the group when its partitions are given back.
    var isStopping = false
    /// So many steps more, and it dies.
    var fuse: Int?
    var isAlive = true

    init(
        number: Int, seat: Int, engine: consuming ShardEngine, steadyOffsetMillis: Int64, wallOffsetMillis: Int64
    ) {
        self.number = number
        self.seat = seat
        self.engine = engine
        self.steadyOffsetMillis = steadyOffsetMillis
        self.wallOffsetMillis = wallOffsetMillis
    }

    var isStopped: Bool { self.stoppedUntilMillis != nil }
    var runs: Bool { self.isAlive && !self.isStopped }

    /// Without it nothing is read, pushed, written or committed. One without partitions needs none.
    func holdsLease(nowMillis: Int64) -> Bool {
        self.partitions.isEmpty || (self.leaseFromMillis <= nowMillis && nowMillis < self.leaseEndsMillis)
    }
}
