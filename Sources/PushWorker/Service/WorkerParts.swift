import KafkaLog
import Listening
import Logging
import NIOCore
import NIOPosix
import PushEngine
import PushModel
import PushTransport
import Redaction
import Tracing

/// The parts of a running worker. This type starts and stops them.
final class WorkerParts: Sendable {
    let admin: AdminServer?
    let reconfigurer: Reconfigurer
    private let channels: ChannelDesk?
    let state: StatePages
    private let configuration: WorkerConfiguration
    private let hub: SnapshotHub
    private let logger: Logger
    private let group: MultiThreadedEventLoopGroup
    private let tokens: ProviderTokenStore
    private let seat: GroupSeat
    private let coordinator: GroupCoordinator
    private let shards: [ShardHandle]
    private let pulses: [RepeatedTask]
    private let tasks: [Task<Void, Never>]

    /// Niceness of the consumer's threads. When a thread and a shard's loop want one processor, the loop gets about
    /// nine tenths of the processor's time. Measured on one core at 60,000 pushes a second: the 99th percentile of an
    /// event's time in the worker falls from 30 to 8 ms. With a niceness of 5 it falls to 13 ms.
    private static let consumerThreadNiceness: Int32 = 10
    /// Niceness of the producer's threads. It is the highest, because only the next push of an activity depends on
    /// these threads. A burst of 13,000 records every 100 ms is 20 ms of work. At 65,000 pushes a second, the 99th
    /// percentile from intended send to APNs is 44 ms. With a niceness of 10 it was 54 ms.
    private static let producerThreadNiceness: Int32 = 19

    private init(
        admin: AdminServer?, channels: ChannelDesk?, state: StatePages, configuration: WorkerConfiguration,
        hub: SnapshotHub,
        logger: Logger, group: MultiThreadedEventLoopGroup,
        tokens: ProviderTokenStore, seat: GroupSeat, coordinator: GroupCoordinator, shards: [ShardHandle],
        reconfigurer: Reconfigurer, pulses: [RepeatedTask],
        tasks: [Task<Void, Never>]
    ) {
        self.admin = admin
        self.state = state
        self.reconfigurer = reconfigurer
        self.channels = channels
        self.configuration = configuration
        self.hub = hub
        self.logger = logger
        self.group = group
        self.tokens = tokens
        self.seat = seat
        self.coordinator = coordinator
        self.shards = shards
        self.pulses = pulses
        self.tasks = tasks
    }

    // MARK: Starting

    /// Starts the parts.
    /// - Throws: `WorkerError`, or `CancellationError`. Parts that were started are stopped again.
    static func start(
        _ configuration: WorkerConfiguration, hub: SnapshotHub, metrics: PrometheusMetricsFactory?,
        tracer: (any Tracer)?, logger: Logger,
        fail: @escaping @Sendable (String) -> Void, drain: @escaping @Sendable () -> Void
    ) async throws -> WorkerParts {
        let plan: WorkerPlan
        let tokens: ProviderTokenStore
        do {
            var made = WorkerPlan(configuration)
            // The contexts are made once for all shards, because all of them read the same authorities.
            try made.makeTLSContexts(of: made.routes.indices)
            plan = made
            tokens = try ProviderTokenStore(keys: plan.keys, logger: logger)
        } catch {
            throw WorkerError("\(error)")
        }
        let count = configuration.resolvedShardCount
        let group = MultiThreadedEventLoopGroup(numberOfThreads: count)
        let loops = Array(group.makeIterator())
        let beats = loops.map { loop in
            let pulse = LoopPulse()
            return (pulse: pulse, task: pulse.start(on: loop))
        }
        var (admin, channels): (AdminServer?, ChannelDesk?) = (nil, nil)
        let pulses = beats.map(\.pulse)
        let began = MachineClock.now().steadyMillis
        let state = StatePages(
            configuration.admin,
            sources: StatePages.Sources(
                snapshot: { hub.snapshot }, lags: { hub.lags(inputTopics: plan.inputTopics) },
                silencesMillis: { pulses.map(\.millisSinceLast) },
                uptimeSeconds: { (MachineClock.now().steadyMillis - began) / 1_000 }, drain: drain),
            logger: logger)
        // The token keeper is made first: nothing can be learned from Kafka without a token.
        let keeper = TokenKeeper.of(configuration.kafka.consumerSettings)
        let login = keeper.map { keeper in
            Task.detached { await LoginWatch(keeper: keeper, hub: hub, logger: logger).run() }
        }
        do {
            channels = try await Self.openChannels(configuration, plan: plan, tokens: tokens, logger: logger)
            admin = try await Self.startAdmin(
                configuration, hub: hub, tokens: tokens, channels: channels, state: state, pulses: pulses,
                inputTopics: plan.inputTopics, metrics: metrics, spans: (tracer as? OTLPTracer)?.spans, logger: logger)
            return try await Self.join(
                configuration, plan: plan, hub: hub, admin: admin, channels: channels, state: state, tokens: tokens,
                group: group,
                loops: loops,
                pulses: beats.map(\.task), login: login, tracer: tracer,
                logger: logger, fail: fail)
        } catch {
            login?.cancel()
            await admin?.stop()
            await channels?.close()
            tokens.stop()
            for beat in beats { beat.task.cancel() }
            try? await group.shutdownGracefully()
            throw error
        }
    }

