public import PushModel

/// Every decision of one shard: what an event does to its activity, what is sent when and at which priority, what an answer means, what
/// is written down and which offsets are resolved. Told the time, seeded once, confined to one event loop; no I/O.
///
/// The runner feeds it (`consume`, `answered`, `acknowledged`, `advance`), takes pushes out while it has stream credit (`nextPush`), and
/// hands `batch` to Kafka.
public struct ShardEngine: ~Copyable {
    public let configuration: EngineConfiguration
    /// Records to be produced, in order. The runner empties it.
    public var batch = RecordBatch()
    public internal(set) var counters = EngineCounters()

    /// Never used: it keeps the engine at one address. A struct that may be passed by value is copied, all 1.4 kB of it, for every call of
    /// a method that does not change it, eighteen times per push.
    private let place: any Sendable = ()
    var random: SplitMix64
    var partitions = NumberedArray<PartitionIndex, PartitionState>()
    /// By partition number; none: not owned.
    var places: [PartitionIndex] = []
    var slots = ChunkedStore<SlotID, Slot>()
    var identities = ByteArena()
    var budgets = BudgetStore()
    /// Of the slots that took records of the routed topic.
    var routedPositions: [SlotID: RoutedPositions] = [:]
    var freeSlots: [SlotID] = []
    var index: SlotIndex
    var updates = UpdateStore()
    var ledger = OffsetLedger()
    var deadlines = DeadlineQueue()
    /// By `lane(app:environment:)`.
    var lanes = NumberedArray<LaneIndex, Lane>()
    /// Lanes of each route, and where the turn stands.
    var routes: [RouteLanes] = []
    var acknowledgements = AcknowledgementStore()
    /// Slots whose state record is to be written at `stateFlushMillis`.
    var dirtySlots: [SlotID] = []
    var stateFlushAtMillis: Int64?
    /// The earliest time at which a marker is written again, steady.
    var nextMarkerMillis: Int64 = .max
    /// The first time at which a partition that still reads what lay in the log at assignment is not waited for any more, steady.
    var catchUpEndsMillis: Int64 = .max
    /// A partition may have a gap that nobody has taken. Asked every turn.
    var hasStateGaps = false
    /// When a lane's gate has something to do.
    var laneDeadlineMillis: Int64?
    var samples: [AcceptedSample] = []
    var placement = PlacementWatch()
    var nextTicket: UInt32 = 1
    /// Hashes of the input topics' names, by topic index: how a position is written down.
    let topicHashes: [UInt32]
    let texts: RecordTexts
    /// Whether an outcome record tells of a replaced event. If not, shorter ways are taken; a test sets it to compare them with the long one.
    var publishesSuperseded: Bool

    // Reused from record to record.
    var event = DecodedEvent()
    var scratchLayer = Layer()
    var scratchBytes: [UInt8] = []
    /// Of the units in the record of `state` being read.
    var restoredAges: [Int64] = []
    /// The header of the record being taken.
    var traceparent: [UInt8] = []

    /// How many latency samples are kept until the runner takes them; the rest is not sampled.
    static let samplesMax = 4_096

    public init(configuration: EngineConfiguration, randomSeed: UInt64) {
        self.configuration = configuration
        self.random = SplitMix64(seed: randomSeed)
        self.index = SlotIndex(seed: self.random.next())
        self.topicHashes = configuration.inputTopics.map { StateCodec.topicHash($0) }
        self.texts = RecordTexts(configuration)
        self.publishesSuperseded = configuration.outcomePublication.includes(.superseded)
        for app in configuration.apps {
            for environment in PushEnvironment.allCases {
                let route = environment == .production ? app.productionRoute : app.developmentRoute
                let lane = self.lanes.append(Lane(route: route))
                guard let route else { continue }
                while self.routes.count <= Int(route) { self.routes.append(RouteLanes()) }
                self.routes[Int(route)].lanes.append(lane)
            }
        }
    }

    /// An app in one environment: its ready slots, its share of what is pending, and the guard over its tokens.
    struct Lane {
        var route: UInt16?
        var ready = ReadyQueue()
        var readyCount = 0
        var pendingSlots = 0
        var tokenGuard = TokenRemovalGuard()
        var gate = LaneGate()
    }

    struct RouteLanes {
        var lanes: [LaneIndex] = []
        var turn = 0
    }

    /// `allCases` would be made anew for every call.
    private static let environmentCount = PushEnvironment.allCases.count

    func lane(app: UInt16, environment: PushEnvironment) -> LaneIndex {
        LaneIndex(index: Int(app) * Self.environmentCount + Int(environment.rawValue))
    }

    // MARK: Reading on

