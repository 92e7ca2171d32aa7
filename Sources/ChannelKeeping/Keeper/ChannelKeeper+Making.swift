import APNSProtocol
public import PushModel

/// Creations: one at a time, with a list before each.
extension ChannelKeeper {
    /// Takes the creation's next step, or requests the list if something needs it.
    mutating func make(now: EngineTime) {
        switch self.making {
        case .idle:
            guard now.steadyMillis >= self.makingNotBeforeMillis, self.wantsList(now: now) else { return }
            self.askForList(resolves: nil, now: now)
        case .settling(let number, let untilMillis):
            guard now.steadyMillis >= max(untilMillis, self.makingNotBeforeMillis) else { return }
            self.askForList(resolves: number, now: now)
        case .writingIntent(let number):
            guard let held = self.table[number], held.isDurable else { return }
            guard held.channel.owner != nil || (self.wantsWarm && held.channel.policy == self.settings.poolPolicy)
            else {
                return self.retry(number, now: now)
            }
            self.sendCreation(number, policy: held.channel.policy)
        case .recording(let number):
            guard self.table[number]?.isDurable ?? true else { return }
            self.resolveNextLost(untilMillis: now.steadyMillis)
            self.make(now: now)
        case .showing(let number):
            guard self.table.numbers(in: .possiblyOurs).allSatisfy({ self.table[$0]?.isDurable ?? true }) else {
                return
            }
            self.retry(number, now: now)
        case .listing, .creating: break
        }
    }

    private func wantsList(now: EngineTime) -> Bool {
        self.nextWish != nil || self.wantsWarm || now.steadyMillis >= self.listDueMillis
    }

    private var listDueMillis: Int64 {
        guard let listing = self.listing else { return .min }
        return min(listing.askedMillis + self.settings.listIntervalMillis, self.listWantedMillis)
    }

    /// The oldest wish that is in `state` and not refused.
    var nextWish: Int64? {
        MessageStoragePolicy.allCases.compactMap { self.table.nextWish($0) }.min()
    }

    /// Whether the pool needs a warm channel, and there is room for its record. No warm channel is made during an
    /// alarm, or while Apple refuses.
    private var wantsWarm: Bool {
        let isCalm = self.hold == nil && (self.listing?.count ?? 0) < self.settings.quota.alarmCount
        return isCalm && self.hasRoomForWarm
    }
    private var hasRoomForWarm: Bool {
        guard self.settings.poolSize > 0, self.table.count < self.settings.keptMax else { return false }
        return self.table.warmCount(self.settings.poolPolicy) < self.settings.poolSize
    }

    func makingDeadline(now: EngineTime) -> Int64? {
        switch self.making {
        case .idle:
            let wish = self.nextWish != nil || self.wantsWarm ? now.steadyMillis : self.listDueMillis
            return max(wish, self.makingNotBeforeMillis)
        case .settling(_, let untilMillis): return max(untilMillis, self.makingNotBeforeMillis)
        case .listing, .writingIntent, .creating, .showing, .recording: return nil
        }
    }

    private mutating func askForList(resolves: Int64?, now: EngineTime) {
        let request = self.token()
        self.making = .listing(request: request, askedMillis: now.steadyMillis, resolves: resolves)
        self.actions.append(.list(request: request))
    }

    // MARK: Creations

    /// Writes the intent of the next creation, if a wish or the pool needs a channel. The fresh list has shown that
    /// there is room.
    mutating func beginCreation(listed: [[UInt8]], now: EngineTime) {
        self.making = .idle
        let number: Int64
        if let wish = self.nextWish {
            number = wish
        } else if self.wantsWarm {
            number = self.table.add(
                KeptChannel(owner: nil, policy: self.settings.poolPolicy, phase: .asked, sinceMillis: now.wallMillis))
        } else {
            return
        }
        let strangers = listed.filter { self.table.number(id: $0) == nil }.map { KeptChannel.hash(ofID: $0) }
        self.table.change(number) {
            $0.channel.enter(.asked, wallMillis: now.wallMillis)
            $0.channel.strangers = Set(strangers).sorted()
        }
        self.making = .writingIntent(number)
    }

    private mutating func sendCreation(_ number: Int64, policy: MessageStoragePolicy) {
        let request = self.token()
        self.making = .creating(request: request, number: number)
        self.actions.append(.create(request: request, policy: policy))
    }

