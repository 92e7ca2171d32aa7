import APNSProtocol
import PushEngine
public import PushModel

/// Fuzzes records of the `state` topic. An input is a sequence of records. Each record has a byte with the key's
/// length, the key, two bytes with the value's length, and the value. An engine restores the records and then works for
/// a while.
public struct StateTarget: FuzzTarget {
    public static let name = "state"
    public static let pieces: [[UInt8]] =
        [
            [0], [1], [2], [0xFF], [0x80], [0x7F], [0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0x01],
            [0x80, 0x80, 0x01],
        ]
        + ["a/com.example.pizza/a1", "c/com.example.pizza/a1", "m", "a/com.example.pizza/", "{}"].map { Array($0.utf8) }

    public init() {}

    private static let events = [
        #"{"event":"register","token":"aa01"}"#, #"{"event":"update","content-state":{"n":1},"priority":10}"#,
        #"{"event":"update","content-state":{"n":2},"stale-date":1985952000,"alert":{"title":"t","body":"b"}}"#,
        #"{"event":"start","to":{"start-token":"bb"},"attributes-type":"P","attributes":{},"content-state":{},"alert":{"title":"t","body":"b"}}"#,
        #"{"event":"end","dismissal-date":1985952000}"#, #"{"event":"unregister"}"#,
        // The channel's id equals one of the keys. Any of the keys can be the id of a channel.
        #"{"event":"update","to":{"channel":"a1"},"content-state":{"n":3},"priority":1}"#,
        #"{"event":"end","to":{"channel":"a1"}}"#,
    ].map { Array($0.utf8) }

    /// Sequences of records that the present engine writes.
    public static var seeds: [[UInt8]] {
        (0..<12).map { seed in
            var random = SplitMix64(seed: UInt64(seed))
            var work = Work(seed: UInt64(seed))
            work.begin(restoring: [])
            for _ in 0..<20 { work.step(&random) }
            return work.written
        }
    }

    public mutating func read(_ input: [UInt8], random: inout SplitMix64) -> String? {
        var work = Work(seed: 1)
        work.begin(restoring: input)
        work.check()
        for _ in 0..<6 where work.complaint == nil { work.step(&random) }
        work.end()
        return work.complaint
    }

    /// One engine with one partition.
    private struct Work: ~Copyable {
        var engine: ShardEngine
        var now = EngineTime(steadyMillis: 10_000_000, wallMillis: 1_700_000_000_000)
        var offset: Int64 = 0
        /// The `state` records that the engine wrote, in the format of an input.
        var written: [UInt8] = []
        var complaint: String?
        private var request = PushRequest()

        init(seed: UInt64) {
            var app = AppConfiguration(bundleID: "com.example.pizza")
            app.productionRoute = 0
            app.developmentRoute = 0
            app.productionBroadcastRoute = 0
            app.productionManageRoute = 0
            var configuration = EngineConfiguration(
                settings: EngineSettings(), apps: [app], inputTopics: ["liveactivity.events", "liveactivity.routed"],
                routedTopicIndex: 1,
                partitionCount: 1)
            configuration.settings.outcomePublication = .all
            self.engine = ShardEngine(configuration: configuration, randomSeed: seed)
        }

        mutating func begin(restoring input: [UInt8]) {
            self.engine.partitionAssigned(0, now: self.now)
            self.acknowledge()
            var index = 0
            var stateOffset: Int64 = 0
            while index < input.count, stateOffset < 9 {
                let key = Self.piece(input, &index, countBytes: 1)
                let value = Self.piece(input, &index, countBytes: 2)
                let result = self.engine.restore(
                    partition: 0, key: key.span, value: value.span, isTombstone: value.isEmpty, offset: stateOffset,
                    now: self.now)
                if case .malformed(let text) = result, text.isEmpty { self.complaint = "malformed, and no word why" }
                stateOffset += 1
            }
            let end = CommitPosition(topic: 0, partition: 0, nextOffset: 50)
            self.engine.restoreFinished(partition: 0, logEnds: [end], starts: [], now: self.now)
        }

        private static func piece(_ input: [UInt8], _ index: inout Int, countBytes: Int) -> [UInt8] {
            var count = 0
            for _ in 0..<countBytes where index < input.count {
                count = count << 8 | Int(input[index])
                index += 1
            }
            let end = min(input.count, index + count)
            defer { index = end }
            return Array(input[index..<end])
        }

        mutating func step(_ random: inout SplitMix64) {
            let key = Array("a\(1 + random.below(3))".utf8)
            let record = InputRecord(
                topic: 0, partition: 0, offset: self.offset, timestampMillis: self.now.wallMillis, hasKey: true,
                hasValue: true, origin: nil)
            let event = random.oneOf(StateTarget.events)
            self.engine.consume(
                record, key: key.span, value: event.span, traceparent: [UInt8]().span,
                now: self.now)
            self.offset += 1
            while self.engine.nextPush(route: 0, into: &self.request, now: self.now) {
                let results: [PushAnswer.Result] = [
                    .accepted, .accepted, .notProcessed, .unknown(detail: "reset"),
                    .response(PushResponse(status: 410, reason: "Unregistered")),
                    .response(PushResponse(status: 400, reason: "ChannelNotRegistered")),
                    .response(PushResponse(status: 429, reason: "TooManyRequests")),
                    .channel(
                        ChannelAnswer(status: 200, channelID: [], body: Array("{\"message-storage-policy\":1}".utf8))),
                ]
                // Some pushes stay in flight.
                guard random.below(3) > 0 else { break }
                self.engine.answered(
                    PushAnswer(id: self.request.id, result: random.oneOf(results), apnsMicros: 1), now: self.now)
            }
            self.acknowledge()
            let millis = random.oneOf([1, 500, 2_000, 400_000, 4_000_000] as [Int64])
            self.now.steadyMillis += millis
            self.now.wallMillis += millis
            self.engine.advance(now: self.now)
            self.acknowledge()
            self.check()
        }

        private mutating func acknowledge() {
            let batch = self.engine.batch
            self.engine.batch.removeAll()
            for record in batch.records {
                if record.topic == .state {
                    let (key, value) = (batch.bytes[record.key], batch.bytes[record.value])
                    self.written.append(UInt8(truncatingIfNeeded: key.count))
                    self.written += key
                    self.written += [
                        UInt8(truncatingIfNeeded: value.count >> 8), UInt8(truncatingIfNeeded: value.count),
                    ]
                    self.written += value
                }
                self.engine.acknowledged(record.acknowledgement, offset: 100, now: self.now)
            }
        }

        mutating func end() {
            self.engine.beginRelease(partition: 0, now: self.now)
            self.engine.finishRelease(partition: 0, now: self.now)
            self.engine.forget(partition: 0)
            self.check()
        }

        /// Checks that the engine's counts account for every event.
        mutating func check() {
            let (counters, pending) = (self.engine.counters, self.engine.countPendingEvents())
            guard self.complaint == nil, !counters.isConserved || counters.pending != pending else { return }
            self.complaint = "not conserved: \(counters), \(pending) are pending"
        }
    }
}