    /// False: a limit is reached; leave the partitions' queues alone until it is true again (contract §6, overload).
    public var wantsRecords: Bool { self.recordRoom > 0 }

    /// How many records may be taken before this has to be asked again. So many pass no limit of activities, pending or in memory, of each of
    /// which a record takes one place at most; that of unacknowledged records they may pass a little, where one event has several outcomes.
    /// 0: a limit is reached, `wantsRecords` is false.
    public var recordRoom: Int {
        var room = min(
            self.configuration.unacknowledgedMax - self.acknowledgements.openCount,
            self.configuration.activitiesMax - self.counters.activities,
            self.configuration.pendingMax - self.counters.activitiesPending)
        for app in self.configuration.apps.indices where self.configuration.apps[app].pendingShare < 1 {
            let share = self.configuration.apps[app].pendingShare * Double(self.configuration.pendingMax)
            var pending = 0
            for environment in PushEnvironment.allCases {
                pending += self.lanes[self.lane(app: UInt16(app), environment: environment)].pendingSlots
            }
            // Rounded up: below the share, by however little, one more may come.
            room = min(room, Int(share.rounded(.up)) - pending)
        }
        return max(0, room)
    }

    /// When `advance` should be called next, steady; `nil`: nothing is waiting for a time.
    public var nextDeadlineMillis: Int64? {
        let earliest = min(
            self.deadlines.earliestMillis ?? .max, self.stateFlushAtMillis ?? .max, self.nextMarkerMillis,
            self.laneDeadlineMillis ?? .max, self.catchUpEndsMillis)
        return earliest == .max ? nil : earliest
    }

    /// Hands over the times of the pushes accepted since the last call, at most `samplesMax`.
    public mutating func takeAcceptedSamples(_ body: (AcceptedSample) -> Void) {
        for sample in self.samples { body(sample) }
        self.samples.removeAll(keepingCapacity: true)
    }

    /// Whether `takeMisplacements` has something to hand over.
    public var hasMisplacements: Bool { !self.placement.waiting.isEmpty }

    /// The first misplaced record of each input topic, each once in the life of the engine.
    public mutating func takeMisplacements() -> [Misplacement] { self.placement.take() }

    /// Commits that became possible since the last call.
    public mutating func takeCommits() -> [CommitPosition] {
        var commits: [CommitPosition] = []
        self.ledger.takeAdvanced { commits.append($0) }
        return commits
    }

    /// The watermark of each input log this engine owns: what a commit may reach at most.
    public func watermark(topic: UInt16, partition: Int32) -> Int64? {
        guard let place = self.place(of: partition), Int(topic) < self.partitions[place].logs.count else { return nil }
        return self.ledger.watermark(log: self.partitions[place].logs[Int(topic)])
    }

    /// Counts the events without an outcome by walking every slot: what `counters.pending` must equal.
    public func countPendingEvents() -> UInt64 {
        var count = 0
        for slot in self.slots.identifiers where self.slots[slot].isLive {
            for update in [self.slots[slot].pending, self.slots[slot].behind, self.slots[slot].inFlight]
            where update.isSome {
                count += self.updates[update].eventCount
            }
        }
        return UInt64(count)
    }

    // MARK: Partitions

    func place(of partition: Int32) -> PartitionIndex? {
        guard partition >= 0, Int(partition) < self.places.count else { return nil }
        let place = self.places[Int(partition)]
        return place.isNone ? nil : place
    }

    /// Takes the partition over: the ownership marker goes into `batch`. Its acknowledgement ends the first step.
    /// - Parameter releasedWallMillis: when the former owner had stopped sending, by its wall clock; `nil`: not known, so until now. One that
    ///   lies ahead of this worker's clock counts as now.
    public mutating func partitionAssigned(
        _ partition: Int32, releasedWallMillis: Int64? = nil, now: EngineTime
    ) {
        precondition(self.place(of: partition) == nil, "partition \(partition) assigned twice")
        let state: PartitionState
        let place: PartitionIndex
        if let free = self.partitions.firstIdentifier(where: { $0.phase == .gone }) {
            place = free
            state = PartitionState(
                number: partition, phase: .awaitingMarker, generation: self.partitions[free].generation &+ 1)
            self.partitions[free] = state
        } else {
            state = PartitionState(number: partition, phase: .awaitingMarker, generation: 0)
            place = self.partitions.append(state)
        }
        while self.places.count <= Int(partition) { self.places.append(.none) }
        self.places[Int(partition)] = place
        self.partitions[place].assignedWallMillis = now.wallMillis
        let quietMillis = max(0, now.wallMillis - (releasedWallMillis ?? now.wallMillis))
        self.partitions[place].formerOwnerQuietSinceMillis = now.steadyMillis - quietMillis
        self.writeMarker(place: place, now: now)
    }

