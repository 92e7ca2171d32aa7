import APNSProtocol
import PushModel

/// What is different about a channel: its distance, and the question what it keeps, which goes before its first broadcast.
extension Dispatch {
    /// How long a broadcast waits for the answer to that question, milliseconds. One that has waited so long leaves without knowing, for phones
    /// that are on alone.
    static let questionMillisMax: Int64 = 5_000
    /// How long nobody is asked again after that, milliseconds: where nobody answers, one broadcast in a while waits, and not each.
    static let questionRestMillis: Int64 = 300_000
    /// Quarters of a doubling that a 429 adds to a channel's distance; each accepted broadcast takes one back.
    static let throttleStep: UInt8 = 4
    /// The distance grows to sixteen times what is configured, and not further.
    static let throttleStepsMax: UInt8 = 16

    /// The least time to the channel's next broadcast, milliseconds.
    func channelDistanceMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        Self.channelDistanceMillis(
            memory.configuration.apps[Int(memory.slots[slot].app)].channelMinimumDistanceMillis,
            steps: memory.slots[slot].throttleSteps)
    }

    /// A broadcast leaves now: the next one keeps the channel's distance, which is longer than an activity's.
    mutating func broadcastDeparted(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].notBeforeMillis = now.steadyMillis + self.channelDistanceMillis(slot, in: memory)
    }

    /// - Parameter steps: at most `throttleStepsMax`.
    static func channelDistanceMillis(_ distanceMillis: Int64, steps: UInt8) -> Int64 {
        let doublings =
            (Int64(min(steps, Self.throttleStepsMax)) + Int64(Self.throttleStep) - 1) / Int64(Self.throttleStep)
        return distanceMillis << doublings
    }

    /// A new channel: what it keeps is configured, or has to be asked. Where audiences have channels the keeper is asked first whether this is one.
    /// - Parameter isUnkept: it has said that it is none.
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

    /// The channel keeps that, as far as anybody has said.
    mutating func setStorage(
        _ storage: StoragePolicy, of slot: SlotID, in memory: inout ShardMemory, now: EngineTime
    ) {
        memory.slots[slot].storage = storage
        self.chooseErrand(slot, in: &memory, now: now)
    }

    /// The question first, as long as nobody knows, somebody can be asked, and nobody was asked in vain of late.
    mutating func chooseErrand(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard memory.slots[slot].errand != .keeperQuestion else { return }
        let asks =
            memory.slots[slot].storage == .unknown && !memory.slots[slot].isAsking
            && Int64(memory.slots[slot].questionSeconds) * 1_000 <= now.steadyMillis
            && memory.app(of: slot).route(memory.slots[slot].environment, .readChannel) != nil
        if asks { memory.slots[slot].questionSeconds = 0 }
        self.setErrand(asks ? .question : .broadcast, of: slot, in: &memory)
    }

    /// When the slot has to be looked at again for its question, steady. One that stands in the ready queue could leave, but for the answer: from
    /// then on it waits for that.
    @inline(never) func questionDeadlineMillis(
        _ slot: SlotID, in memory: inout ShardMemory, now: EngineTime
    ) -> Int64 {
        if memory.slots[slot].questionSeconds == 0, memory.slots[slot].queuedTicket != 0 {
            memory.slots[slot].questionSeconds = Self.seconds(now.steadyMillis + Self.questionMillisMax)
        }
        return self.questionEndsMillis(slot, in: memory)
    }

    /// When the pending broadcast is not held back any more for the question, steady.
    func questionEndsMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let seconds = memory.slots[slot].questionSeconds
        return seconds == 0 ? .max : Int64(seconds) * 1_000
    }

    /// No answer came in time, or none that helps: broadcasts leave without it for a while. It may still come.
    mutating func giveUpQuestion(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        memory.slots[slot].questionSeconds = Self.seconds(now.steadyMillis + Self.questionRestMillis)
        self.setErrand(.broadcast, of: slot, in: &memory)
    }

    /// Rounded up; a steady clock that has run for a century is at the end of it.
    private static func seconds(_ millis: Int64) -> UInt32 { UInt32(clamping: (millis + 999) / 1_000) }

    /// The question leaves.
    mutating func questionLeft(_ slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].isAsking = true
        memory.counters.channelQuestions += 1
    }

    /// Its answer has come, whatever it says.
    mutating func questionReturned(_ slot: SlotID, in memory: inout ShardMemory) { memory.slots[slot].isAsking = false }

    // MARK: Whether it is kept
    /// When the keeper is asked, or asked again as no answer has come, steady.
    func keeperQuestionDueMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        memory.slots[slot].hasUsableToken ? memory.slots[slot].backoffUntilMillis : .max
    }

    /// The question leaves. The next waits longer each time, up to `retryBackoffMaxMillis`.
    mutating func keeperQuestionLeft(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        self.backOff(slot, retryAfterSeconds: nil, in: &memory, now: now)
        memory.counters.channelKeeperQuestions += 1
    }

    /// The keeper keeps it for nobody.
    mutating func noteUnkept(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        self.forgetFailures(slot, in: &memory)
        self.setErrand(.broadcast, of: slot, in: &memory)
        self.chooseErrand(slot, in: &memory, now: now)
    }

    /// It is a channel of another environment: what was known, and what is on its way, was about one of the same name there.
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

    /// APNs has had too much of the channel: it gets less from here on.
    mutating func throttle(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard memory.slots[slot].kind == .channel else { return }
        memory.slots[slot].throttleSteps = min(
            memory.slots[slot].throttleSteps + Self.throttleStep, Self.throttleStepsMax)
        memory.slots[slot].notBeforeMillis = now.steadyMillis + self.channelDistanceMillis(slot, in: memory)
    }

    /// APNs took a broadcast: a grown distance shrinks.
    @inline(__always) mutating func easeThrottle(_ slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].throttleSteps > 0 { memory.slots[slot].throttleSteps -= 1 }
    }

    /// What a record of `state` says of a channel. What is configured says more.
    /// - Parameter notBeforeWallMillis: when its next broadcast may leave, milliseconds since 1970.
    /// - Parameter isUnkept: the keeper has said that it keeps it for no audience.
    mutating func restoreChannel(
        _ slot: SlotID, storage: StoragePolicy, throttleSteps: UInt8, notBeforeWallMillis: Int64, isUnkept: Bool,
        in memory: inout ShardMemory, now: EngineTime
    ) {
        memory.slots[slot].throttleSteps = min(throttleSteps, Self.throttleStepsMax)
        let distance = self.channelDistanceMillis(slot, in: memory)
        // A clock that was wrong holds nothing back for longer than the distance.
        let told = now.steadyMillis + min(max(0, notBeforeWallMillis - now.wallMillis), distance)
        memory.slots[slot].notBeforeMillis = told
        memory.slots[slot].storage = storage
        self.beginChannel(slot, isUnkept: isUnkept, in: &memory, now: now)
    }

    /// The former owner's last broadcast may have left just before it stopped, unless it has said that none did. Called when all of `state` has
    /// been read, and for a channel that `state` does not know.
    mutating func keepDistanceFromFormerOwner(_ slot: SlotID, in memory: inout ShardMemory) {
        guard memory.slots[slot].kind == .channel, !memory.slots[slot].isHandedOver else { return }
        let quietSince = memory.partitions[memory.slots[slot].partition].formerOwnerQuietSinceMillis
        memory.slots[slot].notBeforeMillis = max(
            memory.slots[slot].notBeforeMillis, quietSince + self.channelDistanceMillis(slot, in: memory))
    }
}
