import PushModel

/// Passes to an audience's owner what arrives for it, and carries out what the owner decides.
extension AudiencePublisher {
    /// The rules for the owner of the slot's audience.
    func rules(of slot: SlotID, in core: borrowing ShardCore) -> OwnerRules {
        OwnerRules(
            app: core.memory.app(of: slot), minuteMillis: core.memory.configuration.settings.channelMinuteMillis)
    }

    // MARK: Carrying out

    /// Does what the slot's owner has decided, in the owner's order.
    mutating func carryOut(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        for index in self.effects.all.indices {
            self.carryOut(self.effects.all[index], of: slot, in: &core, now: now)
        }
        self.effects.removeAll()
    }
    private mutating func carryOut(_ effect: OwnerEffect, of slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        switch effect {
        case .send(let versions, let partitions): self.send(versions, of: slot, to: partitions, in: &core)
        case .answer(let versions, let partition):
            self.send(versions, of: slot, to: partition, in: &core) {
                $0.expectGuarded(.routed, slot: slot, stateWaits: false, in: &$1)
            }
        case .sendVoid(let life, let partitions): self.sendVoid(life: life, of: slot, to: partitions, in: &core)
        case .wish(let demand, let environment, let life, let stateWaits):
            self.wish(demand, environment: environment, life: life, of: slot, stateWaits: stateWaits, in: &core)
        case .broadcast(let environment, let route):
            self.enqueueBroadcast(slot, environment: environment, route: route, in: &core, now: now)
        case .fannedOut(let layer, let details):
            core.journal.finishLayer(layer, of: slot, outcome: .fannedOut, details: details, in: &core.memory)
            if layer.isEnd { core.memory.rememberEnd(slot, now: now) }
        case .record(let rollUp): core.journal.recordRollUp(rollUp, of: slot, in: &core.memory)
        case .deadLetter(let layer, let details):
            core.journal.deadLetter(layer, of: slot, details: details, in: &core.memory)
        case .scheduleRollUps: self.scheduleRollUps(slot, in: core)
        case .write: core.journal.markDirty(slot, in: &core.memory, now: now)
        case .writeFirst:
            core.journal.requireStateRecord(slot, in: &core.memory, now: now)
            core.journal.flushNow(now: now)
        case .reschedule: core.dispatch.reschedule(slot, in: &core.memory, now: now)
        case .broadcastTaken: core.memory.counters.channelBroadcastsAccepted += 1
        case .fellBack: core.memory.counters.channelFallbacks += 1
        }
    }
    private mutating func send(_ versions: [Version], of slot: SlotID, to partitions: [Int32], in core: inout ShardCore)
    {
        guard let newest = versions.last else { return }
        let waiter = Waiter.owner(
            core.memory.reference(to: slot), stampLow: UInt32(truncatingIfNeeded: newest.stampSeconds))
        let home = core.memory.slots[slot].partition
        for partition in partitions {
            self.send(versions, of: slot, to: partition, in: &core) { $0.open(waiter, partition: home, in: &$1) }
        }
    }
    /// Writes versions for a partition.
    /// - Parameter expect: opens the acknowledgement of the record.
    private mutating func send(
        _ versions: [Version], of slot: SlotID, to partition: Int32,
        in core: inout ShardCore, expecting expect: (inout Journal, inout ShardMemory) -> UInt64
    ) {
        let bundleID = Array(core.memory.app(of: slot).bundleID.utf8)
        // The slot is live, so the bytes of its id are valid.
        let idBytes = unsafe core.memory.slots.idBytes(slot)
        let acknowledgement = expect(&core.journal, &core.memory)
        core.journal.send(
            versions, bundleID: bundleID, id: unsafe Span(_unsafeElements: idBytes), to: partition,
            acknowledgement: acknowledgement)
    }
    private mutating func sendVoid(life: Int64, of slot: SlotID, to partitions: [Int32], in core: inout ShardCore) {
        let bundleID = Array(core.memory.app(of: slot).bundleID.utf8)
        let idBytes = unsafe core.memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        for partition in partitions {
            let acknowledgement = core.journal.expectGuarded(.routed, slot: slot, stateWaits: true, in: &core.memory)
            core.journal.sendVoid(
                life: life, isEnded: core.memory.slots[slot].life == .ended, bundleID: bundleID, id: id,
                to: partition, acknowledgement: acknowledgement)
        }
    }

    // MARK: Versions

