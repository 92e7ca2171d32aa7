import PushEngine
import PushModel
import PushWorker
import ShardLoop

/// The production loop with the members of an audience, in virtual time, between a Kafka and an APNs in memory.
struct CountedMembers: ~Copyable {
    private let log: AudienceLog
    private let members: CountedActivities
    private let joinValue: [UInt8]
    private var loop: CountedLoop
    private var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)

    /// Maximum number of turns in a step. A step needs far fewer.
    private static let turnsMax = 100_000

    /// Makes a loop with members.
    /// - Parameters:
    ///   - joinValue: value of the record with which each member joins.
    ///   - state: records that another loop wrote. Partitions wait until they are restored from it. If it is empty,
    ///     partitions run at once.
    init(
        members count: Int, partitionCount: Int32, length: AudienceWorkload.TokenLength = .short,
        joinValue: [UInt8] = AudienceWorkload.join, state: [[StateRecord]] = []
    ) {
        self.joinValue = joinValue
        self.members = CountedActivities(members: count, partitionCount: partitionCount, length: length)
        self.log = AudienceLog(self.members, state: state)
        self.loop = CountedLoop(
            inputTopics: AudienceLog.inputTopics, partitionCount: partitionCount, log: self.log)
        // A restore ends at the markers with which the loop claims its partitions, so these markers are kept.
        self.log.memory.keepsState = !state.isEmpty
        self.log.memory.sectionStage = state.isEmpty ? .end : .nothing
        self.loop.assignPartitions(now: self.now)
        repeat { self.loop.turn(now: self.now) } while self.log.memory.unreportedCount > 0
    }

    /// Traces a share of the events from here on, and the passes of traced events.
    /// - Returns: `nil` when the share is not valid.
    mutating func trace(share: Double) -> MeasuredTracing? {
        let tracing = MeasuredTracing(
            inputTopics: AudienceLog.inputTopics, bundleIDs: [SampleRequest.bundleID], share: share)
        guard let tracing else { return nil }
        self.log.trace(by: tracing)
        self.loop.tracing = tracing
        return tracing
    }

    var pushCount: Int { self.loop.push.pushCount }
    /// Bytes of the body that was sent last.
    var bodyByteCount: Int { self.loop.push.bodyByteCount }
    /// Records written to `state` while records were kept.
    var state: [[StateRecord]] { self.log.memory.state }
    mutating func keepState(_ keeps: Bool) { self.log.memory.keepsState = keeps }

    /// Lets members join, and takes turns until the offsets of all joins are committed.
    mutating func join(_ members: Range<Int>, meter: inout AllocationMeter) throws {
        self.log.memory.offer(
            members, values: self.joinValue, isShared: true, timestampMillis: self.now.wallMillis)
        var isSettled = false
        meter.count(members.count) { self.countedJoin(&isSettled) }
        try self.check(isSettled, "joins were not committed")
    }

    /// Publishes an event for all members, pushes to each, and writes down the results.
    mutating func push(number: Int, meter: inout AllocationMeter) throws {
        self.move(millis: 5_000)
        self.loop.turn(now: self.now)
        self.log.offerUpdate(number, timestampMillis: self.now.wallMillis)
        let before = self.pushCount
        var isDone = false
        meter.count(self.members.count) { self.countedMemberPush(&isDone) }
        try self.checkPushes(isDone, since: before)
    }

    /// Publishes a start for all members, pushes it to each, and writes down the results. Each partition announces the
    /// start before it pushes.
    mutating func start(meter: inout AllocationMeter) throws {
        self.move(millis: 5_000)
        self.loop.turn(now: self.now)
        self.log.offerEvent(AudienceWorkload.start, timestampMillis: self.now.wallMillis)
        let before = self.pushCount
        var isDone = false
        meter.count(self.members.count) { self.countedMemberStart(&isDone) }
        try self.checkPushes(isDone, since: before)
    }

    /// Ends the started activities, so that they can be started again.
    mutating func end() throws {
        self.move(millis: 5_000)
        self.log.offerEvent(AudienceWorkload.end, timestampMillis: self.now.wallMillis)
        try self.check(self.turn { $0.log.isStill }, "the end was not taken")
    }

    /// Restores what another loop wrote.
    mutating func restore(meter: inout AllocationMeter) throws {
        // The last record of each partition is this loop's own marker. It is restored, but does not count as an
        // operation.
        let markerCount = Int(self.members.partitionCount)
        let count = self.state.reduce(0) { $0 + $1.count } - markerCount
        self.log.memory.sectionStage = .records
        meter.count(count) { self.countedMemberRestore() }
        try self.check(self.loop.restoredRecordCount == count + markerCount, "not all records were restored")
        self.log.memory.sectionStage = .end
        self.loop.turn(now: self.now)
        try self.check(self.loop.isRunning, "partitions do not run")
    }

    // MARK: Counted functions

    @inline(never) private mutating func countedJoin(_ isSettled: inout Bool) -> CountedOperation {
        isSettled = self.turn { $0.log.memory.uncommittedCount == 0 && $0.log.isStill }
        return .join
    }

    @inline(never) private mutating func countedMemberPush(_ isDone: inout Bool) -> CountedOperation {
        isDone = self.turnUntilAnswered(self.pushCount + self.members.count)
        return .memberPush
    }

    @inline(never) private mutating func countedMemberStart(_ isDone: inout Bool) -> CountedOperation {
        isDone = self.turnUntilAnswered(self.pushCount + self.members.count)
        return .memberStart
    }

    @inline(never) private mutating func countedMemberRestore() -> CountedOperation {
        self.loop.turn(now: self.now)
        return .memberRestore
    }

    // MARK: Steps

    /// Takes turns until `isDone`. Lets time pass to the loop's next deadline when Kafka and APNs have nothing for it.
    /// - Returns: `false` when there is no next deadline, or after `turnsMax` turns.
    private mutating func turn(until isDone: (borrowing Self) -> Bool) -> Bool {
        for _ in 0..<Self.turnsMax {
            let pushCount = self.pushCount
            self.loop.turn(now: self.now)
            if isDone(self) { return true }
            if self.pushCount > pushCount || self.loop.push.answerCount > 0 || !self.log.isStill { continue }
            guard let dueMillis = self.loop.deadlineMillis else { return false }
            self.move(millis: max(0, dueMillis - self.now.steadyMillis))
        }
        return false
    }

    /// Takes turns until a number of pushes are answered and all results are written down.
    private mutating func turnUntilAnswered(_ wanted: Int) -> Bool {
        let isDone = self.turn { $0.pushCount >= wanted && $0.loop.push.answerCount == 0 && $0.log.isStill }
        // Passes write down their progress once a second, so more than a second has to pass.
        self.move(millis: 1_100)
        _ = self.turn { $0.log.isStill }
        return isDone
    }

    private mutating func move(millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
    }

    private func checkPushes(_ isDone: Bool, since before: Int) throws {
        try self.check(
            isDone && self.pushCount - before == self.members.count,
            "\(self.pushCount - before) pushes for \(self.members.count) members")
    }

    private func check(_ holds: Bool, _ fault: String) throws {
        guard holds, self.loop.faults.isEmpty else {
            throw BenchmarkFailure(([fault] + self.loop.faults).joined(separator: "; "))
        }
    }
}
