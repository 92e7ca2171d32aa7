import APNSProtocol
import PushModel

/// What is different about channels: the question before the first broadcast, and an id that has gone for good.
extension ShardEngine {
    /// The slot asks what its channel keeps. The question is no push: it costs no distance and no stamp, holds no partition back that leaves,
    /// and what comes meanwhile merges into what waits.
    mutating func ask(_ slot: SlotID, request: inout PushRequest, now: EngineTime) {
        self.dispatch.questionLeft(slot, in: &self.memory)
        PushComposer.fillQuestion(
            &request, id: self.memory.questionID(of: slot), apnsID: self.dispatch.makeUUID(), slot: slot,
            in: self.memory)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    /// The answer to a question.
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

    /// An answer that comes after the question was given up is still of use, unless something else has told meanwhile.
    private mutating func rememberStorage(_ storage: StoragePolicy, of slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].storage == .unknown else { return }
        if self.memory.slots[slot].errand == .question { self.dispatch.forgetFailures(slot, in: &self.memory) }
        self.dispatch.setStorage(storage, of: slot, in: &self.memory, now: now)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }

    /// The question failed. Once it is given up, that does not hold broadcasts back.
    private mutating func askLater(_ slot: SlotID, retryAfterSeconds: Int64?, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question else { return }
        self.dispatch.backOff(slot, retryAfterSeconds: retryAfterSeconds, in: &self.memory, now: now)
    }

    private mutating func giveUp(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question else { return }
        // Failed questions do not hold the broadcast back.
        self.dispatch.forgetFailures(slot, in: &self.memory)
        self.dispatch.giveUpQuestion(slot, in: &self.memory, now: now)
    }

    private mutating func questionRefused(
        _ slot: SlotID, response: PushResponse, lane: LaneIndex, now: EngineTime
    ) {
        let consequence = response.verdict.consequence
        switch consequence.push {
        case .tokenDead, .refused:
            // That it does not exist is for the broadcast to find out: a service that manages channels may know less than the one that sends.
            self.dispatch.topicAnswered(.taken, lane: lane, in: &self.memory, now: now)
            return self.giveUp(slot, now: now)
        case .accepted, .goesAgain, .waitsForRoute, .waitsForToken:
            // That it was asked too often says no more of the topic than a busy server does.
            self.dispatch.topicAnswered(
                consequence.topic == .refused ? .refused : .nothing, lane: lane, in: &self.memory, now: now)
        }
        self.askLater(slot, retryAfterSeconds: response.retryAfterSeconds, now: now)
    }

    /// The broadcast has waited long enough for an answer.
    mutating func giveUpQuestion(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .question, self.memory.slots[slot].pending.isSome,
            self.dispatch.questionEndsMillis(slot, in: self.memory) <= now.steadyMillis
        else { return }
        self.giveUp(slot, now: now)
    }

    /// A channel that APNs called gone is asked for again after that, milliseconds: one that was just made may not be known everywhere yet, and
    /// nothing but a refusal comes of it.
    static var goneMillis: Int64 { 60_000 }

    /// An event came for a channel: which environment's it is, and whether it is tried again.
    mutating func takeChannel(_ slot: SlotID, now: EngineTime) {
        let environment = self.intake.channelEnvironment(
            of: self.memory.slots[slot].app, held: self.memory.slots[slot].environment, in: self.memory)
        if environment != self.memory.slots[slot].environment {
            self.dispatch.moveChannel(slot, to: environment, in: &self.memory, now: now)
            // What APNs says of a broadcast that left before is about another channel.
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

    /// A refusal that says nothing of the channel does not hold its next broadcast back for a whole distance.
    mutating func takeDistanceBack(_ update: UpdateID) {
        guard self.memory.slots[self.memory.updates[update].slot].kind == .channel else { return }
        self.dispatch.takeDistanceBack(update, in: &self.memory)
    }

    /// APNs took a broadcast: a grown distance shrinks. Where nobody has said what the channel keeps, one of the next asks again.
    @inline(__always) mutating func noteBroadcastAccepted(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .channel else { return }
        self.dispatch.easeThrottle(slot, in: &self.memory)
        if self.memory.slots[slot].storage == .unknown {
            self.dispatch.chooseErrand(slot, in: &self.memory, now: now)
        }
    }

    /// There is no such channel, and ids are not used twice: what was in flight and what came meanwhile ends here.
    mutating func channelGone(_ slot: SlotID, details: OutcomeDetails, now: EngineTime) {
        let update = self.memory.slots[slot].inFlight
        // A phone may have some of it from an earlier attempt: that is said where it is given up, which is at once.
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
        // Anything that came meanwhile is due at once, and is given up there.
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }
}

extension StoragePolicy {
    /// As APNs has said it.
    init(_ policy: MessageStoragePolicy) {
        switch policy {
        case .none: self = .none
        case .mostRecent: self = .mostRecent
        }
    }
}

extension ShardMemory {
    /// Names a question: the lower half, negative, names the slot, which no update's number is.
    func questionID(of slot: SlotID) -> PushID {
        PushID(
            rawValue: UInt64(UInt32(bitPattern: ~slot.rawValue)) | UInt64(self.slots[slot].generation) << 32)
    }

    /// The slot that waits for the answer to this; `nil`: it has gone, or does not wait any more.
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
