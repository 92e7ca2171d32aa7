public import PushModel

/// The owner of an audience: a slot that makes versions of events, and tells them to the partitions that asked (fan-out contract: Owner and versions).
extension ShardEngine {
    /// An audience's slot waits to make a version.
    public var hasVersionsReady: Bool { self.dispatch.readyVersionCount > 0 }
    /// Makes the versions that are ready. Each lies in `state` before anybody is told.
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
    /// What waits becomes a version: it gets its stamp and its priority here, once.
    mutating func publish(_ slot: SlotID, now: EngineTime) {
        let update = self.memory.slots[slot].pending
        var book = self.memory.book(of: slot)
        book.beginLife(now: now)
        let start = self.takeWaitingStart(of: slot, isEnd: self.memory.updates[update].isEnd, book: &book, now: now)
        var publication = AudienceBook.Publication()
        publication.mergedCount = self.memory.updates[update].mergedCount
        let withdrawsAlert = self.memory.updates[update].withdrawsAlert
        for layer in self.memory.updates[update].under {
            var fallback = Version()
            fallback.life = book.life
            fallback.stampSeconds = self.memory.nextVersionStamp(slot, floorSeconds: layer.stampFloorSeconds)
            fallback.layer = layer
            publication.fallbacks.append(fallback)
        }
        // Whoever joins when the newest has expired gets what outlives it.
        let older = book.publications.last.map { $0.fallbacks + [$0.version] } ?? []
        publication.fallbacks = Version.outliving(
            self.memory.updates[update].top.expiresSeconds,
            of: older.filter { $0.life == book.life } + publication.fallbacks)
        // Those beneath have given way: they are shown only where the newest expires first.
        self.coalescer.endUnder(update, in: &self.memory)
        publication.version.life = book.life
        publication.version.stampSeconds = self.memory.nextVersionStamp(
            slot, floorSeconds: self.memory.updates[update].top.stampFloorSeconds)
        publication.version.layer = self.memory.updates[update].top
        publication.version.withdrawsAlert = withdrawsAlert
        if let start { publication.version.begin(start) }
        if let former = book.publications.last?.version {
            publication.version.bringAlong(contentOf: former)
            publication.version.carry(startOf: former, nowSeconds: now.wallSeconds)
        }
        self.takeUnits(for: &publication.version, update: update, slot: slot, book: &book, now: now)
        self.declareChannels(on: &publication.version, of: slot, book: &book, now: now)
        book.publications.append(publication)
        book.dropDone()
        self.memory.setBook(book, of: slot)
        self.memory.noteAccepted(update, of: slot, now: now)
        if start != nil { self.memory.noteStarted(slot) }
        // Its event is still pending: the book has it.
        self.coalescer.dropUpdate(update, of: slot, in: &self.memory)
        self.coalescer.dropOlderThanAccepted(slot, in: &self.memory)
        self.settleEndings()
        self.dispatch.versionLeft(slot, in: &self.memory, now: now)
        self.memory.counters.versionsPublished += 1
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
    }
    /// Priority 10 for each of the two kinds of members whose ledger has a unit (fan-out contract: Audience budget).
    private mutating func takeUnits(
        for version: inout Version, update: UpdateID, slot: SlotID, book: inout AudienceBook, now: EngineTime
    ) {
        guard self.memory.updates[update].priority == .high else { return }
        let app = self.memory.app(of: slot)
        let reserve = version.hasAlert || version.isEnd ? 0 : app.budgetReserve
        version.isHigh = book.ledger.hasUnit(of: app.budgetAudiencePerHour - reserve, nowMillis: now.steadyMillis)
        version.isFrequentHigh = book.frequentLedger.hasUnit(
            of: app.budgetAudienceFrequentPerHour - reserve, nowMillis: now.steadyMillis)
        if version.isHigh { book.ledger.take(stampSeconds: version.stampSeconds) }
        if version.isFrequentHigh { book.frequentLedger.take(stampSeconds: version.stampSeconds) }
        if !version.isHigh { self.memory.counters.pushesDowngraded += 1 }
    }

