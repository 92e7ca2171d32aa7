public import PushModel

/// Owners of audiences in their slots. The engine hands each owner what arrives for it, and carries out what the owner
/// decides.
extension ShardEngine {
    /// Rules by which the slot's audience is owned.
    func rules(of slot: SlotID) -> OwnerRules {
        OwnerRules(
            app: self.memory.app(of: slot), minuteMillis: self.memory.configuration.settings.channelMinuteMillis)
    }

    // MARK: Carrying out

    /// Does what the slot's owner has decided, in its order.
    mutating func carryOut(_ slot: SlotID, now: EngineTime) {
        for index in self.ownerEffects.all.indices {
            self.carryOut(self.ownerEffects.all[index], of: slot, now: now)
        }
        self.ownerEffects.removeAll()
    }
    private mutating func carryOut(_ effect: OwnerEffect, of slot: SlotID, now: EngineTime) {
        switch effect {
        case .tell(let versions, let partitions): self.tell(versions, of: slot, to: partitions)
        case .answer(let versions, let partition):
            self.tell(versions, of: slot, to: partition) {
                $0.expectGuarded(.routed, slot: slot, stateWaits: false, in: &$1)
            }
        case .tellVoid(let life, let partitions): self.tellVoid(life: life, of: slot, to: partitions)
        case .wish(let demand, let environment, let life, let stateWaits):
            self.wish(demand, environment: environment, life: life, of: slot, stateWaits: stateWaits)
        case .broadcast(let environment, let route):
            self.enqueueBroadcast(slot, environment: environment, route: route, now: now)
        case .fannedOut(let layer, let details):
            self.journal.finishLayer(layer, of: slot, outcome: .fannedOut, details: details, in: &self.memory)
            if layer.isEnd { self.memory.noteEndTold(slot, now: now) }
        case .record(let rollUp): self.journal.recordRollUp(rollUp, of: slot, in: &self.memory)
        case .deadLetter(let layer, let details):
            self.journal.deadLetter(layer, of: slot, details: details, in: &self.memory)
        case .scheduleRollUps: self.scheduleRollUps(slot)
        case .write: self.journal.markDirty(slot, in: &self.memory, now: now)
        case .writeFirst:
            self.journal.requireStateRecord(slot, in: &self.memory, now: now)
            self.journal.flushNow(now: now)
        case .reschedule: self.dispatch.reschedule(slot, in: &self.memory, now: now)
        case .broadcastTaken: self.memory.counters.channelBroadcastsAccepted += 1
        case .fellBack: self.memory.counters.channelFallbacks += 1
        }
    }
    private mutating func tell(_ versions: [Version], of slot: SlotID, to partitions: [Int32]) {
        guard let newest = versions.last else { return }
        let waiter = Waiter.owner(
            self.memory.reference(to: slot), stampLow: UInt32(truncatingIfNeeded: newest.stampSeconds))
        let home = self.memory.slots[slot].partition
        for partition in partitions {
            self.tell(versions, of: slot, to: partition) { $0.open(waiter, partition: home, in: &$1) }
        }
    }
    /// - Parameter expect: what waits for Kafka to have the record.
    private mutating func tell(
        _ versions: [Version], of slot: SlotID, to partition: Int32,
        expecting expect: (inout Journal, inout ShardMemory) -> UInt64
    ) {
        let bundleID = Array(self.memory.app(of: slot).bundleID.utf8)
        // The slot is alive, and so are its bytes.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        let acknowledgement = expect(&self.journal, &self.memory)
        self.journal.tell(
            versions, bundleID: bundleID, id: unsafe Span(_unsafeElements: idBytes), to: partition,
            acknowledgement: acknowledgement)
    }
    private mutating func tellVoid(life: Int64, of slot: SlotID, to partitions: [Int32]) {
        let bundleID = Array(self.memory.app(of: slot).bundleID.utf8)
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        for partition in partitions {
            let acknowledgement = self.journal.expectGuarded(.routed, slot: slot, stateWaits: true, in: &self.memory)
            self.journal.tellVoid(
                life: life, isEnded: self.memory.slots[slot].life == .ended, bundleID: bundleID, id: id,
                to: partition, acknowledgement: acknowledgement)
        }
    }

    // MARK: Versions

