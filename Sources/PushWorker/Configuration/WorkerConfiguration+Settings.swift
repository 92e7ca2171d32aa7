import APNSPool
import KafkaLog
import Logging
import PushEngine
import ShardLoop

extension WorkerConfiguration: SettingsRoot {
    static let standard = WorkerConfiguration()

    /// Settings that are given once for the worker.
    static let settings: [SettingRow<WorkerConfiguration>] =
        Self.kafkaSettings + Self.loginSettings + Self.flowSettings + Self.connectionSettings + Self.operationSettings
        + Self.tracingSettings + Self.logSettings

    /// Groups whose members are properties of librdkafka, which are passed on unchanged.
    static let openGroups: [(name: String, documentation: String)] = [
        (
            "kafka.properties",
            "librdkafka properties of every client, such as `security.protocol`, `sasl.mechanisms`, `ssl.ca.location`."
        ),
        (
            "kafka.consumer",
            "librdkafka properties of the consumer; they override `kafka.properties`. `fetch.min.bytes: 1` takes each record at once, for more CPU."
        ),
        ("kafka.producer", "librdkafka properties of the producers; they override `kafka.properties`."),
    ]

    private static let kafkaSettings: [SettingRow<WorkerConfiguration>] = [
        .text(
            "kafka.bootstrap", effect: .restart, isRequired: true,
            expected: BrokerList.expected, kind: .addresses,
            \.kafka.bootstrap,
            "The brokers that are asked first. May also be given as `bootstrap.servers` below `kafka.properties`. A broker without a port is asked at 9092, with a warning."
        ) { BrokerList.isValid($0) },
        .text(
            "kafka.group", effect: .restart, expected: "1 to 249 characters", \.kafka.groupID,
            "The consumer group. Workers of one group share the partitions."
        ) { SettingChecks.isGroup($0) },
        .optionalText(
            "kafka.group-instance-id", effect: .restart, expected: "1 to 249 characters", \.kafka.groupInstanceID,
            "Unique for each worker, such as the pod's name: a restart within the session timeout then moves no partition. If two workers have the same value, one of them waits and is not ready."
        ) { SettingChecks.isGroup($0) },
        .list(
            "topics.events", effect: .restart, expected: "\(TopicName.expected), or a list of such",
            \.topics.events,
            "Input topics, with equal partition counts. The group subscribes to the first; the others are assigned with it."
        ) { TopicName.isValid($0) },
        .text(
            "topics.routed", effect: .restart, expected: TopicName.expected, \.topics.routed,
            "The topic that misplaced records are forwarded to, with as many partitions as the input."
        ) { TopicName.isValid($0) },
        .text(
            "topics.state", effect: .restart, expected: TopicName.expected, \.topics.state,
            "The compacted changelog, with as many partitions as the input."
        ) { TopicName.isValid($0) },
        .text(
            "topics.outcomes", effect: .restart, expected: TopicName.expected, \.topics.outcomes,
            "The topic for the outcomes of events."
        ) { TopicName.isValid($0) },
        .text(
            "topics.dead-letters", effect: .restart, expected: TopicName.expected,
            \.topics.deadLetters,
            "The topic for records that cannot be processed."
        ) { TopicName.isValid($0) },
        .choice(
            "placement", effect: .restart, \.engine.placement,
            "`check`: a record that its producer put on the wrong partition (by murmur2 of the key) is forwarded. `trust`: it is taken where it is."
        ),
        .choice(
            "events.framing", effect: .live, \.engine.eventFraming,
            "What a producer's serializer may put around an event. `auto`: a schema registry's five bytes and a byte order mark are skipped, and the `data` of a structured CloudEvent is taken. `none`: such events become dead letters."
        ),
        .choice(
            "start-from", effect: .restart, \.startFrom,
            "Where reading begins in a partition for which the group has never committed an offset."),
        .choice(
            "outcomes.publish", effect: .live, \.engine.outcomePublication,
            "Which outcomes are published. `pushes`: all but `superseded` and `applied`."),
        .duration(
            "commit-interval", effect: .live, in: 50...10_000, \.loop.commitIntervalMillis,
            "How often resolved offsets are committed."),
    ]

