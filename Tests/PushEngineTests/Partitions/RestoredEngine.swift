import APNSProtocol
import PushEngine
import PushModel
import Testing

/// An engine that begins with one given record of `state`, and then works for a while.
enum RestoredEngine {
    static func make() -> ShardEngine {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        app.developmentRoute = 0
        var configuration = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
            routedTopicIndex: 1,
            partitionCount: 1)
        configuration.settings.outcomePublication = .all
        return ShardEngine(configuration: configuration, randomSeed: 1)
    }

    /// Restores any record under an activity's key, and then uses the engine. Nothing traps, and no event appears or
    /// vanishes.
    static func run(on value: [UInt8], id: [UInt8], random: inout StateRandom) {
        Self.run(on: value, key: Array("a/com.example.pizza/".utf8) + id, id: id, random: &random)
    }
    /// - Parameter id: id of the activity that gets events.
    static func run(
        on value: [UInt8], key: [UInt8], id: [UInt8] = Array("match-7".utf8), random: inout StateRandom
    ) {
        var engine = Self.make()
        var now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)
        engine.partitionAssigned(0, now: now)
        engine.acknowledged(engine.batch.records[0].acknowledgement, offset: 9, now: now)
        engine.batch.removeAll()
        let result = engine.restore(
            partition: 0, key: key.span, value: value.span, isTombstone: false, offset: 3, now: now)
        if case .malformed(let text) = result { #expect(!text.isEmpty) }
        let end = CommitPosition(topic: 0, partition: 0, nextOffset: 50)
        engine.restoreFinished(partition: 0, logEnds: [end], starts: [], now: now)
        Self.check(&engine)
        let events = [
            #"{"event":"update","content-state":{"n":1},"priority":10}"#, #"{"event":"end"}"#,
            #"{"event":"register","token":"aa"}"#,
            #"{"event":"start","to":{"start-token":"bb"},"attributes-type":"P","attributes":{},"content-state":{},"alert":{"title":"t","body":"b"}}"#,
        ]
        var request = PushRequest()
        for offset in Int64(0)..<24 {
            let event = Array(events[random.int(0...3)].utf8)
            let record = InputRecord(
                topic: 0, partition: 0, offset: offset, timestampMillis: now.wallMillis, hasKey: true, hasValue: true,
                origin: nil)
            engine.consume(record, key: id.span, value: event.span, traceparent: [UInt8]().span, now: now)
            if engine.nextPush(route: 0, into: &request, now: now) {
                let results: [PushAnswer.Result] = [
                    .accepted, .notProcessed, .unknown(detail: "reset"),
                    .response(PushResponse(status: 410, reason: "Unregistered")),
                    .response(PushResponse(status: 413, reason: "PayloadTooLarge")),
                ]
                engine.answered(PushAnswer(id: request.id, result: results[random.int(0...4)], apnsMicros: 1), now: now)
            }
            for record in engine.batch.records { engine.acknowledged(record.acknowledgement, offset: 100, now: now) }
            engine.batch.removeAll()
            let millis = Int64([1, 500, 2_000, 400_000, 4_000_000][random.int(0...4)])
            now.steadyMillis += millis
            now.wallMillis += millis
            engine.advance(now: now)
            Self.check(&engine)
        }
        engine.beginRelease(partition: 0, now: now)
        engine.finishRelease(partition: 0, now: now)
        engine.forget(partition: 0)
        Self.check(&engine)
    }

    private static func check(_ engine: inout ShardEngine) {
        let counters = engine.counters
        let pending = engine.countPendingEvents()
        if !counters.isConserved || counters.pending != pending {
            Issue.record("not conserved: \(counters), \(pending) are pending")
        }
    }
}
