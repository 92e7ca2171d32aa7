import APNSProtocol
import Foundation
import PushEngine
import PushModel
import Testing

/// Drives a `ShardEngine` as its runner does, only through its public API. The harness feeds it JSON records, answers,
/// acknowledgements and time, and takes its pushes. It checks the engine's invariants after every step, and can restart
/// the engine from what Kafka would have kept.
final class EngineHarness {
    var engine: ShardEngine
    private(set) var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    let partition: Int32 = 0
    /// Whether Kafka acknowledges records at once.
    var acknowledgesAtOnce = true
    /// Everything that the engine has written, in order.
    private(set) var written: [WrittenRecord] = []
    /// Records written and not yet acknowledged, in order.
    private(set) var outstanding: [WrittenRecord] = []
    /// The partition of `state`, as Kafka has it.
    private(set) var stateLog: [WrittenRecord] = []
    /// The records that were consumed from each input topic.
    private(set) var consumed: [UInt16: [(record: InputRecord, key: [UInt8], value: [UInt8])]] = [:]
    /// The committed offset of each input topic.
    private(set) var committed: [UInt16: Int64] = [:]
    /// The end of each input topic's log.
    private var nextOffset: [UInt16: Int64] = [:]
    /// Configuration of this engine and of the engines that take over from it.
    var configuration: EngineConfiguration

    /// Offset of the first record of each topic.
    static let firstOffset: Int64 = 100

