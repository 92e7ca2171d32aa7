import APNSProtocol
import PushModel

/// What is different about a channel: its distance, and the question what it keeps, which goes before its first broadcast.
extension Dispatch {
    /// How long a broadcast waits for the answer to that question, milliseconds. One that has waited so long leaves without knowing, for phones
    /// that are on alone.
    static let questionMillisMax: Int64 = 5_000
    /// Quarters of a doubling that a 429 adds to a channel's distance; each accepted broadcast takes one back.
    static let throttleStep: UInt8 = 4
    /// The distance grows to sixteen times what is configured, and not further.
    static let throttleStepsMax: UInt8 = 16

    /// The least time to the slot's next push, milliseconds.
    @inline(__always) func distanceMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let app = Int(memory.slots[slot].app)
        guard memory.slots[slot].kind == .channel else { return memory.configuration.apps[app].minimumDistanceMillis }
        return Self.channelDistanceMillis(
            memory.configuration.apps[app].channelMinimumDistanceMillis, steps: memory.slots[slot].throttleSteps)
    }

    /// - Parameter steps: at most `throttleStepsMax`.
    static func channelDistanceMillis(_ distanceMillis: Int64, steps: UInt8) -> Int64 {
        let doublings =
            (Int64(min(steps, Self.throttleStepsMax)) + Int64(Self.throttleStep) - 1) / Int64(Self.throttleStep)
        return distanceMillis << doublings
    }

    /// A new channel: what it keeps is configured, or has to be asked.
    mutating func beginChannel(_ slot: SlotID, in memory: inout ShardMemory) {
        switch memory.app(of: slot).channelStorage {
        case .ask: break
        case .none: memory.slots[slot].storage = .none
        case .mostRecent: memory.slots[slot].storage = .mostRecent
        }
        self.chooseErrand(slot, in: &memory)
    }

    /// The channel keeps that, as far as anybody has said.
    mutating func setStorage(_ storage: ChannelStorage, of slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].storage = storage
        self.chooseErrand(slot, in: &memory)
    }

    /// The question first, as long as nobody knows and somebody can be asked.
    mutating func chooseErrand(_ slot: SlotID, in memory: inout ShardMemory) {
        let asks =
            memory.slots[slot].storage == .unknown
            && memory.app(of: slot).route(memory.slots[slot].environment, .readChannel) != nil
        self.setErrand(asks ? .question : .broadcast, of: slot, in: &memory)
    }

    /// No answer came in time, or none that helps: this broadcast leaves without it, the next one asks again.
    mutating func giveUpQuestion(_ slot: SlotID, in memory: inout ShardMemory) {
        self.setErrand(.broadcast, of: slot, in: &memory)
    }

    /// When the pending broadcast is not held back any more for the question, steady. It is asked as soon as the broadcast could leave.
    func questionEndsMillis(_ slot: SlotID, in memory: borrowing ShardMemory) -> Int64 {
        let update = memory.slots[slot].pending
        let app = Int(memory.slots[slot].app)
        var since = max(memory.updates[update].firstUnsentMillis, memory.slots[slot].notBeforeMillis)
        if memory.updates[update].priority != .high {
            since = max(
                since, memory.updates[update].firstUnsentMillis + memory.configuration.apps[app].lowPriorityWindowMillis
            )
        }
        return since + Self.questionMillisMax
    }

    /// The question leaves.
    mutating func questionLeft(_ slot: SlotID, in memory: inout ShardMemory) {
        memory.slots[slot].isAsking = true
        memory.counters.channelQuestions += 1
    }

    /// Its answer has come, whatever it says.
    mutating func questionReturned(_ slot: SlotID, in memory: inout ShardMemory) { memory.slots[slot].isAsking = false }

    /// APNs has had too much of the channel: it gets less from here on.
    mutating func throttle(_ slot: SlotID, in memory: inout ShardMemory, now: EngineTime) {
        guard memory.slots[slot].kind == .channel else { return }
        memory.slots[slot].throttleSteps = min(
            memory.slots[slot].throttleSteps + Self.throttleStep, Self.throttleStepsMax)
        memory.slots[slot].notBeforeMillis = now.steadyMillis + self.distanceMillis(slot, in: memory)
    }

    /// APNs took a broadcast: a grown distance shrinks.
    @inline(__always) mutating func easeThrottle(_ slot: SlotID, in memory: inout ShardMemory) {
        if memory.slots[slot].throttleSteps > 0 { memory.slots[slot].throttleSteps -= 1 }
    }

    /// What a record of `state` says of a channel. What is configured says more.
    /// - Parameter notBeforeWallMillis: when its next broadcast may leave, milliseconds since 1970.
    mutating func restoreChannel(
        _ slot: SlotID, storage: ChannelStorage, throttleSteps: UInt8, notBeforeWallMillis: Int64,
        in memory: inout ShardMemory, now: EngineTime
    ) {
        memory.slots[slot].throttleSteps = min(throttleSteps, Self.throttleStepsMax)
        let distance = self.distanceMillis(slot, in: memory)
        // A clock that was wrong holds nothing back for longer than the distance.
        let told = now.steadyMillis + min(max(0, notBeforeWallMillis - now.wallMillis), distance)
        // The former owner's last broadcast may have left just before it stopped, unless it has said that none did.
        let unrecorded =
            memory.slots[slot].isHandedOver
            ? Int64.min
            : memory.partitions[memory.slots[slot].partition].formerOwnerQuietSinceMillis + distance
        memory.slots[slot].notBeforeMillis = max(told, unrecorded)
        memory.slots[slot].storage = storage
        self.beginChannel(slot, in: &memory)
    }
}
