import ArgumentParser
import Foundation
import Glibc
import KafkaLog
import PushModel
import PushWorker
import Synchronization

/// Measures how a worker takes in events, in a process of its own. Events come from Kafka. Pushes go to an APNs in
/// memory, which accepts at once. Records go to a Kafka in memory, which acknowledges at once.
struct IngestCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ingest", abstract: "Take the records of a topic into a loop with nothing behind it.",
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
        // The worker uses the same niceness.
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
        var shard = IngestShard(assignment.readers, activities: self.activities, partitionCount: self.partitions)
        try shard.register()

        var meter = try IngestMeter(own: getpid(), broker: self.brokerPid)
        meter.start()
        assignment.complete { _ in .beginning }
        try shard.take(self.events, limitMicros: 60_000_000)
        print(meter.measured(eventCount: shard.eventCount, pushCount: shard.pushCount).line)
        fflush(nil)
        // Leaving the group would take seconds, and the broker ends with the run.
        Glibc.exit(0)
    }
}

/// The worker's loop, which reads the partition queues of a real consumer and uses the machine's clock. APNs and the
/// Kafka that takes records are in memory.
private struct IngestShard: ~Copyable {
    private let log: IngestLog
    private let activities: CountedActivities
    private var loop: CountedLoop

    /// Shortest time between two turns, as in the worker's `ShardRunner`.
    private static let turnDistanceMicros: UInt32 = 1_000

    init(_ readers: [PartitionReader], activities count: Int, partitionCount: Int32) {
        self.activities = CountedActivities(count: count, partitionCount: partitionCount, identity: .short)
        // The loop never sleeps longer than the time between two turns, so nothing has to wake it.
        var input = KafkaInput(inputTopics: IngestLog.inputTopics, wake: {})
        for reader in readers { input.own(reader.topicPartition.partition, [reader]) }
        self.log = IngestLog(input, self.activities)
        self.loop = CountedLoop(inputTopics: IngestLog.inputTopics, partitionCount: partitionCount, log: self.log)
        self.loop.assignPartitions(now: Self.now)
    }

    var eventCount: Int { self.log.eventCount }
    var pushCount: Int { self.loop.push.pushCount }

    mutating func register() throws {
        var values: [UInt8] = []
        for activity in 0..<self.activities.count {
            Workload.appendRegistration(activity, to: &values, identity: self.activities.identity)
        }
        self.log.memory.offer(
            0..<self.activities.count, values: values, isShared: false, timestampMillis: Self.now.wallMillis)
        try self.turn(until: { $0.memory.uncommittedCount == 0 }, limitMicros: 10_000_000)
    }

    /// Takes a number of events from Kafka.
    mutating func take(_ count: Int, limitMicros: Int64) throws {
        self.log.isReading = true
        try self.turn(until: { $0.eventCount >= count }, limitMicros: limitMicros)
    }

    private mutating func turn(until isDone: (IngestLog) -> Bool, limitMicros: Int64) throws {
        let limit = Clock.nowMicros + limitMicros
        while true {
            let now = Self.now
            self.loop.turn(now: now)
            if isDone(self.log) { return }
            guard Clock.nowMicros < limit, self.loop.faults.isEmpty else {
                throw BenchmarkFailure(
                    (["\(self.eventCount) events were taken"] + self.loop.faults).joined(separator: "; "))
            }
            usleep(Self.turnDistanceMicros)
        }
    }

    private static var now: EngineTime {
        EngineTime(steadyMillis: Clock.micros(CLOCK_BOOTTIME) / 1_000, wallMillis: Clock.wallMicros / 1_000)
    }
}
