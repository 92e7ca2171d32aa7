import APNSProtocol
import ChannelKeeping
import PushModel

/// Runs keepers of channels (fan-out contract: The keeper). A keeper's app and environment choose a partition, and the
/// owner of that partition runs the keeper. This extension carries out what a keeper decides.
extension KeeperHost {
    // MARK: Begin and end
    /// Begins the partition's keepers with what was read from `state`.
    /// - Parameter apps: indexes of the apps whose keepers begin; `nil`: all.
    mutating func beginKeepers(
        of partition: PartitionIndex, apps: Range<Int>? = nil, in core: inout ShardCore, now: EngineTime
    ) {
        for app in apps ?? core.memory.configuration.apps.indices {
            for environment in PushEnvironment.allCases {
                let isWanted = core.memory.configuration.apps[app].audienceChannel == .auto
                guard
                    isWanted
                        || self.kept.hasRecords(
                            of: partition, bundleID: core.memory.configuration.apps[app].bundleID,
                            environment: environment)
                else { continue }
                self.beginKeeper(app: UInt16(app), environment: environment, partition: partition, in: &core, now: now)
            }
        }
    }
    private mutating func beginKeeper(
        app: UInt16, environment: PushEnvironment, partition: PartitionIndex, in core: inout ShardCore, now: EngineTime
    ) {
        let configuration = core.memory.configuration.apps[Int(app)]
        guard configuration.route(environment, .createChannel) != nil,
            core.memory.keeperPartition(app: app, environment: environment) == core.memory.partitions[partition].number
        else { return }
        var settings = KeeperSettings()
        settings.isExclusive = configuration.channelsExclusive
        settings.poolSize = configuration.audienceChannel == .auto ? configuration.channelsWarm : 0
        settings.poolPolicy = configuration.audienceChannelStorage.policy
        settings.lingerMillis = configuration.channelLingerMillis
        settings.requestTimeoutMillis =
            ChannelErrands.waitMillisMax + core.memory.configuration.settings.requestTimeoutMillis
        let minute = core.memory.configuration.settings.channelMinuteMillis
        if minute != settings.minuteMillis { settings.scale(toMinuteMillis: minute) }
        let keeper = ChannelKeeper(
            settings: settings,
            records: self.kept.records(of: partition, bundleID: configuration.bundleID, environment: environment),
            seed: core.dispatch.random.next(), now: now)
        let id = self.keepers.add(app: app, environment: environment, partition: partition, keeper: keeper)
        core.memory.counters.channelKeepers += 1
        self.carryOut(self.keepers.decide(id) { $0.timePassed(now: now) }, of: id, in: &core, now: now)
    }
    /// Releases held requests, because pushes of the partition may leave from now on.
    mutating func releaseHeldErrands(of partition: PartitionIndex, in core: inout ShardCore, now: EngineTime) {
        guard !self.keepers.isEmpty else { return }
        for id in self.keepers.identifiers where self.keepers[id]?.partition == partition {
            let held = self.keepers[id]?.held ?? []
            self.keepers[id]?.held = []
            self.carryOut(held, of: id, in: &core, now: now)
        }
    }
    /// Withdraws requests that have not left, because the partition is leaving. Answers to requests that have left are
    /// awaited, because an answer may have the id of a new channel.
    mutating func withdrawErrands(of partition: PartitionIndex, in core: inout ShardCore) {
        _ = core.errands.withdraw { $0.partition == partition }
        self.setKeeperDeadline(in: core)
    }
    mutating func forgetKeepers(of partition: PartitionIndex, in core: inout ShardCore) {
        core.errands.forget(partition: partition)
        guard !self.keepers.isEmpty else { return }
        for id in self.keepers.identifiers where self.keepers[id]?.partition == partition {
            self.count(standing: nil, of: id, in: &core)
            self.keepers.remove(id)
            core.memory.counters.channelKeepers -= 1
        }
        self.setKeeperDeadline(in: core)
    }

    // MARK: Time
    mutating func advanceKeepers(in core: inout ShardCore, now: EngineTime) {
        guard self.keepers.nextDeadlineMillis <= now.steadyMillis else { return }
        for id in self.keepers.identifiers {
            guard let hosted = self.keepers[id], let due = hosted.keeper.deadlineMillis, due <= now.steadyMillis,
                core.memory.partitions[hosted.partition].sends
            else { continue }
            self.carryOut(self.keepers.decide(id) { $0.timePassed(now: now) }, of: id, in: &core, now: now)
        }
        self.setKeeperDeadline(in: core)
    }
    private mutating func setKeeperDeadline(in core: borrowing ShardCore) {
        var next = Int64.max
        for id in self.keepers.identifiers {
            guard let hosted = self.keepers[id], core.memory.partitions[hosted.partition].sends else { continue }
            next = min(next, hosted.keeper.deadlineMillis ?? .max)
        }
        self.keepers.nextDeadlineMillis = next
    }

