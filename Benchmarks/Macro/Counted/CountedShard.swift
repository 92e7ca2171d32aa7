import PushEngine
import PushModel
import PushWorker
import ShardLoop

/// The production loop under virtual time, between a Kafka and an APNs in memory. Its pushes are counted whole, or in steps that a profile can
/// tell apart: turns in which a single thing is to be done.
struct CountedShard: ~Copyable {
    private let log: MemoryLog
    private let activities: CountedActivities
    private var loop: CountedLoop
    private var event = DecodedEvent()
    private var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
    private var update: [UInt8] = []
    /// The one that replaces it.
    private var later: [UInt8] = []

    /// Most turns of a push, from its event to its commit. It takes some ten.
    private static let turnsMax = 64

    /// - Parameter state: what another shard wrote; its partitions wait to be restored from it. Empty: they run.
    init(activities count: Int, partitionCount: Int32, state: [[StateRecord]] = []) {
        self.activities = CountedActivities(count: count, partitionCount: partitionCount)
        self.log = MemoryLog(self.activities, state: state)
        self.loop = CountedLoop(
            inputTopics: [Workload.topic, "routed"], partitionCount: partitionCount, log: self.log)
        // What it writes to claim them ends what it reads.
        self.log.keepsState = !state.isEmpty
        self.log.sectionStage = state.isEmpty ? .end : .nothing
        self.loop.assignPartitions(now: self.now)
        repeat { self.loop.turn(now: self.now) } while self.log.untoldCount > 0
    }

    /// The app whose activities these are, and the topics, as traces name them.
    static func tracing(share: Double) -> MeasuredTracing? {
        MeasuredTracing(
            inputTopics: [Workload.topic, "routed"], bundleIDs: [SampleRequest.bundleID], share: share)
    }

    /// A share of the events is traced from here on.
    mutating func trace(by tracing: MeasuredTracing) {
        self.log.trace(by: tracing)
        self.loop.tracing = tracing
    }

    var pushCount: Int { self.loop.push.pushCount }
    /// What was written to `state` while it was kept.
    var state: [[StateRecord]] { self.log.state }
    /// What is written to `state` from here on is kept.
    mutating func keepState(_ keeps: Bool) { self.log.keepsState = keeps }

    /// Afterwards nothing waits, and the engine has forgotten nothing.
    mutating func register(_ activities: Range<Int>) throws {
        var values: [UInt8] = []
        for activity in activities {
            Workload.appendRegistration(activity, to: &values, identity: self.activities.identity)
        }
        self.log.offer(activities, values: values, isShared: false, timestampMillis: self.now.wallMillis)
        try self.check(self.settle(), "registrations were not committed")
    }

    /// Time goes by, and what is due happens.
    mutating func wait(millis: Int64) {
        self.move(millis: millis)
        self.loop.turn(now: self.now)
    }

    // MARK: Whole pushes

    /// An update for each of the activities and all that follows, until its offset is committed.
    mutating func push(_ activities: Range<Int>, number: Int, meter: inout AllocationMeter) throws {
        self.update.removeAll(keepingCapacity: true)
        Workload.appendUpdate(number, to: &self.update)
        let pushCount = self.pushCount
        self.offer(activities, self.update)
        var isSettled = false
        meter.count(activities.count) { self.countedPush(&isSettled) }
        try self.check(isSettled, "events were not committed")
        try self.check(self.pushCount - pushCount == activities.count, "not every event was pushed")
    }

    @inline(never) private mutating func countedPush(_ isSettled: inout Bool) -> CountedOperation {
        isSettled = self.settle()
        return .push
    }

    /// Turns when the loop wants one and when Kafka or APNs has something, until all that was read is committed. `false`: it never was.
    private mutating func settle() -> Bool {
        for _ in 0..<Self.turnsMax {
            self.loop.turn(now: self.now)
            guard self.log.uncommittedCount > 0 else { return true }
            guard self.log.untoldCount == 0, self.loop.push.answerCount == 0 else { continue }
            guard let dueMillis = self.loop.deadlineMillis else { return false }
            self.move(millis: max(0, dueMillis - self.now.steadyMillis))
        }
        return false
    }

    // MARK: In steps

