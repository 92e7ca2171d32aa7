import APNSProtocol
import ChannelKeeping
import PushModel

/// Passes to an audience's owner what arrives about the audience's channels (fan-out contract: A channel kept for an
/// audience). Writes the owner's wishes to the keeper.
extension AudiencePublisher {
    func isPaused(_ slot: SlotID, in core: borrowing ShardCore) -> Bool {
        // The slot is live, so the bytes of its id are valid.
        let idBytes = unsafe core.memory.slots.idBytes(slot)
        var id: [UInt8] = []
        id.append(copying: unsafe Span(_unsafeElements: idBytes))
        return core.pauses.isPaused(
            partition: core.memory.slots[slot].partition, app: core.memory.slots[slot].app, audience: id)
    }

    /// Takes an `open` event.
    mutating func openChannels(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        core.memory.owners[slot].openCame(by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
    }
    /// Writes a wish to the keeper: a life of the audience wants a channel, has ended, or is forgotten.
    mutating func wish(
        _ demand: BusRecord.ChannelWish.Demand, environment: PushEnvironment, life: Int64, of slot: SlotID,
        stateWaits: Bool, in core: inout ShardCore
    ) {
        let app = core.memory.slots[slot].app
        let acknowledgement =
            stateWaits
            ? core.journal.expectGuarded(.routed, slot: slot, stateWaits: true, in: &core.memory)
            : core.journal.open(
                .logRecord(.routed, .none), partition: core.memory.slots[slot].partition, in: &core.memory)
        let wish = BusRecord.ChannelWish(
            bundleID: Array(core.memory.app(of: slot).bundleID.utf8), environment: environment, life: life,
            demand: demand)
        // The slot is live, so the bytes of its id are valid.
        let idBytes = unsafe core.memory.slots.idBytes(slot)
        core.journal.sendWish(
            wish, audience: unsafe Span(_unsafeElements: idBytes),
            to: core.memory.keeperPartition(app: app, environment: environment), acknowledgement: acknowledgement)
    }
    /// Takes the keeper's report on a channel. The offset of the report is resolved once `state` has what the report
    /// changes.
    mutating func takeNews(_ news: BusRecord.ChannelNews, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime) {
        guard let app = core.memory.app(named: news.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = core.memory.slots.find(slotKey, partition: core.intake.partition),
            let isChanged = core.memory.owners[slot].newsCame(news, by: self.rules(of: slot, in: core), now: now)
        else { return self.giveBack(news, key: key, app: app, in: &core) }
        guard isChanged else { return }
        core.journal.openEntry(
            for: core.intake, slot: slot, budgets: core.dispatch.budgets, in: &core.memory, now: now)
        core.journal.requireStateRecord(slot, in: &core.memory, now: now)
        core.journal.flushNow(now: now)
        core.dispatch.reschedule(slot, in: &core.memory, now: now)
    }
    /// Gives back a channel that was opened for a life that is over and forgotten. This happens if a former owner's
    /// wish reached the keeper only after the life's end.
    private mutating func giveBack(
        _ news: BusRecord.ChannelNews, key: Span<UInt8>, app: UInt16, in core: inout ShardCore
    ) {
        guard case .opened = news.news, (try? EventRules.checkKey(key)) != nil else { return }
        let entry = core.journal.ledger.open(log: core.intake.log, offset: core.intake.record.offset, settled: true)
        core.journal.ledger.expectAcknowledgement(entry)
        let wish = BusRecord.ChannelWish(
            bundleID: news.bundleID, environment: news.environment, life: news.life, demand: .voided)
        core.journal.sendWish(
            wish, audience: key, to: core.memory.keeperPartition(app: app, environment: news.environment),
            acknowledgement: core.journal.open(
                .logRecord(.routed, entry), partition: core.intake.partition, in: &core.memory))
    }

    // MARK: Time

    /// Lets the owner look at its channels, and sets when it does so again.
    mutating func advanceChannels(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        guard core.memory.slots[slot].kind == .audience, !core.memory.owners[slot].channels.all.isEmpty else { return }
        let partition = core.memory.slots[slot].partition
        guard core.memory.partitions[partition].sends, core.memory.partitions[partition].mayPush,
            !core.memory.slots[slot].awaitsStateRecord
        else { return self.channelDeadlines.remove(slot) }
        let isPaused = core.memory.owners[slot].channels.areTried && self.isPaused(slot, in: core)
        let next = core.memory.owners[slot].lookAtChannels(
            isPaused: isPaused, by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        if next == .max { self.channelDeadlines.remove(slot) } else { self.channelDeadlines.set(next, for: slot) }
    }
    mutating func advanceAudienceChannels(in core: inout ShardCore, now: EngineTime) {
        while let slot = self.channelDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard core.memory.slots[slot].isLive else { continue }
            self.advanceChannels(slot, in: &core, now: now)
        }
    }
}
