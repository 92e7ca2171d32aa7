import APNSProtocol
import PushEngine
import PushModel
import Testing

/// Tests one activity id on two partitions of one engine: producers hash differently, and `placement` is `trust`. Each
/// partition has its own slot, `state` and ledger, and may leave without the other.
@Suite struct SameKeyTests {
    /// An engine in which the given partitions run, and what it has written.
    private final class Shard {
        var engine: ShardEngine
        var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_700_000_000_000)
        private var offsets: [Int32: Int64] = [:]
        private var stateOffsets: [Int32: Int64] = [:]
        private(set) var states: [WrittenRecord] = []
        private(set) var outstanding: [WrittenRecord] = []

        init(partitions: [Int32] = [0, 1]) {
            var app = AppConfiguration(bundleID: "com.example.pizza")
            app.productionRoute = 0
            var configuration = EngineConfiguration(
                settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
                routedTopicIndex: 1,
                partitionCount: 8)
            configuration.settings.placement = .trust
            configuration.settings.outcomePublication = .pushes
            self.engine = ShardEngine(configuration: configuration, randomSeed: 11)
            for partition in partitions { self.assign(partition) }
        }

        /// - Parameter state: records in the partition's `state`.
        func assign(_ partition: Int32, state: [WrittenRecord] = []) {
            self.engine.partitionAssigned(partition, now: self.now)
            self.acknowledgeAll()
            for (offset, record) in state.enumerated() {
                let key = record.key
                let value = record.value
                let result = self.engine.restore(
                    partition: partition, key: key.span, value: value.span, isTombstone: record.isNull,
                    offset: Int64(offset), now: self.now)
                #expect(result == (record.isNull ? .ignored : .restored))
            }
            self.engine.restoreFinished(partition: partition, logEnds: [], starts: [], now: self.now)
            self.acknowledgeAll()
        }

        func acknowledgeAll() {
            self.collect()
            while !self.outstanding.isEmpty {
                let records = self.outstanding
                self.outstanding = []
                for record in records {
                    let offset = self.stateOffsets[record.partition, default: 50]
                    if record.topic == .state { self.stateOffsets[record.partition] = offset + 1 }
                    self.engine.acknowledged(record.acknowledgement, offset: offset, now: self.now)
                }
                self.collect()
            }
        }

        func collect() {
            let records = WrittenRecord.all(of: self.engine.batch)
            self.engine.batch.removeAll()
            self.outstanding += records
            self.states += records.filter { $0.topic == .state && $0.keyText != "m" }
            let counters = self.engine.counters
            #expect(counters.isConserved)
            let pending = self.engine.countPendingEvents()
            #expect(pending == counters.pending)
        }

        func consume(_ value: String, partition: Int32) {
            let offset = self.offsets[partition, default: 0]
            self.offsets[partition] = offset + 1
            let record = InputRecord(
                topic: 0, partition: partition, offset: offset, timestampMillis: self.now.wallMillis, hasKey: true,
                hasValue: true, origin: nil)
            let key = Array("a".utf8)
            let bytes = Array(value.utf8)
            let none: [UInt8] = []
            var batch = InputBatch()
            let fits = batch.append(record, key: key.span, value: bytes.span, traceparent: none.span)
            #expect(fits)
            self.engine.consume(&batch, now: self.now)
            self.collect()
        }

        func update(_ n: Int, partition: Int32) {
            self.consume(#"{"event":"update","content-state":{"n":\#(n)}}"#, partition: partition)
        }

        func register(partition: Int32) {
            self.consume(#"{"event":"register","token":"aa0\#(partition)"}"#, partition: partition)
        }

        func advance(_ millis: Int64) {
            self.now.steadyMillis += millis
            self.now.wallMillis += millis
            self.engine.advance(now: self.now)
            self.collect()
        }

        func watermark(_ partition: Int32) -> Int64? { self.engine.watermark(topic: 0, partition: partition) }

        /// Takes every push that is ready. APNs accepts each.
        func deliverAll() -> [Push] {
            var pushes: [Push] = []
            var request = PushRequest()
            while self.engine.nextPush(route: 0, into: &request, now: self.now) {
                pushes.append(Push(request))
                self.engine.answered(PushAnswer(id: request.id, result: .accepted, apnsMicros: 1), now: self.now)
            }
            self.collect()
            return pushes
        }
    }

    @Test func anEventHoldsTheWatermarkOfItsOwnPartition() {
        let shard = Shard()
        for partition: Int32 in [0, 1, 0, 1] { shard.update(Int(partition), partition: partition) }
        #expect(shard.watermark(0) == 0)
        #expect(shard.watermark(1) == 0)
        shard.advance(1_100)
        shard.advance(100)
        shard.acknowledgeAll()
        #expect(shard.watermark(0) == 2)
        #expect(shard.watermark(1) == 2)
        #expect(Set(shard.states.map(\.partition)) == [0, 1])
    }

    @Test func aPartitionLeavesWithoutTheOther() {
        let shard = Shard()
        for partition: Int32 in [0, 1] {
            shard.register(partition: partition)
            shard.update(Int(partition), partition: partition)
        }
        shard.engine.forget(partition: 0)
        shard.collect()
        shard.advance(2_000)
        shard.acknowledgeAll()
        let pushes = shard.deliverAll()
        #expect(pushes.map(\.token) == ["aa01"])
        #expect(pushes.map(\.n) == [1])
        shard.advance(2_000)
        shard.acknowledgeAll()
        #expect(shard.watermark(1) == 2)
    }

    /// A push is in flight and another waits when a second partition arrives that knows the same id. Neither push is
    /// replaced.
    @Test func whatAPartitionBringsReplacesNothingOfAnother() {
        let other = Shard(partitions: [1])
        other.register(partition: 1)
        other.update(7, partition: 1)
        other.advance(1_100)
        other.advance(100)
        let key = other.states.last!
        #expect(key.keyText == "a/com.example.pizza/a")

        let shard = Shard(partitions: [0])
        shard.register(partition: 0)
        shard.update(1, partition: 0)
        shard.advance(1_100)
        shard.advance(100)
        shard.acknowledgeAll()
        var request = PushRequest()
        let isFilled = shard.engine.nextPush(route: 0, into: &request, now: shard.now)
        #expect(isFilled)
        shard.update(2, partition: 0)
        shard.assign(1, state: other.states)
        #expect(shard.engine.counters.slots == 2)
        shard.engine.answered(PushAnswer(id: request.id, result: .accepted, apnsMicros: 1), now: shard.now)
        shard.acknowledgeAll()
        shard.advance(3_000)
        shard.acknowledgeAll()
        #expect(Set(shard.deliverAll().map(\.n)) == [2, 7])
        let inFlight = shard.engine.counters.inFlight
        #expect(inFlight == 0)
        shard.acknowledgeAll()
        shard.advance(1_000)
        shard.acknowledgeAll()
        #expect(shard.watermark(0) == 3)
    }
}
