import ChannelKeeping
import PushModel

/// Rejects events that a publisher sends straight to a channel that is kept for an audience (fan-out contract: Mixed
/// audiences). Such events would arrive between the audience's versions, and their stamps would make phones ignore
/// newer versions.
///
/// The channel's slot and the keeper are in different partitions. Where audiences have channels, the slot asks the
/// keeper before its first broadcast. The answer "no" is remembered in `state`, and stays true. An id is new when Apple
/// gives it to the keeper, and the id is announced only after `state` has it. So "no" cannot have been the answer for
/// an id that is kept later. The answer "yes" is not written down; a new owner asks again with the next event.
extension ShardCore {
    // MARK: The channel's partition
    /// If the slot's question is due, asks the keeper. The question is due for the first time, or again because no
    /// answer has arrived.
    mutating func askKeeper(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .keeperQuestion, self.memory.slots[slot].pending.isSome,
            self.dispatch.keeperQuestionDueMillis(slot, in: self.memory) <= now.steadyMillis
        else { return }
        let (app, environment) = (self.memory.slots[slot].app, self.memory.slots[slot].environment)
        let partition = self.memory.slots[slot].partition
        let question = BusRecord.KeptQuestion(
            bundleID: self.intake.bundleID(app: app), environment: environment,
            partition: self.memory.partitions[partition].number)
        // If this owner dies before Kafka has the question, the event is still unresolved, and the next owner asks.
        let acknowledgement = self.journal.open(.logRecord(.routed, .none), partition: partition, in: &self.memory)
        // The slot is live, so the bytes of its id are valid.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        self.journal.askKeeper(
            question, channel: unsafe Span(_unsafeElements: idBytes),
            at: self.memory.keeperPartition(app: app, environment: environment), acknowledgement: acknowledgement)
        // A broadcast waits for the answer.
        self.journal.batch.isUrgent = true
        self.dispatch.keeperQuestionLeft(slot, in: &self.memory, now: now)
    }

    /// Rejects an event if too many channels already wait for their keeper's answer. This happens if a publisher makes
    /// up ids, or uses many new ids while no keeper answers.
    func checkRoom(channel key: Span<UInt8>, app: UInt16, partition: PartitionIndex) throws(EventRejection) {
        let waitingMax = self.memory.configuration.settings.channelsAskingMax
        guard self.dispatch.keeperQuestionsPending >= waitingMax,
            self.memory.configuration.apps[Int(app)].audienceChannel == .auto
        else { return }
        if let slot = self.memory.slots.find(SlotKey(kind: .channel, app: app, id: key), partition: partition),
            self.memory.slots[slot].errand != .keeperQuestion || self.memory.slots[slot].hasWork
        {
            return
        }
        throw EventRejection(
            field: "to.channel",
            reason:
                "cannot be taken: \(waitingMax) channels wait already for whether they are kept for an audience; publish it again later"
        )
    }

    /// Takes the keeper's answer. An answer that arrives twice, or after the channel was forgotten, changes nothing.
    mutating func takeKeptAnswer(_ answer: BusRecord.KeptAnswer, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.memory.app(named: answer.bundleID) else { return }
        let slotKey = SlotKey(kind: .channel, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition),
            self.memory.slots[slot].errand == .keeperQuestion,
            self.memory.slots[slot].environment == answer.environment
        else { return }
        if answer.isKept {
            self.memory.rememberKept(slot, for: answer.audience, now: now)
        } else {
            self.dispatch.markUnkept(slot, in: &self.memory, now: now)
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
}