    // MARK: Telling
    /// A state record of the slot lies there: versions that it holds may leave.
    mutating func tellVersions(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience else { return }
        var book = self.memory.book(of: slot)
        for index in book.publications.indices where !book.publications[index].isDurable {
            book.publications[index].isDurable = true
            self.beginRollUp(of: book.publications[index], slot: slot, asked: book.asked, now: now)
            self.tell(&book, publication: index, slot: slot)
            if index == book.publications.count - 1 { book.channels.isTurnUntold = false }
        }
        self.tellTurn(&book, slot: slot)
        self.memory.setBook(book, of: slot)
        self.finishPublications(slot, now: now)
        self.advanceChannels(slot, now: now)
    }
    /// Which of its channels serve has changed since the newest version was told.
    private mutating func tellTurn(_ book: inout AudienceBook, slot: SlotID) {
        guard book.channels.isTurnUntold else { return }
        book.channels.isTurnUntold = false
        guard let index = book.publications.lastIndex(where: { $0.isDurable }) else { return }
        self.tell(&book, publication: index, slot: slot)
    }
    /// Every partition that has asked is told, in the order of stamps.
    private mutating func tell(_ book: inout AudienceBook, publication index: Int, slot: SlotID) {
        let publication = book.publications[index]
        let bundleID = Array(self.memory.app(of: slot).bundleID.utf8)
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        for partition in book.asked {
            let acknowledgement = self.journal.open(
                .owner(
                    self.memory.reference(to: slot),
                    stampLow: UInt32(truncatingIfNeeded: publication.version.stampSeconds)),
                partition: self.memory.slots[slot].partition, in: &self.memory)
            self.journal.tell(
                publication.fallbacks + [publication.version], bundleID: bundleID, id: id, to: partition,
                acknowledgement: acknowledgement)
            book.publications[index].outstanding += 1
        }
    }
    /// Kafka has a version for one partition.
    /// - Parameter stampLow: of the version's stamp the lower half.
    mutating func versionAcknowledged(_ slot: SlotID, stampLow: UInt32, now: EngineTime) {
        var book = self.memory.book(of: slot)
        guard
            let index = book.publications.firstIndex(where: {
                UInt32(truncatingIfNeeded: $0.version.stampSeconds) == stampLow
            }),
            book.publications[index].outstanding > 0
        else { return }
        book.publications[index].outstanding -= 1
        self.memory.setBook(book, of: slot)
        if book.publications[index].outstanding == 0 { self.finishPublications(slot, now: now) }
    }
    /// Events whose version all partitions have got their outcome.
    private mutating func finishPublications(_ slot: SlotID, now: EngineTime) {
        var book = self.memory.book(of: slot)
        if book.leaveAlertsToTokens() {
            self.memory.setBook(book, of: slot)
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        var isChanged = false
        for index in book.publications.indices
        where book.publications[index].isOpen && book.publications[index].isDurable
            && book.publications[index].outstanding == 0
        {
            book.publications[index].isOpen = false
            isChanged = true
            var details = OutcomeDetails()
            details.versionStampSeconds = book.publications[index].version.stampSeconds
            details.mergedCount = book.publications[index].mergedCount
            let layer = book.publications[index].version.layer
            self.memory.setBook(book, of: slot)
            self.journal.finishLayer(layer, of: slot, outcome: .fannedOut, details: details, in: &self.memory)
            if layer.isEnd { self.memory.noteEndTold(slot, now: now) }
        }
        guard isChanged else { return }
        book.dropDone()
        self.memory.setBook(book, of: slot)
        self.journal.markDirty(slot, in: &self.memory, now: now)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
    /// What the owner before had not finished telling is told again, the very same.
    mutating func tellAgain(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience else { return }
        self.resumeChannels(slot)
        var book = self.memory.book(of: slot)
        for index in book.publications.indices
        where book.publications[index].isOpen || self.isRecent(book.publications[index], now: now) {
            self.beginRollUp(of: book.publications[index], slot: slot, asked: book.asked, now: now)
            self.tell(&book, publication: index, slot: slot)
            if index == book.publications.count - 1 { book.channels.isTurnUntold = false }
        }
        self.tellTurn(&book, slot: slot)
        self.memory.setBook(book, of: slot)
        self.finishPublications(slot, now: now)
        self.advanceChannels(slot, now: now)
    }

    // MARK: The bus
    /// A partition asks.
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
        var book = self.memory.book(of: slot)
        let isFirst = book.asked.isEmpty
        let isKnown = book.asked.contains(question.partition)
        book.ask(question.partition)
        if book.publications.isEmpty {
            // What an `open` has named is the life of all that comes.
            let named = book.channels.life == 0 ? now.wallSeconds : book.channels.life
            book.life = max(book.life, question.life + 1, named)
        } else if question.life > book.life {
            // The clock has been set back since the life before, or is another's: what comes next is of a life that is newer for everybody.
            let former = book.life
            book.life = question.life + 1
            if isFirst { self.revive(&book, slot: slot, from: former) }
        }
        book.startsUntilSeconds = max(book.startsUntilSeconds, question.startsUntilSeconds)
        self.memory.setBook(book, of: slot)
        self.noteEnvironments(question.environments, of: slot, now: now)
        self.memory.stayForStarts(slot, now: now)
        self.journal.markDirty(slot, in: &self.memory, now: now)
        if let newest = book.newest {
            let bundleID = Array(self.memory.app(of: slot).bundleID.utf8)
            // The newest, and what outlives it. What it brings is late for whoever asks now, unless it is still on its way there: this may come first.
            let versions = newest.fallbacks + [newest.version]
            self.journal.tell(
                versions.map {
                    var version = $0.answer(keepsAlert: newest.isOpen)
                    // A broadcast that has left may have been missed by whoever has joined since.
                    if !(newest.isOpen && isKnown) { version.leaveNothingToChannels() }
                    // Whoever asks knows a newer life, which is over, and would take this for an older one. Others go on with what they were told.
                    if question.life > version.life { version.enterLife(book.life) }
                    return version
                }, bundleID: bundleID, id: key, to: question.partition,
                acknowledgement: self.journal.expectGuarded(.routed, slot: slot, stateWaits: false, in: &self.memory))
        }
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
    /// Nobody has been told yet of the versions that are there: they are of the book's life as well.
    private mutating func revive(_ book: inout AudienceBook, slot: SlotID, from former: Int64) {
        for index in book.publications.indices { book.publications[index].enterLife(book.life) }
        for index in (self.audiences.rollUps[slot] ?? []).indices
        where self.audiences.rollUps[slot]?[index].version.life == former {
            self.audiences.rollUps[slot]?[index].version.enterLife(book.life)
        }
    }
    /// A partition tells how far it is.
    mutating func takeReport(_ report: BusRecord.Report, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: report.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition) else { return }
        var book = self.memory.book(of: slot)
        guard report.life == book.life, report.partition >= 0,
            report.partition < self.memory.configuration.partitionCount
        else { return }
        // It serves members of this life, whether or not its question is known here.
        let isKnown = book.asked.contains(report.partition)
        book.ask(report.partition)
        if !isKnown { self.journal.markDirty(slot, in: &self.memory, now: now) }
        book.note(
            report: report.partition, doneStampSeconds: report.doneStampSeconds, nowMillis: now.steadyMillis)
        self.memory.setBook(book, of: slot)
        if let starts = report.starts {
            self.rollUp(starts, from: report.partition, slot: slot, now: now)
        } else {
            self.rollUp(report, slot: slot, now: now)
            // A broadcast may wait for the tokens.
            self.advanceChannels(slot, now: now)
        }
    }
    /// The audience is over for its owner: whoever asked is told, and then its record goes.
    mutating func tellVoid(_ slot: SlotID) {
        self.giveUpChannels(slot)
        let book = self.memory.book(of: slot)
        let bundleID = Array(self.memory.app(of: slot).bundleID.utf8)
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        let id = unsafe Span(_unsafeElements: idBytes)
        for partition in book.asked {
            let acknowledgement = self.journal.expectGuarded(
                .routed, slot: slot, stateWaits: true, in: &self.memory)
            self.journal.tellVoid(
                life: book.life, isEnded: self.memory.slots[slot].life == .ended, bundleID: bundleID, id: id,
                to: partition, acknowledgement: acknowledgement)
        }
    }
}

extension Version {
    /// An `end` without content: members that have not got the version before are to show that when they end.
    mutating func bringAlong(contentOf former: Version) {
        guard self.layer.isEnd, self.layer.content.contentState.isEmpty, former.life == self.life else { return }
        var content = former.layer
        content.alert = ByteRange()
        let own = self.layer
        self.layer.inherit(from: content)
        let isTooLarge =
            self.layer.payloadByteCount(start: nil) > PayloadWriter.payloadByteCountMax
        if isTooLarge { self.layer = own }
    }
    /// As a partition gets it that has just asked: its members joined after it, so its alert and its priority are not for them.
    /// - Parameter keepsAlert: the version itself may come to that partition only after this.
    func answer(keepsAlert: Bool) -> Version {
        var version = self
        version.isHigh = false
        version.isFrequentHigh = false
        if !keepsAlert { version.layer.alert = ByteRange() }
        return version
    }
}

extension Version {
    /// Everybody gets it by token.
    mutating func leaveNothingToChannels() {
        for index in self.channels.indices { self.channels[index].serves = false }
    }
}

extension ShardMemory {
    func book(of slot: SlotID) -> AudienceBook { self.books[slot] ?? AudienceBook() }
    mutating func setBook(_ book: AudienceBook, of slot: SlotID) { self.books[slot] = book }
}
