import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

@Suite struct InputBatchTests {
    private static func engine(partitionCount: Int32 = 1) -> ShardEngine {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        var other = AppConfiguration(bundleID: "com.example.other")
        other.productionRoute = 0
        var configuration = EngineConfiguration(
            settings: EngineSettings(), apps: [app, other],
            inputTopics: ["liveactivity.events", "liveactivity.routed"], routedTopicIndex: 1,
            partitionCount: partitionCount)
        configuration.settings.outcomePublication = .pushes
        configuration.settings.placement = .trust
        var engine = ShardEngine(configuration: configuration, randomSeed: 3)
        for partition in 0..<partitionCount { Self.assign(partition, to: &engine, now: Self.now(0)) }
        return engine
    }

    private static func assign(_ partition: Int32, to engine: inout ShardEngine, now: EngineTime) {
        engine.partitionAssigned(partition, now: now)
        for record in engine.batch.records { engine.acknowledged(record.acknowledgement, offset: 0, now: now) }
        engine.batch.removeAll()
        engine.restoreFinished(partition: partition, logEnds: [], starts: [], now: now)
    }

    private static func now(_ millis: Int64) -> EngineTime {
        EngineTime(steadyMillis: 1_000 + millis, wallMillis: 1_700_000_000_000 + millis)
    }

    private static func record(
        _ offset: Int64, partition: Int32 = 0, hasKey: Bool = true, hasValue: Bool = true
    ) -> InputRecord {
        InputRecord(
            topic: 0, partition: partition, offset: offset, timestampMillis: Self.now(offset).wallMillis,
            hasKey: hasKey, hasValue: hasValue, origin: nil)
    }

    private static func value(_ random: inout SplitMix64, _ n: Int) -> String {
        let app = Bool.random(using: &random) ? "com.example.pizza" : "com.example.other"
        switch Int.random(in: 0..<20, using: &random) {
        case 0..<4: return #"{"event":"register","app":"\#(app)","token":"aa\#(10 + n % 80)"}"#
        case 4: return #"{"event":"unregister","app":"\#(app)"}"#
        case 5: return #"{"event":"end","app":"\#(app)"}"#
        case 6: return "no JSON"
        case 7: return #"{"event":"update","content-state":{}}"#
        default: return #"{"event":"update","app":"\#(app)","id":"e\#(n)","content-state":{"n":\#(n)}}"#
        }
    }

    /// Input records lead to the same pushes and output records, byte for byte, whether they are taken in a batch or
    /// one by one.
    @Test(arguments: 0..<60 as Range<UInt64>)
    func takenTogetherIsTakenOneByOne(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var single = Self.engine()
        var together = Self.engine()
        var batch = InputBatch()
        var (push, pushToo) = (PushRequest(), PushRequest())
        var stateOffsets = StateOffsets()
        var offset: Int64 = 0
        for round in 0..<40 {
            let now = Self.now(Int64(round) * 700)
            for _ in 0..<Int.random(in: 1...InputBatch.recordCountMax, using: &random) {
                let key = Array("activity-\(Int.random(in: 0..<12, using: &random))".utf8)
                let value = Array(Self.value(&random, Int(offset)).utf8)
                let trace = Array((Bool.random(using: &random) ? "00-trace-\(offset)" : "").utf8)
                let record = Self.record(
                    offset, hasKey: Int.random(in: 0..<30, using: &random) > 0,
                    hasValue: Int.random(in: 0..<30, using: &random) > 0)
                let empty: [UInt8] = []
                let (given, content) = (record.hasKey ? key : empty, record.hasValue ? value : empty)
                single.consume(record, key: given.span, value: content.span, traceparent: trace.span, now: now)
                let fits = batch.append(record, key: given.span, value: content.span, traceparent: trace.span)
                #expect(fits)
                offset += 1
            }
            together.consume(&batch, now: now)
            let isEmpty = batch.isEmpty
            #expect(isEmpty)
            single.advance(now: now)
            together.advance(now: now)
            while true {
                let isFilled = single.nextPush(route: 0, into: &push, now: now)
                let isFilledToo = together.nextPush(route: 0, into: &pushToo, now: now)
                #expect(isFilled == isFilledToo)
                guard isFilled, isFilledToo else { break }
                #expect(push.id == pushToo.id && push.body == pushToo.body && push.target == pushToo.target)
                single.answered(PushAnswer(id: push.id, result: .accepted, apnsMicros: 1), now: now)
                together.answered(PushAnswer(id: pushToo.id, result: .accepted, apnsMicros: 1), now: now)
            }
            stateOffsets.acknowledge(&single, &together, now: now)
        }
        let (left, right) = (single.counters, together.counters)
        #expect(left == right)
        #expect(left.isConserved)
        #expect(left.pushesAccepted > 0 && left.stateGaps == 0)
    }

