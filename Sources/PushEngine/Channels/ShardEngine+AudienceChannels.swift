import APNSProtocol
import ChannelKeeping
import PushModel

/// The channels of an audience at its owner (fan-out contract: A channel kept for an audience): wished for, told of, and given up with its life.
extension ShardEngine {
    /// How often a keeper that does not answer is asked, minutes; and when one that has refused is.
    private static var wishEveryMinutes: Int64 { 1 }
    private static var wishAfterRefusalMinutes: Int64 { 5 }
    /// Former releases do not try a channel for so long after APNs has not taken a version, minutes.
    private static var byTokenMinutes: Int64 { 5 }
    /// How often the keeper is asked about a channel that APNs calls gone, minutes.
    private static var doubtEveryMinutes: Int64 { 5 }
    private func millis(ofMinutes minutes: Int64) -> Int64 {
        minutes * self.memory.configuration.settings.channelMinuteMillis
    }
    /// An operator has stopped what the audience sends: that is looked at again so often, milliseconds.
    private static var pausedMillis: Int64 { 1_000 }
    func isPaused(_ slot: SlotID) -> Bool {
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        var id: [UInt8] = []
        id.append(copying: unsafe Span(_unsafeElements: idBytes))
        return self.audiences.pauses.isPaused(
            partition: self.memory.slots[slot].partition, app: self.memory.slots[slot].app, audience: id)
    }

    // MARK: Wanting them
    /// The audience has had its first event, or `open`: where it may have channels and has none, they are wanted.
    mutating func wantChannels(of slot: SlotID, book: inout AudienceBook, now: EngineTime) {
        let app = self.memory.app(of: slot)
        guard app.audienceChannel == .auto else { return }
        for environment in PushEnvironment.allCases {
            let isMeant =
                environment == .production || book.channels.environments & AudienceChannels.bit(environment) != 0
            guard isMeant, book.channels.index(environment) == nil, app.route(environment, .createChannel) != nil,
                app.route(environment, .broadcast) != nil
            else { continue }
            if book.channels.life == 0 {
                book.beginLife(now: now)
                book.channels.life = book.life
            }
            book.channels.all.append(AudienceChannels.Channel(environment: environment))
        }
    }
    /// `open` has come.
    mutating func openChannels(_ slot: SlotID, now: EngineTime) {
        var book = self.memory.book(of: slot)
        self.wantChannels(of: slot, book: &book, now: now)
        self.memory.setBook(book, of: slot)
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
    }
    /// A partition has said in which environments it has members.
    mutating func noteEnvironments(_ environments: UInt8, of slot: SlotID, now: EngineTime) {
        guard environments != 0, self.memory.app(of: slot).audienceChannel == .auto else { return }
        var book = self.memory.book(of: slot)
        guard book.channels.environments | environments != book.channels.environments else { return }
        book.channels.environments |= environments
        let count = book.channels.all.count
        if count > 0, book.publications.last?.version.isEnd != true {
            self.wantChannels(of: slot, book: &book, now: now)
        }
        self.memory.setBook(book, of: slot)
        guard book.channels.all.count > count else { return }
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
    }
    /// A version is about to be made: it says which channels bring it.
    mutating func declareChannels(on version: inout Version, of slot: SlotID, book: inout AudienceBook, now: EngineTime)
    {
        guard self.memory.app(of: slot).audienceChannel == .auto || !book.channels.isBlank else { return }
        if !version.isEnd {
            // What comes after an end is of another life.
            if let end = book.publications.last?.version, end.isEnd {
                self.tellEnds(slot, book: &book, end: end)
                book.channels.all = []
                book.channels.alerts = []
                book.channels.life = max(book.channels.life + 1, version.life)
            }
            self.wantChannels(of: slot, book: &book, now: now)
        }
        guard !book.channels.all.isEmpty else { return }
        if version.hasAlert {
            book.channels.alerts = [version]
        } else if version.withdrawsAlert {
            book.channels.alerts = []
        }
        for index in book.channels.all.indices {
            if book.channels.all[index].isCatchingUp {
                self.goBothWays(version, book: &book, channel: index, of: slot, now: now)
                continue
            }
            let serves = book.channels.all[index].standing == .open
            book.channels.all[index].serves = serves
            if !serves { book.channels.all[index].dueMillis = nil }
        }
        book.channels.dropAlert(nowSeconds: now.wallSeconds)
        version.channels = book.channels.declared
        version.turn = book.channels.turn
    }

