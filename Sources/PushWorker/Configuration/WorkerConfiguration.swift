public import APNSPool
public import KafkaLog
public import Logging
import NIOCore
public import PushEngine
public import Redaction
public import ShardLoop

/// All settings of `mailboat run`. A new value has the defaults; brokers and apps are still missing.
///
/// `ConfigurationLoader` reads it from a file and the environment. A program that runs a worker itself can also fill it
/// in. `faults` lists what is wrong with it as a whole.
public struct WorkerConfiguration: Sendable {
    /// Where reading begins in a partition for which the group has never committed.
    public enum StartFrom: String, Sendable, CaseIterable { case beginning, end }

    /// Names of the Kafka topics (contract: Topics).
    public struct Topics: Sendable, Equatable {
        /// The input topics. The group subscribes to the first. Partitions of the other topics are assigned together
        /// with the first topic's partitions of the same number.
        public var events = ["liveactivity.events"]
        /// The topic for misplaced records, forwarded to the partition of their key.
        public var routed = "liveactivity.routed"
        /// The topic for everything that must survive. Compacted.
        public var state = "liveactivity.state"
        /// The topic for the outcomes of events.
        public var outcomes = "liveactivity.outcomes"
        /// The topic for records that cannot be processed, with the reason.
        public var deadLetters = "liveactivity.dead-letters"

        /// The names that `mailboat topics create` uses by default.
        public init() {}

        /// The topics whose numbers of partitions must be equal: inputs, `routed`, `state`.
        public var coPartitioned: [String] { self.events + [self.routed, self.state] }
        /// All topics of the deployment, the co-partitioned ones first.
        public var all: [String] { self.coPartitioned + [self.outcomes, self.deadLetters] }
    }

    /// Settings for the connection to Kafka.
    public struct Kafka: Sendable {
        /// Addresses of the brokers, `host:port,…`.
        public var bootstrap = ""
        /// `group.id`: workers of one group share the partitions.
        public var groupID = "mailboat"
        /// `group.instance.id`. With it, a restart within the session timeout moves no partition.
        public var groupInstanceID: String?
        /// librdkafka properties of every client. Those of `consumer` and `producer` override them.
        public var common = KafkaSettings()
        /// librdkafka properties of consumers only; these override `common`.
        public var consumer = KafkaSettings()
        /// librdkafka properties of producers only; these override `common`.
        public var producer = KafkaSettings()
        /// The source of tokens for a login by OAUTHBEARER.
        public var oauth = OAuth()

        /// The defaults; the brokers are still missing.
        public init() {}

        /// All settings of a consumer: the brokers, `common`, then `consumer`.
        public var consumerSettings: KafkaSettings { self.base.appending(self.common).appending(self.consumer) }
        /// All settings of a producer: the brokers, `common`, then `producer`. By default, the producer gives up a
        /// record after two thirds of the session timeout, or after 30 seconds if that is less.
        public var producerSettings: KafkaSettings {
            // The limit is below the session timeout, so that no record appears after a successor's records.
            let timeoutMillis = min(30_000, self.sessionTimeoutMillis / 3 * 2)
            return KafkaSettings([.init("message.timeout.ms", "\(timeoutMillis)")]).appending(self.base).appending(
                self.common
            ).appending(self.producer)
        }
        /// The session timeout in milliseconds. If a worker gives no sign of life for that long, the broker takes its
        /// partitions away.
        var sessionTimeoutMillis: Int64 { SessionTimeout.millis(self.consumerSettings) }
        private var base: KafkaSettings {
            var base = self.bootstrap.isEmpty ? KafkaSettings() : KafkaSettings(bootstrap: self.bootstrap)
            base.tokens = TokenKeeper.of(self.oauth)?.tokens
            return base
        }
    }

    /// Settings of the admin port, an HTTP server for probes, metrics and questions about the worker.
    public struct Admin: Sendable, Equatable {
        /// Whether the server runs.
        public var isEnabled = true
        /// The address that the server listens on. Only this machine can reach the default.
        public var host = "127.0.0.1"
        /// The port that the server listens on; 0: any free port.
        public var port = 9464
        /// A file with the token for questions about what the worker knows. `nil`: only clients on this machine may
        /// ask, and nobody may if others can reach the port.
        public var tokenFile: String?
        /// The certificate's file. With it and `tlsKeyFile`, the port uses TLS.
        public var tlsCertificateFile: String?
        /// The file of the certificate's key.
        public var tlsKeyFile: String?
        /// A file with the token for `/channels`; `nil`: the page does not exist.
        public var channelsTokenFile: String?

