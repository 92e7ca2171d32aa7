import APNSProtocol
import PushEngine
import PushModel

/// An engine under virtual time whose turns are taken in steps that a profile can tell apart: records out of memory, an APNs that accepts
/// at once, a Kafka that acknowledges when told.
struct CountedShard: ~Copyable {
    private var engine: ShardEngine
    private var batch = InputBatch()
    private var records = RecordBatch()
    private var request = PushRequest()
    private var answers: [PushAnswer] = []
    private var event = DecodedEvent()
    private var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
    private var offsets: [Int64]
    private let partitionCount: Int32
    /// Of each activity, made once.
    private let keys: [[UInt8]]
    private let partitions: [Int32]
    private var update: [UInt8] = []
    /// The one that replaces it.
    private var later: [UInt8] = []
    /// The last state record of each activity that was written.
    private(set) var states: [(partition: Int32, key: [UInt8], value: [UInt8])] = []

    /// Identities as long as they are in practice.
    private static let identity = Workload.Identity.long
    private static let eventsTopic: UInt16 = 0

    /// - Parameter isRestoring: its partitions wait for their `state`.
    init(activities: Int, partitionCount: Int32, isRestoring: Bool = false) {
        self.partitionCount = partitionCount
        self.offsets = Array(repeating: 0, count: Int(partitionCount))
        var app = AppConfiguration(bundleID: SampleRequest.bundleID)
        app.productionRoute = 0
        self.engine = ShardEngine(
            configuration: EngineConfiguration(
                apps: [app], inputTopics: [Workload.topic, "routed"], routedTopicIndex: 1,
                partitionCount: partitionCount), randomSeed: 1)
        self.keys = (0..<activities).map { activity in
            var key: [UInt8] = []
            Workload.appendKey(activity, to: &key, identity: Self.identity)
            return key
        }
        self.partitions = self.keys.map { Murmur2.partition(key: $0.span, count: partitionCount) }
        for partition in 0..<partitionCount {
            self.engine.partitionAssigned(partition, now: self.now)
            self.acknowledgeAll()
            guard !isRestoring else { continue }
            self.engine.restoreFinished(partition: partition, logEnds: [], starts: [], now: self.now)
        }
    }

    /// Afterwards nothing waits, and the engine has forgotten nothing.
    mutating func register(_ activities: Range<Int>) {
        var value: [UInt8] = []
        for activity in activities {
            value.removeAll(keepingCapacity: true)
            Workload.appendRegistration(activity, to: &value, identity: Self.identity)
            self.take(activity, value)
        }
        self.engine.consume(&self.batch, now: self.now)
        self.wait(millis: 1_000)
        self.acknowledgeAll()
        _ = self.engine.takeCommits()
    }

    /// An update for each of the activities, another one for each, a push for each, and all that follows.
    mutating func turn(_ activities: Range<Int>, number: Int, meter: inout AllocationMeter) throws {
        self.update.removeAll(keepingCapacity: true)
        Workload.appendUpdate(2 * number, to: &self.update)
        self.later.removeAll(keepingCapacity: true)
        Workload.appendUpdate(2 * number + 1, to: &self.later)
        let count = activities.count
        meter.count(.decode, count) { self.countedDecode(count) }
        meter.count(.take, count) { self.countedTake(activities) }
        meter.count(.merge, count) { self.countedMerge(activities) }
        meter.count(.nextPush, count) { self.countedNextPush() }
        guard self.answers.count == count else {
            throw BenchmarkFailure("\(self.answers.count) of \(count) pushes were ready")
        }
        meter.count(.answer, count) { self.countedAnswer() }
        self.takeRecords()
        meter.count(.acknowledgeOutcomes, count) { self.countedAcknowledgeOutcomes() }
        self.move(millis: 100)
        meter.count(.writeStates, count) { self.countedWriteStates() }
        self.takeRecords()
        guard self.records.records.count == count, self.records.records.allSatisfy({ $0.topic == .state }) else {
            throw BenchmarkFailure("\(self.records.records.count) records instead of \(count) of state")
        }
        meter.count(.acknowledgeStates, count) { self.countedAcknowledgeStates() }
        self.engine.takeAcceptedSamples { _ in }
    }

