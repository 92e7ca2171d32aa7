import APNSProtocol
import PushEngine
import PushModel
import ShardLoop

/// A loop between a scripted Kafka and a scripted APNs. The test moves its clock.
struct LoopHarness: ~Copyable {
    let log = ScriptedLog()
    let push = ScriptedPushSide()
    var loop: ShardLoop
    var now = EngineTime(steadyMillis: 1_000_000, wallMillis: 1_760_000_000_000)
    private(set) var news: [ShardNews] = []
    private var answeredCount = 0

    init(
        recordHoldMillis: Int64 = 0, publication: OutcomePublication = .pushes, unacknowledgedMax: Int = 50_000,
        lowPriorityWindowMillis: Int64 = 0, placement: EngineSettings.Placement = .trust,
        configure: (inout EngineConfiguration) -> Void = { _ in }
    ) {
        var app = AppConfiguration(bundleID: "com.example.pizza")
        app.productionRoute = 0
        app.lowPriorityWindowMillis = lowPriorityWindowMillis
        var engine = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: ["events", "routed"], routedTopicIndex: 1,
            partitionCount: 4)
        engine.settings.outcomePublication = publication
        engine.settings.unacknowledgedMax = unacknowledgedMax
        engine.settings.placement = placement
        configure(&engine)
        var settings = ShardLoopSettings()
        settings.recordHoldMillis = recordHoldMillis
        self.loop = ShardLoop(
            configuration: ShardLoopConfiguration(
                settings: settings, engine: engine, stateTopic: "state", routeCount: 1),
            randomSeed: 1, log: self.log, push: self.push)
    }

    static func grant(_ partition: Int32, start: Int64 = 0, logEnd: Int64 = 0) -> PartitionGrant {
        PartitionGrant(
            number: partition, starts: [CommitPosition(topic: 0, partition: partition, nextOffset: start)],
            logEnds: [CommitPosition(topic: 0, partition: partition, nextOffset: logEnd)])
    }

    mutating func turn() {
        repeat {
            self.loop.turn(now: self.now)
            self.news += self.loop.takeNews()
        } while self.loop.hasMore
    }

    mutating func carryOut(_ command: ShardCommand) {
        self.loop.carryOut(command, now: self.now)
        self.turn()
    }

    /// Makes Kafka answer all records, and runs turns, until no unanswered record is left.
    mutating func settle() {
        repeat {
            self.log.answer()
            self.turn()
        } while !self.log.unanswered.isEmpty
    }

    /// Moves the clock. Turns run when they are due, at least a millisecond apart.
    mutating func wait(millis: Int64) {
        let endMillis = self.now.steadyMillis + millis
        while self.now.steadyMillis < endMillis {
            let dueMillis = self.loop.deadlineMillis ?? .max
            let stepMillis = max(1, min(endMillis, dueMillis) - self.now.steadyMillis)
            self.now.steadyMillis += stepMillis
            self.now.wallMillis += stepMillis
            if dueMillis <= self.now.steadyMillis { self.turn() }
        }
    }

    /// Makes APNs accept the first `count` unanswered requests. `nil` means all of them.
    mutating func accept(_ count: Int? = nil) {
        let answers = self.push.requests[self.answeredCount...].prefix(count ?? .max).map {
            PushAnswer(id: $0.id, result: .accepted, apnsMicros: 1_000)
        }
        self.answeredCount += answers.count
        self.push.answers += answers
        self.turn()
    }

    /// Makes APNs answer all unanswered requests.
    mutating func answer(_ result: (PushRequest) -> PushAnswer.Result) {
        let answers = self.push.requests[self.answeredCount...].map {
            PushAnswer(id: $0.id, result: result($0), apnsMicros: 1_000)
        }
        self.answeredCount += answers.count
        self.push.answers += answers
        self.turn()
    }

    /// Brings partition 0 to running and registers one activity in it. Afterwards no record is left to be written or
    /// acknowledged.
    mutating func begin() {
        self.carryOut(.assign([Self.grant(0)]))
        self.settle()
        self.write("register", #"{"event":"register","token":"aa"}"#)
        // Kafka answers fast for a while, so that records gather for the configured time from now on.
        for _ in 0..<40 {
            self.settle()
            self.wait(millis: 25)
        }
        self.settle()
    }

    /// Writes an event to `events`.
    mutating func write(_ key: String = "order-1", _ value: String, partition: Int32 = 0) {
        self.log.events[partition, default: []].append((key == "register" ? "order-1" : key, value))
        self.turn()
    }

    mutating func writeUpdate(_ number: Int) {
        self.write("order-1", #"{"event":"update","priority":5,"content-state":{"n":\#(number)}}"#)
    }

    var lives: [Int32: PartitionLife] {
        Dictionary(uniqueKeysWithValues: self.loop.partitionReports.map { ($0.number, $0.life) })
    }

    mutating func takeNews() -> [ShardNews] {
        defer { self.news = [] }
        return self.news
    }
}
