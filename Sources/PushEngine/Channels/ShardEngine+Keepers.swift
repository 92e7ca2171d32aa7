import APNSProtocol
import ChannelKeeping
import PushModel

/// Keepers of channels (fan-out contract: The keeper): each is run by the owner of the partition of its name. The
/// engine carries out what a keeper decides.
extension ShardEngine {
    // MARK: Begin and end
    /// Begins the keepers whose names belong to the partition, with what `state` says. It has been read.
    /// - Parameter apps: indexes of the apps that are meant; `nil`: all.
    mutating func beginKeepers(of partition: PartitionIndex, apps: Range<Int>? = nil, now: EngineTime) {
        for app in apps ?? self.memory.configuration.apps.indices {
            for environment in PushEnvironment.allCases {
                let isWanted = self.memory.configuration.apps[app].audienceChannel == .auto
                guard
                    isWanted
                        || self.kept.hasRecords(
                            of: partition, bundleID: self.memory.configuration.apps[app].bundleID,
                            environment: environment)
                else { continue }
                self.beginKeeper(app: UInt16(app), environment: environment, partition: partition, now: now)
            }
        }
    }
    private mutating func beginKeeper(
        app: UInt16, environment: PushEnvironment, partition: PartitionIndex, now: EngineTime
    ) {
        let configuration = self.memory.configuration.apps[Int(app)]
        guard configuration.route(environment, .createChannel) != nil,
            self.keeperPartition(app: app, environment: environment) == self.memory.partitions[partition].number
        else { return }
        var settings = KeeperSettings()
        settings.isExclusive = configuration.channelsExclusive
        settings.poolSize = configuration.audienceChannel == .auto ? configuration.channelsWarm : 0
        settings.poolPolicy = configuration.audienceChannelStorage.policy
        settings.lingerMillis = configuration.channelLingerMillis
        settings.requestTimeoutMillis =
            ChannelErrands.waitMillisMax + self.memory.configuration.settings.requestTimeoutMillis
        let minute = self.memory.configuration.settings.channelMinuteMillis
        if minute != settings.minuteMillis { settings.scale(toMinuteMillis: minute) }
        let keeper = ChannelKeeper(
            settings: settings,
            records: self.kept.records(of: partition, bundleID: configuration.bundleID, environment: environment),
            seed: self.dispatch.random.next(), now: now)
        let id = self.keepers.add(app: app, environment: environment, partition: partition, keeper: keeper)
        self.memory.counters.channelKeepers += 1
        self.carryOut(self.keepers.decide(id) { $0.timePassed(now: now) }, of: id, now: now)
    }
    /// The partition of the keeper of an app's channels in an environment.
    func keeperPartition(app: UInt16, environment: PushEnvironment) -> Int32 {
        KeptChannelKey.keeperPartition(
            bundleID: self.memory.configuration.apps[Int(app)].bundleID, environment: environment,
            partitionCount: self.memory.configuration.partitionCount)
    }
    /// Releases held requests: pushes of the partition may leave from now on.
    mutating func releaseHeldErrands(of partition: PartitionIndex, now: EngineTime) {
        guard !self.keepers.isEmpty else { return }
        for id in self.keepers.identifiers where self.keepers[id]?.partition == partition {
            let held = self.keepers[id]?.held ?? []
            self.keepers[id]?.held = []
            self.carryOut(held, of: id, now: now)
        }
    }
    /// Withdraws requests that have not left, as the partition is leaving. Those that have left are waited for, because
    /// an answer may have an id.
    mutating func withdrawErrands(of partition: PartitionIndex) {
        _ = self.errands.withdraw { $0.partition == partition }
        self.setKeeperDeadline()
    }
    mutating func forgetKeepers(of partition: PartitionIndex) {
        self.errands.forget(partition: partition)
        guard !self.keepers.isEmpty else { return }
        for id in self.keepers.identifiers where self.keepers[id]?.partition == partition {
            self.note(standing: nil, of: id)
            self.keepers.remove(id)
            self.memory.counters.channelKeepers -= 1
        }
        self.setKeeperDeadline()
    }

    // MARK: Time
    /// When a keeper, a waiting request, or an audience with channels has something to do, steady; `Int64.max`: nothing
    /// has.
    var keeperDeadlineMillis: Int64 {
        min(
            self.keepers.nextDeadlineMillis, self.errands.nextDeadlineMillis,
            self.channelDeadlines.earliestMillis ?? .max)
    }