    /// Takes the result of a creation.
    public mutating func created(request: UInt64, _ answer: CreateAnswer, now: EngineTime) -> [KeeperAction] {
        guard case .creating(request, let number) = self.making else { return self.proceed(now: now) }
        switch answer {
        case .created(let id):
            guard self.isNew(id, to: number) else {
                self.actions.append(.alarm(.foreignAnswer(id: Array(id.prefix(Self.shownIDByteCountMax)))))
                self.loseAnswer(number, now: now)
                break
            }
            self.counters.created += 1
            self.makingBackoff.succeeded()
            self.watchForSecond(of: number, now: now)
            self.record(id, as: number, now: now)
        case .lost: self.loseAnswer(number, now: now)
        case .notSent: self.retryLater(number, now: now)
        case .refused(let status, let reason):
            switch RefusalMeaning(status: status, reason: reason) {
            case .later, .channelGone: self.retryLater(number, now: now)
            case .mayBeDone: self.loseAnswer(number, now: now)
            case .limitReached:
                self.retry(number, now: now)
                let count = max(self.listing?.count ?? 0, self.settings.quota.refusalCount)
                self.refuseWishes(.quota(count: count, quota: self.settings.quota), now: now)
            case .forGood:
                self.retry(number, now: now)
                self.refuseForGood(status: status, reason: reason, now: now)
            }
        }
        return self.proceed(now: now)
    }

    /// Whether the creation may have made this id. An id that was in the list before belongs to somebody else. An id
    /// that is known belongs to another record.
    private func isNew(_ id: [UInt8], to number: Int64) -> Bool {
        guard KeptChannelCodec.isGivenByApple(id), self.table.number(id: id) == nil, let held = self.table[number]
        else { return false }
        return !held.channel.strangers.contains(KeptChannel.hash(ofID: id))
    }
    /// Number of bytes shown of an unusable id in an answer. Such an id may be of any length.
    private static var shownIDByteCountMax: Int { 128 }

    /// Writes a new channel's id to `state`, before it is reported to anybody.
    mutating func record(_ id: [UInt8], as number: Int64, now: EngineTime) {
        self.table.change(number) {
            $0.channel.enter(.open, wallMillis: now.wallMillis)
            $0.channel.id = id
            $0.channel.openedMillis = now.wallMillis
            $0.channel.isAnnounced = false
            $0.channel.strangers = []
        }
        self.making = .recording(number)
    }

    private mutating func loseAnswer(_ number: Int64, now: EngineTime) {
        self.counters.answersLost += 1
        self.makingNotBeforeMillis = now.steadyMillis + self.failed(\.makingBackoff)
        self.making = .settling(number, untilMillis: now.steadyMillis + self.settings.settleMillis)
    }

    private mutating func retryLater(_ number: Int64, now: EngineTime) {
        self.makingNotBeforeMillis = now.steadyMillis + self.failed(\.makingBackoff)
        self.retry(number, now: now)
    }

    /// Handles a creation that made nothing. The record becomes a wish again, or is removed if nobody wants the channel
    /// now.
    mutating func retry(_ number: Int64, now: EngineTime) {
        self.making = .recording(number)
        guard self.table[number]?.channel.owner != nil else { return self.table.leave(number) }
        self.table.change(number) {
            $0.channel.enter(.wanted, wallMillis: now.wallMillis)
            $0.channel.strangers = []
        }
    }

    // MARK: Refusals

    /// Refuses every present wish, and those of the next `holdMillis`. Apple refuses the key, topic or capability.
    mutating func refuseForGood(status: UInt16, reason: String, now: EngineTime) {
        self.alarmRefused(status: status, reason: reason)
        self.refuseWishes(.byAPNs(status: status, reason: reason), now: now)
    }

    /// Raises the alarm about refusals, unless it was raised since the last list arrived.
    mutating func alarmRefused(status: UInt16, reason: String) {
        if !self.isRefused { self.actions.append(.alarm(.refused(status: status, reason: reason))) }
        self.isRefused = true
    }

    mutating func refuseWishes(_ refusal: KeeperRefusal, now: EngineTime) {
        self.hold = (refusal, now.steadyMillis + self.settings.holdMillis)
        self.makingNotBeforeMillis = max(
            self.makingNotBeforeMillis, now.steadyMillis + self.settings.holdMillis)
        for number in self.table.numbers(in: .wanted) {
            self.counters.refused += 1
            self.table.update(number) { $0.news = .refused(refusal) }
        }
    }
}
