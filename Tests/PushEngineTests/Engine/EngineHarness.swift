import APNSProtocol
import Foundation
import PushEngine
import PushModel
import Testing

/// Drives a `ShardEngine` as its runner does, by public API alone: records in as JSON, pushes out, answers, Kafka's acknowledgements,
/// time. After every step it checks what always holds. Restarts it from what Kafka would have kept.
final class EngineHarness {
    var engine: ShardEngine
    private(set) var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
    let partition: Int32 = 0
    /// Kafka acknowledges at once, as long as this is true.
    var acknowledgesAtOnce = true
    /// Everything the engine has written, in order.
    private(set) var written: [WrittenRecord] = []
    /// Written and not acknowledged, in order.
    private(set) var outstanding: [WrittenRecord] = []
    /// The partition of `state` as Kafka has it.
    private(set) var stateLog: [WrittenRecord] = []
    /// By input topic: what was consumed, what is committed, where the log ends.
    private(set) var consumed: [UInt16: [(record: InputRecord, key: [UInt8], value: [UInt8])]] = [:]
    private(set) var committed: [UInt16: Int64] = [:]
    private var nextOffset: [UInt16: Int64] = [:]
    /// What an engine is made with, and goes by.
    var configuration: EngineConfiguration

    /// Where the first record of each topic lies.
    static let firstOffset: Int64 = 100

    /// - Parameters:
    ///   - seed: of the first engine.
    ///   - configure: changes the configuration; one app with both environments configured is there. Route 0 is production.
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

    /// The engine goes by another configuration from here on; so does one that takes over.
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
    /// What the former owner left word of.
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
                headerNumber: (record.headers[RecordHeader.epoch.text] ?? record.headers[RecordHeader.takeovers.text])
                    .flatMap { Int64($0) },
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

    /// The partition comes back to the same process.
    func assignAgain() {
        self.outstanding = []
        self.restoreResults = []
        self.assign()
    }

    /// Somebody else writes to `state`.
    func writeState(_ record: WrittenRecord) { self.stateLog.append(record) }

    private(set) var restoreResults: [RestoreResult] = []

    func logEnd(_ topic: UInt16 = 0) -> Int64 { self.nextOffset[topic] ?? Self.firstOffset }

    /// A new process takes over from what Kafka has: unacknowledged records are lost, uncommitted events are read again.
    /// - Parameter replays: false leaves the reading to the test (`replay`).
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

    /// Crashes the worker; its successor has another configuration.
    func crash(by configuration: EngineConfiguration) {
        self.configuration = configuration
        self.crash()
    }

    /// Loses the group's commits: the next owner reads from the beginning.
    func loseCommits() { self.committed = [:] }

    /// Compaction takes all markers but the last few; what lies at the other offsets stays there.
    func compactMarkers(keeping kept: Int) {
        let markers = self.stateLog.indices.filter { self.stateLog[$0].key == [UInt8(ascii: "m")] }
        for index in markers.dropLast(kept) {
            self.stateLog[index].key = Array("a/com.example.pizza/stranger".utf8)
            self.stateLog[index].isNull = true
            self.stateLog[index].headers = [:]
        }
    }

    /// Compaction takes all but the last record of each key.
    func compactState() {
        var last: [[UInt8]: Int] = [:]
        for (index, record) in self.stateLog.enumerated() { last[record.key] = index }
        for index in self.stateLog.indices where last[self.stateLog[index].key] != index { self.loseState(at: index) }
    }

    /// Kafka has never taken these.
    func loseState(where isLost: (WrittenRecord) -> Bool) {
        for index in self.stateLog.indices where isLost(self.stateLog[index]) { self.loseState(at: index) }
    }
    /// Positions of the others stay.
    private func loseState(at index: Int) {
        self.stateLog[index].key = Array("a/com.example.pizza/stranger".utf8)
        self.stateLog[index].isNull = true
        self.stateLog[index].headers = [:]
    }

    /// Reads again everything from the committed offsets on: of all topics, or of one; or only what lies at one offset.
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

    /// Whether events that come from here on are traced.
    var tracesEvents = false
    /// What events come with that say nothing else.
    var traceparent = ""
    /// Whether the engine, and the next, tells of passes.
    var tracesPasses = false {
        didSet { self.engine.tracesPasses = self.tracesPasses }
    }

    /// What happened to traced events since the last call.
    func traceNotes() -> [TraceNote] {
        var notes: [TraceNote] = []
        self.engine.takeTraceNotes { notes.append($0) }
        return notes
    }

    /// Consumes one record and answers its offset.
    @discardableResult
    func consume(
        key: String?, value: String?, topic: UInt16 = 0, recordMillis: Int64? = nil, origin: SourcePosition? = nil,
        traceparent: String = ""
    ) -> Int64 {
        self.consume(
            keyBytes: key.map { Array($0.utf8) }, valueBytes: value.map { Array($0.utf8) }, topic: topic,
            recordMillis: recordMillis, origin: origin, traceparent: traceparent)
    }

    /// Consumes one record given as bytes, of any kind.
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
        // As a runner does.
        var batch = InputBatch()
        let fits = batch.append(record, key: keyBytes.span, value: valueBytes.span, traceparent: trace.span)
        #expect(fits)
        self.engine.consume(&batch, now: self.now)
        self.step()
        return offset
    }

    /// Records of the bus that have been read again.
    private var busCount = 0

    /// What the engine wrote to the routed topic for itself comes back to it, and audiences make their versions, until all is still.
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

    /// As a runner's turns do: a start that is about to leave has its record written, acknowledged, and leaves in a later turn.
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
    /// What the engine has asked for since the partition was assigned, but for gaps that were taken.
    func told() -> [PartitionAction] {
        self.engine.takeActions(into: &self.actions)
        return self.actions
    }
    var isSettled: Bool { self.engine.isSettled(partition: self.partition) }
    var isQuiet: Bool { self.told().contains(.finishRelease(partition: self.partition)) }
    var isReleased: Bool { self.told().contains(.takeLastCommit(partition: self.partition)) }
    var markerOffset: Int64? {
        for case .restore(self.partition, let offset) in self.told() { return offset }
        return nil
    }
    func takeStateGap() -> StateGap? {
        for (index, action) in self.told().enumerated() {
            guard case .repair(let gap) = action else { continue }
            self.actions.remove(at: index)
            return gap
        }
        return nil
    }
    var wantsRecords: Bool { self.engine.wantsRecords }
    var recordRoom: Int { self.engine.recordRoom }

    // MARK: Time

    /// Lets time pass, stopping at every deadline on the way.
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

    /// The wall clock is set; the steady one runs on.
    func stepWallClock(_ millis: Int64) { self.now.wallMillis += millis }

    // MARK: Kafka

    /// Kafka acknowledges what it was handed, those that `where` names.
    func acknowledgeAll(where isMeant: (WrittenRecord) -> Bool = { _ in true }) {
        // Acknowledging may make the engine write again; what it writes then waits for the next call.
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

    /// What a runner does after each call: produce, commit. Then what always holds is checked.
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

    // MARK: What was said

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

    /// Everything taken of a topic is committed.
    func isCommitted(topic: UInt16 = 0) -> Bool { (self.committed[topic] ?? Self.firstOffset) == self.logEnd(topic) }
}
