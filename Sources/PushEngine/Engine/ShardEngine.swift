public import PushModel

/// Makes every decision of one shard: what an event does to its activity, what is sent when and at which priority, what
/// an answer means, what is written down and which offsets are resolved. It is told the time, seeded once, confined to
/// one event loop, and does no I/O.
///
/// The loop feeds it (`consume`, `answered`, `acknowledged`, `advance`), takes pushes out while it has stream credit
/// (`nextPush`), and hands `batch` to Kafka.
///
/// It is the one interface of its parts, and makes the decisions that need two of them. Each part owns its state:
///
/// - `Intake` judges a record.
/// - `Coalescer` decides what a slot sends next.
/// - `Dispatch` decides who leaves when.
/// - `Journal` writes down.
/// - `Ownership` watches takeovers.
/// - `Audiences` has the members, and `Keepers` keep channels for them.
///
/// They share `ShardMemory`.
public struct ShardEngine: ~Copyable {
    var memory: ShardMemory
    var intake: Intake
    var coalescer: Coalescer
    var dispatch: Dispatch
    var journal: Journal
    var ownership = Ownership()
    var audiences: Audiences
    var shares: AppShares
    var kept = KeptRecords()
    var keepers = Keepers()
    var errands = ChannelErrands()
    /// When audiences have something to do about their channels.
    var channelDeadlines = DeadlineQueue<SlotID>()
    /// When audiences report the results of their newest versions.
    var rollUpDeadlines = DeadlineQueue<SlotID>()
    /// Effects that are lent to each call of an audience's owner.
    var ownerEffects = OwnerEffects()
    private var samples: [AcceptedSample] = []
    /// Ages of the budget units in the record of `state` being read.
    var restoredAges: [Int64] = []
    /// The review of slots after a new configuration; `nil`: all have been looked at.
    var review: ConfigurationReview?

    /// Number of latency samples kept until the loop takes them. Others are dropped.
    static let samplesMax = 4_096

    /// A shard without partitions. `randomSeed` decides all randomness: the same seed and the same calls give the same
    /// results.
    public init(configuration: EngineConfiguration, randomSeed: UInt64) {
        var random = SplitMix64(seed: randomSeed)
        self.memory = ShardMemory(configuration: configuration, indexSeed: random.next())
        self.intake = Intake(configuration)
        self.coalescer = Coalescer(takesShorterWays: !configuration.settings.outcomePublication.includes(.superseded))
        self.dispatch = Dispatch(configuration, random: random)
        self.journal = Journal(configuration)
        self.audiences = Audiences(seed: random.next())
        self.shares = AppShares(configuration)
    }

    /// The configuration that the engine was made with, or the last one of `reconfigure`.
    public var configuration: EngineConfiguration { _read { yield self.memory.configuration } }
    /// Counts since the start.
    public var counters: EngineCounters { _read { yield self.memory.counters } }

    /// Records to be produced, in order. The loop empties the batch.
    public var batch: RecordBatch {
        _read { yield self.journal.batch }
        _modify { yield &self.journal.batch }
    }

    // MARK: Reading on

    /// Whether records may be taken. `false`: a limit is reached. Leave the partitions' queues alone until it is true
    /// again (contract: Overload).
    public var wantsRecords: Bool { self.recordRoom > 0 }

    /// How many records may be taken before this has to be asked again. This many records exceed no limit of
    /// activities, pending or in memory: each adds at most one. They may slightly exceed that of unacknowledged
    /// records, where one event has several outcomes. 0: a limit is reached, `wantsRecords` is false. What an app's
    /// share leaves of it is asked for each log.
    public var recordRoom: Int { self.audiences.voids.hasWaiting ? 0 : self.roomWithinLimits }
    /// How many records may be taken without reaching a limit, even while something waits for a void.
    var roomWithinLimits: Int {
        let room = self.memory.configuration.settings.unacknowledgedMax - self.journal.acknowledgements.openCount
        return max(0, min(room, self.roomForActivities))
    }
    /// How many records may be taken if Kafka had acknowledged everything. Waiting for acknowledgements cannot raise
    /// it.
    var roomForActivities: Int {
        let room = min(
            self.memory.configuration.settings.activitiesMax - self.memory.counters.activities,
            self.memory.configuration.settings.pendingMax - self.memory.counters.activitiesPending
                + self.dispatch.keeperQuestionsPending)
        return max(0, room)
    }

    // MARK: What the loop takes out

    /// Keeps one more sample, if there is room.
    mutating func keepSample(_ sample: AcceptedSample) {
        if self.samples.count < Self.samplesMax { self.samples.append(sample) }
    }
    /// Hands over the times of the pushes accepted since the last call, at most `samplesMax`.
    public mutating func takeAcceptedSamples(_ body: (AcceptedSample) -> Void) {
        for sample in self.samples { body(sample) }
        self.samples.removeAll(keepingCapacity: true)
    }

    /// Keeps the times of the update in flight, which was accepted.
    mutating func sample(_ update: UpdateID, apnsMicros: Int64) {
        guard self.samples.count < Self.samplesMax else { return }
        self.samples.append(
            AcceptedSample(
                recordMillis: self.memory.updates[update].top.recordMillis,
                queuedMillis: self.memory.updates[update].sentMillis - self.memory.updates[update].top.takenMillis,
                apnsMicros: apnsMicros))
    }

    /// Adds the commits that became possible since the last call to `commits`, the newest of each log.
    /// - Parameters:
    ///   - commits: must be handed on at once.
    ///   - now: the time from which a life is forgotten some time after its last commit.
    public mutating func takeCommits(into commits: inout [CommitPosition], now: EngineTime) {
        self.journal.ledger.takeAdvanced(nowMillis: now.steadyMillis) { commits.append($0) }
    }

    // MARK: Decisions that need two parts

    /// Gives the events that ended their outcomes. They stop being pending.
    @inline(__always) mutating func settleEndings() {
        if !self.coalescer.endings.isEmpty { self.writeEndings() }
    }

    private mutating func writeEndings() {
        for index in self.coalescer.endings.indices {
            self.journal.finish(self.coalescer.endings[index], in: &self.memory)
        }
        self.coalescer.forgetEndings()
    }

    /// Sets aside what of the slot may no longer be sent.
    @inline(__always) mutating func expire(_ slot: SlotID, now: EngineTime) {
        // Most of the time nothing has expired.
        if self.coalescer.hasExpired(slot, in: self.memory, now: now) { self.setAsideExpired(slot, now: now) }
    }

    private mutating func setAsideExpired(_ slot: SlotID, now: EngineTime) {
        let isChanged = self.coalescer.expire(slot, in: &self.memory, now: now)
        self.settleEndings()
        if isChanged { self.journal.markDirty(slot, in: &self.memory, now: now) }
    }

    /// Writes the state records that are due. A slot whose tombstone is written leaves memory.
    mutating func flushStates(now: EngineTime) {
        self.journal.flushStates(budgets: self.dispatch.budgets, in: &self.memory, now: now)
        while let slot = self.journal.forgottenSlots.popLast() { self.removeSlot(slot) }
    }

    /// Removes the slot and what it holds from memory. The caller has settled events and records.
    mutating func removeSlot(_ slot: SlotID) {
        self.dispatch.letGo(slot, in: &self.memory)
        self.coalescer.letGo(slot, in: &self.memory)
        if self.memory.slots[slot].kind == .audience {
            self.channelDeadlines.remove(slot)
            self.rollUpDeadlines.remove(slot)
        }
        self.memory.removeSlot(slot)
    }
}
