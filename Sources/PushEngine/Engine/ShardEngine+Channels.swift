import APNSProtocol
import PushModel

/// Rules for channels: the question before the first broadcast, and an id that has gone for good.
extension ShardEngine {
    /// Asks what the slot's channel stores. The question is no push: it costs no distance and no stamp, delays no
    /// leaving partition, and events that arrive meanwhile merge into what waits.
    mutating func ask(_ slot: SlotID, request: inout PushRequest, now: EngineTime) {
        self.dispatch.questionLeft(slot, in: &self.memory)
        PushComposer.fillQuestion(
            &request, id: self.memory.questionID(of: slot), apnsID: self.dispatch.makeUUID(), slot: slot,
            in: self.memory)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    /// Takes the answer to a question.
    mutating func questionAnswered(_ slot: SlotID, answer: PushAnswer, now: EngineTime) {
        self.dispatch.questionReturned(slot, in: &self.memory)
        let lane = LaneIndex(
            app: self.memory.slots[slot].app, environment: self.memory.slots[slot].environment, errand: .question)
        switch answer.result {
        case .channel(let answer):
            self.dispatch.topicAnswered(.taken, lane: lane, in: &self.memory, now: now)
            if let policy = try? ChannelBody.storagePolicy(answer.body.span) {
                self.rememberStorage(StoragePolicy(policy), of: slot, now: now)
            } else {
                self.giveUp(slot, now: now)
            }
        case .response(let response):
            self.questionRefused(slot, response: response, lane: lane, now: now)
        case .accepted, .notProcessed, .unknown:
            self.dispatch.topicAnswered(.nothing, lane: lane, in: &self.memory, now: now)
            self.askLater(slot, retryAfterSeconds: nil, now: now)
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    /// Keeps an answer that arrives after the question was given up, unless the policy has become known otherwise.
    private mutating func rememberStorage(_ storage: StoragePolicy, of slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].storage == .unknown else { return }
        if self.memory.slots[slot].errand == .question { self.dispatch.forgetFailures(slot, in: &self.memory) }
        self.dispatch.setStorage(storage, of: slot, in: &self.memory, now: now)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// Lets a failed question be asked again later. Once it is given up, it delays no broadcast.
    private mutating func askLater(_ slot: SlotID, retryAfterSeconds: Int64?, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question else { return }
        self.dispatch.backOff(slot, retryAfterSeconds: retryAfterSeconds, in: &self.memory, now: now)
    }

    private mutating func giveUp(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question else { return }
        // Failed questions do not delay the broadcast.
        self.dispatch.forgetFailures(slot, in: &self.memory)
        self.dispatch.giveUpQuestion(slot, in: &self.memory, now: now)
    }

    private mutating func questionRefused(
        _ slot: SlotID, response: PushResponse, lane: LaneIndex, now: EngineTime
    ) {
        let consequence = response.verdict.consequence
        switch consequence.push {
        case .tokenDead, .refused:
            // The broadcast itself has to find out that the channel does not exist. The service that manages channels
            // may know less than the one that sends.
            self.dispatch.topicAnswered(.taken, lane: lane, in: &self.memory, now: now)
            return self.giveUp(slot, now: now)
        case .accepted, .goesAgain, .waitsForRoute, .waitsForToken:
            // A question asked too often says no more about the topic than a busy server does.
            self.dispatch.topicAnswered(
                consequence.topic == .refused ? .refused : .nothing, lane: lane, in: &self.memory, now: now)
        }
        self.askLater(slot, retryAfterSeconds: response.retryAfterSeconds, now: now)
    }

    /// Gives up the question: the broadcast has waited long enough for its answer.
    mutating func giveUpQuestion(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question, self.memory.slots[slot].pending.isSome,
            self.dispatch.questionEndsMillis(slot, in: self.memory) <= now.steadyMillis
        else { return }
        self.giveUp(slot, now: now)
    }

    /// How long after APNs called a channel gone it is tried again, milliseconds. A channel that was just made may not
    /// be known everywhere yet, and a further try risks only a refusal.
    static var goneMillis: Int64 { 60_000 }

    /// Notes that an event for a channel arrived: the environment may change, and the channel may be tried again.
    mutating func takeChannel(_ slot: SlotID, now: EngineTime) {
        let environment = self.intake.channelEnvironment(
            of: self.memory.slots[slot].app, held: self.memory.slots[slot].environment, in: self.memory)
        if environment != self.memory.slots[slot].environment {
            self.dispatch.moveChannel(slot, to: environment, in: &self.memory, now: now)
            // APNs' answer to a broadcast that left before is about another channel.
            self.memory.slots.renewToken(of: slot)
            self.memory.trustToken(of: slot)
        } else if self.memory.slots[slot].tokenStanding != .usable, self.memory.slots[slot].tokenStanding != .kept,
            now.steadyMillis - self.memory.slots[slot].tokenMissingSinceMillis >= Self.goneMillis
        {
            self.memory.trustToken(of: slot)
        }
        if self.memory.slots[slot].storage == .unknown, !self.memory.slots[slot].hasWork {
            self.dispatch.chooseErrand(slot, in: &self.memory, now: now)
        }
    }

    /// Takes the distance back: a refusal that says nothing of the channel does not delay its next broadcast for a
    /// whole distance.
    mutating func takeDistanceBack(_ update: UpdateID) {
        guard self.memory.slots[self.memory.updates[update].slot].kind == .channel else { return }
        self.dispatch.takeDistanceBack(update, in: &self.memory)
    }

    /// Notes that APNs took a broadcast: a grown distance shrinks. Where nobody has said what the channel stores, one
    /// of the next asks again.
    @inline(__always) mutating func noteBroadcastAccepted(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .channel else { return }
        self.dispatch.easeThrottle(slot, in: &self.memory)
        if self.memory.slots[slot].storage == .unknown {
            self.dispatch.chooseErrand(slot, in: &self.memory, now: now)
        }
    }

    /// Ends everything for a channel that does not exist, in flight or waiting. Ids are not used twice.
    mutating func channelGone(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        // A phone may have some of it from an earlier attempt. That is said when it is given up, which is at once.
        guard !self.memory.updates[update].top.mayBeSent, self.memory.updates[update].under.isEmpty else {
            self.requeue(slot)
            return self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        var details = details
        details.fill(from: self.memory.updates[update])
        if self.memory.updates[update].isEnd { self.memory.reviveAfterFailedEnd(slot) }
        let top = self.memory.updates[update].top
        self.journal.finishLayer(top, of: slot, outcome: .rejected, details: details, in: &self.memory)
        self.coalescer.dropUpdate(update, of: slot, in: &self.memory)
        // Events that arrived meanwhile are due at once, and are given up there.
        self.journal.markDirty(slot, in: &self.memory, now: now)
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
    /// The identifier of a question. Its lower half is negative and names the slot; no update's number is negative.
    func questionID(of slot: SlotID) -> PushID {
        PushID(
            rawValue: UInt64(UInt32(bitPattern: ~slot.rawValue)) | UInt64(self.slots[slot].generation) << 32)
    }

    /// The slot that waits for the answer to this question; `nil`: it has gone, or waits no longer.
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