    /// Whether an audience's slot waits to make a version.
    public var hasVersionsReady: Bool { self.dispatch.readyVersionCount > 0 }
    /// Makes the versions that are ready. Each is in `state` before any partition is sent it.
    public mutating func publishVersions(now: EngineTime) {
        guard self.journal.acknowledgements.openCount < self.memory.configuration.settings.unacknowledgedMax else {
            return
        }
        for lane in self.dispatch.versionLanes {
            while let slot = self.dispatch.popReady(lane: lane, in: &self.memory) {
                self.expire(slot, now: now)
                if self.dispatch.readiness(slot, in: &self.memory, now: now) == .ready { self.publish(slot, now: now) }
                self.dispatch.reschedule(slot, in: &self.memory, now: now)
            }
        }
    }
    /// Makes a version of what waits. Its stamp and its priority are chosen here, once.
    mutating func publish(_ slot: SlotID, now: EngineTime) {
        let update = self.memory.slots[slot].pending
        let offer = self.memory.takeOffer(update, of: slot)
        let start = self.memory.owners[slot].publish(
            offer, by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        if start == .expired { self.memory.noteFailedStart(slot, outcome: .expired, timestampSeconds: 0) }
        if offer.isHigh, self.memory.owners[slot].newestVersion?.isHigh == false {
            self.memory.counters.pushesDowngraded += 1
        }
        self.carryOut(slot, now: now)
        // Updates beneath it have given way: they are shown only if the newest expires first.
        self.coalescer.endUnder(update, in: &self.memory)
        self.memory.noteAccepted(update, of: slot, now: now)
        if start == .leaves { self.memory.noteStarted(slot) }
        // Its event is still pending: the owner has it.
        self.coalescer.dropUpdate(update, of: slot, in: &self.memory)
        self.coalescer.dropOlderThanAccepted(slot, in: &self.memory)
        self.settleEndings()
        self.dispatch.versionLeft(slot, in: &self.memory, now: now)
        self.memory.counters.versionsPublished += 1
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
    }
    /// Lets versions leave that the slot holds: `state` has the slot's record now.
    mutating func tellVersions(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience else { return }
        self.memory.owners[slot].stateWritten(now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        self.advanceChannels(slot, now: now)
    }
    /// Notes that Kafka has a version for one partition.
    /// - Parameter stampLow: lower half of the version's stamp.
    mutating func versionAcknowledged(_ slot: SlotID, stampLow: UInt32, now: EngineTime) {
        self.memory.owners[slot].versionTold(stampLow: stampLow, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
    }
    /// Publishes again what partitions may have missed: the audience has a new owner, as pushes of the slot's partition
    /// begin to leave.
    mutating func tellAgain(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience else { return }
        let since = self.memory.partitions[self.memory.slots[slot].partition].formerOwnerQuietSinceMillis
        self.memory.owners[slot].takenOver(
            sinceMillis: since, by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        self.advanceChannels(slot, now: now)
    }

    // MARK: The bus

    /// Takes a partition's question.
    mutating func takeQuestion(_ question: BusRecord.Question, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: question.bundleID),
            (try? EventRules.checkKey(key)) != nil,
            question.partition >= 0, question.partition < self.memory.configuration.partitionCount
        else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        let hash = self.memory.slots.hash(kind: .audience, id: key)
        let known = self.memory.slots.find(slotKey, hash: hash, partition: self.intake.partition)
        let slot = known ?? self.makeSlot(slotKey, hash: hash, now: now)
        self.memory.stay(slot)
        self.memory.touch(slot, joinedSeconds: question.lastJoinSeconds, isNew: known == nil, now: now)
        self.journal.openEntry(
            for: self.intake, slot: slot, budgets: self.dispatch.budgets, in: &self.memory, now: now)
        self.memory.owners[slot].questionCame(
            question, by: self.rules(of: slot), now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        self.memory.stayForStarts(slot, now: now)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
    /// Takes a partition's report on how far it is.
    mutating func takeReport(_ report: BusRecord.Report, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: report.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition),
            report.life == self.memory.owners[slot].life, report.partition >= 0,
            report.partition < self.memory.configuration.partitionCount
        else { return }
        self.memory.owners[slot].reportCame(report, now: now, into: &self.ownerEffects)
        self.carryOut(slot, now: now)
        // A broadcast may have to wait until pushes by token are done.
        if report.starts == nil { self.advanceChannels(slot, now: now) }
    }
    /// Tells partitions that asked that the audience is over for its owner, then deletes its record.
    mutating func tellVoid(_ slot: SlotID, now: EngineTime) {
        if !self.memory.owners[slot].channels.all.isEmpty { self.channelDeadlines.remove(slot) }
        self.memory.owners[slot].forgotten(by: self.rules(of: slot), into: &self.ownerEffects)
        self.carryOut(slot, now: now)
    }

    // MARK: Roll-ups

    private mutating func scheduleRollUps(_ slot: SlotID) {
        let due = self.memory.owners[slot].rollUps.nextMillis
        if due == .max { self.rollUpDeadlines.remove(slot) } else { self.rollUpDeadlines.set(due, for: slot) }
    }
    /// Writes the `audience` records that are due.
    mutating func advanceRollUps(now: EngineTime) {
        while let slot = self.rollUpDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard self.memory.slots[slot].isLive, self.memory.partitions[self.memory.slots[slot].partition].sends else {
                continue
            }
            self.memory.owners[slot].timePassed(now: now, into: &self.ownerEffects)
            self.carryOut(slot, now: now)
        }
    }
}