    /// The desk for channel requests; `nil` when the settings allow none.
    private static func openChannels(
        _ configuration: WorkerConfiguration, plan: WorkerPlan, tokens: ProviderTokenStore, logger: Logger
    ) async throws -> ChannelDesk? {
        guard configuration.admin.isEnabled, let path = configuration.admin.channelsTokenFile else { return nil }
        do {
            _ = try BearerToken.read(path: path)
            return try await ChannelDesk(plan, providerTokens: tokens, limits: ChannelPages.limits, logger: logger)
        } catch let error as BearerToken.Fault {
            throw WorkerError("admin.channels-token-file: \(error)")
        } catch {
            throw WorkerError("\(error)")
        }
    }

    private static func startAdmin(
        _ configuration: WorkerConfiguration, hub: SnapshotHub, tokens: ProviderTokenStore, channels: ChannelDesk?,
        state: StatePages, pulses: [LoopPulse], inputTopics: [String],
        metrics: PrometheusMetricsFactory?, spans: SpanQueue?, logger: Logger
    ) async throws -> AdminServer? {
        guard configuration.admin.isEnabled else { return nil }
        let keeper = TokenKeeper.of(configuration.kafka.consumerSettings)
        let limits = (loop: configuration.stallLimitMillis, partition: configuration.partitionStallLimitMillis)
        let pages = AdminServer.Pages(
            unhealthy: {
                Health.faults(
                    loopSilencesMillis: pulses.map(\.millisSinceLast), group: hub.group,
                    nowMillis: MachineClock.now().steadyMillis, loopLimitMillis: limits.loop,
                    partitionLimitMillis: limits.partition)
            },
            readiness: { Readiness(hub.snapshot) },
            metrics: { format in
                let snapshot = hub.snapshot
                let now = MachineClock.now()
                let surroundings = WorkerMetrics.Surroundings(
                    tokenAges: Self.tokenAges(tokens, nowSeconds: now.wallSeconds),
                    lags: hub.lags(inputTopics: inputTopics), isReady: snapshot.isReady,
                    process: ProcessReading.now(), spans: spans?.counters ?? ExportCounters(),
                    resource: TelemetryResource(configuration.tracing), wallMillis: now.wallMillis,
                    login: keeper?.report, brokerConnections: ConnectionCount.value)
                return WorkerMetrics.page(snapshot, surroundings, libraries: metrics, format)
            },
            channels: configuration.admin.channelsTokenFile.map {
                ChannelPages(desk: channels, tokenFile: $0, logger: logger)
            } ?? .off, state: state)
        let tls = try Self.readAdminFiles(configuration, logger: logger)
        do {
            let admin = try await AdminServer.start(
                host: configuration.admin.host, port: configuration.admin.port, pages: pages, tls: tls, logger: logger)
            logger.info(
                "admin port listens",
                metadata: [
                    "address": "\(configuration.admin.host):\(admin.port)", "tls": "\(tls != nil)",
                    "state": "\(state.access.text)",
                ])
            return admin
        } catch {
            let (host, port, setting) = (
                configuration.admin.host, configuration.admin.port, "admin.host and admin.port"
            )
            let fault = ListenFault(error, setting, host: host, port: port)
            throw WorkerError(fault?.description ?? "\(setting): \(host):\(port) cannot be listened on: \(error)")
        }
    }

