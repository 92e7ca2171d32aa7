import PushModel

/// What activities and fan-out both need of a shard: its memory, the record being taken, and the parts that decide what
/// is sent and when, and what is written down. The shard passes it to fan-out, to audiences' owners and to channels'
/// keepers.
struct ShardCore: ~Copyable {
    var memory: ShardMemory
    var intake: Intake
    var coalescer: Coalescer
    var dispatch: Dispatch
    var journal: Journal
    /// Requests about channels, from keepers and audiences.
    var errands = ChannelErrands()
    /// What APNs has said about tokens, for the log.
    var tokenRefusals = TokenRefusalNotices()
    /// Audiences and apps whose pushes an operator has stopped.
    var pauses = PauseTable()
    /// Whether traces are kept, so that passes have to be reported.
    var tracesPasses = false
    /// Latency samples that the loop has not taken yet.
    private var samples: [AcceptedSample] = []

    /// Maximum number of latency samples kept until the loop takes them. Further samples are dropped.
    static let samplesMax = 4_096

    /// Maximum number of consecutive verdicts "the token died before its registration" that are not believed. The next
    /// one counts like any other, after some minutes for an activity and some seconds for a member. A publisher may
    /// register a dead token again, or have a clock that is ahead. Without the limit, pushes to such a token would
    /// continue for 12 hours.
    static var earlierDeathsIgnoredMax: UInt8 { 7 }

    init(_ configuration: EngineConfiguration, random: SplitMix64, indexSeed: UInt64) {
        self.memory = ShardMemory(configuration: configuration, indexSeed: indexSeed)
        self.intake = Intake(configuration)
        self.coalescer = Coalescer(takesShorterWays: !configuration.settings.outcomePublication.includes(.superseded))
        self.dispatch = Dispatch(configuration, random: random)
        self.journal = Journal(configuration)
    }

    // MARK: Samples

    /// Keeps one more sample, if there is room.
    mutating func keepSample(_ sample: AcceptedSample) {
        if self.samples.count < Self.samplesMax { self.samples.append(sample) }
    }
    /// Hands over the samples kept since the last call. Every turn calls this, and in most turns there are none.
    @inline(__always) mutating func takeSamples(_ body: (AcceptedSample) -> Void) {
        if !self.samples.isEmpty { self.handOverSamples(body) }
    }
    private mutating func handOverSamples(_ body: (AcceptedSample) -> Void) {
        for index in self.samples.indices { body(self.samples[index]) }
        self.samples.removeAll(keepingCapacity: true)
    }

    /// Keeps a latency sample of the update in flight, which APNs has accepted.
    mutating func sample(_ update: UpdateID, apnsMicros: Int64) {
        guard self.samples.count < Self.samplesMax else { return }
        self.samples.append(
            AcceptedSample(
                recordMillis: self.memory.updates[update].top.recordMillis,
                queuedMillis: self.memory.updates[update].sentMillis - self.memory.updates[update].top.takenMillis,
                apnsMicros: apnsMicros))
    }

    // MARK: Decisions that need two parts

    /// Writes the outcomes of the events that have ended. They no longer count as pending.
    @inline(__always) mutating func settleEndings() {
        if !self.coalescer.endings.isEmpty { self.writeEndings() }
    }

    private mutating func writeEndings() {
        for index in self.coalescer.endings.indices {
            self.journal.finish(self.coalescer.endings[index], in: &self.memory)
        }
        self.coalescer.forgetEndings()
    }

    /// Ends what has expired in the slot.
    @inline(__always) mutating func expire(_ slot: SlotID, now: EngineTime) {
        // The check comes first, because usually nothing has expired.
        if self.coalescer.hasExpired(slot, in: self.memory, now: now) { self.setAsideExpired(slot, now: now) }
    }

    private mutating func setAsideExpired(_ slot: SlotID, now: EngineTime) {
        let isChanged = self.coalescer.expire(slot, in: &self.memory, now: now)
        self.settleEndings()
        if isChanged { self.journal.markDirty(slot, in: &self.memory, now: now) }
    }

    // MARK: Slots

    mutating func makeSlot(_ key: borrowing SlotKey, hash: UInt32, now: EngineTime) -> SlotID {
        let slot = self.memory.makeSlot(key, hash: hash, partition: self.intake.partition)
        self.memory.touch(slot, now: now)
        if key.kind == .channel {
            self.dispatch.beginChannel(slot, in: &self.memory, now: now)
            // A former owner may have broadcast the event that is being taken, and died before the channel's first
            // record was written.
            if self.intake.mayBeReplay(in: self.memory) {
                self.dispatch.keepDistanceFromFormerOwner(slot, in: &self.memory)
            }
            self.memory.markAlive(slot)
        }
        if key.kind == .audience {
            self.dispatch.setErrand(.version, of: slot, in: &self.memory)
            self.memory.markAlive(slot)
        }
        return slot
    }
}
