import APNSProtocol
import PushModel

/// Versions that an audience's owner broadcasts (fan-out contract: Mixed audiences). It sends them itself: it alone knows which version is newest and whether APNs has
/// taken it, `state` has both, and whoever takes over sends the very same again.
extension ShardEngine {
    mutating func enqueueBroadcast(_ slot: SlotID, book: inout AudienceBook, channel index: Int, now: EngineTime) {
        let environment = book.channels.all[index].environment
        let app = self.memory.slots[slot].app
        guard let route = self.memory.configuration.apps[Int(app)].route(environment, .broadcast) else { return }
        book.channels.all[index].isUnderWay = true
        self.errands.append(
            ChannelErrand(
                sender: .audience(slot, generation: self.memory.slots[slot].generation), kind: .broadcast, app: app,
                environment: environment, partition: self.memory.slots[slot].partition, askedMillis: now.steadyMillis),
            route: route)
    }
    /// A broadcast has its turn: what is newest now is put into it.
    /// - Returns: `false`: there is nothing to be sent any more.
    mutating func fillBroadcast(_ errand: inout ChannelErrand, now: EngineTime) -> Bool {
        guard case .audience(let slot, let generation) = errand.sender,
            let index = self.channelIndex(slot, generation: generation, environment: errand.environment)
        else { return false }
        var book = self.memory.book(of: slot)
        guard book.channels.all[index].isTried, !self.memory.slots[slot].awaitsStateRecord, !self.isPaused(slot),
            let broadcast = book.broadcast(channel: index, nowSeconds: now.wallSeconds)
        else {
            book.channels.all[index].isUnderWay = false
            self.memory.setBook(book, of: slot)
            self.advanceChannels(slot, now: now)
            return false
        }
        let version = broadcast.version
        errand.target = book.channels.all[index].id
        errand.body.removeAll(keepingCapacity: true)
        version.appendBody(alertOf: broadcast.alert, to: &errand.body)
        errand.priority = book.channels.all[index].mayBeHigh(version) ? .high : .low
        let app = self.memory.app(of: slot)
        errand.expirationSeconds = PushComposer.broadcastExpirationSeconds(
            version.layer.expirationHeaderSeconds
                ?? now.wallSeconds + EventRules.expirationSeconds(of: version.kind),
            storage: StoragePolicy(app.audienceChannelStorage.policy), now: now)
        errand.stampSeconds = version.stampSeconds
        errand.alertStampSeconds = broadcast.alert?.stampSeconds ?? 0
        if self.tracesPasses { errand.traced = self.tracedBroadcast(errand, version, of: book, slot: slot, now: now) }
        book.channels.all[index].sentMillis = now.steadyMillis
        book.channels.all[index].notBeforeMillis =
            now.steadyMillis
            + Dispatch.channelDistanceMillis(
                app.channelMinimumDistanceMillis, steps: book.channels.all[index].throttleSteps)
        self.memory.setBook(book, of: slot)
        self.memory.counters.channelBroadcastsSent += 1
        return true
    }
    private func channelIndex(_ slot: SlotID, generation: UInt32, environment: PushEnvironment) -> Int? {
        guard self.memory.slots.contains(slot), self.memory.slots[slot].isLive,
            self.memory.slots[slot].generation == generation
        else { return nil }
        return self.memory.books[slot]?.channels.index(environment)
    }