    /// Reads what another wrote.
    mutating func restore(
        _ states: [(partition: Int32, key: [UInt8], value: [UInt8])], meter: inout AllocationMeter
    ) throws {
        var restoredCount = 0
        meter.count(.restore, states.count) { restoredCount = self.countedRestore(states) }
        guard restoredCount == states.count else {
            throw BenchmarkFailure("\(restoredCount) of \(states.count) records were restored")
        }
    }

    /// Time goes by, and what is due happens.
    mutating func wait(millis: Int64) {
        self.move(millis: millis)
        self.engine.advance(now: self.now)
    }

    /// The state records of the last turns.
    mutating func keepStates() {
        let bytes = self.records.bytes
        for record in self.records.records where record.topic == .state {
            self.states.append((record.partition, Array(bytes[record.key]), Array(bytes[record.value])))
        }
    }

    // MARK: What is counted

    @inline(never) private mutating func countedDecode(_ count: Int) {
        let update = self.update
        var event = DecodedEvent()
        swap(&event, &self.event)
        for _ in 0..<count { try? EventDecoder.decode(update.span, into: &event) }
        swap(&event, &self.event)
    }

    @inline(never) private mutating func countedTake(_ activities: Range<Int>) {
        for activity in activities { self.take(activity, self.update) }
        self.engine.consume(&self.batch, now: self.now)
    }

    @inline(never) private mutating func countedMerge(_ activities: Range<Int>) {
        for activity in activities { self.take(activity, self.later) }
        self.engine.consume(&self.batch, now: self.now)
    }

    @inline(never) private mutating func countedNextPush() {
        while self.engine.nextPush(route: 0, into: &self.request, now: self.now) {
            self.answers.append(PushAnswer(id: self.request.id, result: .accepted, apnsMicros: 1_000))
        }
    }

    @inline(never) private mutating func countedAnswer() {
        self.engine.answered(self.answers, now: self.now)
        self.answers.removeAll(keepingCapacity: true)
    }

    @inline(never) private mutating func countedAcknowledgeOutcomes() { self.acknowledgeTaken() }

    @inline(never) private mutating func countedWriteStates() { self.engine.advance(now: self.now) }

    @inline(never) private mutating func countedAcknowledgeStates() {
        self.acknowledgeTaken()
        _ = self.engine.takeCommits()
    }

    @inline(never) private mutating func countedRestore(
        _ states: [(partition: Int32, key: [UInt8], value: [UInt8])]
    ) -> Int {
        var count = 0
        for (offset, state) in states.enumerated() {
            let result = self.engine.restore(
                partition: state.partition, key: state.key.span, value: state.value.span, isTombstone: false,
                offset: Int64(offset), now: self.now)
            if result == .restored { count += 1 }
        }
        return count
    }

    // MARK: Steps

    private mutating func take(_ activity: Int, _ value: [UInt8]) {
        let partition = self.partitions[activity]
        let input = InputRecord(
            topic: Self.eventsTopic, partition: partition, offset: self.offsets[Int(partition)],
            timestampMillis: self.now.wallMillis, hasKey: true, hasValue: true, origin: nil)
        self.offsets[Int(partition)] += 1
        let key = self.keys[activity]
        if self.batch.append(input, key: key.span, value: value.span, traceparent: Span()) { return }
        self.engine.consume(&self.batch, now: self.now)
        _ = self.batch.append(input, key: key.span, value: value.span, traceparent: Span())
    }

    private mutating func move(millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
    }

    /// Its capacity is used again, as the worker does.
    private mutating func takeRecords() {
        self.records.removeAll()
        swap(&self.records, &self.engine.batch)
    }

    private mutating func acknowledgeTaken() {
        for (index, record) in self.records.records.enumerated() {
            self.engine.acknowledged(record.acknowledgement, offset: Int64(index), now: self.now)
        }
    }

    private mutating func acknowledgeAll() {
        while !self.engine.batch.isEmpty {
            self.takeRecords()
            self.acknowledgeTaken()
            self.engine.advance(now: self.now)
        }
    }
}
