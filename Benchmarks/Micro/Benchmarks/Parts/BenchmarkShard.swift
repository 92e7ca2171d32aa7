import APNSProtocol
import PushEngine
import PushModel

/// An engine with registered activities in one partition, under a clock that moves when told.
struct BenchmarkShard: ~Copyable {
    private var engine: ShardEngine
    private var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
    private var offset: Int64 = 0
    private var request = PushRequest()
    private var answers: [PushAnswer] = []
    private let keys: [[UInt8]]
    private static let high = EventBenchmarks.update
    private static let low = Array(
        #"{"event":"update","priority":5,"content-state":{"driverName":"Anne","estimatedDeliveryTime":1659416400}}"#
            .utf8)
    private(set) var sentCount = 0

    init(activities: Int) {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        self.engine = ShardEngine(
            configuration: EngineConfiguration(
                apps: [app], inputTopics: ["events", "routed"], routedTopicIndex: 1, partitionCount: 1), randomSeed: 1)
        self.keys = (0..<activities).map { Array("order-\($0)".utf8) }
        self.engine.partitionAssigned(0, now: self.now)
        self.acknowledge()
        self.engine.restoreFinished(partition: 0, logEnds: [], starts: [], now: self.now)
        for activity in 0..<activities {
            self.consume(self.keys[activity], EventBenchmarks.registration)
            if activity % 1_000 == 999 { self.acknowledge() }
        }
        self.wait(millis: 1_000)
        self.acknowledge()
        _ = self.engine.takeCommits()
    }

    mutating func update(_ activity: Int, priority: String = "10") {
        self.consume(self.keys[activity], priority == "10" ? Self.high : Self.low)
    }

    private mutating func consume(_ key: [UInt8], _ value: [UInt8]) {
        let record = InputRecord(
            topic: 0, partition: 0, offset: self.offset, timestampMillis: self.now.wallMillis, hasKey: true,
            hasValue: true, origin: nil)
        self.offset += 1
        self.engine.consume(record, key: key.span, value: value.span, traceparent: Span(), now: self.now)
    }

    /// Takes the next push; `false`: nothing is ready.
    mutating func send() -> Bool {
        guard self.engine.nextPush(route: 0, into: &self.request, now: self.now) else { return false }
        self.sentCount += 1
        self.answers.append(PushAnswer(id: self.request.id, result: .accepted, apnsMicros: 1_000))
        return true
    }

    mutating func answerAll() {
        for answer in self.answers { self.engine.answered(answer, now: self.now) }
        self.answers.removeAll(keepingCapacity: true)
        self.engine.takeAcceptedSamples { _ in }
    }

    mutating func wait(millis: Int64) {
        self.now.steadyMillis += millis
        self.now.wallMillis += millis
        self.engine.advance(now: self.now)
    }

    /// Kafka has everything at once.
    mutating func acknowledge() {
        while !self.engine.batch.isEmpty {
            var batch = RecordBatch()
            swap(&batch, &self.engine.batch)
            for (index, record) in batch.records.enumerated() {
                self.engine.acknowledged(record.acknowledgement, offset: Int64(index), now: self.now)
            }
        }
    }

    mutating func takeCommits() -> Int { self.engine.takeCommits().count }
}