    private static let loginSettings: [SettingRow<WorkerConfiguration>] = [
        .optionalText(
            "kafka.oauth.token-file", effect: .restart, expected: "the path of a file that holds a token", kind: .path,
            \.kafka.oauth.tokenFile,
            "For [a login by OAUTHBEARER](KafkaLogin.md): a file with the token, which somebody keeps up to date. It is checked every two seconds, so it may be replaced at any time."
        ) { SettingChecks.isPath($0) },
        .list(
            "kafka.oauth.token-command", effect: .restart, expected: "a program's path, then its arguments, as a list",
            kind: .path, isOnce: false, \.kafka.oauth.tokenCommand,
            "For [a login by OAUTHBEARER](KafkaLogin.md): a program that writes a token to its standard output. It is run without a shell, for ten seconds at most, before the current token expires."
        ) { SettingChecks.isArgument($0) },
        .optionalText(
            "kafka.oauth.token-endpoint", effect: .restart, expected: TokenEndpoint.expected, kind: .url,
            \.kafka.oauth.tokenEndpoint,
            "For [a login by OAUTHBEARER](KafkaLogin.md): a server that gives tokens to clients with a secret (grant `client_credentials`)."
        ) { TokenEndpoint.url($0) != nil },
        .optionalText(
            "kafka.oauth.client-id", effect: .restart, expected: "1 to 256 visible ASCII characters",
            \.kafka.oauth.clientID, "The client id sent to `kafka.oauth.token-endpoint`."
        ) { SettingChecks.isPlain($0, byteCountMax: 256) },
        .optionalText(
            "kafka.oauth.client-secret-file", effect: .restart,
            expected: "the path of a file that holds a client's secret",
            kind: .path, \.kafka.oauth.clientSecretFile,
            "A file whose content is the client's secret. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "kafka.oauth.scope", effect: .restart, expected: "1 to 1,024 visible ASCII characters and blanks",
            \.kafka.oauth.scope, "The scope to request from the endpoint, as its operator names it."
        ) { SettingChecks.isPlain($0, byteCountMax: 1_024, allowsBlanks: true) },
        .optionalText(
            "kafka.oauth.ca-file", effect: .restart, expected: "the path of a file of PEM certificates", kind: .path,
            \.kafka.oauth.caFile,
            "Certificate authorities trusted for the endpoint instead of the system's. Read for each request."
        ) { SettingChecks.isPath($0) },
        .list(
            "kafka.oauth.extensions", effect: .restart,
            expected: "a list of name=value, each name once, of letters, and none of them auth", kind: .name,
            isOnce: false, \.kafka.oauth.extensions,
            "Extensions sent to brokers with the token, such as `logicalCluster` and `identityPoolId` for Confluent Cloud.",
            acceptsAll: { WorkerConfiguration.Kafka.OAuth.read($0) != nil }
        ) { !$0.isEmpty },
    ]

    private static let flowSettings: [SettingRow<WorkerConfiguration>] = [
        .number(
            "shards", effect: .restart, in: 0...256, unit: "event loops", \.shardCount,
            "Event loops that carry partitions; 0: one per core."),
        .number(
            "limits.pending", effect: .live, in: 100...10_000_000, unit: "activities per shard", \.engine.pendingMax,
            "Most activities that may have something to send. Beyond it, partitions are not read."),
        .number(
            "limits.activities", effect: .live, in: 100...100_000_000, unit: "activities per shard",
            \.engine.slotsMax,
            "Most activities that are remembered, idle ones included. Beyond it, partitions are not read."),
        .number(
            "limits.members", effect: .live, in: 100...100_000_000, unit: "members per shard", \.engine.membersMax,
            "Most members of audiences that are remembered. Beyond it, joins become dead letters, except those of tokens that are members already."
        ),
        .number(
            "limits.unacknowledged", effect: .live, in: 100...1_000_000, unit: "records per shard",
            \.engine.unacknowledgedMax,
            "Most records that Kafka has not acknowledged yet. Beyond it, partitions are not read and nothing new is sent."
        ),
        .duration(
            "retry.backoff-min", effect: .live, in: 100...60_000, \.engine.retryBackoffMinMillis,
            "The first wait before a push that APNs refused for now is tried again. Doubled each time."),
        .duration(
            "retry.backoff-max", effect: .live, in: 1_000...3_600_000, \.engine.retryBackoffMaxMillis,
            "The longest such wait."
        ),
        .duration(
            "state.flush-interval", effect: .live, in: 1...1_000, \.loop.recordHoldMillis,
            "The longest time that outcomes and state records gather before they are written together. It is shorter where Kafka is slow, because an activity's next push waits for the records of the previous one. A shorter time costs CPU; after a longer one, more is repeated when a worker is killed."
        ),
    ]

