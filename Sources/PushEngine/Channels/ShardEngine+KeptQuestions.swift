import ChannelKeeping
import PushModel

/// Rejects events that a publisher sends straight to a channel that is kept for an audience (fan-out contract: Mixed
/// audiences). They would get between the audience's versions, and their stamps would make phones ignore what is newer.
///
/// The channel's slot and the keeper are in different partitions. Where audiences have channels, the slot asks before
/// its first broadcast, and `state` remembers a no. A no stays true: the keeper's ids are new when Apple gives them
/// out, and announced only after `state` has them. Nobody can have been told no about an id that is kept later. A yes
/// is not written down; a new owner asks again with the next event.
extension ShardEngine {
    // MARK: The channel's partition
    /// Asks the keeper: the slot's question is due for the first time, or again as no answer has arrived.
    mutating func askKeeper(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].errand == .keeperQuestion, self.memory.slots[slot].pending.isSome,
            self.dispatch.keeperQuestionDueMillis(slot, in: self.memory) <= now.steadyMillis
        else { return }
        let (app, environment) = (self.memory.slots[slot].app, self.memory.slots[slot].environment)
        let partition = self.memory.slots[slot].partition
        let question = BusRecord.KeptQuestion(
            bundleID: self.intake.bundleID(app: app), environment: environment,
            partition: self.memory.partitions[partition].number)
        // If the owner dies before Kafka has it, the event stays unresolved, and the next owner asks.
        let acknowledgement = self.journal.open(.logRecord(.routed, .none), partition: partition, in: &self.memory)
        // The slot is alive, and so are its bytes.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        self.journal.askKeeper(
            question, channel: unsafe Span(_unsafeElements: idBytes),
            at: self.keeperPartition(app: app, environment: environment), acknowledgement: acknowledgement)
        // A broadcast waits for the answer.
        self.journal.batch.isUrgent = true
        self.dispatch.keeperQuestionLeft(slot, in: &self.memory, now: now)
    }

    /// Rejects an event if too many channels already wait for their keeper. That meets publishers that make up ids, or
    /// use new ones while no keeper answers.
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
        guard let app = self.app(named: answer.bundleID) else { return }
        let slotKey = SlotKey(kind: .channel, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition),
            self.memory.slots[slot].errand == .keeperQuestion,
            self.memory.slots[slot].environment == answer.environment
        else { return }
        if answer.isKept {
            self.memory.noteKept(slot, for: answer.audience, now: now)
        } else {
            self.dispatch.noteUnkept(slot, in: &self.memory, now: now)
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }

    // MARK: The keeper's partition
    /// Answers a question by the keeper's records in `state`, including those that Kafka does not have yet. It also
    /// answers where no keeper runs. Then there is no such channel, or one from when the app's audiences had some.
    mutating func takeKeptQuestion(_ question: BusRecord.KeptQuestion, key: Span<UInt8>) {
        let bundleID = String(decoding: question.bundleID, as: UTF8.self)
        let keeperPartition = KeptChannelKey.keeperPartition(
            bundleID: bundleID, environment: question.environment,
            partitionCount: self.memory.configuration.partitionCount)
        // Elsewhere nothing is known, and the partition that asks will ask again.
        guard keeperPartition == self.intake.record.partition,
            question.partition < self.memory.configuration.partitionCount, (try? EventRules.checkKey(key)) != nil
        else { return }
        var id: [UInt8] = []
        id.append(copying: key)
        let channel = self.kept.channel(
            id: id, of: self.intake.partition, bundleID: bundleID, environment: question.environment)
        let answer = BusRecord.KeptAnswer(
            bundleID: question.bundleID, environment: question.environment, isKept: channel != nil,
            audience: channel?.owner?.audience ?? [])
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: true)
        self.journal.ledger.expectAcknowledgement(entry)
        self.journal.answerKept(
            answer, channel: key, to: question.partition,
            acknowledgement: self.journal.open(
                .logRecord(.routed, entry), partition: self.intake.partition, in: &self.memory))
        self.journal.batch.isUrgent = true
    }
}
