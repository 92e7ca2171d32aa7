public import APNSPool
public import KafkaLog
public import Logging
import NIOCore
public import PushEngine
public import ShardLoop

/// Everything `mailboat run` can be told. A fresh value holds the defaults; brokers and apps are still missing.
///
/// Read from a file and the environment by `ConfigurationLoader`, or filled in by a program that runs a worker itself.
/// `faults` says what is wrong with it as a whole.
public struct WorkerConfiguration: Sendable {
    public enum StartFrom: String, Sendable, CaseIterable { case beginning, end }

    /// Names of the Kafka topics (contract §1).
    public struct Topics: Sendable, Equatable {
        /// The input topics; the first is subscribed, the others ride along.
        public var events = ["liveactivity.events"]
        public var routed = "liveactivity.routed"
        public var state = "liveactivity.state"
        public var outcomes = "liveactivity.outcomes"
        public var deadLetters = "liveactivity.dead-letters"

        public init() {}

        /// Those whose partition numbers must agree: inputs, routed, state.
        public var coPartitioned: [String] { self.events + [self.routed, self.state] }
        public var all: [String] { self.coPartitioned + [self.outcomes, self.deadLetters] }
    }

    public struct Kafka: Sendable {
        /// `host:port,…`.
        public var bootstrap = ""
        public var groupID = "mailboat"
        /// With it, a restart within the session timeout moves no partition.
        public var groupInstanceID: String?
        /// librdkafka properties of every client, of consumers only, of producers only; the latter win.
        public var common = KafkaSettings()
        public var consumer = KafkaSettings()
        public var producer = KafkaSettings()

        public init() {}

        public var consumerSettings: KafkaSettings { self.base.appending(self.common).appending(self.consumer) }
        public var producerSettings: KafkaSettings {
            // Below the session timeout: what could not be written by then must not appear after a successor's records.
            let timeoutMillis = min(30_000, self.sessionTimeoutMillis / 3 * 2)
            return KafkaSettings([.init("message.timeout.ms", "\(timeoutMillis)")]).appending(self.base).appending(
                self.common
            ).appending(self.producer)
        }
        /// After so long without a sign of life the broker takes partitions away.
        var sessionTimeoutMillis: Int64 { SessionTimeout.millis(self.consumerSettings) }
        private var base: KafkaSettings {
            self.bootstrap.isEmpty ? KafkaSettings() : KafkaSettings(bootstrap: self.bootstrap)
        }
    }

    public struct Admin: Sendable, Equatable {
        public var isEnabled = true
        public var host = "127.0.0.1"
        /// 0: any free port.
        public var port = 9464

        public init() {}
    }

    public var kafka = Kafka()
    public var topics = Topics()
    public var startFrom = StartFrom.beginning
    public var apps: [AppSettings] = []
    /// Event loops that carry partitions; 0: one per core.
    public var shardCount = 0
    /// What the engine of each shard is told, as it is.
    public var engine = EngineSettings()
    /// What the loop of each shard is told, as it is.
    public var loop = ShardLoopSettings()
    /// Connections of each route of each shard.
    public var pool = ConnectionPoolConfiguration()
    /// How long a partition that leaves waits for answers.
    public var quietWaitMillis: Int64 = 250
    /// How long leaving may take when the worker stops.
    public var drainTimeoutMillis: Int64 = 15_000
    /// A loop that has not turned for so long makes `/healthz` fail.
    public var stallLimitMillis: Int64 = 30_000
    /// A partition that has records to take and has not got on for so long makes `/healthz` fail.
    public var partitionStallLimitMillis: Int64 = 300_000
    public var admin = Admin()
    public var logLevel = Logger.Level.info

    /// The defaults.
    public init() {}

    /// The shards there will be.
    var resolvedShardCount: Int { self.shardCount > 0 ? self.shardCount : System.coreCount }
}