    // MARK: Wishes of owners
    /// Takes an owner's wish. The offset of the wish's record is resolved once what follows from the wish is durable.
    mutating func takeWish(_ wish: BusRecord.ChannelWish, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime) {
        guard let app = core.memory.app(named: wish.bundleID), (try? EventRules.checkKey(key)) != nil else { return }
        let partition = core.intake.partition
        if self.keepers.find(app: app, environment: wish.environment, partition: partition) == nil,
            case .open = wish.demand
        {
            self.beginKeeper(app: app, environment: wish.environment, partition: partition, in: &core, now: now)
        }
        // Without a keeper no channel is kept. An owner that wants a channel will ask again.
        guard let id = self.keepers.find(app: app, environment: wish.environment, partition: partition) else { return }
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: false)
        let receipt = UInt64(UInt32(bitPattern: entry.rawValue))
        var audience: [UInt8] = []
        audience.append(copying: key)
        let owner = KeptOwner(audience: audience, life: wish.life)
        let actions = self.keepers.decide(id) { keeper in
            switch wish.demand {
            case .open(let policy): keeper.audienceOpens(owner, policy: policy, receipt: receipt, now: now)
            case .ended(let content): keeper.audienceEnded(owner, content: content, receipt: receipt, now: now)
            case .voided: keeper.audienceVoided(owner, receipt: receipt, now: now)
            }
        }
        self.carryOut(actions, of: id, in: &core, now: now)
    }

    // MARK: Questions
    /// Answers whether a channel is kept for an audience. The answer comes from the records about kept channels,
    /// including records that Kafka does not have yet. No keeper need run: an app without a keeper may still have
    /// records, from a time when its audiences had channels.
    mutating func takeKeptQuestion(_ question: BusRecord.KeptQuestion, key: Span<UInt8>, in core: inout ShardCore) {
        let bundleID = String(decoding: question.bundleID, as: UTF8.self)
        let keeperPartition = KeptChannelKey.keeperPartition(
            bundleID: bundleID, environment: question.environment,
            partitionCount: core.memory.configuration.partitionCount)
        // Only the keeper's partition has the answer. Without an answer, the asking partition asks again.
        guard keeperPartition == core.intake.record.partition,
            question.partition < core.memory.configuration.partitionCount, (try? EventRules.checkKey(key)) != nil
        else { return }
        var id: [UInt8] = []
        id.append(copying: key)
        let channel = self.kept.channel(
            id: id, of: core.intake.partition, bundleID: bundleID, environment: question.environment)
        let answer = BusRecord.KeptAnswer(
            bundleID: question.bundleID, environment: question.environment, isKept: channel != nil,
            audience: channel?.owner?.audience ?? [])
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: true)
        core.journal.ledger.expectAcknowledgement(entry)
        core.journal.answerKept(
            answer, channel: key, to: question.partition,
            acknowledgement: core.journal.open(
                .logRecord(.routed, entry), partition: core.intake.partition, in: &core.memory))
        core.journal.batch.isUrgent = true
    }

    // MARK: Acknowledgements
    mutating func keptAcknowledged(
        _ id: KeeperID, generation: UInt32, write: UInt64, in core: inout ShardCore, now: EngineTime
    ) {
        guard let id = self.keepers.find(id, generation: generation) else { return }
        self.carryOut(
            self.keepers.decide(id) { $0.stateAcknowledged(write: write, now: now) }, of: id, in: &core, now: now)
    }
    mutating func announcementAcknowledged(
        _ id: KeeperID, generation: UInt32, announcement: UInt64, in core: inout ShardCore, now: EngineTime
    ) {
        guard let id = self.keepers.find(id, generation: generation),
            let left = self.keepers[id]?.unacknowledged[announcement]
        else { return }
        guard left <= 1 else {
            self.keepers[id]?.unacknowledged[announcement] = left - 1
            return
        }
        self.keepers[id]?.unacknowledged[announcement] = nil
        self.carryOut(
            self.keepers.decide(id) { $0.announced(announcement: announcement, now: now) }, of: id, in: &core, now: now)
    }

    // MARK: Carrying out
    mutating func carryOut(_ actions: [KeeperAction], of id: KeeperID, in core: inout ShardCore, now: EngineTime) {
        for action in actions { self.carryOut(action, of: id, in: &core, now: now) }
        if let keeper = self.keepers[id]?.keeper { self.count(standing: keeper.status, of: id, in: &core) }
        self.setKeeperDeadline(in: core)
    }
    private mutating func carryOut(_ action: KeeperAction, of id: KeeperID, in core: inout ShardCore, now: EngineTime) {
        guard let hosted = self.keepers[id] else { return }
        let isRunning = core.memory.partitions[hosted.partition].sends
        switch action {
        case .write(let number, let channel, let write):
            self.write(number, channel, write: write, of: hosted, id: id, in: &core)
        case .resolve(let receipt):
            core.journal.ledger.settle(EntryID(rawValue: Int32(truncatingIfNeeded: receipt)))
        case .alarm(let alarm):
            core.memory.counters.channelAlarms += 1
            self.keepers.add(
                KeeperNotice(
                    bundleID: core.memory.configuration.apps[Int(hosted.app)].bundleID,
                    environment: hosted.environment, alarm: alarm))
        // If the partition is leaving, the next owner carries out these actions.
        case .list, .create, .delete, .beacon, .announce, .send:
            guard isRunning else { return }
            self.ask(action, of: hosted, id: id, in: &core, now: now)
        }
    }
    private mutating func write(
        _ number: Int64, _ channel: KeptChannel?, write: UInt64, of hosted: HostedKeeper, id: KeeperID,
        in core: inout ShardCore
    ) {
        let key = KeptChannelKey(
            bundleID: core.memory.configuration.apps[Int(hosted.app)].bundleID, environment: hosted.environment,
            number: number)
        self.kept[key, hosted.partition] = channel
        let acknowledgement = core.journal.open(
            .keeper(
                KeeperWait(
                    keeper: id, generation: hosted.generation, record: .state,
                    token: UInt32(truncatingIfNeeded: write))), partition: hosted.partition, in: &core.memory)
        core.journal.writeKept(
            key, channel: channel, of: hosted.partition, acknowledgement: acknowledgement, in: &core.memory)
        // A request of the keeper, or the offset of an owner's wish, waits until Kafka has this record.
        core.journal.batch.isUrgent = true
    }
    private mutating func ask(
        _ action: KeeperAction, of hosted: HostedKeeper, id: KeeperID, in core: inout ShardCore, now: EngineTime
    ) {
        switch action {
        case .list(let request): self.send(.listChannels, request, of: hosted, id: id, action, in: &core, now: now)
        case .create(let request, let policy):
            let body = ChannelRequest.creationBody(policy)
            self.send(.createChannel, request, body: body, of: hosted, id: id, action, in: &core, now: now)
        case .delete(let request, let channel):
            self.send(.deleteChannel, request, target: channel, of: hosted, id: id, action, in: &core, now: now)
        case .beacon(let request, let channel, let policy, let end):
            self.send(
                .broadcast, request, target: channel, body: end,
                expirationSeconds: PushComposer.broadcastExpirationSeconds(
                    now.wallSeconds + EventRules.expirationSeconds(of: .end), storage: StoragePolicy(policy), now: now),
                of: hosted, id: id, action, in: &core, now: now)
        case .announce(let announcement, let owner, let news):
            self.announce(announcement, owner: owner, news: news, of: hosted, id: id, in: &core)
        case .send(let owner, let news):
            let acknowledgement = core.journal.open(
                .logRecord(.routed, .none), partition: hosted.partition, in: &core.memory)
            self.send(owner, news, of: hosted, acknowledgement: acknowledgement, in: &core)
        case .write, .resolve, .alarm: break
        }
    }
    private mutating func send(
        _ kind: RequestKind, _ request: UInt64, target: [UInt8] = [], body: [UInt8] = [],
        expirationSeconds: Int64 = 0, of hosted: HostedKeeper, id: KeeperID, _ action: KeeperAction,
        in core: inout ShardCore, now: EngineTime
    ) {
        guard core.memory.partitions[hosted.partition].mayPush else {
            self.keepers[id]?.held.append(action)
            return
        }
        let errand = ChannelErrand(
            sender: .keeper(id, generation: hosted.generation, request: request), kind: kind, app: hosted.app,
            environment: hosted.environment, partition: hosted.partition, target: target, body: body,
            expirationSeconds: expirationSeconds, askedMillis: now.steadyMillis)
        guard let route = core.memory.configuration.apps[Int(hosted.app)].route(hosted.environment, kind) else {
            return self.requestEnded(errand, .notProcessed, in: &core, now: now)
        }
        core.errands.append(errand, route: route)
    }
    private mutating func announce(
        _ announcement: UInt64, owner: KeptOwner, news: KeeperNews, of hosted: HostedKeeper, id: KeeperID,
        in core: inout ShardCore
    ) {
        func open() -> UInt64 {
            core.journal.open(
                .keeper(
                    KeeperWait(
                        keeper: id, generation: hosted.generation, record: .news,
                        token: UInt32(truncatingIfNeeded: announcement))), partition: hosted.partition,
                in: &core.memory)
        }
        let acknowledgement = open()
        self.send(owner, news, of: hosted, acknowledgement: acknowledgement, in: &core)
        var count = 1
        if ChannelOutcomes.isPublished(news, core.memory.configuration.settings.outcomePublication) {
            count += 1
            let acknowledgement = open()
            core.journal.recordChannel(
                news, owner: owner, bundleID: core.memory.configuration.apps[Int(hosted.app)].bundleID,
                environment: hosted.environment, acknowledgement: acknowledgement)
        }
        self.keepers[id]?.unacknowledged[announcement] = count
    }
    private mutating func send(
        _ owner: KeptOwner, _ news: KeeperNews, of hosted: HostedKeeper, acknowledgement: UInt64,
        in core: inout ShardCore
    ) {
        let record = BusRecord.ChannelNews(
            bundleID: Array(core.memory.configuration.apps[Int(hosted.app)].bundleID.utf8),
            environment: hosted.environment, life: owner.life, news: news)
        core.journal.sendNews(
            record, audience: owner.audience, partitionCount: core.memory.configuration.partitionCount,
            acknowledgement: acknowledgement)
    }

    // MARK: Answers
    /// Hands the keeper the result of its request. The keeper may have gone meanwhile.
    mutating func requestEnded(
        _ errand: ChannelErrand, _ result: PushAnswer.Result, in core: inout ShardCore, now: EngineTime
    ) {
        guard case .keeper(let id, let generation, let request) = errand.sender,
            let id = self.keepers.find(id, generation: generation)
        else { return }
        let actions = self.keepers.decide(id) { keeper in
            switch errand.kind {
            case .listChannels: keeper.listed(request: request, ListAnswer(result), now: now)
            case .createChannel: keeper.created(request: request, CreateAnswer(result), now: now)
            case .deleteChannel: keeper.deleted(request: request, DeleteAnswer(result), now: now)
            case .broadcast: keeper.beaconAnswered(request: request, BeaconAnswer(result), now: now)
            case .device, .readChannel: []
            }
        }
        self.carryOut(actions, of: id, in: &core, now: now)
    }

    // MARK: Counting
    private mutating func count(standing: KeeperStatus?, of id: KeeperID, in core: inout ShardCore) {
        guard let hosted = self.keepers[id] else { return }
        let (before, after) = (hosted.counted, hosted.keeper.counters)
        self.keepers[id]?.counted = after
        self.keepers[id]?.standing = standing
        core.memory.counters.count(from: before, to: after)
        core.memory.counters.count(from: hosted.standing, to: standing)
    }
}

