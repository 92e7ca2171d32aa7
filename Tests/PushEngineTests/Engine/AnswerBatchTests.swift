import APNSProtocol
import PushModel
import Testing

@testable import PushEngine

/// Compares two engines. One takes answers and acknowledgements one by one; the other prefetches them in batches. Both
/// must do the same.
@Suite struct AnswerBatchTests {
    private static func engine() -> ShardEngine {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        let configuration = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
            routedTopicIndex: 1,
            partitionCount: 1)
        var engine = ShardEngine(configuration: configuration, randomSeed: 3)
        engine.partitionAssigned(0, now: Self.now(0))
        for record in engine.batch.records { engine.acknowledged(record.acknowledgement, offset: 0, now: Self.now(0)) }
        engine.batch.removeAll()
        engine.restoreFinished(partition: 0, logEnds: [], starts: [], now: Self.now(0))
        return engine
    }

    private static func now(_ millis: Int64) -> EngineTime {
        EngineTime(steadyMillis: 1_000 + millis, wallMillis: 1_700_000_000_000 + millis)
    }

    private static func result(_ random: inout SplitMix64) -> PushAnswer.Result {
        switch Int.random(in: 0..<6, using: &random) {
        case 0: .notProcessed
        case 1: .unknown(detail: "connection lost")
        case 2: .response(PushResponse(status: 410, reason: "Unregistered"))
        default: .accepted
        }
    }

    /// Takes every push that is ready from both engines. The pushes must be equal.
    private static func pushes(
        _ single: inout ShardEngine, _ together: inout ShardEngine, now: EngineTime
    ) -> [PushID] {
        var (push, pushToo) = (PushRequest(), PushRequest())
        var pushes: [PushID] = []
        while single.nextPush(route: 0, into: &push, now: now) {
            let isFilledToo = together.nextPush(route: 0, into: &pushToo, now: now)
            #expect(isFilledToo && push.id == pushToo.id && push.body == pushToo.body)
            pushes.append(push.id)
        }
        return pushes
    }

    /// Tries batches around the sizes at which prefetching changes. Some hold an answer to an unknown push, or the
    /// same answer twice.
    @Test(arguments: [0, 1, 3, 4, 5, 11, 12, 13, 40], 0..<6 as Range<UInt64>)
    func takenTogetherIsTakenOneByOne(activityCount: Int, seed: UInt64) {
        var random = SplitMix64(seed: seed)
        var single = Self.engine()
        var together = Self.engine()
        var stateOffsets = StateOffsets()
        var offset: Int64 = 0
        for round in 0..<8 {
            let now = Self.now(Int64(round) * 20_000)
            for activity in 0..<activityCount {
                let key = Array("activity-\(activity)".utf8)
                let isFirst = round == 0 || Int.random(in: 0..<6, using: &random) == 0
                let value = Array(
                    (isFirst
                        ? #"{"event":"register","token":"aa\#(10 + (activity + round) % 80)"}"#
                        : #"{"event":"update","priority":10,"content-state":{"n":\#(offset)}}"#).utf8)
                let record = InputRecord(
                    topic: 0, partition: 0, offset: offset, timestampMillis: now.wallMillis, hasKey: true,
                    hasValue: true, origin: nil)
                single.consume(record, key: key.span, value: value.span, traceparent: Span(), now: now)
                together.consume(record, key: key.span, value: value.span, traceparent: Span(), now: now)
                offset += 1
            }
            single.advance(now: now)
            together.advance(now: now)
            var answers = Self.pushes(&single, &together, now: now).map {
                PushAnswer(id: $0, result: Self.result(&random), apnsMicros: 1)
            }
            if let first = answers.first, Bool.random(using: &random) { answers.append(first) }
            if Bool.random(using: &random) {
                let unknown = PushID(rawValue: random.next())
                answers.insert(PushAnswer(id: unknown, result: .accepted, apnsMicros: 1), at: answers.count / 2)
            }
            for answer in answers { single.answered(answer, now: now) }
            together.answered(answers, now: now)
            // Most of these acknowledgements are listed twice, and some never existed.
            let numbers = together.batch.records.map { $0.acknowledgement }
            let ahead = numbers + numbers.reversed() + [0, .max, 0xffff_ffff]
            together.fetchAhead(acknowledgements: ahead.span)
            stateOffsets.acknowledge(&single, &together, now: now)
        }
        let (left, right) = (single.counters, together.counters)
        #expect(left == right)
        #expect(left.isConserved)
        #expect(activityCount == 0 || left.pushesAccepted > 0)
    }
}