    /// A batch has records of several partitions. Partitions leave and come between batches. Records of a partition
    /// that has left are ignored.
    @Test(arguments: 0..<30 as Range<UInt64>)
    func partitionsMayLeaveBetweenBatches(seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var single = Self.engine(partitionCount: 4)
        var together = Self.engine(partitionCount: 4)
        var batch = InputBatch()
        var owned: Set<Int32> = [0, 1, 2, 3]
        var offset: Int64 = 0
        var taken: UInt64 = 0
        for round in 0..<60 {
            let now = Self.now(Int64(round) * 700)
            let partition = Int32.random(in: 0..<4, using: &random)
            if owned.remove(partition) != nil {
                single.forget(partition: partition)
                together.forget(partition: partition)
            } else {
                Self.assign(partition, to: &single, now: now)
                Self.assign(partition, to: &together, now: now)
                owned.insert(partition)
            }
            for _ in 0..<InputBatch.recordCountMax {
                let key = Array("activity-\(Int.random(in: 0..<5, using: &random))".utf8)
                let value = Array(Self.value(&random, Int(offset)).utf8)
                let none: [UInt8] = []
                let record = Self.record(offset, partition: Int32.random(in: 0..<6, using: &random))
                single.consume(record, key: key.span, value: value.span, traceparent: none.span, now: now)
                let fits = batch.append(record, key: key.span, value: value.span, traceparent: none.span)
                #expect(fits)
                if owned.contains(record.partition) { taken += 1 }
                offset += 1
            }
            together.consume(&batch, now: now)
            single.advance(now: now)
            together.advance(now: now)
            let isSame = single.batch.bytes == together.batch.bytes
            #expect(isSame)
            for record in single.batch.records { single.acknowledged(record.acknowledgement, offset: offset, now: now) }
            for record in together.batch.records {
                together.acknowledged(record.acknowledgement, offset: offset, now: now)
            }
            single.batch.removeAll()
            together.batch.removeAll()
            let (left, right, pending) = (single.counters, together.counters, together.countPendingEvents())
            #expect(left == right)
            #expect(left.consumed == taken)
            #expect(left.isConserved && left.pending == pending)
        }
        for partition in owned { together.forget(partition: partition) }
        let (activities, entries) = (together.counters.slots, together.ledgerEntriesOpen)
        #expect(activities == 0)
        #expect(entries == 0)
    }

    @Test func whatDoesNotFitIsRefused() {
        var batch = InputBatch()
        let large = [UInt8](repeating: 0x20, count: InputBatch.byteCountMax)
        let small: [UInt8] = [0x61]
        let none: [UInt8] = []
        var takes = batch.append(Self.record(0), key: none.span, value: large.span, traceparent: none.span)
        #expect(takes, "as much as there is room for")
        takes = batch.append(Self.record(1), key: small.span, value: none.span, traceparent: none.span)
        #expect(!takes, "one byte too many")
        batch.removeAll()
        // A record larger than any event fits into an empty batch all the same. Afterwards the batch has its usual
        // size again.
        let largest = [UInt8](repeating: 0x20, count: 3 * InputBatch.byteCountMax)
        takes = batch.append(Self.record(2), key: small.span, value: largest.span, traceparent: small.span)
        #expect(takes)
        let byteCount = unsafe batch.bytes.count
        #expect(byteCount == largest.count + 2)
        batch.removeAll()
        takes = batch.append(Self.record(3), key: small.span, value: none.span, traceparent: none.span)
        #expect(takes)
        takes = batch.append(Self.record(4), key: small.span, value: largest.span, traceparent: none.span)
        #expect(!takes, "not behind another")
        batch.removeAll()
        for offset in 0..<InputBatch.recordCountMax {
            takes = batch.append(Self.record(Int64(offset)), key: small.span, value: small.span, traceparent: none.span)
            #expect(takes)
        }
        takes = batch.append(Self.record(99), key: small.span, value: small.span, traceparent: none.span)
        #expect(!takes, "the 33rd record")
        let first = batch[0].record.offset
        let last = batch[InputBatch.recordCountMax - 1].record.offset
        #expect(first == 0 && last == 31)
    }
}