extension EngineCounters {
    fileprivate mutating func count(from before: KeeperCounters, to after: KeeperCounters) {
        self.channelsCreated &+= UInt64(after.created - before.created)
        self.channelAnswersLost &+= UInt64(after.answersLost - before.answersLost)
        self.channelsAdopted &+= UInt64(after.adopted - before.adopted)
        self.channelsShown &+= UInt64(after.shown - before.shown)
        self.channelsDeleted &+= UInt64(after.deleted - before.deleted)
        self.channelWishesRefused &+= UInt64(after.refused - before.refused)
        self.channelBeacons &+= UInt64(after.beacons - before.beacons)
        self.channelsVanished &+= UInt64(after.vanished - before.vanished)
    }
    fileprivate mutating func count(from before: KeeperStatus?, to after: KeeperStatus?) {
        self.channelsWarm += (after?.warmCount ?? 0) - (before?.warmCount ?? 0)
        self.channelsWaiting += (after?.waitingCount ?? 0) - (before?.waitingCount ?? 0)
        self.channelsKeptOpen += (after?.openCount ?? 0) - (before?.openCount ?? 0)
        self.channelsLingering += (after?.lingeringCount ?? 0) - (before?.lingeringCount ?? 0)
        self.channelsPossiblyOurs += (after?.possiblyOurs.count ?? 0) - (before?.possiblyOurs.count ?? 0)
    }
}