    /// The offset of this owner's marker in `state`, once Kafka has acknowledged it: the restore reads up to and including it.
    public func markerOffset(partition: Int32) -> Int64? {
        guard let place = self.place(of: partition), self.partitions[place].epoch >= 0 else { return nil }
        return self.partitions[place].epoch
    }

    /// The restore has reached the marker; records may be consumed from `starts` on.
    /// - Parameters:
    ///   - logEnds: by input topic, the log end seen now. A record below it may be a replay.
    ///   - starts: by input topic, the offset of the first record that will be consumed.
    public mutating func restoreFinished(
        partition: Int32, logEnds: [CommitPosition], starts: [CommitPosition], now: EngineTime
    ) {
        guard let place = self.place(of: partition), self.partitions[place].phase == .restoring else { return }
        let topics = self.configuration.inputTopics.indices
        self.partitions[place].logs = topics.map { topic in
            let start = starts.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0
            return self.ledger.openLog(topic: UInt16(topic), partition: partition, startOffset: start)
        }
        self.partitions[place].replayEnds = topics.map { topic in
            logEnds.first { $0.topic == UInt16(topic) }?.nextOffset ?? 0
        }
        self.partitions[place].phase = .running
        self.beginCatchUp(place: place, now: now)
        // From here on what former owners had on their way is not believed.
        self.writeMarker(place: place, now: now)
        let isVoid = self.partitions[place].voidingClusterID != nil
        self.forEachMember(place: place) { engine, slot in
            if isVoid { engine.voidPositions(of: slot) }
            engine.settleRestored(slot, now: now)
            engine.reschedule(slot, now: now)
        }
    }

    // MARK: Leaving a partition

    /// First step of leaving: nothing more is taken or sent for it; answers still count. A partition that never ran has nothing to write
    /// down: what was read of it so far may be older than what `state` holds.
    public mutating func beginRelease(partition: Int32, now: EngineTime) {
        guard let place = self.place(of: partition) else { return }
        self.partitions[place].phase = self.partitions[place].phase == .running ? .releasing : .released
    }

    /// No push of the partition is in flight.
    public func isQuiet(partition: Int32) -> Bool {
        guard let place = self.place(of: partition) else { return true }
        return self.partitions[place].inFlightCount == 0
    }

    /// Second step: what is pending, and what is still unanswered, is written to `state` as pending.
    public mutating func finishRelease(partition: Int32, now: EngineTime) {
        guard let place = self.place(of: partition), self.partitions[place].phase == .releasing else { return }
        self.partitions[place].phase = .released
        self.forEachMember(place: place) { engine, slot in
            let pending = engine.slots[slot].pending
            if pending.isSome, engine.updates[pending].isAnnounced {
                // It was about to leave, and does not.
                engine.updates[pending].isAnnounced = false
                engine.updates[pending].stampSeconds = nil
            }
            let isOpen = engine.slots[slot].openEntry.isSome || engine.slots[slot].openRoutedEntry.isSome
            if engine.slots[slot].hasWork || isOpen || engine.slots[slot].isDirty {
                engine.markDirty(slot, now: now)
            }
        }
        self.flushStates(now: now)
    }

    /// Everything handed to Kafka for the partition is acknowledged; its last commit may be taken.
    public func isReleased(partition: Int32) -> Bool {
        guard let place = self.place(of: partition) else { return true }
        guard self.partitions[place].phase == .released, self.partitions[place].unacknowledged == 0 else {
            return false
        }
        return !self.dirtySlots.contains { self.slots[$0].isLive && self.slots[$0].partition == place }
    }

    /// Last step, and the only one for a lost partition: everything about it leaves memory, uncommitted work included.
    public mutating func forget(partition: Int32) {
        guard let place = self.place(of: partition) else { return }
        // Those that leave from the end move no other.
        while let slot = self.partitions[place].members.last {
            for update in [self.slots[slot].pending, self.slots[slot].behind, self.slots[slot].inFlight]
            where update.isSome {
                let events = UInt64(self.updates[update].eventCount)
                self.counters.handedOver += events
                self.counters.pending -= events
            }
            self.removeSlot(slot)
        }
        self.counters.inFlight -= self.partitions[place].inFlightCount
        for log in self.partitions[place].logs { self.ledger.closeLog(log) }
        self.partitions[place].logs = []
        self.partitions[place].members = []
        self.partitions[place].phase = .gone
        self.partitions[place].number = -1
        self.places[Int(partition)] = .none
    }
}
