public import APNSPool
public import KafkaLog
public import Logging
import NIOCore
public import PushEngine
public import Redaction
public import ShardLoop

/// Everything `mailboat run` can be told. A fresh value holds the defaults; brokers and apps are still missing.
///
/// Read from a file and the environment by `ConfigurationLoader`, or filled in by a program that runs a worker itself.
/// `faults` says what is wrong with it as a whole.
public struct WorkerConfiguration: Sendable {
    /// Where a partition begins that the group has never committed.
    public enum StartFrom: String, Sendable, CaseIterable { case beginning, end }

    /// Names of the Kafka topics (contract: Topics).
    public struct Topics: Sendable, Equatable {
        /// The input topics; the first is subscribed, the others ride along.
        public var events = ["liveactivity.events"]
        /// Misplaced records, forwarded to the partition of their key.
        public var routed = "liveactivity.routed"
        /// Everything that must survive. Compacted.
        public var state = "liveactivity.state"
        /// What became of events.
        public var outcomes = "liveactivity.outcomes"
        /// Records that cannot be processed, with the reason.
        public var deadLetters = "liveactivity.dead-letters"

        /// The names that `mailboat topics create` uses by default.
        public init() {}

        /// Those whose partition numbers must agree: inputs, routed, state.
        public var coPartitioned: [String] { self.events + [self.routed, self.state] }
        /// All topics of the deployment, the co-partitioned ones first.
        public var all: [String] { self.coPartitioned + [self.outcomes, self.deadLetters] }
    }

    /// How Kafka is reached.
    public struct Kafka: Sendable {
        /// `host:port,…`.
        public var bootstrap = ""
        /// `group.id`: workers of the same group share the partitions.
        public var groupID = "mailboat"
        /// With it, a restart within the session timeout moves no partition.
        public var groupInstanceID: String?
        /// librdkafka properties of every client, of consumers only, of producers only; the latter win.
        public var common = KafkaSettings()
        /// For consumers only; these override `common`.
        public var consumer = KafkaSettings()
        /// For producers only; these override `common`.
        public var producer = KafkaSettings()
        /// Where tokens come from, for a login by OAUTHBEARER.
        public var oauth = OAuth()

        /// The defaults; the brokers are still missing.
        public init() {}

        /// Everything a consumer is told: the brokers, `common`, then `consumer`.
        public var consumerSettings: KafkaSettings { self.base.appending(self.common).appending(self.consumer) }
        /// Everything a producer is told: the brokers, `common`, then `producer`. A record that cannot be written in
        /// two thirds of the session timeout, or in 30 seconds, is given up by librdkafka.
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
            var base = self.bootstrap.isEmpty ? KafkaSettings() : KafkaSettings(bootstrap: self.bootstrap)
            base.tokens = TokenKeeper.of(self.oauth)?.tokens
            return base
        }
    }

    /// Where health, readiness and metrics are served over HTTP.
    public struct Admin: Sendable, Equatable {
        /// `false`: nothing is served.
        public var isEnabled = true
        /// The address it listens on. Only this machine can reach the default.
        public var host = "127.0.0.1"
        /// 0: any free port.
        public var port = 9464
        /// A file whose content is the token for what the worker knows; `nil`: only this machine may ask.
        public var tokenFile: String?
        /// With both, the port speaks TLS.
        public var tlsCertificateFile: String?
        /// The key of the certificate.
        public var tlsKeyFile: String?
        /// A file whose content is the token for `/channels`; `nil`: there is no such page.
        public var channelsTokenFile: String?

        /// The defaults.
        public init() {}

        /// A certificate and its key.
        struct TLS: Equatable {
            var certificateFile: String
            var keyFile: String
        }

        /// `nil`: plain HTTP.
        var tls: TLS? {
            guard let certificateFile = self.tlsCertificateFile, let keyFile = self.tlsKeyFile else { return nil }
            return TLS(certificateFile: certificateFile, keyFile: keyFile)
        }
    }

    /// Whose way is traced, and where traces go.
    public struct Tracing: Sendable, Equatable {
        /// A collector that takes OTLP in JSON over HTTP; `nil`: nothing is exported.
        public var otlpEndpoint: String?
        /// A file of header fields for it.
        public var headersFile: String?
        /// A file of certificate authorities that are believed instead of the system's.
        public var caFile: String?
        /// The share of the events without a trace context that a trace begins with, 0...1.
        public var sampleRatio: Double = 0
        /// Events whose tracing begins within a second, at most, of each shard.
        public var samplesPerSecondMax = 100
        /// `service.instance.id`, where the environment does not say it; `nil`: one that is drawn when the process starts.
        public var instanceID: String?
        /// What the environment says in OpenTelemetry's own variables.
        var environment = OTelEnvironment()

        /// The defaults.
        public init() {}

        /// Where traces go; `nil`: nowhere.
        var endpoint: HTTPEndpoint? {
            guard let text = self.otlpEndpoint else { return self.environment.endpoint }
            return HTTPEndpoint(collector: text)
        }
    }

    /// How Kafka is reached.
    public var kafka = Kafka()
    /// Names of the Kafka topics.
    public var topics = Topics()
    /// Where a partition begins that the group has never committed.
    public var startFrom = StartFrom.beginning
    /// The apps whose events are taken, each bundle id once.
    public var apps: [AppSettings] = []
    /// Event loops that carry partitions; 0: one per core.
    public var shardCount = 0
    /// What the engine of each shard is told, as it is.
    public var engine = EngineSettings()
    /// What the loop of each shard is told, as it is.
    public var loop = ShardLoopSettings()
    /// Connections of each route of each shard.
    public var pool = ConnectionPoolConfiguration()
    /// Which way connections to APNs take.
    public var proxy = ProxySettings()
    /// How long a partition that leaves waits for answers.
    public var quietWaitMillis: Int64 = 250
    /// How long leaving may take when the worker stops.
    public var drainTimeoutMillis: Int64 = 15_000
    /// A loop that has not turned for so long makes `/healthz` fail.
    public var stallLimitMillis: Int64 = 30_000
    /// A partition that has records to take and has not got on for so long makes `/healthz` fail.
    public var partitionStallLimitMillis: Int64 = 300_000
    /// Where health, readiness and metrics are served.
    public var admin = Admin()
    /// Whose way is traced, and where traces go.
    public var tracing = Tracing()
    /// Whether the settings file is read again when it has changed.
    public var watchesFile = false
    /// Lines below it are not written.
    public var logLevel = Logger.Level.info
    /// The format of the worker's log lines.
    public var logFormat = LogFormat.text

    /// The defaults.
    public init() {}

    /// The shards there will be.
    var resolvedShardCount: Int { self.shardCount > 0 ? self.shardCount : System.coreCount }
}

// Paths and texts in them may be secrets that were given in the wrong place.
extension WorkerConfiguration: Untold {}
extension WorkerConfiguration.Kafka: Untold {}
extension WorkerConfiguration.Admin: Untold {}
extension WorkerConfiguration.Admin.TLS: Untold {}
extension WorkerConfiguration.Tracing: Untold {}