    mutating func advanceKeepers(now: EngineTime) {
        if self.errands.nextDeadlineMillis <= now.steadyMillis {
            let since = now.steadyMillis - ChannelErrands.waitMillisMax
            for errand in self.errands.withdraw(where: { $0.askedMillis <= since }) {
                self.errandEnded(errand, .notProcessed, now: now)
            }
        }
        self.advanceAudienceChannels(now: now)
        guard self.keepers.nextDeadlineMillis <= now.steadyMillis else { return }
        for id in self.keepers.identifiers {
            guard let hosted = self.keepers[id], let due = hosted.keeper.deadlineMillis, due <= now.steadyMillis,
                self.memory.partitions[hosted.partition].sends
            else { continue }
            self.carryOut(self.keepers.decide(id) { $0.timePassed(now: now) }, of: id, now: now)
        }
        self.setKeeperDeadline()
    }
    private mutating func setKeeperDeadline() {
        var next = Int64.max
        for id in self.keepers.identifiers {
            guard let hosted = self.keepers[id], self.memory.partitions[hosted.partition].sends else { continue }
            next = min(next, hosted.keeper.deadlineMillis ?? .max)
        }
        self.keepers.nextDeadlineMillis = next
    }

    // MARK: What owners want
    /// Takes an owner's wish. Its offset is done with once what it says is durable.
    mutating func takeWish(_ wish: BusRecord.ChannelWish, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: wish.bundleID), (try? EventRules.checkKey(key)) != nil else { return }
        let partition = self.intake.partition
        if self.keepers.find(app: app, environment: wish.environment, partition: partition) == nil,
            case .open = wish.demand
        {
            self.beginKeeper(app: app, environment: wish.environment, partition: partition, now: now)
        }
        // Without a keeper nothing is kept. Whatever wants a channel asks again.
        guard let id = self.keepers.find(app: app, environment: wish.environment, partition: partition) else { return }
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: false)
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
        self.carryOut(actions, of: id, now: now)
    }

    // MARK: What Kafka has
    mutating func keptAcknowledged(_ id: KeeperID, generation: UInt32, write: UInt64, now: EngineTime) {
        guard let id = self.keepers.find(id, generation: generation) else { return }
        self.carryOut(self.keepers.decide(id) { $0.stateAcknowledged(write: write, now: now) }, of: id, now: now)
    }
    mutating func announcementAcknowledged(_ id: KeeperID, generation: UInt32, announcement: UInt64, now: EngineTime) {
        guard let id = self.keepers.find(id, generation: generation), let left = self.keepers[id]?.untold[announcement]
        else { return }
        guard left <= 1 else {
            self.keepers[id]?.untold[announcement] = left - 1
            return
        }
        self.keepers[id]?.untold[announcement] = nil
        self.carryOut(self.keepers.decide(id) { $0.announced(announcement: announcement, now: now) }, of: id, now: now)
    }

    // MARK: Carrying out
    mutating func carryOut(_ actions: [KeeperAction], of id: KeeperID, now: EngineTime) {
        for action in actions { self.carryOut(action, of: id, now: now) }
        if let keeper = self.keepers[id]?.keeper { self.note(standing: keeper.status, of: id) }
        self.setKeeperDeadline()
    }
    private mutating func carryOut(_ action: KeeperAction, of id: KeeperID, now: EngineTime) {
        guard let hosted = self.keepers[id] else { return }
        let isRunning = self.memory.partitions[hosted.partition].sends
        switch action {
        case .write(let number, let channel, let write):
            self.write(number, channel, write: write, of: hosted, id: id)
        case .resolve(let receipt):
            self.journal.ledger.settle(EntryID(rawValue: Int32(truncatingIfNeeded: receipt)))
        case .alarm(let alarm):
            self.memory.counters.channelAlarms += 1
            self.keepers.note(
                KeeperNotice(
                    bundleID: self.memory.configuration.apps[Int(hosted.app)].bundleID,
                    environment: hosted.environment, alarm: alarm))
        // The next owner does the rest of these.
        case .list, .create, .delete, .beacon, .announce, .tell:
            guard isRunning else { return }
            self.ask(action, of: hosted, id: id, now: now)
        }
    }
    private mutating func write(
        _ number: Int64, _ channel: KeptChannel?, write: UInt64, of hosted: HostedKeeper, id: KeeperID
    ) {
        let key = KeptChannelKey(
            bundleID: self.memory.configuration.apps[Int(hosted.app)].bundleID, environment: hosted.environment,
            number: number)
        self.kept[key, hosted.partition] = channel
        let acknowledgement = self.journal.open(
            .keeper(
                KeeperWait(
                    keeper: id, generation: hosted.generation, record: .state,
                    token: UInt32(truncatingIfNeeded: write))), partition: hosted.partition, in: &self.memory)
        self.journal.writeKept(
            key, channel: channel, of: hosted.partition, acknowledgement: acknowledgement, in: &self.memory)
        // A request, or the offset of a record, waits for it.
        self.journal.batch.isUrgent = true
    }
    private mutating func ask(_ action: KeeperAction, of hosted: HostedKeeper, id: KeeperID, now: EngineTime) {
        switch action {
        case .list(let request): self.send(.listChannels, request, of: hosted, id: id, action, now: now)
        case .create(let request, let policy):
            let body = ChannelRequest.creationBody(policy)
            self.send(.createChannel, request, body: body, of: hosted, id: id, action, now: now)
        case .delete(let request, let channel):
            self.send(.deleteChannel, request, target: channel, of: hosted, id: id, action, now: now)
        case .beacon(let request, let channel, let policy, let end):
            self.send(
                .broadcast, request, target: channel, body: end,
                expirationSeconds: PushComposer.broadcastExpirationSeconds(
                    now.wallSeconds + EventRules.expirationSeconds(of: .end), storage: StoragePolicy(policy), now: now),
                of: hosted, id: id, action, now: now)
        case .announce(let announcement, let owner, let news):
            self.announce(announcement, owner: owner, news: news, of: hosted, id: id)
        case .tell(let owner, let news):
            let acknowledgement = self.journal.open(
                .logRecord(.routed, .none), partition: hosted.partition, in: &self.memory)
            self.tell(owner, news, of: hosted, acknowledgement: acknowledgement)
        case .write, .resolve, .alarm: break
        }
    }
    private mutating func send(
        _ kind: RequestKind, _ request: UInt64, target: [UInt8] = [], body: [UInt8] = [],
        expirationSeconds: Int64 = 0, of hosted: HostedKeeper, id: KeeperID, _ action: KeeperAction, now: EngineTime
    ) {
        guard self.memory.partitions[hosted.partition].mayPush else {
            self.keepers[id]?.held.append(action)
            return
        }
        let errand = ChannelErrand(
            sender: .keeper(id, generation: hosted.generation, request: request), kind: kind, app: hosted.app,
            environment: hosted.environment, partition: hosted.partition, target: target, body: body,
            expirationSeconds: expirationSeconds, askedMillis: now.steadyMillis)
        guard let route = self.memory.configuration.apps[Int(hosted.app)].route(hosted.environment, kind) else {
            return self.errandEnded(errand, .notProcessed, now: now)
        }
        self.errands.append(errand, route: route)
    }
    private mutating func announce(
        _ announcement: UInt64, owner: KeptOwner, news: KeeperNews, of hosted: HostedKeeper, id: KeeperID
    ) {
        func open(_ engine: inout ShardEngine) -> UInt64 {
            engine.journal.open(
                .keeper(
                    KeeperWait(
                        keeper: id, generation: hosted.generation, record: .news,
                        token: UInt32(truncatingIfNeeded: announcement))), partition: hosted.partition,
                in: &engine.memory)
        }
        let acknowledgement = open(&self)
        self.tell(owner, news, of: hosted, acknowledgement: acknowledgement)
        var count = 1
        if ChannelOutcomes.isPublished(news, self.memory.configuration.settings.outcomePublication) {
            count += 1
            let acknowledgement = open(&self)
            self.journal.recordChannel(
                news, owner: owner, bundleID: self.memory.configuration.apps[Int(hosted.app)].bundleID,
                environment: hosted.environment, acknowledgement: acknowledgement)
        }
        self.keepers[id]?.untold[announcement] = count
    }
    private mutating func tell(
        _ owner: KeptOwner, _ news: KeeperNews, of hosted: HostedKeeper, acknowledgement: UInt64
    ) {
        let record = BusRecord.ChannelNews(
            bundleID: Array(self.memory.configuration.apps[Int(hosted.app)].bundleID.utf8),
            environment: hosted.environment, life: owner.life, news: news)
        self.journal.tellNews(
            record, audience: owner.audience, partitionCount: self.memory.configuration.partitionCount,
            acknowledgement: acknowledgement)
    }

    // MARK: Counting
    private mutating func note(standing: KeeperStatus?, of id: KeeperID) {
        guard let hosted = self.keepers[id] else { return }
        let (before, after) = (hosted.counted, hosted.keeper.counters)
        self.keepers[id]?.counted = after
        self.keepers[id]?.standing = standing
        self.memory.counters.note(from: before, to: after)
        self.memory.counters.note(from: hosted.standing, to: standing)
    }
}