    /// What became of one.
    mutating func broadcastEnded(_ errand: ChannelErrand, _ result: PushAnswer.Result, now: EngineTime) {
        guard case .audience(let slot, let generation) = errand.sender,
            let index = self.channelIndex(slot, generation: generation, environment: errand.environment)
        else { return }
        var book = self.memory.book(of: slot)
        // One that has not left names no channel. Of a channel that has gone since nothing is to be known.
        guard errand.target.isEmpty || errand.target == book.channels.all[index].id else { return }
        book.channels.all[index].isUnderWay = false
        if !errand.target.isEmpty { self.rollUp(errand, result, slot: slot, now: now) }
        switch result {
        case .accepted, .channel: self.take(errand, book: &book, channel: index, slot: slot, now: now)
        case .response(let response) where response.verdict == .accepted:
            self.take(errand, book: &book, channel: index, slot: slot, now: now)
        case .response(let response): self.refused(response, book: &book, channel: index, slot: slot, now: now)
        case .notProcessed: self.tryLater(nil, book: &book, channel: index, isRefused: false, now: now)
        case .unknown:
            book.channels.all[index].triedStampSeconds = max(
                book.channels.all[index].triedStampSeconds, errand.stampSeconds)
            if self.memory.app(of: slot).alertOnUnknown == .drop {
                book.channels.all[index].droppedAlertStampSeconds = max(
                    book.channels.all[index].droppedAlertStampSeconds, errand.alertStampSeconds)
                book.channels.all[index].takenAlertStampSeconds = max(
                    book.channels.all[index].takenAlertStampSeconds, errand.alertStampSeconds)
            }
            self.tryLater(nil, book: &book, channel: index, isRefused: true, now: now)
        }
        self.memory.setBook(book, of: slot)
        self.advanceChannels(slot, now: now)
    }
    private mutating func take(
        _ errand: ChannelErrand, book: inout AudienceBook, channel index: Int, slot: SlotID, now: EngineTime
    ) {
        self.memory.counters.channelBroadcastsAccepted += 1
        book.channels.all[index].takenStampSeconds = max(
            book.channels.all[index].takenStampSeconds, errand.stampSeconds)
        book.channels.all[index].takenAlertStampSeconds = max(
            book.channels.all[index].takenAlertStampSeconds, errand.alertStampSeconds)
        book.channels.all[index].attempt = 0
        if book.channels.all[index].throttleSteps > 0 { book.channels.all[index].throttleSteps -= 1 }
        book.channels.all[index].dueMillis = nil
        book.noteCaughtUp(channel: index, nowSeconds: now.wallSeconds)
        book.returnUnits(nowMillis: now.steadyMillis)
        self.journal.markDirty(slot, in: &self.memory, now: now)
    }
    private mutating func refused(
        _ response: PushResponse, book: inout AudienceBook, channel index: Int, slot: SlotID, now: EngineTime
    ) {
        switch response.verdict.consequence.push {
        case .accepted: return
        case .tokenDead:
            book.channels.all[index].standing = .dead
            // Its keeper is told at once, unless it has just said that there is such a channel.
            self.fallBack(&book, channel: index, of: slot, untilMillis: 0, now: now)
            self.journal.requireStateRecord(slot, in: &self.memory, now: now)
            self.journal.flushNow(now: now)
        case .refused:
            // The next version is another message.
            self.fallBack(&book, channel: index, of: slot, untilMillis: 0, now: now)
            self.journal.requireStateRecord(slot, in: &self.memory, now: now)
            self.journal.flushNow(now: now)
        case .waitsForToken:
            book.channels.all[index].throttleSteps = min(
                book.channels.all[index].throttleSteps + Dispatch.throttleStep, Dispatch.throttleStepsMax)
            let distance = Dispatch.channelDistanceMillis(
                self.memory.app(of: slot).channelMinimumDistanceMillis,
                steps: book.channels.all[index].throttleSteps)
            self.tryLater(response.retryAfterSeconds, book: &book, channel: index, isRefused: true, now: now)
            book.channels.all[index].notBeforeMillis = max(
                book.channels.all[index].notBeforeMillis, now.steadyMillis + distance)
        case .goesAgain, .waitsForRoute:
            self.tryLater(response.retryAfterSeconds, book: &book, channel: index, isRefused: true, now: now)
        }
    }
    /// What was not taken says nothing of the distance to what was: only the delay counts.
    private mutating func tryLater(
        _ retryAfterSeconds: Int64?, book: inout AudienceBook, channel index: Int, isRefused: Bool, now: EngineTime
    ) {
        let attempt = book.channels.all[index].attempt
        if isRefused, attempt < 20 { book.channels.all[index].attempt += 1 }
        let delay = self.dispatch.backOffMillis(
            attempt: attempt, retryAfterSeconds: retryAfterSeconds, millisMax: .max,
            settings: self.memory.configuration.settings)
        // One whose answer is not known may have arrived.
        let keepsDistance =
            book.channels.all[index].triedStampSeconds > book.channels.all[index].takenStampSeconds
        book.channels.all[index].notBeforeMillis = max(
            now.steadyMillis + delay, keepsDistance ? book.channels.all[index].notBeforeMillis : .min)
    }
}

extension AudienceBook {
    /// What is broadcast next on a channel: the newest version that it has not had, and the newest alert. `nil`: it has had all.
    func broadcast(channel index: Int, nowSeconds: Int64) -> (version: Version, alert: Version?)? {
        let channel = self.channels.all[index]
        guard let publication = self.newest else { return nil }
        let newest = (publication.fallbacks + [publication.version]).last { !$0.isExpired(nowSeconds: nowSeconds) }
        guard let newest, newest.stampSeconds > channel.takenStampSeconds else { return nil }
        guard let alert = self.channels.alert, channel.owes(alert), alert.life == newest.life,
            alert.stampSeconds <= newest.stampSeconds,
            !alert.isExpired(nowSeconds: nowSeconds)
        else { return (newest, nil) }
        if alert.stampSeconds == newest.stampSeconds || newest.fitsOnChannel(alertOf: alert) { return (newest, alert) }
        // It goes with its own version first, unless something newer has been shown.
        return alert.stampSeconds > channel.takenStampSeconds ? (alert, alert) : (newest, nil)
    }
    /// Units come back once no partition gives priority 10 by a version any more, and no channel does.
    mutating func returnUnits(nowMillis: Int64) {
        var done = self.asked.map { self.reported[$0] ?? 0 }.min() ?? .max
        if let newest = self.publications.last?.version.stampSeconds {
            for channel in self.channels.all where channel.serves && channel.takenStampSeconds < newest {
                done = min(done, channel.takenStampSeconds)
            }
            // What goes both ways has taken a unit for each. Only the newest is broadcast.
            for channel in self.channels.all
            where channel.isCatchingUp && channel.highStampSeconds == newest && channel.takenStampSeconds < newest {
                done = min(done, newest - 1)
            }
        }
        self.ledger.startReturn(upTo: done, nowMillis: nowMillis)
        self.frequentLedger.startReturn(upTo: done, nowMillis: nowMillis)
    }
}

extension Version {
    /// Whether content and that alert go into one broadcast.
    func fitsOnChannel(alertOf other: Version) -> Bool {
        PayloadWriter.byteCount(
            kind: self.kind, stampSeconds: max(self.stampSeconds, EventRules.sizedStampSecondsMin),
            content: self.layer.content, source: self.layer.blob.span,
            alert: other.layer.blob.span.extracting(other.layer.alert.range))
            <= PayloadWriter.payloadByteCountMax(for: .channel)
    }
}