        /// The defaults.
        public init() {}

        /// The files of a certificate and its key.
        struct TLS: Equatable {
            var certificateFile: String
            var keyFile: String
        }

        /// The certificate and key; `nil`: plain HTTP.
        var tls: TLS? {
            guard let certificateFile = self.tlsCertificateFile, let keyFile = self.tlsKeyFile else { return nil }
            return TLS(certificateFile: certificateFile, keyFile: keyFile)
        }
    }

    /// Settings for tracing: which events are traced, and where traces are sent.
    public struct Tracing: Sendable, Equatable {
        /// The URL of a collector that accepts OTLP in JSON over HTTP; `nil`: the environment variables may name one.
        public var otlpEndpoint: String?
        /// A file of header fields for the collector.
        public var headersFile: String?
        /// A file of certificate authorities that are trusted instead of the system's.
        public var caFile: String?
        /// The share of events without a trace context for which a trace begins, 0...1.
        public var sampleRatio: Double = 0
        /// Maximum number of events for which a trace begins in a second, in each shard.
        public var samplesPerSecondMax = 100
        /// `service.instance.id`, used where the environment does not set it. `nil`: a random one, made when the
        /// process starts.
        public var instanceID: String?
        /// The values of OpenTelemetry's own environment variables.
        var environment = OTelEnvironment()

        /// The defaults.
        public init() {}

        /// The URL that traces are sent to; `nil`: none are sent.
        var endpoint: HTTPEndpoint? {
            guard let text = self.otlpEndpoint else { return self.environment.endpoint }
            return HTTPEndpoint(collector: text)
        }
    }

    /// Settings for the connection to Kafka.
    public var kafka = Kafka()
    /// Names of the Kafka topics.
    public var topics = Topics()
    /// Where reading begins in a partition for which the group has never committed.
    public var startFrom = StartFrom.beginning
    /// The apps whose events are accepted, each bundle id once.
    public var apps: [AppSettings] = []
    /// Number of shards (event loops that own partitions); 0: one for each core.
    public var shardCount = 0
    /// Settings of each shard's engine.
    public var engine = EngineSettings()
    /// Settings of each shard's loop.
    public var loop = ShardLoopSettings()
    /// Settings for the connections of each route of each shard.
    public var pool = ConnectionPoolConfiguration()
    /// Settings for an HTTP proxy between the worker and APNs.
    public var proxy = ProxySettings()
    /// How long a partition that leaves waits for APNs' answers, in milliseconds.
    public var quietWaitMillis: Int64 = 250
    /// How long partitions may take to leave when the worker stops, in milliseconds.
    public var drainTimeoutMillis: Int64 = 15_000
    /// How long a loop may go without a turn before `/healthz` fails, in milliseconds.
    public var stallLimitMillis: Int64 = 30_000
    /// How long a partition with waiting records may make no progress before `/healthz` fails, in milliseconds.
    public var partitionStallLimitMillis: Int64 = 300_000
    /// Settings of the admin port, an HTTP server for probes, metrics and questions about the worker.
    public var admin = Admin()
    /// Settings for tracing: which events are traced, and where traces are sent.
    public var tracing = Tracing()
    /// Whether the settings file is read again when it has changed.
    public var watchesFile = false
    /// The lowest level of log lines that are written.
    public var logLevel = Logger.Level.info
    /// The format of the worker's log lines.
    public var logFormat = LogFormat.text
    /// Where settings were given, such as `mailboat.yaml:12`, by setting name. Settings of one app only and settings at
    /// their defaults are left out.
    var locations: [String: String] = [:]

    /// The defaults.
    public init() {}

    /// Number of shards that the worker will have.
    var resolvedShardCount: Int { self.shardCount > 0 ? self.shardCount : System.coreCount }
}

// Paths and texts in the configuration may be secrets that were given in the wrong place.
extension WorkerConfiguration: Redacted {}
extension WorkerConfiguration.Kafka: Redacted {}
extension WorkerConfiguration.Admin: Redacted {}
extension WorkerConfiguration.Admin.TLS: Redacted {}
extension WorkerConfiguration.Tracing: Redacted {}