extension EngineCounters {
    fileprivate mutating func note(from before: KeeperCounters, to after: KeeperCounters) {
        self.channelsCreated &+= UInt64(after.created - before.created)
        self.channelAnswersLost &+= UInt64(after.answersLost - before.answersLost)
        self.channelsAdopted &+= UInt64(after.adopted - before.adopted)
        self.channelsShown &+= UInt64(after.shown - before.shown)
        self.channelsDeleted &+= UInt64(after.deleted - before.deleted)
        self.channelWishesRefused &+= UInt64(after.refused - before.refused)
        self.channelBeacons &+= UInt64(after.beacons - before.beacons)
        self.channelsVanished &+= UInt64(after.vanished - before.vanished)
    }
    fileprivate mutating func note(from before: KeeperStatus?, to after: KeeperStatus?) {
        self.channelsWarm += (after?.warmCount ?? 0) - (before?.warmCount ?? 0)
        self.channelsWaiting += (after?.waitingCount ?? 0) - (before?.waitingCount ?? 0)
        self.channelsKeptOpen += (after?.openCount ?? 0) - (before?.openCount ?? 0)
        self.channelsLingering += (after?.lingeringCount ?? 0) - (before?.lingeringCount ?? 0)
        self.channelsPossiblyOurs += (after?.possiblyOurs.count ?? 0) - (before?.possiblyOurs.count ?? 0)
    }
}
