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

    /// Groups whose names are librdkafka's properties, which are passed on unchanged.
    static let openGroups: [(name: String, documentation: String)] = [
        (
            "kafka.properties",
            "librdkafka properties of every client, such as `security.protocol`, `sasl.mechanisms`, `ssl.ca.location`."
        ),
        (
            "kafka.consumer",
            "librdkafka properties of the consumer; they win over `kafka.properties`. `fetch.min.bytes: 1` takes each record at once, for more CPU."
        ),
        ("kafka.producer", "librdkafka properties of the producers; they win over `kafka.properties`."),
    ]

    private static let kafkaSettings: [SettingRow<WorkerConfiguration>] = [
        .text(
            "kafka.bootstrap", effect: .restart, isRequired: true,
            expected: BrokerList.expected, kind: .addresses,
            \.kafka.bootstrap,
            "The brokers first asked. May also be given as `bootstrap.servers` below `kafka.properties`."
        ) { BrokerList.isValid($0) },
        .text(
            "kafka.group", effect: .restart, expected: "1 to 249 characters", \.kafka.groupID,
            "The consumer group. Workers of one group share the partitions."
        ) { SettingChecks.isGroup($0) },
        .optionalText(
            "kafka.group-instance-id", effect: .restart, expected: "1 to 249 characters", \.kafka.groupInstanceID,
            "Unique for each worker, such as the pod's name: a restart within the session timeout then moves no partition. Of two workers with the same, one waits and is not ready."
        ) { SettingChecks.isGroup($0) },
        .list(
            "topics.events", effect: .restart, expected: "\(TopicName.expected), or a list of such",
            \.topics.events,
            "Input topics, with equal partition counts. The first is subscribed, the others ride along."
        ) { TopicName.isValid($0) },
        .text(
            "topics.routed", effect: .restart, expected: TopicName.expected, \.topics.routed,
            "Where misplaced records are forwarded to, with as many partitions as the input."
        ) { TopicName.isValid($0) },
        .text(
            "topics.state", effect: .restart, expected: TopicName.expected, \.topics.state,
            "The compacted changelog, with as many partitions as the input."
        ) { TopicName.isValid($0) },
        .text(
            "topics.outcomes", effect: .restart, expected: TopicName.expected, \.topics.outcomes,
            "Where it is told what became of events."
        ) { TopicName.isValid($0) },
        .text(
            "topics.dead-letters", effect: .restart, expected: TopicName.expected,
            \.topics.deadLetters,
            "Where records go that cannot be processed."
        ) { TopicName.isValid($0) },
        .choice(
            "placement", effect: .restart, \.engine.placement,
            "`check`: a record that its producer put on the wrong partition (by murmur2 of the key) is forwarded. `trust`: it is taken where it lies."
        ),
        .choice(
            "events.framing", effect: .live, \.engine.eventFraming,
            "What a producer's serializer may put around an event. `auto`: a schema registry's five bytes and a byte order mark are passed over, and of a structured CloudEvent its `data` is taken. `none`: such events become dead letters."
        ),
        .choice(
            "start-from", effect: .restart, \.startFrom,
            "Where a partition begins that the group has never committed."),
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
            "For [a login by OAUTHBEARER](KafkaLogin.md): a file with the token, which somebody keeps up to date. Looked at every two seconds, so it may be replaced at any time."
        ) { SettingChecks.isPath($0) },
        .list(
            "kafka.oauth.token-command", effect: .restart, expected: "a program's path, then its arguments, as a list",
            kind: .path, isOnce: false, \.kafka.oauth.tokenCommand,
            "For [a login by OAUTHBEARER](KafkaLogin.md): a program that writes a token to its standard output. Run without a shell, for ten seconds at most, before the token before ends."
        ) { SettingChecks.isArgument($0) },
        .optionalText(
            "kafka.oauth.token-endpoint", effect: .restart, expected: TokenEndpoint.expected, kind: .url,
            \.kafka.oauth.tokenEndpoint,
            "For [a login by OAUTHBEARER](KafkaLogin.md): a server that gives tokens to clients with a secret (grant `client_credentials`)."
        ) { TokenEndpoint.url($0) != nil },
        .optionalText(
            "kafka.oauth.client-id", effect: .restart, expected: "1 to 256 visible ASCII characters",
            \.kafka.oauth.clientID, "Who asks `kafka.oauth.token-endpoint`."
        ) { SettingChecks.isPlain($0, byteCountMax: 256) },
        .optionalText(
            "kafka.oauth.client-secret-file", effect: .restart,
            expected: "the path of a file that holds a client's secret",
            kind: .path, \.kafka.oauth.clientSecretFile,
            "A file whose content is the client's secret. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "kafka.oauth.scope", effect: .restart, expected: "1 to 1,024 visible ASCII characters and blanks",
            \.kafka.oauth.scope, "What the endpoint's token is to be good for, as whoever runs it says."
        ) { SettingChecks.isPlain($0, byteCountMax: 1_024, allowsBlanks: true) },
        .optionalText(
            "kafka.oauth.ca-file", effect: .restart, expected: "the path of a file of PEM certificates", kind: .path,
            \.kafka.oauth.caFile,
            "Certificate authorities believed of the endpoint instead of the system's. Read for each request."
        ) { SettingChecks.isPath($0) },
        .list(
            "kafka.oauth.extensions", effect: .restart,
            expected: "a list of name=value, each name once, of letters, and none of them auth", kind: .name,
            isOnce: false, \.kafka.oauth.extensions,
            "Said to brokers beside the token, such as `logicalCluster` and `identityPoolId` for Confluent Cloud.",
            acceptsAll: { WorkerConfiguration.Kafka.OAuth.read($0) != nil }
        ) { !$0.isEmpty },
    ]

    private static let flowSettings: [SettingRow<WorkerConfiguration>] = [
        .number(
            "shards", effect: .restart, in: 0...256, unit: "event loops", \.shardCount,
            "Event loops that carry partitions; 0: one per core."),
        .number(
            "limits.pending", effect: .live, in: 100...10_000_000, unit: "activities per shard", \.engine.pendingMax,
            "Activities that may have something to send. Past it partitions are not read."),
        .number(
            "limits.activities", effect: .live, in: 100...100_000_000, unit: "activities per shard",
            \.engine.activitiesMax,
            "Activities remembered, idle ones included. Past it partitions are not read."),
        .number(
            "limits.members", effect: .live, in: 100...100_000_000, unit: "members per shard", \.engine.membersMax,
            "Members of audiences remembered. Past it joins are dead-lettered, but for those of tokens that are members already."
        ),
        .number(
            "limits.unacknowledged", effect: .live, in: 100...1_000_000, unit: "records per shard",
            \.engine.unacknowledgedMax,
            "Records Kafka has not acknowledged yet. Past it partitions are not read and nothing new is sent."),
        .duration(
            "retry.backoff-min", effect: .live, in: 100...60_000, \.engine.retryBackoffMinMillis,
            "The first wait before a push that APNs refused for now is tried again. Doubled each time."),
        .duration(
            "retry.backoff-max", effect: .live, in: 1_000...3_600_000, \.engine.retryBackoffMaxMillis,
            "The longest such wait."
        ),
        .duration(
            "state.flush-interval", effect: .live, in: 1...1_000, \.loop.recordHoldMillis,
            "Outcomes and state records gather at most so long before they are written together, and less where Kafka is slow: an activity's next push waits for those of the one before. Shorter costs CPU, longer repeats more after a kill."
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
            "Requests in flight on a connection, however many APNs would allow."
                + " Fewer are, while fewer keep the worker or APNs busy."),
        .text(
            "apns.proxy", effect: .restart, expected: ProxySettings.expected, kind: .proxy, \.proxy.way,
            "An HTTP proxy that all connections to APNs take, by CONNECT. `environment`: that of `https_proxy`, but for hosts of `no_proxy`. See [through a proxy](#through-a-proxy)."
        ) { ProxySettings.accepts($0) },
        .optionalText(
            "apns.proxy-credentials-file", effect: .restart, expected: "the path of a file with user:password",
            kind: .path, \.proxy.credentialsFile,
            "For a proxy that asks who comes. Read for each connection, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .duration(
            "apns.connect-timeout", effect: .newConnections, in: 100...120_000, \.pool.connectTimeoutMillis,
            "From the name's lookup to the end of the TLS handshake and APNs' first SETTINGS."),
        .duration(
            "apns.request-timeout", effect: .restart, in: 100...300_000, \.pool.requestTimeoutMillis,
            "From a request's leaving to its answer."),
        .duration(
            "apns.ping-after", effect: .newConnections, in: 100...600_000, \.pool.pingAfterSilenceMillis,
            "A PING is sent after so much silence while requests are in flight."),
        .duration(
            "apns.ping-timeout", effect: .newConnections, in: 100...600_000, \.pool.pingTimeoutMillis,
            "An unanswered PING closes the connection."),
        .duration(
            "apns.idle-close", effect: .newConnections, in: 1_000...604_800_000, \.pool.idleCloseMillis,
            "A connection without requests for so long is closed."),
        .duration(
            "apns.backoff-min", effect: .restart, in: 10...60_000, \.pool.backoffMinMillis,
            "The first wait before connecting is tried again. Doubled each time, with jitter."),
        .duration(
            "apns.backoff-max", effect: .restart, in: 100...3_600_000, \.pool.backoffMaxMillis,
            "The longest such wait, and the longest between two probes of an APNs that answers with server errors. Service resumes about so long after an outage."
        ),
    ]

    private static let operationSettings: [SettingRow<WorkerConfiguration>] = [
        .duration(
            "quiet-wait", effect: .restart, in: 0...5_000, \.quietWaitMillis,
            "How long a partition that leaves waits for answers from APNs. Kafka hands out nothing meanwhile."),
        .duration(
            "drain-timeout", effect: .restart, in: 1_000...600_000, \.drainTimeoutMillis,
            "How long stopping may take: finish what is in flight, write down the rest, commit, leave the group."),
        .duration(
            "stall-limit", effect: .restart, in: 1_000...600_000, \.stallLimitMillis,
            "An event loop that has not turned for so long makes `/healthz` fail."),
        .duration(
            "partition-stall-limit", effect: .restart, in: 10_000...3_600_000, \.partitionStallLimitMillis,
            "A partition that has records to take, and can, and has not got on for so long makes `/healthz` fail. Kafka or APNs being away does not."
        ),
        .flag(
            "admin.enabled", effect: .restart, \.admin.isEnabled,
            "Whether the admin port is served."),
        .text(
            "admin.host", effect: .restart, expected: "an IP address or a host name", \.admin.host,
            "The address the admin port listens on. `/healthz`, `/readyz` and `/metrics` need no token: keep it inside. What the worker knows of activities and audiences is shown to others than this machine only with a token and over TLS."
        ) { SettingChecks.isHost($0) },
        .number(
            "admin.port", effect: .restart, in: 0...65_535, unit: "TCP port", \.admin.port,
            "The admin port; 0: any free one, named in the log."),
        .optionalText(
            "admin.token-file", effect: .restart, expected: "the path of a file that holds a token", kind: .path,
            \.admin.tokenFile,
            "With it, `/status`, `/activities`, `/audiences` and `/drain` on the admin port answer only who sends the file's content as a bearer token: 16 or more visible characters. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.tls.certificate-file", effect: .restart, expected: "the path of a file of PEM certificates",
            kind: .path,
            \.admin.tlsCertificateFile,
            "The admin port speaks TLS with this certificate, its chain behind it. Looked at again every minute."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.tls.key-file", effect: .restart, expected: "the path of a file with a PEM private key", kind: .path,
            \.admin.tlsKeyFile, "The certificate's key, not encrypted."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "admin.channels-token-file", effect: .restart, expected: "the path of a file that holds a token",
            kind: .path,
            \.admin.channelsTokenFile,
            "With it, `/channels` on the admin port makes, shows and deletes [channels](Channels.md#from-another-service) for whoever sends the file's content as a bearer token: 16 or more visible characters. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
    ]

    private static let tracingSettings: [SettingRow<WorkerConfiguration>] = [
        .optionalText(
            "tracing.otlp-endpoint", effect: .restart, expected: HTTPEndpoint.collectorExpected, kind: .url,
            \.tracing.otlpEndpoint,
            "A collector that [traces](Tracing.md) are sent to, as OTLP in JSON over HTTP. Without it, and without [OpenTelemetry's variables](Tracing.md#from-the-environment), nothing is traced."
        ) { HTTPEndpoint(collector: $0) != nil },
        .optionalText(
            "tracing.headers-file", effect: .restart, expected: "the path of a file of header fields", kind: .path,
            \.tracing.headersFile,
            "Header fields that the collector wants to see, such as `authorization`: one on each line, `name: value`. Read for each request, so it may be changed at any time."
        ) { SettingChecks.isPath($0) },
        .optionalText(
            "tracing.ca-file", effect: .restart, expected: "the path of a file of PEM certificates", kind: .path,
            \.tracing.caFile,
            "Certificate authorities believed instead of the system's, for a collector at `https://`."
        ) { SettingChecks.isPath($0) },
        .fraction(
            "tracing.sample-ratio", effect: .restart, in: 0...1, unit: "share of events", \.tracing.sampleRatio,
            "Of the events that come without a header `traceparent`, the share that a trace begins with. Those with one are traced when whoever published them has sampled them."
        ),
        .number(
            "tracing.sample-per-second-max", effect: .restart, in: 1...10_000, unit: "events per second and shard",
            \.tracing.samplesPerSecondMax,
            "More events are not traced; what they carry goes on unchanged, and they are counted."),
    ]

    private static let logSettings: [SettingRow<WorkerConfiguration>] = [
        .flag(
            "reload.watch", effect: .live, \.watchesFile,
            "Whether the configuration file is looked at every 2 s, and read again when it has changed. SIGHUP has it read in any case."
        ),
        .choice("log.level", effect: .live, \.logLevel, "Lines below this level are not written."),
        .choice(
            "log.format", effect: .restart, \.logFormat,
            "`json`: each [line of the log](Operations.md#the-log) is an object with `time`, `level`, `message`, `logger` and further fields."
        ),
    ]
}