    private static let connectionSettings: [SettingRow<WorkerConfiguration>] = [
        .number(
            "apns.connections-max", effect: .restart, in: 1...64, unit: "connections per shard and route",
            \.pool.connectionsMax,
            "Connections that take requests at the same time. A route is one environment with one key."),
        .number(
            "apns.connections-warm", effect: .live, in: 0...64, unit: "connections per shard and route",
            \.pool.connectionsWarm,
            "Connections opened before there is something to send, and kept. One shard of each route keeps one in any case, to know whether APNs can be reached."
        ),
        .number(
            "apns.streams-max", effect: .restart, in: 1...1_000_000, unit: "streams per connection",
            \.pool.streamsPerConnectionMax,
            "Most requests in flight on a connection, even if APNs would allow more."
                + " Fewer are in flight while fewer keep the worker or APNs busy."),
        .text(
            "apns.proxy", effect: .restart, expected: ProxySettings.expected, kind: .proxy, \.proxy.way,
            "An HTTP proxy for all connections to APNs, used by CONNECT. `environment`: the proxy of `https_proxy`, except for hosts in `no_proxy`. See [through a proxy](#through-a-proxy)."
        ) { ProxySettings.accepts($0) },
        .optionalText(
            "apns.proxy-credentials-file", effect: .restart, expected: "the path of a file with user:password",
            kind: .path, \.proxy.credentialsFile,
            "For a proxy that requires a login. Read for each connection, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .duration(
            "apns.connect-timeout", effect: .newConnections, in: 100...120_000, \.pool.connectTimeoutMillis,
            "The longest time from the lookup of the name to the end of the TLS handshake and APNs' first SETTINGS."),
        .duration(
            "apns.request-timeout", effect: .restart, in: 100...300_000, \.pool.requestTimeoutMillis,
            "The longest time from a request's departure to its answer."),
        .duration(
            "apns.ping-after", effect: .newConnections, in: 100...600_000, \.pool.pingAfterSilenceMillis,
            "A PING is sent after this much silence while requests are in flight."),
        .duration(
            "apns.ping-timeout", effect: .newConnections, in: 100...600_000, \.pool.pingTimeoutMillis,
            "A connection is closed when a PING is not answered within this time."),
        .duration(
            "apns.idle-close", effect: .newConnections, in: 1_000...604_800_000, \.pool.idleCloseMillis,
            "A connection without requests for this long is closed."),
        .duration(
            "apns.backoff-min", effect: .restart, in: 10...60_000, \.pool.backoffMinMillis,
            "The first wait before connecting is tried again. Doubled each time, with jitter."),
        .duration(
            "apns.backoff-max", effect: .restart, in: 100...3_600_000, \.pool.backoffMaxMillis,
            "The longest such wait, and the longest between two probes of an APNs that answers with server errors. After an outage, service resumes within about this time."
        ),
    ]

