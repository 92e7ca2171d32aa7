import PushEngine
import PushModel
import PushWorker
import ShardLoop

/// The production loop in virtual time, between a Kafka and an APNs in memory. Pushes are counted whole or in steps.
/// Each step is a turn in which the loop has only one thing to do, so a profile can tell the steps apart.
struct CountedShard: ~Copyable {
    private let log: MemoryLog
    private let activities: CountedActivities
    private var loop: CountedLoop
    private var event = DecodedEvent()
    private var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
    private var update: [UInt8] = []
    /// The newer update, which replaces `update` while `update` waits.
    private var later: [UInt8] = []

    /// Maximum number of turns in a push, from its event to its commit. A push needs about ten.
    private static let turnsMax = 64

    /// Makes a shard.
    /// - Parameter state: records that another shard wrote. Partitions wait until they are restored from it. If it is
    ///   empty, partitions run at once.
    init(activities count: Int, partitionCount: Int32, state: [[StateRecord]] = []) {
        self.activities = CountedActivities(count: count, partitionCount: partitionCount)
        self.log = MemoryLog(self.activities, state: state)
        self.loop = CountedLoop(
            inputTopics: [Workload.topic, "routed"], partitionCount: partitionCount, log: self.log)
        // A restore ends at the markers with which the shard claims its partitions, so these markers are kept.
        self.log.keepsState = !state.isEmpty
        self.log.sectionStage = state.isEmpty ? .end : .nothing
        self.loop.assignPartitions(now: self.now)
        repeat { self.loop.turn(now: self.now) } while self.log.unreportedCount > 0
    }

    /// Makes tracing for this shard's app and topics. `nil` when the share is not valid.
    static func tracing(share: Double) -> MeasuredTracing? {
        MeasuredTracing(
            inputTopics: [Workload.topic, "routed"], bundleIDs: [SampleRequest.bundleID], share: share)
    }

    /// Traces a share of the events from here on.
    mutating func trace(by tracing: MeasuredTracing) {
        self.log.trace(by: tracing)
        self.loop.tracing = tracing
    }

    var pushCount: Int { self.loop.push.pushCount }
    /// Records written to `state` while records were kept.
    var state: [[StateRecord]] { self.log.state }
    /// Sets whether records that are written to `state` after this call are kept.
    mutating func keepState(_ keeps: Bool) { self.log.keepsState = keeps }

    /// Registers activities, and takes turns until all their registrations are committed.
    mutating func register(_ activities: Range<Int>) throws {
        var values: [UInt8] = []
        for activity in activities {
            Workload.appendRegistration(activity, to: &values, identity: self.activities.identity)
        }
        self.log.offer(activities, values: values, isShared: false, timestampMillis: self.now.wallMillis)
        try self.check(self.settle(), "registrations were not committed")
    }

    /// Lets time pass, and does what is due.
    mutating func wait(millis: Int64) {
        self.move(millis: millis)
        self.loop.turn(now: self.now)
    }

    // MARK: Whole pushes

    /// Publishes an update for each of the activities, and takes turns until the offsets of all updates are committed.
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

    /// Takes turns until all input that was offered is committed. Lets time pass to the loop's next deadline when Kafka
    /// and APNs have nothing for it.
    /// - Returns: `false` when some input was not committed.
    private mutating func settle() -> Bool {
        for _ in 0..<Self.turnsMax {
            self.loop.turn(now: self.now)
            guard self.log.uncommittedCount > 0 else { return true }
            guard self.log.unreportedCount == 0, self.loop.push.answerCount == 0 else { continue }
            guard let dueMillis = self.loop.deadlineMillis else { return false }
            self.move(millis: max(0, dueMillis - self.now.steadyMillis))
        }
        return false
    }

    // MARK: Pushes in steps

    /// Publishes two updates for each of the activities, one after the other. Then it pushes once to each activity and
    /// writes down the results. Each step is a turn in which the loop has nothing else to do.
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
        // Without the lease the loop takes Kafka's answers and writes nothing. So taking answers and writing states are
        // two steps.
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

    /// Hands the gathered records over to Kafka, which does not acknowledge them yet.
    private mutating func handOver(_ count: Int, _ what: String, _ meter: inout AllocationMeter) throws {
        try self.check(self.loop.waitingRecordCount == count, "not all \(what) were written")
        self.move(millis: CountedLoop.settings.recordHoldMillis)
        self.log.reportsDeliveries = false
        meter.count(count) { self.countedHandOver() }
        self.log.reportsDeliveries = true
        try self.check(self.log.unreportedCount == count, "not all \(what) were handed over")
    }

    /// Restores what another shard wrote.
    mutating func restore(meter: inout AllocationMeter) throws {
        // The last record of each partition is this shard's own marker. It is restored, but does not count as an
        // operation.
        let markerCount = Int(self.activities.partitionCount)
        let count = self.log.state.reduce(0) { $0 + $1.count } - markerCount
        self.log.sectionStage = .records
        meter.count(count) { self.countedRestore() }
        try self.check(self.loop.restoredRecordCount == count + markerCount, "not all records were restored")
        self.log.sectionStage = .end
        self.loop.turn(now: self.now)
        try self.check(self.loop.isRunning, "partitions do not run")
    }

    // MARK: Counted functions

    // Each function returns its own operation. Otherwise the compiler would merge functions with equal bodies.

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