    /// Reads the admin port's certificate, if there is one, and checks the file of its token.
    private static func readAdminFiles(_ configuration: WorkerConfiguration, logger: Logger) throws -> AdminTLS? {
        if let path = configuration.admin.tokenFile {
            do throws(BearerToken.Fault) { _ = try BearerToken.read(path: path) } catch {
                throw WorkerError("admin.token-file: \(error)")
            }
        }
        do throws(AdminTLS.Fault) {
            return try configuration.admin.tls.map { tls throws(AdminTLS.Fault) in try AdminTLS(tls, logger: logger) }
        } catch {
            throw WorkerError("\(error.setting): \(error.text)")
        }
    }

    /// The age of each provider token, by the id of its key. If two environments use one key, the older token's age is
    /// taken.
    private static func tokenAges(
        _ tokens: ProviderTokenStore, nowSeconds: Int64
    ) -> [(keyID: String, seconds: Int64)] {
        var ages: [(keyID: String, seconds: Int64)] = []
        for key in 0..<tokens.keyCount {
            let keyID = tokens.currentKeyID(key: key)
            let seconds = nowSeconds - tokens.current(key: key).issuedAtSeconds
            if let known = ages.firstIndex(where: { $0.keyID == keyID }) {
                ages[known].seconds = max(ages[known].seconds, seconds)
            } else {
                ages.append((keyID, seconds))
            }
        }
        return ages
    }