    /// Makes the versions that are ready. Each version is sent to partitions only after `state` has it.
    mutating func publishVersions(in core: inout ShardCore, now: EngineTime) {
        guard core.journal.acknowledgements.openCount < core.memory.configuration.settings.unacknowledgedMax else {
            return
        }
        for lane in core.dispatch.versionLanes {
            while let slot = core.dispatch.popReady(lane: lane, in: &core.memory) {
                core.expire(slot, now: now)
                if core.dispatch.readiness(slot, in: &core.memory, now: now) == .ready {
                    self.publish(slot, in: &core, now: now)
                }
                core.dispatch.reschedule(slot, in: &core.memory, now: now)
            }
        }
    }
    /// Makes a version of what waits. Its stamp and its priority are chosen here, once.
    mutating func publish(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        let update = core.memory.slots[slot].pending
        let offer = core.memory.takeOffer(update, of: slot)
        let start = core.memory.owners[slot].publish(
            offer, by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        if start == .expired { core.memory.rememberFailedStart(slot, outcome: .expired, timestampSeconds: 0) }
        if offer.isHigh, core.memory.owners[slot].newestVersion?.isHigh == false {
            core.memory.counters.pushesDowngraded += 1
        }
        self.carryOut(slot, in: &core, now: now)
        // The update's older events get the outcome `superseded`, although their content is shown once the newest
        // event has expired.
        core.coalescer.endUnder(update, in: &core.memory)
        core.memory.rememberAccepted(update, of: slot, now: now)
        if start == .leaves { core.memory.markStarted(slot) }
        // The update's event still counts as pending, because it is in the owner's publication now.
        core.coalescer.dropUpdate(update, of: slot, in: &core.memory)
        core.coalescer.dropOlderThanAccepted(slot, in: &core.memory)
        core.settleEndings()
        core.dispatch.versionLeft(slot, in: &core.memory, now: now)
        core.memory.counters.versionsPublished += 1
        core.journal.requireStateRecord(slot, in: &core.memory, now: now)
        core.journal.flushNow(now: now)
    }
    /// Lets the slot's versions leave, because `state` now has the slot's record.
    mutating func sendVersions(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        guard core.memory.slots[slot].kind == .audience else { return }
        core.memory.owners[slot].stateWritten(now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        self.advanceChannels(slot, in: &core, now: now)
    }
    /// Counts Kafka's acknowledgement of a version for one partition.
    /// - Parameter stampLow: lower half of the version's stamp.
    mutating func versionAcknowledged(_ slot: SlotID, stampLow: UInt32, in core: inout ShardCore, now: EngineTime) {
        core.memory.owners[slot].versionAcknowledged(stampLow: stampLow, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
    }
    /// Sends again what partitions may have missed, because the audience has a new owner. Called when the owner's
    /// partition begins to push.
    mutating func sendAgain(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        guard core.memory.slots[slot].kind == .audience else { return }
        let since = core.memory.partitions[core.memory.slots[slot].partition].formerOwnerQuietSinceMillis
        core.memory.owners[slot].takenOver(
            sinceMillis: since, by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        self.advanceChannels(slot, in: &core, now: now)
    }

    // MARK: The bus

    /// Takes a partition's question.
    mutating func takeQuestion(
        _ question: BusRecord.Question, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime
    ) {
        guard let app = core.memory.app(named: question.bundleID),
            (try? EventRules.checkKey(key)) != nil,
            question.partition >= 0, question.partition < core.memory.configuration.partitionCount
        else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        let hash = core.memory.slots.hash(kind: .audience, id: key)
        let known = core.memory.slots.find(slotKey, hash: hash, partition: core.intake.partition)
        let slot = known ?? core.makeSlot(slotKey, hash: hash, now: now)
        core.memory.stay(slot)
        core.memory.touch(slot, joinedSeconds: question.lastJoinSeconds, isNew: known == nil, now: now)
        core.journal.openEntry(
            for: core.intake, slot: slot, budgets: core.dispatch.budgets, in: &core.memory, now: now)
        core.memory.owners[slot].questionCame(
            question, by: self.rules(of: slot, in: core), now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        core.memory.stayForStarts(slot, now: now)
        core.dispatch.reschedule(slot, in: &core.memory, now: now)
    }
    /// Takes a partition's report on how far its members have been served.
    mutating func takeReport(_ report: BusRecord.Report, key: Span<UInt8>, in core: inout ShardCore, now: EngineTime) {
        guard let app = core.memory.app(named: report.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = core.memory.slots.find(slotKey, partition: core.intake.partition),
            report.life == core.memory.owners[slot].life, report.partition >= 0,
            report.partition < core.memory.configuration.partitionCount
        else { return }
        core.memory.owners[slot].reportCame(report, now: now, into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
        // A broadcast may have been waiting until pushes by token were done.
        if report.starts == nil { self.advanceChannels(slot, in: &core, now: now) }
    }
    /// Sends a void to the partitions that have asked, because the owner forgets the audience. Afterwards the caller
    /// deletes the audience's record.
    mutating func sendVoid(_ slot: SlotID, in core: inout ShardCore, now: EngineTime) {
        if !core.memory.owners[slot].channels.all.isEmpty { self.channelDeadlines.remove(slot) }
        core.memory.owners[slot].forgotten(by: self.rules(of: slot, in: core), into: &self.effects)
        self.carryOut(slot, in: &core, now: now)
    }

    // MARK: Roll-ups

    private mutating func scheduleRollUps(_ slot: SlotID, in core: borrowing ShardCore) {
        let due = core.memory.owners[slot].rollUps.nextMillis
        if due == .max { self.rollUpDeadlines.remove(slot) } else { self.rollUpDeadlines.set(due, for: slot) }
    }
    /// Writes the `audience` records that are due.
    mutating func advanceRollUps(in core: inout ShardCore, now: EngineTime) {
        while let slot = self.rollUpDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard core.memory.slots[slot].isLive, core.memory.partitions[core.memory.slots[slot].partition].sends else {
                continue
            }
            core.memory.owners[slot].timePassed(now: now, into: &self.effects)
            self.carryOut(slot, in: &core, now: now)
        }
    }
}
