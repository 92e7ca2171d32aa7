import APNSProtocol
import PushModel

/// Rules for channels: the question before the first broadcast, and ids that APNs calls gone.
extension ShardEngine {
    /// Asks what the slot's channel stores. The question is not a push: it has no minimum distance and no stamp, and
    /// does not delay a leaving partition. Events that arrive meanwhile are merged into what waits.
    mutating func ask(_ slot: SlotID, request: inout PushRequest, now: EngineTime) {
        self.core.dispatch.questionLeft(slot, in: &self.core.memory)
        PushComposer.fillQuestion(
            &request, id: self.core.memory.questionID(of: slot), apnsID: self.core.dispatch.makeUUID(), slot: slot,
            in: self.core.memory)
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    /// Takes the answer to a question.
    mutating func questionAnswered(_ slot: SlotID, answer: PushAnswer, now: EngineTime) {
        self.core.dispatch.questionReturned(slot, in: &self.core.memory)
        let lane = LaneIndex(
            app: self.core.memory.slots[slot].app, environment: self.core.memory.slots[slot].environment,
            errand: .question)
        switch answer.result {
        case .channel(let answer):
            self.core.dispatch.apnsTopicAnswered(.taken, lane: lane, in: &self.core.memory, now: now)
            if let policy = try? ChannelBody.storagePolicy(answer.body.span) {
                self.rememberStorage(StoragePolicy(policy), of: slot, now: now)
            } else {
                self.giveUp(slot, now: now)
            }
        case .response(let response):
            self.questionRefused(slot, response: response, lane: lane, now: now)
        case .accepted, .notProcessed, .unknown:
            self.core.dispatch.apnsTopicAnswered(.nothing, lane: lane, in: &self.core.memory, now: now)
            self.askLater(slot, retryAfterSeconds: nil, now: now)
        }
        self.core.dispatch.reschedule(slot, in: &self.core.memory, now: now)
    }

    /// Remembers what the channel stores, unless that is known already. An answer also counts after the question was
    /// given up.
    private mutating func rememberStorage(_ storage: StoragePolicy, of slot: SlotID, now: EngineTime) {
        guard self.core.memory.slots[slot].storage == .unknown else { return }
        if self.core.memory.slots[slot].errand == .question {
            self.core.dispatch.forgetFailures(slot, in: &self.core.memory)
        }
        self.core.dispatch.setStorage(storage, of: slot, in: &self.core.memory, now: now)
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }

    /// Schedules a failed question to be asked again, unless it has been given up.
    private mutating func askLater(_ slot: SlotID, retryAfterSeconds: Int64?, now: EngineTime) {
        guard self.core.memory.slots[slot].errand == .question else { return }
        self.core.dispatch.backOff(slot, retryAfterSeconds: retryAfterSeconds, in: &self.core.memory, now: now)
    }

    private mutating func giveUp(_ slot: SlotID, now: EngineTime) {
        guard self.core.memory.slots[slot].errand == .question else { return }
        // Failures of the question do not delay the broadcast.
        self.core.dispatch.forgetFailures(slot, in: &self.core.memory)
        self.core.dispatch.giveUpQuestion(slot, in: &self.core.memory, now: now)
    }

    private mutating func questionRefused(
        _ slot: SlotID, response: PushResponse, lane: LaneIndex, now: EngineTime
    ) {
        let consequence = response.verdict.consequence
        switch consequence.push {
        case .tokenDead, .refused:
            // Only the broadcast itself shows whether the channel exists. APNs' service for managing channels may know
            // less than its service for broadcasts.
            self.core.dispatch.apnsTopicAnswered(.taken, lane: lane, in: &self.core.memory, now: now)
            return self.giveUp(slot, now: now)
        case .accepted, .goesAgain, .waitsForRoute, .waitsForToken:
            // APNs is busy, wants fewer questions, or refuses the app's `apns-topic`. Only the last case says something
            // about the `apns-topic`.
            self.core.dispatch.apnsTopicAnswered(
                consequence.apnsTopic == .refused ? .refused : .nothing, lane: lane, in: &self.core.memory, now: now)
        }
        self.askLater(slot, retryAfterSeconds: response.retryAfterSeconds, now: now)
    }

    /// Gives up the question if a broadcast has waited long enough for the answer.
    mutating func giveUpQuestion(_ slot: SlotID, now: EngineTime) {
        guard self.core.memory.slots[slot].errand == .question, self.core.memory.slots[slot].pending.isSome,
            self.core.dispatch.questionEndsMillis(slot, in: self.core.memory) <= now.steadyMillis
        else { return }
        self.giveUp(slot, now: now)
    }

    /// Time after which a channel that APNs called gone is tried again, milliseconds. A channel that was just made may
    /// not be known everywhere yet, and another attempt risks only a refusal.
    static var goneMillis: Int64 { 60_000 }

    /// Prepares a channel for an event that has arrived. The environment may change, and the channel may be tried
    /// again.
    mutating func takeChannel(_ slot: SlotID, now: EngineTime) {
        let environment = self.core.intake.channelEnvironment(
            of: self.core.memory.slots[slot].app, held: self.core.memory.slots[slot].environment, in: self.core.memory)
        if environment != self.core.memory.slots[slot].environment {
            self.core.dispatch.moveChannel(slot, to: environment, in: &self.core.memory, now: now)
            // APNs' answer to an earlier broadcast is about the channel in the former environment. The new generation
            // of the token shows that such an answer is not about this channel.
            self.core.memory.slots.renewToken(of: slot)
            self.core.memory.trustToken(of: slot)
        } else if self.core.memory.slots[slot].tokenStanding != .usable,
            self.core.memory.slots[slot].tokenStanding != .kept,
            now.steadyMillis - self.core.memory.slots[slot].tokenMissingSinceMillis >= Self.goneMillis
        {
            self.core.memory.trustToken(of: slot)
        }
        if self.core.memory.slots[slot].storage == .unknown, !self.core.memory.slots[slot].hasWork {
            self.core.dispatch.chooseErrand(slot, in: &self.core.memory, now: now)
        }
    }

    /// Cancels a channel's minimum distance after a refusal that is no reason to slow down. The next broadcast need not
    /// wait for the distance.
    mutating func takeDistanceBack(_ update: UpdateID) {
        guard self.core.memory.slots[self.core.memory.updates[update].slot].kind == .channel else { return }
        self.core.dispatch.takeDistanceBack(update, in: &self.core.memory)
    }

    /// Takes an accepted broadcast into account. If the channel's distance has grown, it is shortened. If APNs has not
    /// said what the channel stores, APNs is asked again before a later broadcast.
    @inline(__always) mutating func rememberBroadcast(_ slot: SlotID, now: EngineTime) {
        guard self.core.memory.slots[slot].kind == .channel else { return }
        self.core.dispatch.easeThrottle(slot, in: &self.core.memory)
        if self.core.memory.slots[slot].storage == .unknown {
            self.core.dispatch.chooseErrand(slot, in: &self.core.memory, now: now)
        }
    }

    /// Rejects the event in flight of a channel that does not exist. Events that wait are given up soon after, because
    /// APNs never uses a channel's id a second time.
    mutating func channelGone(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.core.memory.slots[slot].inFlight
        // If an earlier attempt may have reached a phone, or older events are under the newest one, the update is put
        // back. It is given up at once, so that each event gets its own outcome.
        guard !self.core.memory.updates[update].top.mayBeSent, self.core.memory.updates[update].under.isEmpty else {
            self.requeue(slot)
            return self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
        }
        var details = details
        details.fill(from: self.core.memory.updates[update])
        if self.core.memory.updates[update].isEnd { self.core.memory.reviveAfterFailedEnd(slot) }
        let top = self.core.memory.updates[update].top
        self.core.journal.finishLayer(top, of: slot, outcome: .rejected, details: details, in: &self.core.memory)
        self.core.coalescer.dropUpdate(update, of: slot, in: &self.core.memory)
        // Events that arrived meanwhile are due at once. They are given up when they are looked at.
        self.core.journal.markDirty(slot, in: &self.core.memory, now: now)
    }
}

extension StoragePolicy {
    /// The policy that APNs has named.
    init(_ policy: MessageStoragePolicy) {
        switch policy {
        case .none: self = .none
        case .mostRecent: self = .mostRecent
        }
    }
}

extension ShardMemory {
    /// The identifier of a question. Its lower half is negative and names the slot; numbers of updates are never
    /// negative.
    func questionID(of slot: SlotID) -> PushID {
        PushID(
            rawValue: UInt64(UInt32(bitPattern: ~slot.rawValue)) | UInt64(self.slots[slot].generation) << 32)
    }

    /// The slot that waits for the answer to this question; `nil`: the slot has left memory, or no longer waits.
    func slotAsking(_ question: PushID) -> SlotID? {
        let low = Int32(bitPattern: UInt32(truncatingIfNeeded: question.rawValue))
        guard low < 0 else { return nil }
        let slot = SlotID(rawValue: ~low)
        guard self.slots.contains(slot), self.slots[slot].isLive, self.slots[slot].isAsking,
            self.slots[slot].generation == UInt32(truncatingIfNeeded: question.rawValue >> 32)
        else { return nil }
        return slot
    }
}
