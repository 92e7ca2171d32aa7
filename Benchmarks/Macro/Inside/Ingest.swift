import APNSProtocol
import ArgumentParser
import Foundation
import Glibc
import KafkaLog
import PushEngine
import PushModel
import Synchronization

/// The way in alone, as a process: the consumer and the engine of a shard, an APNs that accepts at once and a Kafka that
/// acknowledges at once behind them.
struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest", abstract: "Take the records of a topic into an engine with nothing behind it.",
        shouldDisplay: false)

    @Option var bootstrap: String
    @Option var partitions: Int32
    @Option var events: Int
    @Option var activities: Int
    @Option var brokerPid: Int32

    func run() throws {
        let assignments = Mutex<PartitionAssignment?>(nil)
        let settings = KafkaSettings(bootstrap: self.bootstrap).appending("fetch.wait.max.ms", "10")
        var options = ConsumerConfiguration(
            settings: settings, groupID: "ingest-\(getpid())", driverTopic: Workload.topic, log: { _ in })
        // As in the worker.
        options.brokerThreadNiceness = 10
        let consumer = try KafkaConsumer(options)
        try consumer.start { event in
            if case .assigned(let assignment) = event { assignments.withLock { $0 = assignment } }
        }
        var assignment: PartitionAssignment?
        let deadline = Clock.nowMicros + 30_000_000
        while assignment == nil {
            guard Clock.nowMicros < deadline else { throw BenchmarkFailure("the group gave no partitions") }
            Clock.sleep(millis: 5)
            assignment = assignments.withLock { $0 }
        }
        guard let assignment, assignment.partitions.count == Int(self.partitions) else {
            throw BenchmarkFailure(
                "the group gave \(assignment?.partitions.count ?? 0) of \(self.partitions) partitions")
        }
        var shard = NullShard(partitionCount: self.partitions)
        shard.register(self.activities)

        var meter = try IngestMeter(own: getpid(), broker: self.brokerPid)
        meter.start()
        assignment.complete { _ in .beginning }
        let limit = Clock.nowMicros + 60_000_000
        while shard.consumedCount < self.events {
            if !shard.turn(assignment.readers) {
                guard Clock.nowMicros < limit else {
                    throw BenchmarkFailure("\(shard.consumedCount) of \(self.events) events were taken")
                }
                usleep(1_000)
            }
        }
        print(meter.measured(eventCount: shard.consumedCount, pushCount: shard.pushCount).line)
        fflush(nil)
        // Leaving the group would take seconds; the broker ends with the run.
        Glibc.exit(0)
    }
}

/// An engine with nothing behind it. As in the worker's shard, work is done in turns of bounded size.
struct NullShard: ~Copyable {
    private var engine: ShardEngine
    private var request = PushRequest()
    private var answers: [PushAnswer] = []
    private var batch = InputBatch()
    private(set) var consumedCount = 0
    private(set) var pushCount = 0
    private var firstReader = 0
    /// What is taken for the time; `nil`: the clock's.
    private var virtualNow: EngineTime?
    /// The next offset of each partition of the events, under virtual time.
    private var offsets: [Int64] = []

    private static let recordsPerQueueMax = 256
    private static let recordsPerTurnMax = 2_048
    /// Topic 0 holds the registrations, which do not come from Kafka; topic 1 the events.
    private static let eventsTopic: UInt16 = 1

