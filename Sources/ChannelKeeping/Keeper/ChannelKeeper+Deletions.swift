import APNSProtocol
public import PushModel

/// Deletions: the intent is written to `state`, then the request leaves. The id is kept until a list no longer shows
/// it.
extension ChannelKeeper {
    /// Begins the deletion of a channel.
    mutating func delete(_ number: Int64, now: EngineTime) {
        self.table.change(number) {
            $0.channel.enter(.deleting, wallMillis: now.wallMillis)
            $0.news = nil
        }
    }

    var deletingDeadline: Int64? {
        guard self.deleting == .idle, self.nextDeletion != nil else { return nil }
        return self.deletingNotBeforeMillis
    }

    /// The next channel to delete. Channels follow each other by number, so that a failing deletion does not delay the
    /// others.
    private var nextDeletion: Int64? {
        self.table.toBeDeleted.first(after: self.lastDeleted) ?? self.table.toBeDeleted.first
    }

    mutating func deleteOne(now: EngineTime) {
        guard self.deleting == .idle, now.steadyMillis >= self.deletingNotBeforeMillis, let number = self.nextDeletion,
            let id = self.table[number]?.channel.id
        else { return }
        let request = self.token()
        self.lastDeleted = number
        self.deletingNotBeforeMillis = now.steadyMillis + self.settings.deleteSpacingMillis
        self.deleting = .deleting(request: request, number: number)
        self.actions.append(.delete(request: request, id: id))
    }

    /// Takes the result of a deletion. A deletion without an answer is requested again. That is safe, because Apple
    /// never reuses an id.
    public mutating func deleted(request: UInt64, _ answer: DeleteAnswer, now: EngineTime) -> [KeeperAction] {
        guard case .deleting(request, let number) = self.deleting else { return self.proceed(now: now) }
        self.deleting = .idle
        switch answer {
        case .deleted: self.finishDeletion(number, now: now)
        case .failed: self.deleteLater(now: now)
        case .refused(let status, let reason):
            switch RefusalMeaning(status: status, reason: reason) {
            case .channelGone: self.finishDeletion(number, now: now)
            case .later, .mayBeDone, .limitReached: self.deleteLater(now: now)
            case .forGood:
                self.alarmRefused(status: status, reason: reason)
                self.deleteLater(now: now)
            }
        }
        return self.proceed(now: now)
    }

    private mutating func deleteLater(now: EngineTime) {
        self.deletingNotBeforeMillis = max(
            self.deletingNotBeforeMillis, now.steadyMillis + self.failed(\.deletingBackoff))
    }

    private mutating func finishDeletion(_ number: Int64, now: EngineTime) {
        self.deletingBackoff.succeeded()
        self.counters.deleted += 1
        self.gone(number, now: now)
    }

    /// Marks a channel as deleted, because Apple no longer has it. Its owner gets the news. The id stays known, because
    /// an old list may still show it.
    mutating func gone(_ number: Int64, now: EngineTime) {
        self.table.change(number) {
            $0.channel.enter(.deleted, wallMillis: now.wallMillis)
            $0.channel.isAnnounced = $0.channel.owner == nil
            $0.channel.end = []
            $0.news = nil
            $0.anchorMillis = now.steadyMillis
        }
    }

    /// Checks deletions by a list. It must have been requested at least `settleMillis` after the deletion. A channel
    /// that the list still shows is deleted again. Otherwise the channel's record leaves `state`.
    mutating func confirmDeletions(_ listed: Set<[UInt8]>, askedMillis: Int64, now: EngineTime) {
        for number in self.table.numbers(in: .deleted) {
            guard let held = self.table[number], held.isDurable, held.channel.isAnnounced,
                askedMillis - held.anchorMillis >= self.settings.settleMillis
            else { continue }
            if listed.contains(held.channel.id) { self.delete(number, now: now) } else { self.table.leave(number) }
        }
    }
}