    private static func join(
        _ configuration: WorkerConfiguration, plan: WorkerPlan, hub: SnapshotHub, admin: AdminServer?,
        channels: ChannelDesk?, state: StatePages, tokens: ProviderTokenStore,
        group: MultiThreadedEventLoopGroup, loops: [any EventLoop], pulses: [RepeatedTask], login: Task<Void, Never>?,
        tracer: (any Tracer)?,
        logger: Logger,
        fail: @escaping @Sendable (String) -> Void
    ) async throws -> WorkerParts {
        let partitionCount = try await Self.checkTopics(configuration, hub: hub, logger: logger)
        let kafkaLines = KafkaLines(logger, configuration.kafka)
        let kafkaLog = kafkaLines.handler
        do {
            let committer = Committer(
                inputTopics: plan.inputTopics, sessionTimeoutMillis: configuration.kafka.sessionTimeoutMillis,
                logger: logger)
            let logReader = try KafkaLogReader(configuration.kafka.consumerSettings, log: kafkaLog)
            for topic in [configuration.topics.state] + plan.inputTopics { try logReader.prepare(topic) }
            let clusterID = await NamedThread.run("kafka-cluster") { logReader.clusterID(within: .seconds(5)) }
            let shared = ShardShared(
                configuration: configuration, logReader: logReader, clusterID: clusterID ?? "",
                committer: committer, hub: hub, logger: logger, tracer: tracer,
                limits: await LimitReader.begin(configuration, log: kafkaLog, logger: logger), fail: fail)
            // The limit is computed for all partitions, because one worker may get all of them.
            let fetchAhead = ConsumerConfiguration.fetchAhead(
                partitionCount: Int(partitionCount) * configuration.topics.events.count)
            var options = ConsumerConfiguration(
                settings: fetchAhead.appending(configuration.kafka.consumerSettings),
                groupID: configuration.kafka.groupID,
                groupInstanceID: configuration.kafka.groupInstanceID, driverTopic: configuration.topics.events[0],
                ridingTopics: Array(configuration.topics.events.dropFirst()) + [configuration.topics.routed],
                log: kafkaLog)
            options.revocationDurationMax = max(.seconds(10), .milliseconds(configuration.drainTimeoutMillis))
            options.assignmentDurationMax = .seconds(120)
            options.brokerThreadNiceness = Self.consumerThreadNiceness
            let seat = try GroupSeat(options)
            committer.use(seat.consumer)
            var shards: [ShardHandle] = []
            for (number, loop) in loops.enumerated() {
                shards.append(
                    try await Self.startShard(
                        number, loop, plan: plan, partitionCount: partitionCount, shared: shared, tokens: tokens,
                        kafkaLines: kafkaLines))
            }
            for shard in shards { shared.limits.listen { shard.limit($0) } }
            state.use(
                shards, orders: AudienceOrders(configuration, partitionCount: partitionCount),
                isPlacementChecked: configuration.engine.placement == .check)
            tokens.watchComplaints { complaints in hub.updateGroup { $0.keyComplaints = complaints } }
            tokens.start(on: loops[0])
            let coordinator = GroupCoordinator(
                configuration: configuration, partitionCount: partitionCount, seat: seat, shards: shards,
                committer: committer,
                logLook: LogLook(
                    logReader: logReader, stateTopic: configuration.topics.state, kafka: configuration.kafka,
                    logger: logger),
                hub: hub,
                logger: logger, kafkaLines: kafkaLines, fail: fail)
            let inlets = InletWatch(
                seat: seat, coordinator: coordinator, inputTopics: configuration.topics.events, logger: logger)
            let groupWatch = GroupWatch(configuration, hub: hub, log: kafkaLog, logger: logger)
            try coordinator.start(clusterID: clusterID ?? "")
            let lagWatch = LagWatch(
                seat: seat, hub: hub, committer: committer, inputTopics: plan.inputTopics,
                kafkaLines: kafkaLines, stallLimitMillis: configuration.partitionStallLimitMillis, logger: logger)
            let tasks: [Task<Void, Never>] = [
                Task.detached { await coordinator.run() }, Task.detached { await lagWatch.run() },
                Task.detached { await inlets.run() },
                Task.detached { await groupWatch.run() },
                Task.detached { await shared.limits.run() },
                Task.detached {
                    var logged: KafkaError?
                    while !Task.isCancelled {
                        committer.ask()
                        let refusal = committer.refusal
                        if refusal != logged {
                            logged = refusal
                            hub.updateGroup { report in
                                report.errors["commit"] = refusal.map { "offsets cannot be committed: \($0)" }
                            }
                        }
                        try? await Task.sleep(for: .milliseconds(committer.askEveryMillis))
                    }
                },
            ]
            return WorkerParts(
                admin: admin, channels: channels, state: state, configuration: configuration, hub: hub, logger: logger,
                group: group,
                tokens: tokens, seat: seat,
                coordinator: coordinator, shards: shards,
                reconfigurer: Reconfigurer(
                    configuration, plan: plan, partitionCount: partitionCount, clusterID: clusterID ?? "",
                    tokens: tokens, shards: shards, channels: channels, hub: hub, logger: logger),
                pulses: pulses,
                tasks: tasks + (login.map { [$0] } ?? []))
        } catch {
            throw WorkerError("\(error)")
        }
    }