    /// - Parameters:
    ///   - seed: random seed of the first engine.
    ///   - configure: changes the configuration, which has one app with both environments. Route 0 is production.
    init(seed: UInt64 = 7, _ configure: (inout EngineConfiguration) -> Void = { _ in }) {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        app.developmentRoute = 1
        var configuration = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
            routedTopicIndex: 1,
            partitionCount: 8)
        configuration.settings.placement = .trust
        configuration.settings.outcomePublication = .all
        configure(&configuration)
        self.configuration = configuration
        self.engine = ShardEngine(configuration: configuration, randomSeed: seed)
        self.assign()
    }

    var wallSeconds: Int64 { self.now.wallSeconds }
    var counters: EngineCounters { self.engine.counters }

    /// Reconfigures the engine. An engine that takes over has the new configuration, too.
    func reconfigure(_ change: (inout EngineConfiguration) -> Void) throws(ReconfigurationRefusal) {
        var configuration = self.configuration
        change(&configuration)
        try self.engine.reconfigure(configuration, now: self.now)
        self.configuration = configuration
        self.step()
        self.advance(0)
    }

    // MARK: Life of a partition

    /// How long claiming a partition and reading its `state` take.
    var restoreMillis: Int64 = 0
    private var actions: [PartitionAction] = []
    /// When the former owner released the partition; `nil` if the next owner does not know.
    var releasedWallMillis: Int64?

    private func assign() {
        self.engine.partitionAssigned(
            self.partition, releasedWallMillis: self.releasedWallMillis, now: self.now)
        self.collect()
        self.acknowledgeAll()
        self.actions = []
        guard let marker = self.markerOffset else {
            Issue.record("the marker was acknowledged and has no offset")
            return
        }
        self.now.steadyMillis += self.restoreMillis
        self.now.wallMillis += self.restoreMillis
        for (offset, record) in self.stateLog.enumerated() where offset <= marker {
            let key = record.key
            let value = record.value
            let result = self.engine.restore(
                partition: self.partition, key: key.span, value: value.span, isTombstone: record.isNull,
                header: StateHeader(isTombstone: record.isNull) { record.headers[$0.text].flatMap { Int64($0) } },
                offset: Int64(offset), now: self.now)
            self.restoreResults.append(result)
        }
        let topics = self.configuration.inputTopics.indices.map { UInt16($0) }
        self.engine.restoreFinished(
            partition: self.partition,
            logEnds: topics.map { CommitPosition(topic: $0, partition: self.partition, nextOffset: self.logEnd($0)) },
            starts: topics.map {
                CommitPosition(topic: $0, partition: self.partition, nextOffset: self.committed[$0] ?? Self.firstOffset)
            },
            now: self.now)
        self.step()
    }

    /// Assigns the partition to the same process again.
    func assignAgain() {
        self.outstanding = []
        self.restoreResults = []
        self.assign()
    }

    /// Appends to `state` a record that the engine did not write.
    func writeState(_ record: WrittenRecord) { self.stateLog.append(record) }

    private(set) var restoreResults: [RestoreResult] = []

    func logEnd(_ topic: UInt16 = 0) -> Int64 { self.nextOffset[topic] ?? Self.firstOffset }

    /// Crashes the engine. A new process takes over from what Kafka has. Unacknowledged records are lost, and
    /// uncommitted events are read again.
    /// - Parameter replays: whether the events are read at once; otherwise the test calls `replay`.
    func crash(afterMillis: Int64 = 5_000, replays: Bool = true) {
        self.outstanding = []
        self.restoreResults = []
        self.now.steadyMillis += 77_777_777  // another machine's clock
        self.now.wallMillis += afterMillis
        self.engine = ShardEngine(configuration: self.configuration, randomSeed: 8)
        self.engine.tracesPasses = self.tracesPasses
        self.acknowledgesAtOnce = true
        self.assign()
        if replays { self.replay() }
    }

    /// Crashes the worker, and gives its successor this configuration.
    func crash(by configuration: EngineConfiguration) {
        self.configuration = configuration
        self.crash()
    }

    /// Loses the group's commits, so that the next owner reads from the beginning.
    func loseCommits() { self.committed = [:] }

    /// Compacts `state` by removing all markers but the last few. Offsets of other records stay.
    func compactMarkers(keeping kept: Int) {
        let markers = self.stateLog.indices.filter { self.stateLog[$0].key == [UInt8(ascii: "m")] }
        for index in markers.dropLast(kept) {
            self.stateLog[index].key = Array("a/com.example.pizza/stranger".utf8)
            self.stateLog[index].isNull = true
            self.stateLog[index].headers = [:]
        }
    }

    /// Compacts `state` to the last record of each key.
    func compactState() {
        var last: [[UInt8]: Int] = [:]
        for (index, record) in self.stateLog.enumerated() { last[record.key] = index }
        for index in self.stateLog.indices where last[self.stateLog[index].key] != index { self.loseState(at: index) }
    }

    /// Removes the records of `state` for which `isLost` is true, as if Kafka had never had them.
    func loseState(where isLost: (WrittenRecord) -> Bool) {
        for index in self.stateLog.indices where isLost(self.stateLog[index]) { self.loseState(at: index) }
    }
    /// Removes one record. Offsets of other records stay.
    private func loseState(at index: Int) {
        self.stateLog[index].key = Array("a/com.example.pizza/stranger".utf8)
        self.stateLog[index].isNull = true
        self.stateLog[index].headers = [:]
    }

    /// Reads the records at and behind the committed offsets again. `topic` and `offset` limit that to one topic or one
    /// offset.
    func replay(topic only: UInt16? = nil, offset onlyOffset: Int64? = nil) {
        for (topic, records) in self.consumed.sorted(by: { $0.key < $1.key }) where only == nil || topic == only {
            for (record, key, value) in records where record.offset >= self.committed[topic] ?? Self.firstOffset {
                guard onlyOffset == nil || record.offset == onlyOffset else { continue }
                self.engine.consume(
                    record, key: key.span, value: value.span, traceparent: [UInt8]().span, now: self.now)
                self.step()
            }
        }
    }

    // MARK: Records in

    /// Whether events consumed from here on are traced.
    var tracesEvents = false
    /// The `traceparent` of events for which a test gives none.
    var traceparent = ""
    /// Whether this engine and the engines that take over report passes for tracing.
    var tracesPasses = false {
        didSet { self.engine.tracesPasses = self.tracesPasses }
    }

    /// What happened to traced events since the last call.
    func traceNotices() -> [TraceNotice] {
        var notes: [TraceNotice] = []
        self.engine.takeTraceNotices { notes.append($0) }
        return notes
    }

    /// Consumes one record and returns its offset.
    @discardableResult
    func consume(
        key: String?, value: String?, topic: UInt16 = 0, recordMillis: Int64? = nil, origin: SourcePosition? = nil,
        traceparent: String = ""
    ) -> Int64 {
        self.consume(
            keyBytes: key.map { Array($0.utf8) }, valueBytes: value.map { Array($0.utf8) }, topic: topic,
            recordMillis: recordMillis, origin: origin, traceparent: traceparent)
    }

    /// Consumes one record of any kind, given as bytes.
    @discardableResult
    func consume(
        keyBytes key: [UInt8]?, valueBytes value: [UInt8]?, topic: UInt16, kind: RoutedKind = .event,
        recordMillis: Int64? = nil, origin: SourcePosition? = nil, traceparent: String = ""
    ) -> Int64 {
        let offset = self.logEnd(topic)
        self.nextOffset[topic] = offset + 1
        var record = InputRecord(
            topic: topic, partition: self.partition, offset: offset,
            timestampMillis: recordMillis ?? self.now.wallMillis,
            hasKey: key != nil, hasValue: value != nil, origin: origin, kind: kind)
        record.isTraced = self.tracesEvents
        let keyBytes = key ?? []
        let valueBytes = value ?? []
        let carried = traceparent.isEmpty && kind == .event ? self.traceparent : traceparent
        let trace = Array(carried.utf8)
        self.consumed[topic, default: []].append((record, keyBytes, valueBytes))
        // Records arrive in a batch, as from a runner.
        var batch = InputBatch()
        let fits = batch.append(record, key: keyBytes.span, value: valueBytes.span, traceparent: trace.span)
        #expect(fits)
        self.engine.consume(&batch, now: self.now)
        self.step()
        return offset
    }

    /// Number of its own bus records that the engine has read.
    private var busCount = 0

    /// Feeds the engine what it wrote to the routed topic for itself, and lets audiences make their versions, until
    /// nothing more is written.
    func carryBus() {
        var turns = 0
        while turns < 1_000 {
            turns += 1
            self.engine.publishVersions(now: self.now)
            if let due = self.engine.nextDeadlineMillis, due <= self.now.steadyMillis {
                self.engine.advance(now: self.now)
            }
            self.step()
            let bus = self.written.filter { $0.topic == .routed && $0.headers[RecordHeader.kind.text] != nil }
            guard self.busCount < bus.count else { break }
            let record = bus[self.busCount]
            self.busCount += 1
            self.consume(
                keyBytes: record.key, valueBytes: record.value, topic: 1,
                kind: RoutedKind(named: Array(record.headers[RecordHeader.kind.text]!.utf8).span))
        }
        #expect(turns < 1_000, "the bus is never still")
    }

    // MARK: Pushes out

    /// Takes the next push of a route.
    func take(route: UInt16 = 0) -> Push? {
        var request = PushRequest()
        return self.fill(&request, route: route) ? Push(request) : nil
    }

    /// Takes the next push in several turns, as a runner does. The record of a start is written and acknowledged first,
    /// and the start leaves in a later turn.
    func fill(_ request: inout PushRequest, route: UInt16 = 0) -> Bool {
        for _ in 0..<2 {
            let isFilled = self.engine.nextPush(route: route, into: &request, now: self.now)
            self.step()
            if isFilled { return true }
            self.engine.advance(now: self.now)
            self.step()
        }
        return false
    }

    func answer(_ push: Push, _ result: PushAnswer.Result) {
        self.engine.answered(PushAnswer(id: push.id, result: result, apnsMicros: 12_000), now: self.now)
        self.step()
    }

    /// Takes the next push and has APNs accept it.
    @discardableResult
    func deliver(route: UInt16 = 0, sourceLocation: SourceLocation = #_sourceLocation) -> Push? {
        guard let push = self.take(route: route) else {
            Issue.record("nothing is ready to be sent", sourceLocation: sourceLocation)
            return nil
        }
        self.answer(push, .accepted)
        return push
    }

    func hasReady(route: UInt16 = 0) -> Bool { self.engine.hasReady(route: route) }
    /// Actions that the engine has asked for since the partition was assigned. `takeStateGap` removes a gap from
    /// them.
    func actionsSoFar() -> [PartitionAction] {
        self.engine.takeActions(into: &self.actions, now: self.now)
        self.step()
        return self.actions
    }
    var isSettled: Bool { self.engine.isSettled(partition: self.partition) }
    var isQuiet: Bool { self.actionsSoFar().contains(.finishRelease(partition: self.partition)) }
    /// Whether Kafka has everything about the leaving partition, the release marker included.
    var isReleased: Bool {
        _ = self.actionsSoFar()
        return self.actionsSoFar().contains(.takeLastCommit(partition: self.partition))
    }
    var markerOffset: Int64? {
        for case .restore(self.partition, let offset) in self.actionsSoFar() { return offset }
        return nil
    }
    func takeStateGap() -> StateGap? {
        for (index, action) in self.actionsSoFar().enumerated() {
            guard case .repair(let gap) = action else { continue }
            self.actions.remove(at: index)
            return gap
        }
        return nil
    }
    var wantsRecords: Bool { self.engine.wantsRecords }
    var recordRoom: Int { self.engine.recordRoom }

    // MARK: Time

    /// Lets time pass and stops at every deadline on the way.
    func advance(_ millis: Int64) {
        let end = self.now.steadyMillis + millis
        var turns = 0
        while let deadline = self.engine.nextDeadlineMillis, deadline <= end, turns < 100_000 {
            turns += 1
            let step = max(0, deadline - self.now.steadyMillis)
            self.now.steadyMillis += step
            self.now.wallMillis += step
            self.engine.advance(now: self.now)
            self.step()
        }
        #expect(turns < 100_000, "a deadline stays due for ever")
        let rest = end - self.now.steadyMillis
        self.now.steadyMillis += rest
        self.now.wallMillis += rest
        self.engine.advance(now: self.now)
        self.step()
    }

    /// Steps the wall clock. The steady clock does not change.
    func stepWallClock(_ millis: Int64) { self.now.wallMillis += millis }

    // MARK: Kafka

    /// Lets Kafka acknowledge the outstanding records for which `isMeant` is true.
    func acknowledgeAll(where isMeant: (WrittenRecord) -> Bool = { _ in true }) {
        // An acknowledgement may make the engine write again. The new records wait for the next call.
        let meant = self.outstanding.filter(isMeant)
        self.outstanding.removeAll(where: isMeant)
        for record in meant {
            var offset: Int64 = 0
            if record.topic == .state {
                offset = Int64(self.stateLog.count)
                self.stateLog.append(record)
            }
            self.engine.acknowledged(record.acknowledgement, offset: offset, now: self.now)
        }
        self.collect()
        self.check()
    }

    private func collect() {
        let records = WrittenRecord.all(of: self.engine.batch)
        self.engine.batch.removeAll()
        self.written += records
        self.outstanding += records
    }

    /// Does what a runner does after each call: produce and commit. Then checks the invariants.
    func step() {
        self.collect()
        while self.acknowledgesAtOnce, !self.outstanding.isEmpty { self.acknowledgeAll() }
        self.check()
    }

    private func check() {
        var commits: [CommitPosition] = []
        self.engine.takeCommits(into: &commits, now: self.now)
        for commit in commits {
            let before = self.committed[commit.topic] ?? Self.firstOffset
            #expect(commit.nextOffset > before, "a commit went back")
            self.committed[commit.topic] = commit.nextOffset
        }
        let counters = self.engine.counters
        if !counters.isConserved { Issue.record("not conserved: \(counters)") }
        if !counters.members.isConserved { Issue.record("members are not conserved: \(counters.members)") }
        let waiting = self.engine.countWaitingMembers()
        if UInt64(waiting) != counters.members.waiting {
            Issue.record("\(waiting) members wait, \(counters.members.waiting) are counted")
        }
        if !counters.startMembers.isConserved { Issue.record("starts are not conserved: \(counters.startMembers)") }
        let starts = self.engine.countWaitingStartMembers()
        if starts < 0 || UInt64(bitPattern: Int64(starts)) != counters.startMembers.waiting {
            Issue.record("\(starts) start members wait, \(counters.startMembers.waiting) are counted")
        }
        let pending = self.engine.countPendingEvents()
        if pending != counters.pending {
            Issue.record("\(pending) events are pending, \(counters.pending) are counted")
        }
    }

    // MARK: Outcomes

    var outcomes: [OutcomeRecord] { self.written.filter { $0.topic == .outcomes }.map { OutcomeRecord($0) } }

    /// Names of all outcomes of the event at an offset, in the order they were written.
    func outcomes(of offset: Int64, topic: UInt16 = 0) -> [String] {
        self.outcomes.filter { $0.offset == offset && $0.topic == self.configuration.inputTopics[Int(topic)] }.map(
            \.outcome)
    }

    func outcome(of offset: Int64, sourceLocation: SourceLocation = #_sourceLocation) -> OutcomeRecord? {
        let found = self.outcomes.filter { $0.offset == offset }
        #expect(found.count == 1, "offset \(offset) has \(found.map(\.outcome))", sourceLocation: sourceLocation)
        return found.first
    }

    /// Whether all records consumed from a topic are committed.
    func isCommitted(topic: UInt16 = 0) -> Bool { (self.committed[topic] ?? Self.firstOffset) == self.logEnd(topic) }
}