    /// - Parameter isVirtual: time stands still until it is told to move.
    init(partitionCount: Int32, isVirtual: Bool = false) {
        self.virtualNow = isVirtual ? EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000) : nil
        self.offsets = Array(repeating: 0, count: Int(partitionCount))
        var app = AppConfiguration(bundleID: SampleRequest.bundleID)
        app.productionRoute = 0
        let configuration = EngineConfiguration(
            apps: [app], inputTopics: ["registrations", Workload.topic, "routed"], routedTopicIndex: 2,
            partitionCount: partitionCount)
        self.engine = ShardEngine(configuration: configuration, randomSeed: 1)
        let now = self.now()
        for partition in 0..<partitionCount {
            self.engine.partitionAssigned(partition, now: now)
            self.acknowledge(now)
            self.engine.restoreFinished(partition: partition, logEnds: [], starts: [], now: now)
        }
    }

    mutating func register(_ activities: Int) {
        let now = self.now()
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        var offsets = [Int64](repeating: 0, count: Int(self.engine.configuration.partitionCount))
        for activity in 0..<activities {
            key.removeAll(keepingCapacity: true)
            value.removeAll(keepingCapacity: true)
            Workload.appendKey(activity, to: &key)
            Workload.appendRegistration(activity, to: &value)
            let partition = Murmur2.partition(key: key.span, count: self.engine.configuration.partitionCount)
            let record = InputRecord(
                topic: 0, partition: partition, offset: offsets[Int(partition)], timestampMillis: now.wallMillis,
                hasKey: true, hasValue: true, origin: nil)
            offsets[Int(partition)] += 1
            self.engine.consume(record, key: key.span, value: value.span, traceparent: Span(), now: now)
            if activity % 1_000 == 0 { self.acknowledge(now) }
        }
        self.finishTurn(EngineTime(steadyMillis: now.steadyMillis + 1_000, wallMillis: now.wallMillis))
    }

    /// Takes what waits, up to a bound. `false`: nothing did.
    mutating func turn(_ readers: [PartitionReader]) -> Bool {
        let now = self.now()
        let before = self.consumedCount
        self.firstReader = (self.firstReader + 1) % readers.count
        for step in readers.indices {
            let room = Self.recordsPerTurnMax - (self.consumedCount - before)
            guard room > 0, self.engine.wantsRecords else { break }
            self.read(readers[(self.firstReader + step) % readers.count], max: min(room, Self.recordsPerQueueMax), now)
        }
        self.finishTurn(now)
        return self.consumedCount > before
    }

    /// Takes an update for each of these activities, out of memory, and does all that follows at this moment.
    mutating func turn(_ activities: Range<Int>, number: Int) {
        let now = self.now()
        var (key, value): ([UInt8], [UInt8]) = ([], [])
        Workload.appendUpdate(number, to: &value)
        for activity in activities {
            key.removeAll(keepingCapacity: true)
            Workload.appendKey(activity, to: &key)
            let partition = Murmur2.partition(key: key.span, count: self.engine.configuration.partitionCount)
            let input = InputRecord(
                topic: Self.eventsTopic, partition: partition, offset: self.offsets[Int(partition)],
                timestampMillis: now.wallMillis, hasKey: true, hasValue: true, origin: nil)
            self.offsets[Int(partition)] += 1
            if self.batch.append(input, key: key.span, value: value.span, traceparent: Span()) { continue }
            self.engine.consume(&self.batch, now: now)
            _ = self.batch.append(input, key: key.span, value: value.span, traceparent: Span())
        }
        self.engine.consume(&self.batch, now: now)
        self.consumedCount += activities.count
        self.finishTurn(now)
        self.wait(millis: 1)
    }

    /// Under virtual time: it moves.
    mutating func wait(millis: Int64) {
        self.virtualNow?.steadyMillis += millis
        self.virtualNow?.wallMillis += millis
        self.finishTurn(self.now())
    }

    private mutating func read(_ reader: PartitionReader, max: Int, _ now: EngineTime) {
        let result = reader.read(max: max) { record in
            let input = InputRecord(
                topic: Self.eventsTopic, partition: record.partition, offset: record.offset,
                timestampMillis: Swift.max(0, record.timestampMillis), hasKey: record.hasKey, hasValue: record.hasValue,
                origin: nil)
            let (key, value) = (record.key, record.value)
            record.withHeader("traceparent") { traceparent, _ in
                if self.batch.append(input, key: key, value: value, traceparent: traceparent) { return }
                self.engine.consume(&self.batch, now: now)
                _ = self.batch.append(input, key: key, value: value, traceparent: traceparent)
            }
        }
        self.engine.consume(&self.batch, now: now)
        self.consumedCount += result.recordCount
    }

    private mutating func finishTurn(_ now: EngineTime) {
        if let due = self.engine.nextDeadlineMillis, due <= now.steadyMillis { self.engine.advance(now: now) }
        while self.engine.nextPush(route: 0, into: &self.request, now: now) {
            self.answers.append(PushAnswer(id: self.request.id, result: .accepted, apnsMicros: 0))
        }
        self.pushCount += self.answers.count
        self.engine.answered(self.answers, now: now)
        self.answers.removeAll(keepingCapacity: true)
        self.acknowledge(now)
        self.engine.takeAcceptedSamples { _ in }
        _ = self.engine.takeCommits()
    }

    private mutating func acknowledge(_ now: EngineTime) {
        while !self.engine.batch.isEmpty {
            var batch = RecordBatch()
            swap(&batch, &self.engine.batch)
            for (index, record) in batch.records.enumerated() {
                self.engine.acknowledged(record.acknowledgement, offset: Int64(index), now: now)
            }
            // Its capacity is used again, as the worker does.
            batch.removeAll()
            if self.engine.batch.isEmpty { swap(&batch, &self.engine.batch) }
        }
    }

    private func now() -> EngineTime {
        self.virtualNow
            ?? EngineTime(steadyMillis: Clock.micros(CLOCK_BOOTTIME) / 1_000, wallMillis: Clock.wallMicros / 1_000)
    }
}