    private static let operationSettings: [SettingRow<WorkerConfiguration>] = [
        .duration(
            "quiet-wait", effect: .restart, in: 0...5_000, \.quietWaitMillis,
            "How long a partition that leaves waits for answers from APNs. Meanwhile Kafka assigns no partitions."),
        .duration(
            "drain-timeout", effect: .restart, in: 1_000...600_000, \.drainTimeoutMillis,
            "How long stopping may take: finish what is in flight, write down the rest, commit, leave the group."),
        .duration(
            "stall-limit", effect: .restart, in: 1_000...600_000, \.stallLimitMillis,
            "An event loop that has not taken a turn for this long makes `/healthz` fail."),
        .duration(
            "partition-stall-limit", effect: .restart, in: 10_000...3_600_000, \.partitionStallLimitMillis,
            "A partition that could take records and has made no progress for this long makes `/healthz` fail. If Kafka or APNs cannot be reached, it does not fail."
        ),
        .flag(
            "admin.enabled", effect: .restart, \.admin.isEnabled,
            "Whether the worker opens the admin port."),
        .text(
            "admin.host", effect: .restart, expected: "an IP address or a host name", \.admin.host,
            "The address the admin port listens on. `/healthz`, `/readyz` and `/metrics` need no token, so do not expose the port. What the worker knows about activities and audiences is shown to other machines only with a token and over TLS."
        ) { SettingChecks.isHost($0) },
        .number(
            "admin.port", effect: .restart, in: 0...65_535, unit: "TCP port", \.admin.port,
            "The port number; 0: any free port, which the log names."),
        .optionalText(
            "admin.token-file", effect: .restart, expected: "the path of a file that holds a token", kind: .path,
            \.admin.tokenFile,
            "With it, `/status`, `/activities`, `/audiences` and `/drain` on the admin port answer only clients that send the file's content as a bearer token: 16 or more visible characters. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.tls.certificate-file", effect: .restart, expected: "the path of a file of PEM certificates",
            kind: .path,
            \.admin.tlsCertificateFile,
            "The admin port uses TLS with this certificate; its chain follows it in the file. The file is checked for changes every minute."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.tls.key-file", effect: .restart, expected: "the path of a file with a PEM private key", kind: .path,
            \.admin.tlsKeyFile, "The certificate's key, not encrypted."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.channels-token-file", effect: .restart, expected: "the path of a file that holds a token",
            kind: .path,
            \.admin.channelsTokenFile,
            "With it, `/channels` on the admin port makes, shows and deletes [channels](Channels.md#from-another-service) for clients that send the file's content as a bearer token: 16 or more visible characters. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
    ]

    private static let tracingSettings: [SettingRow<WorkerConfiguration>] = [
        .optionalText(
            "tracing.otlp-endpoint", effect: .restart, expected: HTTPEndpoint.collectorExpected, kind: .url,
            \.tracing.otlpEndpoint,
            "The collector to which [traces](Tracing.md) are sent, as OTLP in JSON over HTTP. Without it, and without [OpenTelemetry's variables](Tracing.md#from-the-environment), nothing is traced."
        ) { HTTPEndpoint(collector: $0) != nil },
        .optionalText(
            "tracing.headers-file", effect: .restart, expected: "the path of a file of header fields", kind: .path,
            \.tracing.headersFile,
            "Header fields that the collector needs, such as `authorization`: one on each line, `name: value`. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "tracing.ca-file", effect: .restart, expected: "the path of a file of PEM certificates", kind: .path,
            \.tracing.caFile,
            "Certificate authorities trusted instead of the system's, for a collector at `https://`."
        ) { SettingChecks.isPath($0) },
        .fraction(
            "tracing.sample-ratio", effect: .restart, in: 0...1, unit: "share of events", \.tracing.sampleRatio,
            "The share of events without a header `traceparent` for which a trace begins. An event with that header is traced if its publisher has sampled it."
        ),
        .number(
            "tracing.sample-per-second-max", effect: .restart, in: 1...10_000, unit: "events per second and shard",
            \.tracing.samplesPerSecondMax,
            "Most events whose tracing begins. Further ones are counted and not traced; a trace context that they carry is passed on unchanged."
        ),
    ]

    private static let logSettings: [SettingRow<WorkerConfiguration>] = [
        .flag(
            "reload.watch", effect: .live, \.watchesFile,
            "Whether the configuration file is checked every 2 s, and read again when it has changed. SIGHUP always causes it to be read."
        ),
        .choice("log.level", effect: .live, \.logLevel, "Lines below this level are not written."),
        .choice(
            "log.format", effect: .restart, \.logFormat,
            "`json`: each [line of the log](Operations.md#the-log) is an object with `time`, `level`, `message`, `logger` and further fields."
        ),
    ]
}
