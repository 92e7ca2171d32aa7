import APNSProtocol
import ChannelKeeping
import PushModel

/// The channels of an audience at its owner (fan-out contract: A channel kept for an audience). News about them is
/// handed to the owner.
extension ShardEngine {
    func isPaused(_ slot: SlotID) -> Bool {
        // The slot is alive, and so are its bytes.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        var id: [UInt8] = []
        id.append(copying: unsafe Span(_unsafeElements: idBytes))
        return self.audiences.pauses.isPaused(
            partition: self.memory.slots[slot].partition, app: self.memory.slots[slot].app, audience: id)
    }

    /// Takes an `open` event.
    mutating func openChannels(_ slot: SlotID, now: EngineTime) {
        self.memory.owners[slot].openCame(by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
    }
    /// Writes to the keeper what is wanted for a life of the audience.
    mutating func wish(
        _ demand: BusRecord.ChannelWish.Demand, environment: PushEnvironment, life: Int64, of slot: SlotID,
        stateWaits: Bool
    ) {
        let app = self.memory.slots[slot].app
        let acknowledgement =
            stateWaits
            ? self.journal.expectGuarded(.routed, slot: slot, stateWaits: true, in: &self.memory)
            : self.journal.open(
                .logRecord(.routed, .none), partition: self.memory.slots[slot].partition, in: &self.memory)
        let wish = BusRecord.ChannelWish(
            bundleID: Array(self.memory.app(of: slot).bundleID.utf8), environment: environment, life: life,
            demand: demand)
        // The slot is alive, and so are its bytes.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        self.journal.tellWish(
            wish, audience: unsafe Span(_unsafeElements: idBytes),
            to: self.keeperPartition(app: app, environment: environment), acknowledgement: acknowledgement)
    }
    /// Takes the keeper's news of a channel. Its record's offset is done with once the book says so.
    mutating func takeNews(_ news: BusRecord.ChannelNews, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: news.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition),
            let isChanged = self.memory.owners[slot].newsCame(news, by: self.rules(of: slot), now: now)
        else { return self.giveBack(news, key: key, app: app) }
        guard isChanged else { return }
        self.journal.openEntry(
            for: self.intake, slot: slot, budgets: self.dispatch.budgets, in: &self.memory, now: now)
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
    /// Gives a channel back that was opened for a life that is over and forgotten. A former owner's wish reached the
    /// keeper after the end of the life.
    private mutating func giveBack(_ news: BusRecord.ChannelNews, key: Span<UInt8>, app: UInt16) {
        guard case .opened = news.news, (try? EventRules.checkKey(key)) != nil else { return }
        let entry = self.journal.ledger.open(log: self.intake.log, offset: self.intake.record.offset, settled: true)
        self.journal.ledger.expectAcknowledgement(entry)
        let wish = BusRecord.ChannelWish(
            bundleID: news.bundleID, environment: news.environment, life: news.life, demand: .voided)
        self.journal.tellWish(
            wish, audience: key, to: self.keeperPartition(app: app, environment: news.environment),
            acknowledgement: self.journal.open(
                .logRecord(.routed, entry), partition: self.intake.partition, in: &self.memory))
    }

    // MARK: Time

    /// Has the owner look at its channels, and sets when it does so again.
    mutating func advanceChannels(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience, !self.memory.owners[slot].channels.all.isEmpty else { return }
        let partition = self.memory.slots[slot].partition
        guard self.memory.partitions[partition].sends, self.memory.partitions[partition].mayPush,
            !self.memory.slots[slot].awaitsStateRecord
        else { return self.channelDeadlines.remove(slot) }
        let isPaused = self.memory.owners[slot].channels.areTried && self.isPaused(slot)
        let next = self.memory.owners[slot].lookAtChannels(
            isPaused: isPaused, by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        if next == .max { self.channelDeadlines.remove(slot) } else { self.channelDeadlines.set(next, for: slot) }
    }
    mutating func advanceAudienceChannels(now: EngineTime) {
        while let slot = self.channelDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard self.memory.slots[slot].isLive else { continue }
            self.advanceChannels(slot, now: now)
        }
    }
}