    private static func checkTopics(_ configuration: WorkerConfiguration, hub: SnapshotHub, logger: Logger) async throws
        -> Int32
    {
        let verdict: TopicCheck.Verdict
        var isMissingLogged = false
        do {
            verdict = try await TopicCheck.ask(
                configuration, log: KafkaLines(logger, configuration.kafka).handler,
                whenUnreachable: { error in
                    logger.warning(
                        "Kafka cannot be asked for its topics; trying again",
                        metadata: configuration.kafka.metadata(of: error))
                    let what =
                        error.isRefusal
                        ? "Kafka refuses this client" : "Kafka cannot be reached at \(configuration.kafka.shownBrokers)"
                    // `LoginWatch` reports a missing token.
                    hub.updateGroup { $0.errors["topics"] = error.isWithoutToken ? nil : "\(what): \(error)" }
                },
                whenMissing: { names in
                    // Kafka does not know these names, so one may be a secret given by mistake.
                    let list = names.map(ShownText.name).joined(separator: ", ")
                    hub.updateGroup { $0.errors["topics"] = "Kafka does not show these topics yet: \(list)" }
                    guard !isMissingLogged else { return }
                    isMissingLogged = true
                    logger.notice(
                        "topics are missing; waiting for them",
                        metadata: ["topics": "\(list)", "limit": "\(TopicCheck.absenceMillisMax / 1_000)s"])
                },
                whenSettingsUnknown: { error in
                    logger.info(
                        "the topics' settings are not checked", metadata: configuration.kafka.metadata(of: error))
                })
        } catch let error as KafkaError {
            throw WorkerError("Kafka: \(error)")
        }
        hub.updateGroup { $0.errors["topics"] = nil }
        switch verdict {
        case .agreed(let partitionCount, let remarks):
            for remark in remarks {
                logger.warning("a topic has more partitions than are used", metadata: ["topic": "\(remark)"])
            }
            return partitionCount
        case .faults(let faults): throw WorkerError("Kafka's topics: " + faults.joined(separator: "; "))
        }
    }

    private static func startShard(
        _ number: Int, _ loop: any EventLoop, plan: WorkerPlan, partitionCount: Int32, shared: ShardShared,
        tokens: ProviderTokenStore, kafkaLines: KafkaLines
    ) async throws -> ShardHandle {
        try await loop.submit {
            let waker = ShardWaker(eventLoop: loop)
            let makeProducer = { () throws(KafkaError) in
                var options = ProducerConfiguration(
                    settings: shared.limits.producerSettings, log: kafkaLines.handler)
                options.brokerThreadNiceness = Self.producerThreadNiceness
                // After a fatal error, the shard's log makes another producer with this closure.
                return try KafkaProducer(
                    options, onDeliveries: { waker.wake() },
                    onError: { error in kafkaLines.warn("Kafka producer of shard \(number)", error) })
            }
            let runner = try ShardRunner(
                number: number, eventLoop: loop, plan: plan, partitionCount: partitionCount, shared: shared,
                makeProducer: makeProducer, providerTokens: tokens, waker: waker,
                randomSeed: UInt64.random(in: .min ... .max))
            runner.start()
            return ShardHandle(runner)
        }.get()
    }

    // MARK: Stopping

    /// Stops the worker within the drain timeout. It takes nothing new, awaits answers to pushes in flight, writes down
    /// the rest, commits, and leaves the group.
    func stop() async -> StopReport {
        self.logger.info(
            "stopping", metadata: ["limit": "\(DurationText.format(millis: self.configuration.drainTimeoutMillis))"])
        self.hub.updateGroup { $0.isDraining = true }
        self.coordinator.beginStopping()
        for shard in self.shards { shard.stopReading() }
        var faults: [String] = []
        if !(await self.seat.close(within: .milliseconds(self.configuration.drainTimeoutMillis))) {
            faults.append(
                "the consumer group was not left within drain-timeout; the group notices when the session ends")
        }
        self.coordinator.finish()
        // Later questions must not reach loops that have ended.
        self.state.questions.use([])
        await self.reconfigurer.close()
        for task in self.tasks { task.cancel() }
        for task in self.tasks { await task.value }
        faults += self.coordinator.stopFaults
        for shard in self.shards {
            // This fails only when the loop has ended.
            try? await shard.close()
        }
        self.tokens.stop()
        for pulse in self.pulses { pulse.cancel() }
        await self.admin?.stop()
        await self.channels?.close()
        try? await self.group.shutdownGracefully()
        if self.hub.snapshot.partitions.contains(where: { $0.phase == .running }) {
            faults.append("partitions were still held")
        }
        self.logger.info("stopped", metadata: faults.isEmpty ? [:] : ["faults": "\(faults.joined(separator: "; "))"])
        return StopReport(isClean: faults.isEmpty, detail: faults.joined(separator: "; "))
    }
}
