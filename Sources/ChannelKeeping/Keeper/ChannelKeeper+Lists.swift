import APNSProtocol
public import PushModel

/// Uses Apple's list. It shows how many channels there are, which are gone, and which a lost creation may have made.
extension ChannelKeeper {
    /// Takes the result of a request for the list.
    public mutating func listed(request: UInt64, _ answer: ListAnswer, now: EngineTime) -> [KeeperAction] {
        guard case .listing(request, let askedMillis, let resolves) = self.making else { return self.proceed(now: now) }
        switch answer {
        case .listed(let ids): self.read(ids, askedMillis: askedMillis, resolves: resolves, now: now)
        case .failed: self.listLater(resolves, now: now)
        case .refused(let status, let reason):
            self.listLater(resolves, now: now)
            guard RefusalMeaning(status: status, reason: reason) == .forGood else { break }
            self.refuseForGood(status: status, reason: reason, now: now)
        }
        return self.proceed(now: now)
    }

    private mutating func listLater(_ resolves: Int64?, now: EngineTime) {
        self.makingNotBeforeMillis = now.steadyMillis + self.failed(\.makingBackoff)
        self.making = resolves.map { .settling($0, untilMillis: now.steadyMillis) } ?? .idle
    }

    private mutating func read(_ ids: [[UInt8]], askedMillis: Int64, resolves: Int64?, now: EngineTime) {
        self.makingBackoff.succeeded()
        self.isRefused = false
        if let hold = self.hold, now.steadyMillis >= hold.untilMillis { self.hold = nil }
        let listed = Set(ids)
        if askedMillis >= self.listWantedMillis { self.listWantedMillis = .max }
        self.updateAbsence(from: listed, askedMillis: askedMillis)
        self.settleDoubts(listed, askedMillis: askedMillis, now: now)
        let plan = self.plan(ids, now: now)
        self.reconcileSteps = plan.steps
        self.listing = ListingStanding(
            askedMillis: askedMillis, count: self.count(ids, listed),
            unknown: Array(plan.unknown.prefix(self.settings.shownMax)), unknownCount: plan.unknown.count)
        self.confirmDeletions(listed, askedMillis: askedMillis, now: now)
        self.dropShown()
        self.watchQuota()
        if let resolves { return self.resolve(resolves, unknown: plan.unknown, now: now) }
        self.lookForSecond(in: plan.unknown, askedMillis: askedMillis, now: now)
        guard let count = self.listing?.count, count < self.settings.quota.refusalCount else {
            self.making = .idle
            if self.nextWish != nil, let count = self.listing?.count {
                self.refuseWishes(.quota(count: count, quota: self.settings.quota), now: now)
            }
            return
        }
        self.beginCreation(listed: ids, now: now)
    }

    // MARK: Lost answers

    /// Resolves a lost creation. A channel that the creation made has no record, and was not in the list before the
    /// creation.
    private mutating func resolve(_ number: Int64, unknown: [[UInt8]], now: EngineTime) {
        guard let held = self.table[number], held.channel.phase == .asked else {
            return self.resolveNextLost(untilMillis: now.steadyMillis)
        }
        let before = Set(held.channel.strangers)
        let new = self.new(in: unknown, since: before)
        let adopted = self.settings.isExclusive ? new.first : nil
        for id in new where id != adopted {
            self.keep(
                id, policy: held.channel.policy, alarm: .possiblyOurs(id: id, sinceMillis: now.wallMillis), now: now)
        }
        guard let adopted else {
            self.making = .showing(number)
            return
        }
        self.counters.adopted += 1
        self.record(adopted, as: number, now: now)
    }

    /// The ids in `unknown` that may be of a new channel. They are not in `before`, and have the form of an id from
    /// Apple.
    func new(in unknown: [[UInt8]], since before: Set<UInt64>) -> [[UInt8]] {
        unknown.filter { !before.contains(KeptChannel.hash(ofID: $0)) && KeptChannelCodec.isGivenByApple($0) }
    }

    mutating func show(_ id: [UInt8], policy: MessageStoragePolicy, alarm: KeeperAlarm, now: EngineTime) {
        guard self.table.count(in: .possiblyOurs) < self.settings.shownMax else {
            self.counters.shownBeyondMax += 1
            if !self.isShownFull { self.actions.append(.alarm(.shownFull(shownMax: self.settings.shownMax))) }
            self.isShownFull = true
            return
        }
        var channel = KeptChannel(owner: nil, policy: policy, phase: .possiblyOurs, sinceMillis: now.wallMillis)
        channel.id = id
        channel.openedMillis = now.wallMillis
        let number = self.table.add(channel)
        self.table.change(number) { _ in }
        // The shown id is written to `state` before the creation's record forgets which ids were in the list before.
        self.flush(number)
        self.counters.shown += 1
        self.actions.append(.alarm(alarm))
    }

    /// Drops the records of shown channels that are no longer in Apple's list, because somebody has deleted the
    /// channels.
    private mutating func dropShown() {
        for number in self.table.numbers(in: .possiblyOurs) {
            guard self.table[number]?.isAbsentForGood ?? false else { continue }
            self.table.leave(number)
            self.isShownFull = false
        }
    }

    // MARK: Counting

    /// Number of channels: those in Apple's list, and ours that it does not show yet, because the list can lag.
    private func count(_ ids: [[UInt8]], _ listed: Set<[UInt8]>) -> Int {
        let phases: [KeptChannel.Phase] = [.open, .ended]
        let hidden = phases.flatMap { self.table.numbers(in: $0) }.count { number in
            guard let held = self.table[number] else { return false }
            return !listed.contains(held.channel.id) && !held.isAbsentForGood
        }
        return ids.count + hidden
    }

    private mutating func watchQuota() {
        guard let count = self.listing?.count else { return }
        let quota = self.settings.quota
        if count >= quota.alarmCount {
            if !self.isQuotaHigh { self.actions.append(.alarm(.quotaHigh(count: count, quota: quota))) }
            self.isQuotaHigh = true
        } else if count < quota.calmCount {
            self.isQuotaHigh = false
        }
        guard count >= quota.refusalCount else {
            self.isQuotaReached = false
            return
        }
        if !self.isQuotaReached { self.actions.append(.alarm(.quotaReached(count: count, quota: quota))) }
        self.isQuotaReached = true
    }

    // MARK: Absence

    private mutating func updateAbsence(from listed: Set<[UInt8]>, askedMillis: Int64) {
        let phases: [KeptChannel.Phase] = [.open, .ended, .possiblyOurs]
        for number in phases.flatMap({ self.table.numbers(in: $0) }) {
            guard let held = self.table[number] else { continue }
            let since = listed.contains(held.channel.id) ? nil : held.absentSinceMillis ?? askedMillis
            self.table.update(number) {
                $0.absentSinceMillis = since
                $0.isAbsentForGood = since.map { askedMillis - $0 >= self.settings.settleMillis } ?? false
            }
        }
    }
}