    // MARK: Telling the keeper
    private mutating func wish(
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
        // The slot lives, so its bytes do.
        let idBytes = unsafe self.memory.slots.idBytes(slot)
        self.journal.tellWish(
            wish, audience: unsafe Span(_unsafeElements: idBytes),
            to: self.keeperPartition(app: app, environment: environment), acknowledgement: acknowledgement)
    }
    /// The life of the channels is over: the keeper of each is told, before `state` says so.
    private mutating func tellEnds(_ slot: SlotID, book: inout AudienceBook, end: Version) {
        for index in book.channels.all.indices { self.tellEnd(slot, book: &book, channel: index, end: end) }
    }
    private mutating func tellEnd(_ slot: SlotID, book: inout AudienceBook, channel index: Int, end: Version) {
        guard !book.channels.all[index].isEndTold else { return }
        book.channels.all[index].isEndTold = true
        var content: [UInt8] = []
        // Where APNs keeps the newest message, it keeps the end that it has taken.
        let isStored =
            self.memory.app(of: slot).audienceChannelStorage.policy == .mostRecent
            && book.channels.all[index].takenStampSeconds >= end.stampSeconds
        if !isStored { end.appendBody(alertOf: nil, to: &content) }
        self.wish(
            .ended(content: content), environment: book.channels.all[index].environment, life: book.channels.life,
            of: slot, stateWaits: true)
    }
    /// The audience is forgotten.
    mutating func giveUpChannels(_ slot: SlotID) {
        var book = self.memory.book(of: slot)
        guard !book.channels.all.isEmpty else { return }
        if let newest = book.publications.last?.version, newest.isEnd {
            self.tellEnds(slot, book: &book, end: newest)
        } else {
            for channel in book.channels.all {
                self.wish(
                    .voided, environment: channel.environment, life: book.channels.life, of: slot, stateWaits: true)
            }
        }
        book.channels.all = []
        self.memory.setBook(book, of: slot)
        self.channelDeadlines.remove(slot)
    }

    // MARK: News
    /// The keeper tells what has become of a channel. Its record's offset is done with once the book says so.
    mutating func takeNews(_ news: BusRecord.ChannelNews, key: Span<UInt8>, now: EngineTime) {
        guard let app = self.app(named: news.bundleID) else { return }
        let slotKey = SlotKey(kind: .audience, app: app, id: key)
        guard let slot = self.memory.slots.find(slotKey, partition: self.intake.partition) else {
            return self.giveBack(news, key: key, app: app)
        }
        var book = self.memory.book(of: slot)
        guard news.life == book.channels.life, let index = book.channels.index(news.environment) else {
            return self.giveBack(news, key: key, app: app)
        }
        guard self.take(news.news, book: &book, channel: index, now: now) else { return }
        self.journal.openEntry(
            for: self.intake, slot: slot, budgets: self.dispatch.budgets, in: &self.memory, now: now)
        self.memory.setBook(book, of: slot)
        self.journal.requireStateRecord(slot, in: &self.memory, now: now)
        self.journal.flushNow(now: now)
        self.dispatch.reschedule(slot, in: &self.memory, now: now)
    }
    /// A channel has been opened for a life that is over and forgotten: a former owner's wish came to the keeper after its end.
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
    /// - Returns: whether the book has changed.
    private func take(_ news: KeeperNews, book: inout AudienceBook, channel index: Int, now: EngineTime) -> Bool {
        let id = book.channels.all[index].id
        switch news {
        case .opened(id) where book.channels.all[index].standing == .dead:
            // The keeper has looked for it, and it is there: it may not have been known everywhere yet.
            book.channels.all[index].standing = .open
            book.channels.all[index].byTokenUntilMillis = now.wallMillis + self.millis(ofMinutes: Self.byTokenMinutes)
        case .opened(let opened):
            guard opened != id else { return false }
            // Of an end that it was told before there was a channel the keeper knows nothing any more: it is told once more.
            book.channels.all[index] = AudienceChannels.Channel(environment: book.channels.all[index].environment)
            book.channels.all[index].standing = .open
            book.channels.all[index].id = opened
            book.channels.all[index].takenAlertStampSeconds = book.publications.last?.version.stampSeconds ?? 0
        case .vanished(id):
            book.channels.all[index].standing = .wanted
            book.channels.all[index].serves = false
            book.channels.all[index].dueMillis = nil
            book.channels.all[index].wishAtMillis = now.steadyMillis + self.millis(ofMinutes: Self.wishEveryMinutes)
        case .closed(id): book.channels.all.remove(at: index)
        case .vanished, .closed: return false
        case .refused(let refusal):
            guard book.channels.all[index].standing == .wanted, !book.channels.all[index].isEndTold else {
                return false
            }
            guard case .lifeIsOver = refusal else {
                book.channels.all[index].wishAtMillis =
                    now.steadyMillis + self.millis(ofMinutes: Self.wishAfterRefusalMinutes)
                return true
            }
            // The keeper knows a later life, of before the audience was forgotten, or the clock has been set back since.
            book.channels.life = max(book.channels.life + 1, now.wallSeconds)
            book.channels.all[index].wishAtMillis = now.steadyMillis
            return true
        }
        book.redeclareChannels()
        return true
    }