    /// An update for each of the activities, another one for each, a push for each, and all that follows. Each step is what a turn does when
    /// nothing else is to be done.
    mutating func turn(_ activities: Range<Int>, number: Int, meter: inout AllocationMeter) throws {
        self.update.removeAll(keepingCapacity: true)
        Workload.appendUpdate(2 * number, to: &self.update)
        self.later.removeAll(keepingCapacity: true)
        Workload.appendUpdate(2 * number + 1, to: &self.later)
        let count = activities.count
        meter.count(1) { self.countedIdle() }
        meter.count(count) { self.countedDecode(count) }

        self.loop.push.hasCredit = false
        self.offer(activities, self.update)
        meter.count(count) { self.countedTake() }
        self.offer(activities, self.later)
        meter.count(count) { self.countedMerge() }
        self.loop.push.hasCredit = true
        meter.count(count) { self.countedNextPush() }
        try self.check(self.loop.push.answerCount == count, "not every push was ready")
        meter.count(count) { self.countedAnswer() }

        try self.handOver(count, "outcomes", &meter)
        // Without the lease the loop learns what Kafka says, and writes nothing: so the one is told from the other.
        self.log.leaseEndsMillis = self.now.steadyMillis
        meter.count(count) { self.countedAcknowledgeOutcomes() }
        self.log.leaseEndsMillis = .max
        try self.check(self.loop.waitingRecordCount == 0, "states were written too early")
        meter.count(count) { self.countedWriteStates() }
        try self.handOver(count, "states", &meter)
        meter.count(count) { self.countedAcknowledgeStates() }
        self.move(millis: CountedLoop.settings.commitIntervalMillis)
        try self.check(self.log.uncommittedCount == 2 * count, "offsets were committed too early")
        meter.count(count) { self.countedCommit() }
        try self.check(self.log.uncommittedCount == 0, "offsets were not committed")
    }

    /// What has gathered goes to Kafka, which does not tell of it yet.
    private mutating func handOver(_ count: Int, _ what: String, _ meter: inout AllocationMeter) throws {
        try self.check(self.loop.waitingRecordCount == count, "not all \(what) were written")
        self.move(millis: CountedLoop.settings.recordHoldMillis)
        self.log.tellsDeliveries = false
        meter.count(count) { self.countedHandOver() }
        self.log.tellsDeliveries = true
        try self.check(self.log.untoldCount == count, "not all \(what) were handed over")
    }

    /// Reads what another wrote.
    mutating func restore(meter: inout AllocationMeter) throws {
        // Their own markers come last.
        let markerCount = Int(self.activities.partitionCount)
        let count = self.log.state.reduce(0) { $0 + $1.count } - markerCount
        self.log.sectionStage = .records
        meter.count(count) { self.countedRestore() }
        try self.check(self.loop.restoredRecordCount == count + markerCount, "not all records were restored")
        self.log.sectionStage = .end
        self.loop.turn(now: self.now)
        try self.check(self.loop.isRunning, "partitions do not run")
    }

    // MARK: What is counted

    // Each says which it is: the compiler makes one function of those that do the same.

    @inline(never) private mutating func countedDecode(_ count: Int) -> CountedOperation {
        let update = self.update
        var event = DecodedEvent()
        swap(&event, &self.event)
        for _ in 0..<count { try? EventDecoder.decode(update.span, into: &event) }
        swap(&event, &self.event)
        return .decode
    }

    @inline(never) private mutating func countedIdle() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .idle
    }

    @inline(never) private mutating func countedTake() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .take
    }

    @inline(never) private mutating func countedMerge() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .merge
    }

    @inline(never) private mutating func countedNextPush() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .nextPush
    }

    @inline(never) private mutating func countedHandOver() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .handOver
    }

    @inline(never) private mutating func countedAcknowledgeOutcomes() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .acknowledgeOutcomes
    }

    @inline(never) private mutating func countedWriteStates() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .writeStates
    }

    @inline(never) private mutating func countedAcknowledgeStates() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .acknowledgeStates
    }

    @inline(never) private mutating func countedCommit() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .commit
    }

    @inline(never) private mutating func countedRestore() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .restore
    }

    @inline(never) private mutating func countedAnswer() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .answer
    }

    // MARK: Steps

    private func offer(_ activities: Range<Int>, _ value: [UInt8]) {
        self.log.offer(activities, values: value, isShared: true, timestampMillis: self.now.wallMillis)
    }

    private mutating func move(millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
    }

    private func check(_ holds: Bool, _ fault: String) throws {
        guard holds, self.loop.faults.isEmpty else {
            throw BenchmarkFailure(([fault] + self.loop.faults).joined(separator: "; "))
        }
    }
}
