import Dispatch
import KafkaLog
import Synchronization

/// A group member that reads all its partitions on a thread of its own, and remembers the offsets.
final class TestMember: Sendable {
    let consumer: KafkaConsumer
    private let state = Mutex(State())
    private let progress: Progress
    private let readable = DispatchSemaphore(value: 0)
    private let start: @Sendable (TopicPartition) -> LogStart?
    /// Number of arithmetic steps that the reading thread does for each record, so that it reads slowly.
    private let workPerRecord: Int

    struct Run {
        let partition: TopicPartition
        let reader: ObjectIdentifier
        var offsets: [Int64] = []
    }

    struct State {
        var readers: [TopicPartition: PartitionReader] = [:]
        var offsets: [TopicPartition: [Int64]] = [:]
        /// The offsets that readers handed over, for each ownership of a partition.
        var runs: [Run] = []
        var failures: [PartitionFailure] = []
        var errors: [KafkaError] = []
        var isLostSeen = false
        var overdue: [[Int32]] = []
        var held: Set<Int32> = []
        var stalled: Set<TopicPartition> = []
        var isStopped = false
    }

    init(
        _ configuration: ConsumerConfiguration, progress: Progress, workPerRecord: Int = 0,
        start: @escaping @Sendable (TopicPartition) -> LogStart? = { _ in .beginning }
    ) throws {
        self.consumer = try KafkaConsumer(configuration)
        self.progress = progress
        self.start = start
        self.workPerRecord = workPerRecord
    }

    func join(completesRevocations: Bool = true) throws {
        NamedThread.start("test-shard") { self.readLoop() }
        try self.consumer.start { event in
            self.handle(event, completesRevocations: completesRevocations)
            self.progress.made()
        }
    }

    var snapshot: State { self.state.withLock { $0 } }
    func stall(_ partitions: Set<TopicPartition>) {
        self.state.withLock { $0.stalled = partitions }; self.readable.signal()
    }

    func leave() async -> Bool {
        let isClosed = await self.consumer.close(within: .seconds(10))
        self.state.withLock { $0.isStopped = true }
        self.readable.signal()
        return isClosed
    }

    private func handle(_ event: ConsumerEvent, completesRevocations: Bool) {
        switch event {
        case .assigned(let assignment):
            self.state.withLock { state in
                for reader in assignment.readers {
                    state.readers[reader.topicPartition] = reader
                    state.runs.append(Run(partition: reader.topicPartition, reader: ObjectIdentifier(reader)))
                }
                state.held.formUnion(assignment.partitions)
            }
            for reader in assignment.readers { reader.onReadable { [readable] in readable.signal() } }
            assignment.complete(self.start)
        case .revoked(let revocation):
            self.state.withLock { state in
                state.isLostSeen = state.isLostSeen || revocation.isLost
                state.held.subtract(revocation.partitions)
                state.readers = state.readers.filter { !revocation.partitions.contains($0.key.partition) }
            }
            if completesRevocations { revocation.complete() }
        case .rebalanceOverdue(let partitions, _): self.state.withLock { $0.overdue.append(partitions) }
        case .failed(let error): self.state.withLock { $0.errors.append(error) }
        case .statistics: break
        }
    }

    private func readLoop() {
        while !self.state.withLock({ $0.isStopped }) {
            var isMoreWaiting = false
            let readers = self.state.withLock { state in
                state.readers.values.filter { !state.stalled.contains($0.topicPartition) }
            }
            for reader in readers {
                var offsets: [Int64] = []
                var work: UInt64 = 1
                let result = reader.read(max: 100) { record in
                    offsets.append(record.offset)
                    for _ in 0..<self.workPerRecord { work = work &* 6_364_136_223_846_793_005 &+ 1 }
                }
                withExtendedLifetime(work) {}
                isMoreWaiting = isMoreWaiting || result.mayHaveMore
                guard !offsets.isEmpty || result.failure != nil else { continue }
                self.state.withLock { state in
                    state.offsets[reader.topicPartition, default: []] += offsets
                    let run = state.runs.lastIndex { $0.reader == ObjectIdentifier(reader) }
                    if let run { state.runs[run].offsets += offsets }
                    if let failure = result.failure { state.failures.append(failure) }
                }
                self.progress.made()
            }
            if !isMoreWaiting { self.readable.wait() }
        }
    }
}

extension EmbeddedKafka {
    /// The configuration of a consumer group with the shortest times that the embedded Kafka allows. Its join window is
    /// the session timeout minus a second.
    func group(_ name: String, driver: String, riding: [String] = [], extra: KafkaSettings = KafkaSettings())
        -> ConsumerConfiguration
    {
        let settings = self.settings.appending("session.timeout.ms", "3500").appending("heartbeat.interval.ms", "300")
            .appending(extra)
        return ConsumerConfiguration(
            settings: settings, groupID: name, driverTopic: driver, ridingTopics: riding, log: { _ in })
    }
}
