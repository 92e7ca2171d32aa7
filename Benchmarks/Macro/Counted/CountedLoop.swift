import APNSProtocol
import PushEngine
import PushModel
import PushWorker
import ShardLoop

/// The worker's loop with an APNs in memory. It includes the work that a worker does before and after each turn. It has
/// no event loop and no clock of its own.
struct CountedLoop: ~Copyable {
    private var loop: ShardLoop
    let push = MemoryPushSide()
    /// Faults that the loop reported, and reasons for which it halted partitions.
    private(set) var faults: [String] = []
    /// The tracing of the loop, or `nil` when nothing is traced.
    var tracing: MeasuredTracing? { didSet { self.loop.tracesPasses = self.tracing != nil } }

    /// The default settings of a worker.
    static let settings = ShardLoopSettings()

    /// Makes a loop.
    /// - Parameter inputTopics: names of the input topics. The last is the routed one.
    init(inputTopics: [String], partitionCount: Int32, log: any ShardLog) {
        var app = AppConfiguration(bundleID: SampleRequest.bundleID)
        app.productionRoute = 0
        var engine = EngineConfiguration(
            settings: EngineSettings(), apps: [app], inputTopics: inputTopics,
            routedTopicIndex: UInt16(inputTopics.count - 1),
            partitionCount: partitionCount)
        // Virtual time passes fast, so markers would be renewed often. Their cost does not belong to a push.
        engine.settings.markerRefreshMillis = 1_000_000_000
        self.loop = ShardLoop(
            configuration: ShardLoopConfiguration(
                settings: Self.settings, engine: engine, stateTopic: "liveactivity.state", routeCount: 1),
            randomSeed: 1, log: log, push: self.push)
    }

    /// Assigns all partitions. Their input is read from its beginning.
    mutating func assignPartitions(now: EngineTime) {
        let count = self.loop.configuration.engine.partitionCount
        self.loop.carryOut(.assign((0..<count).map { PartitionGrant(number: $0, starts: [], logEnds: []) }), now: now)
    }

    /// Takes turns until the loop has no more work now.
    mutating func turn(now: EngineTime) {
        repeat {
            self.tracing?.turnBegan(now: now)
            self.loop.turn(now: now)
            if let tracing = self.tracing {
                self.loop.takeTraceNotices { tracing.take($0) }
                tracing.turnEnded()
            }
            self.finishTurn()
        } while self.loop.hasMore
    }

    private mutating func finishTurn() {
        for news in self.loop.takeNews() {
            switch news {
            case .failed(let text), .halted(_, let text): self.faults.append(text)
            default: break
            }
        }
        self.loop.takeAcceptedSamples { _ in }
        _ = self.loop.takesChange()
    }

    var deadlineMillis: Int64? { self.loop.deadlineMillis }
    var isRunning: Bool { self.loop.partitionReports.allSatisfy { $0.life == .running } }
    var restoredRecordCount: Int { Int(self.loop.restoredRecordCount) }
    /// Number of records that wait in the shard before they are handed to Kafka.
    var waitingRecordCount: Int { self.loop.waitingRecordCount }
}