    // MARK: Going on
    /// Does what there is to be done about an audience's channels, and sets when it is looked at again.
    mutating func advanceChannels(_ slot: SlotID, now: EngineTime) {
        guard self.memory.slots[slot].kind == .audience, self.memory.books[slot]?.channels.all.isEmpty == false else {
            return
        }
        let partition = self.memory.slots[slot].partition
        guard self.memory.partitions[partition].sends, self.memory.partitions[partition].mayPush,
            !self.memory.slots[slot].awaitsStateRecord
        else { return self.channelDeadlines.remove(slot) }
        var book = self.memory.book(of: slot)
        var isChanged = false
        var next = Int64.max
        for index in book.channels.all.indices {
            if self.advance(slot, book: &book, channel: index, now: now) { isChanged = true }
            next = min(next, self.nextMillis(book.channels.all[index], of: slot, now: now))
        }
        book.channels.dropAlert(nowSeconds: now.wallSeconds)
        self.memory.setBook(book, of: slot)
        if isChanged {
            self.journal.requireStateRecord(slot, in: &self.memory, now: now)
            self.journal.flushNow(now: now)
            self.dispatch.reschedule(slot, in: &self.memory, now: now)
        }
        if next == .max { self.channelDeadlines.remove(slot) } else { self.channelDeadlines.set(next, for: slot) }
    }
    /// - Returns: whether something has to be written down before it goes on.
    private mutating func advance(
        _ slot: SlotID, book: inout AudienceBook, channel index: Int, now: EngineTime
    ) -> Bool {
        let newest = book.newest?.version
        let isOver = newest?.isEnd ?? false
        if book.channels.all[index].standing != .open, !isOver,
            book.channels.all[index].wishAtMillis <= now.steadyMillis
        {
            // A keeper that is asked for a channel which it has told of looks for that in the list.
            let minutes =
                book.channels.all[index].standing == .dead ? Self.doubtEveryMinutes : Self.wishEveryMinutes
            book.channels.all[index].wishAtMillis = now.steadyMillis + self.millis(ofMinutes: minutes)
            self.wish(
                .open(self.memory.app(of: slot).audienceChannelStorage.policy),
                environment: book.channels.all[index].environment, life: book.channels.life, of: slot,
                stateWaits: false)
        }
        var isChanged = false
        if book.channels.all[index].isTried,
            let broadcast = book.broadcast(channel: index, nowSeconds: now.wallSeconds)
        {
            let due = book.channels.all[index].dueMillis ?? self.dueMillis(book.channels.all[index], of: slot, now: now)
            book.channels.all[index].dueMillis = due
            if self.isPaused(slot) {
                book.channels.all[index].dueMillis = now.steadyMillis
                book.channels.all[index].notBeforeMillis = max(
                    book.channels.all[index].notBeforeMillis, now.steadyMillis + Self.pausedMillis)
            } else if !book.channels.all[index].isUnderWay {
                if self.fallbackMillis(book.channels.all[index], of: slot) <= now.steadyMillis {
                    self.fallBack(
                        &book, channel: index, of: slot,
                        untilMillis: now.wallMillis + self.millis(ofMinutes: Self.byTokenMinutes),
                        now: now)
                    isChanged = true
                } else if book.channels.all[index].notBeforeMillis <= now.steadyMillis,
                    !self.waitsForTokens(
                        broadcast.version, alert: broadcast.alert, book: &book, channel: index, of: slot, now: now)
                {
                    self.enqueueBroadcast(slot, book: &book, channel: index, now: now)
                }
            }
        } else {
            book.channels.all[index].dueMillis = nil
        }
        // What has just fallen back is owed to the channel still.
        let isOwed =
            book.channels.all[index].isTried && book.broadcast(channel: index, nowSeconds: now.wallSeconds) != nil
        if let newest, isOver, !book.channels.all[index].isEndTold, !isOwed {
            self.tellEnd(slot, book: &book, channel: index, end: newest)
            self.journal.markDirty(slot, in: &self.memory, now: now)
        }
        return isChanged
    }
    /// From when on what waits to be broadcast could have been, steady.
    private func dueMillis(_ channel: AudienceChannels.Channel, of slot: SlotID, now: EngineTime) -> Int64 {
        let distance = self.memory.app(of: slot).channelMinimumDistanceMillis
        return max(now.steadyMillis, channel.sentMillis.map { $0 + distance } ?? .min)
    }
    /// When listeners are not kept waiting any longer, steady; `Int64.max`: none is.
    private func fallbackMillis(_ channel: AudienceChannels.Channel, of slot: SlotID) -> Int64 {
        guard channel.serves, let due = channel.dueMillis else { return .max }
        return due + self.memory.app(of: slot).channelFallbackMillis
    }
    private func nextMillis(_ channel: AudienceChannels.Channel, of slot: SlotID, now: EngineTime) -> Int64 {
        if channel.standing != .open {
            let isOver = channel.isEndTold || self.memory.books[slot]?.newest?.version.isEnd ?? false
            return isOver ? .max : max(channel.wishAtMillis, now.steadyMillis)
        }
        guard channel.dueMillis != nil, !channel.isUnderWay else { return .max }
        guard channel.serves else {
            let next = max(channel.notBeforeMillis, channel.tokensFirstUntilMillis ?? .min)
            return next > now.steadyMillis ? next : now.steadyMillis + Self.pausedMillis
        }
        let next = self.fallbackMillis(channel, of: slot)
        return channel.notBeforeMillis > now.steadyMillis ? min(next, channel.notBeforeMillis) : next
    }
    /// Members that listen get what is newest by their tokens.
    /// - Parameter untilMillis: what former releases wait for, wall milliseconds; 0: it is not tried before the next version.
    mutating func fallBack(
        _ book: inout AudienceBook, channel index: Int, of slot: SlotID, untilMillis: Int64, now: EngineTime
    ) {
        if book.channels.all[index].serves { self.memory.counters.channelFallbacks += 1 }
        book.channels.all[index].serves = false
        book.channels.all[index].dueMillis = nil
        book.channels.all[index].attempt = 0
        book.channels.all[index].byTokenUntilMillis = untilMillis
        if let newest = book.publications.last?.version, book.channels.all[index].isCatchingUp {
            self.goBothWays(newest, book: &book, channel: index, of: slot, now: now)
        }
        book.redeclareChannels()
        book.returnUnits(nowMillis: now.steadyMillis)
    }
    mutating func advanceAudienceChannels(now: EngineTime) {
        while let slot = self.channelDeadlines.popDue(nowMillis: now.steadyMillis) {
            guard self.memory.slots[slot].isLive else { continue }
            self.advanceChannels(slot, now: now)
        }
    }
    /// The audience comes to a new owner: what may have left just before counts towards the distance.
    mutating func resumeChannels(_ slot: SlotID) {
        guard let count = self.memory.books[slot]?.channels.all.count, count > 0 else { return }
        var book = self.memory.book(of: slot)
        let quietSince = self.memory.partitions[self.memory.slots[slot].partition].formerOwnerQuietSinceMillis
        for index in 0..<count where book.channels.all[index].sentMillis == nil {
            book.channels.all[index].sentMillis = quietSince
            book.channels.all[index].triedStampSeconds = book.newest?.version.stampSeconds ?? 0
            book.channels.all[index].notBeforeMillis =
                quietSince + self.memory.app(of: slot).channelMinimumDistanceMillis
        }
        book.channels.isTurnUntold = true
        self.memory.setBook(book, of: slot)
    }
}

extension AudienceBook {
    /// Which channels there are, and which serve, has changed: versions that are there say so.
    mutating func redeclareChannels() {
        self.channels.noteTurn()
        for index in self.publications.indices {
            self.publications[index].version.channels = self.channels.declared
            self.publications[index].version.turn = self.channels.turn
        }
    }
    /// All partitions know the newest version, and which channels do not bring it: who listens on those gets its alert, and each before it, by
    /// token. No broadcast brings these later, and no version after it owes them once more.
    /// - Returns: whether the book has changed.
    mutating func leaveAlertsToTokens() -> Bool {
        guard !self.channels.isTurnUntold, let newest = self.publications.last, newest.isDurable,
            newest.outstanding == 0
        else { return false }
        var isChanged = false
        for index in self.channels.all.indices
        where !self.channels.all[index].serves
            && self.channels.all[index].takenAlertStampSeconds < newest.version.stampSeconds
        {
            self.channels.all[index].takenAlertStampSeconds = newest.version.stampSeconds
            isChanged = true
        }
        return isChanged
    }
}
