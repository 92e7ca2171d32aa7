public import PushModel

/// Makes every decision of one shard. It decides what an event does to its activity, what is sent when and at which
/// priority, and what an answer means. It also decides what is written down, and which offsets are resolved. It is
/// given the time, seeded once, confined to one event loop, and does no I/O.
///
/// The loop feeds it (`consume`, `answered`, `acknowledged`, `advance`), takes pushes out while it has stream credit
/// (`nextPush`), and hands `batch` to Kafka.
///
/// It is the one interface of its parts, and makes the decisions that need two of them. Each part owns its state.
/// Activities and fan-out both need some of the parts. `ShardCore` has these, and is passed to the other parts. It has:
///
/// - `Intake` judges a record.
/// - `Coalescer` decides what a slot sends next.
/// - `Dispatch` decides what leaves when.
/// - `Journal` writes records.
/// - `ChannelErrands` has requests about channels, and `PauseTable` what an operator has stopped.
///
/// The other parts are:
///
/// - `Ownership` watches takeovers.
/// - `FanOut` brings versions to members.
/// - `AudiencePublisher` runs the owners of audiences, which make the versions.
/// - `KeeperHost` runs the keepers of channels.
/// - `AppShares` watches how much one app may have pending.
///
/// All parts share `ShardMemory`.
public struct ShardEngine: ~Copyable {
    var core: ShardCore
    var ownership = Ownership()
    var fanOut: FanOut
    var shares: AppShares
    var keeperHost = KeeperHost()
    var publisher = AudiencePublisher()
    /// Ages of the budget units in the record of `state` being read.
    var restoredAges: [Int64] = []
    /// The review of slots and crowds after a new configuration; `nil`: all have been looked at.
    var review: ConfigurationReview?

    /// Creates a shard without partitions. `randomSeed` decides all randomness: the same seed and the same calls give
    /// the same results.
    public init(configuration: EngineConfiguration, randomSeed: UInt64) {
        var random = SplitMix64(seed: randomSeed)
        let indexSeed = random.next()
        self.core = ShardCore(configuration, random: random, indexSeed: indexSeed)
        self.fanOut = FanOut(seed: random.next())
        self.shares = AppShares(configuration)
    }

    /// The configuration that the engine was made with, or that the last `reconfigure` has set.
    public var configuration: EngineConfiguration { _read { yield self.core.memory.configuration } }
    /// Counts since the start.
    public var counters: EngineCounters { _read { yield self.core.memory.counters } }

    /// Records to be produced, in order. The loop empties the batch.
    public var batch: RecordBatch {
        _read { yield self.core.journal.batch }
        _modify { yield &self.core.journal.batch }
    }

    // MARK: Room for records

    /// Whether records may be taken. `false`: a limit is reached, or records wait for a void. The loop leaves the
    /// partitions' queues alone until the value is true again (contract: Overload).
    public var wantsRecords: Bool { self.recordRoom > 0 }

    /// Number of records that may be taken before this property is read again. 0: a limit is reached, or records wait
    /// for a void, and `wantsRecords` is false.
    ///
    /// With this many records, `pendingMax` and `slotsMax` are not exceeded, because each record adds at most one slot.
    /// The limit of unacknowledged records may be slightly exceeded, because one event may have several outcomes.
    /// `recordRoom(topic:partition:within:)` also applies the share of an app to one log.
    public var recordRoom: Int { self.fanOut.voids.hasWaiting ? 0 : self.roomWithinLimits }
    /// Number of records that may be taken without exceeding a limit. Records that wait for a void do not lower it.
    var roomWithinLimits: Int {
        let room =
            self.core.memory.configuration.settings.unacknowledgedMax - self.core.journal.acknowledgements.openCount
        return max(0, min(room, self.roomForSlots))
    }
    /// Number of records that fit within the limits on slots. It rises when slots leave memory or have nothing more to
    /// send.
    var roomForSlots: Int {
        let room = min(
            self.core.memory.configuration.settings.slotsMax - self.core.memory.counters.slots,
            self.core.memory.configuration.settings.pendingMax - self.core.memory.counters.slotsPending
                + self.core.dispatch.keeperQuestionsPending)
        return max(0, room)
    }

    /// Number of records of one log that may be taken before this method is called again. If an app has used up its
    /// share of what may be pending, only the logs that were last about this app are stopped. Other logs give only a
    /// few records at once. Records between workers belong to no app.
    /// - Parameters:
    ///   - topic: the log's topic, as an index into `EngineConfiguration.inputTopics`.
    ///   - partition: the log's partition.
    ///   - room: what `recordRoom` has left.
    public func recordRoom(topic: UInt16, partition: Int32, within room: Int) -> Int {
        guard self.shares.areSet, topic != self.core.memory.configuration.routedTopicIndex,
            let index = self.core.memory.partitions.index(of: partition),
            self.core.memory.partitions[index].logs.indices.contains(Int(topic))
        else { return room }
        return self.shares.room(
            of: self.core.memory.partitions[index].logs[Int(topic)], within: room, in: self.core)
    }

    /// Whether an app has used up its share of what may be pending. If so, the loop reads nothing from logs that were
    /// last about this app.
    public var isAnAppFull: Bool { self.shares.isAnAppFull(in: self.core) }

    // MARK: What the loop takes out

    /// Whether traces are kept. If so, `takeTraceNotices` also hands over notices of passes. The value is false at
    /// first.
    public var tracesPasses: Bool {
        get { self.core.tracesPasses }
        set { self.core.tracesPasses = newValue }
    }

    /// Whether something has happened to traced events since the last call of `takeTraceNotices`.
    public var hasTraceNotices: Bool { !self.core.memory.traceNotices.notices.isEmpty }

    /// Hands over what happened to traced events since the last call, in order.
    public mutating func takeTraceNotices(_ body: (TraceNotice) -> Void) { self.core.memory.traceNotices.take(body) }

    /// Hands over the times of the pushes accepted since the last call, at most `samplesMax`.
    public mutating func takeAcceptedSamples(_ body: (AcceptedSample) -> Void) {
        self.core.takeSamples(body)
    }

    /// Adds to `commits` the commits that became possible since the last call, only the newest of each log.
    /// - Parameters:
    ///   - commits: receives the commits, which must be passed on at once.
    ///   - now: the time of these commits. Some seconds later they count as done, and slots whose life is over may be
    ///     forgotten.
    public mutating func takeCommits(into commits: inout [CommitPosition], now: EngineTime) {
        self.core.journal.ledger.takeAdvanced(nowMillis: now.steadyMillis) { commits.append($0) }
    }

    /// Writes the state records that are due. A slot leaves memory when its tombstone is written.
    mutating func flushStates(now: EngineTime) {
        self.core.journal.flushStates(budgets: self.core.dispatch.budgets, in: &self.core.memory, now: now)
        while let slot = self.core.journal.forgottenSlots.popLast() { self.removeSlot(slot) }
    }

    /// Removes the slot and what it holds from memory. The caller has settled the slot's events and records.
    mutating func removeSlot(_ slot: SlotID) {
        self.core.dispatch.letGo(slot, in: &self.core.memory)
        self.core.coalescer.letGo(slot, in: &self.core.memory)
        if self.core.memory.slots[slot].kind == .audience {
            self.publisher.forget(slot)
        }
        self.core.memory.removeSlot(slot)
    }
}
