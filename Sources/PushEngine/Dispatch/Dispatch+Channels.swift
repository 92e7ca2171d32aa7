import APNSProtocol
import PushModel

/// Rules for channels: the distance between broadcasts, and the question about what a channel stores. The question
/// leaves before the first broadcast.
extension Dispatch {
    /// How long a broadcast waits for APNs to answer what its channel stores, milliseconds. Afterwards the broadcast
    /// leaves without the answer, and reaches only phones that are on.
    static let questionMillisMax: Int64 = 5_000
    /// The least time between giving up a question and asking the next, milliseconds. If nobody ever answers, only one
    /// broadcast waits in that time.
    static let questionRestMillis: Int64 = 300_000
    /// Number of steps, each a quarter of a doubling, by which a 429 makes a channel's distance longer. Each accepted
    /// broadcast takes one step back.
    static let throttleStep: UInt8 = 4
    /// Maximum number of steps. The distance is then sixteen times the configured one.
    static let throttleStepsMax: UInt8 = 16

    /// The least time from one broadcast on the channel to the next, milliseconds.
    func channelDistanceMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        Self.channelDistanceMillis(
            memory.configuration.apps[Int(memory.slots[slot].app)].channelMinimumDistanceMillis,
            steps: memory.slots[slot].throttleSteps)
    }

    /// Delays the next broadcast by the channel's distance, because one leaves now. The channel's distance replaces the
    /// one that `departed` has set.
    mutating func broadcastDeparted(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].notBeforeMillis = now.steadyMillis + self.channelDistanceMillis(slot, in: memory)
    }

    /// The distance after this number of steps, milliseconds. The configured distance is doubled once for every
    /// `throttleStep` steps, rounded up.
    /// - Parameter steps: at most `throttleStepsMax`.
    static func channelDistanceMillis(_ distanceMillis: Int64, steps: UInt8) -> Int64 {
        let doublings =
            (Int64(min(steps, Self.throttleStepsMax)) + Int64(Self.throttleStep) - 1) / Int64(Self.throttleStep)
        return distanceMillis << doublings
    }

    /// Chooses what a channel's slot does first. If the app's audiences have channels, the slot asks the keeper whether
    /// this channel is kept for an audience. Otherwise it asks APNs what the channel stores, unless that is configured.
    /// - Parameter isUnkept: whether the keeper has said that the channel is kept for no audience.
    mutating func beginChannel(
        _ slot: SlotID, isUnkept: Bool = false, in memory: inout ShardMemory, now: EngineTime
    ) {
        switch memory.app(of: slot).channelStorage {
        case .ask: break
        case .none: memory.slots[slot].storage = .none
        case .mostRecent: memory.slots[slot].storage = .mostRecent
        }
        guard memory.app(of: slot).audienceChannel == .none || isUnkept else {
            return self.setErrand(.keeperQuestion, of: slot, in: &memory)
        }
        if memory.slots[slot].errand == .keeperQuestion { self.setErrand(.broadcast, of: slot, in: &memory) }
        self.chooseErrand(slot, in: &memory, now: now)
    }

    /// Sets what the channel stores for phones that are off, as far as it is known.
    mutating func setStorage(
        _ storage: StoragePolicy, of slot: SlotID, in memory: inout ShardMemory, now: EngineTime
    ) {
        memory.slots[slot].storage = storage
        self.chooseErrand(slot, in: &memory, now: now)
    }

    /// Chooses between the question and the broadcast as the slot's errand. The question is not chosen if its answer is
    /// known, a question is unanswered or has failed lately, or questions have no route.
    mutating func chooseErrand(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard memory.slots[slot].errand != .keeperQuestion else { return }
        let asks =
            memory.slots[slot].storage == .unknown && !memory.slots[slot].isAsking
            && Int64(memory.slots[slot].questionSeconds) * 1_000 <= now.steadyMillis
            && memory.app(of: slot).route(memory.slots[slot].environment, .readChannel) != nil
        if asks { memory.slots[slot].questionSeconds = 0 }
        self.setErrand(asks ? .question : .broadcast, of: slot, in: &memory)
    }

    /// When the slot has to be looked at again for its question (steady clock). If the slot is in the ready queue and
    /// lacks only the answer, the wait of `questionMillisMax` begins now.
    @inline(never) func questionDeadlineMillis(
        _ slot: SlotID, in memory: inout ShardMemory, now: EngineTime
    ) -> Int64 {
        if memory.slots[slot].questionSeconds == 0, memory.slots[slot].queuedTicket != 0 {
            memory.slots[slot].questionSeconds = Self.seconds(now.steadyMillis + Self.questionMillisMax)
        }
        return self.questionEndsMillis(slot, in: memory)
    }

    /// When the question no longer delays the pending broadcast (steady clock); `Int64.max`: its wait has not begun.
    func questionEndsMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let seconds = memory.slots[slot].questionSeconds
        return seconds == 0 ? .max : Int64(seconds) * 1_000
    }

    /// Gives up the question, because no useful answer arrived in time. For `questionRestMillis` broadcasts leave
    /// without a question. The answer may still arrive.
    mutating func giveUpQuestion(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].questionSeconds = Self.seconds(now.steadyMillis + Self.questionRestMillis)
        self.setErrand(.broadcast, of: slot, in: &memory)
    }

    /// Converts milliseconds to seconds, rounded up. 32 bits are enough for a clock that has run for 136 years.
    private static func seconds(_ millis: Int64) -> UInt32 { UInt32(clamping: (millis + 999) / 1_000) }

    /// Marks the question as waiting for its answer, and counts it.
    mutating func questionLeft(_ slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].isAsking = true
        memory.counters.channelQuestions += 1
    }

    /// Ends the wait for the answer to the question, no matter what the answer says.
    mutating func questionReturned(_ slot: SlotID, in memory: inout ShardMemory) { memory.slots[slot].isAsking = false }

    // MARK: The question to the keeper
    /// When the keeper is asked, or asked again because no answer has arrived (steady clock).
    func keeperQuestionDueMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        memory.slots[slot].hasUsableToken ? memory.slots[slot].backoffUntilMillis : .max
    }

    /// Counts a question that leaves for the keeper. Each further question waits longer, up to `retryBackoffMaxMillis`.
    mutating func keeperQuestionLeft(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        self.backOff(slot, retryAfterSeconds: nil, in: &memory, now: now)
        memory.counters.channelKeeperQuestions += 1
    }

    /// Lets the channel's broadcasts leave, because the keeper keeps the channel for no audience.
    mutating func markUnkept(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        self.forgetFailures(slot, in: &memory)
        self.setErrand(.broadcast, of: slot, in: &memory)
        self.chooseErrand(slot, in: &memory, now: now)
    }

    /// Moves the channel to another environment. What was known, and what is in flight, belongs to the channel with
    /// this id in the former environment.
    mutating func moveChannel(
        _ slot: SlotID, to environment: PushEnvironment, in memory: inout ShardMemory, now: EngineTime
    ) {
        self.setEnvironment(environment, of: slot, in: &memory)
        memory.slots[slot].isAsking = false
        memory.slots[slot].questionSeconds = 0
        memory.slots[slot].storage = .unknown
        self.beginChannel(slot, in: &memory, now: now)
        self.forgetFailures(slot, in: &memory)
    }

    /// Makes the channel's distance longer, because APNs wants fewer broadcasts.
    mutating func throttle(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard memory.slots[slot].kind == .channel else { return }
        memory.slots[slot].throttleSteps = min(
            memory.slots[slot].throttleSteps + Self.throttleStep, Self.throttleStepsMax)
        memory.slots[slot].notBeforeMillis = now.steadyMillis + self.channelDistanceMillis(slot, in: memory)
    }

    /// Shortens a grown distance, because APNs accepted a broadcast.
    @inline(__always) mutating func easeThrottle(_ slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].throttleSteps > 0 { memory.slots[slot].throttleSteps -= 1 }
    }

    /// Takes over what a record of `state` says about a channel. Configured values prevail.
    /// - Parameter notBeforeWallMillis: when the channel's next broadcast may leave, milliseconds since 1970.
    /// - Parameter isUnkept: whether the keeper has said that the channel is kept for no audience.
    mutating func restoreChannel(
        _ slot: SlotID, storage: StoragePolicy, throttleSteps: UInt8, notBeforeWallMillis: Int64, isUnkept: Bool,
        in memory: inout ShardMemory, now: EngineTime
    ) {
        memory.slots[slot].throttleSteps = min(throttleSteps, Self.throttleStepsMax)
        let distance = self.channelDistanceMillis(slot, in: memory)
        // A wrong clock may delay a broadcast, but for no longer than the distance.
        let allowed = now.steadyMillis + min(max(0, notBeforeWallMillis - now.wallMillis), distance)
        memory.slots[slot].notBeforeMillis = allowed
        memory.slots[slot].storage = storage
        self.beginChannel(slot, isUnkept: isUnkept, in: &memory, now: now)
    }

    /// Keeps the distance to the former owner's last broadcast, which may have left just before that owner stopped. If
    /// that owner left a release marker, `state` has the distance already. This method is called when all of `state`
    /// has been read, and for a channel that `state` does not know.
    mutating func keepDistanceFromFormerOwner(_ slot: SlotID, in memory: inout ShardMemory) {
        let partition = memory.slots[slot].partition
        guard memory.slots[slot].kind == .channel, !memory.partitions[partition].former.hasReleased else { return }
        let quietSince = memory.partitions[partition].formerOwnerQuietSinceMillis
        memory.slots[slot].notBeforeMillis = max(
            memory.slots[slot].notBeforeMillis, quietSince + self.channelDistanceMillis(slot, in: memory))
    }
}
