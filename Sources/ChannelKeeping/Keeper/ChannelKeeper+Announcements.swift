public import PushModel

/// Announcements to owners. `state` has their content before they leave.
extension ChannelKeeper {
    mutating func announce() {
        while let number = self.table.toBeAnnounced.first, let held = self.table[number],
            let owner = held.channel.owner, let news = held.unsentNews
        {
            let announcement = self.token()
            self.announcements[announcement] = (number, news)
            self.table.update(number) { $0.announcement = announcement }
            self.actions.append(.announce(announcement: announcement, owner: owner, news: news))
        }
    }

    /// Ends an announcement: its news reached the owner, and the outcome was published.
    public mutating func announced(announcement: UInt64, now: EngineTime) -> [KeeperAction] {
        guard let (number, news) = self.announcements.removeValue(forKey: announcement) else {
            return self.proceed(now: now)
        }
        self.table.update(number) { $0.announcement = nil }
        guard let held = self.table[number], !held.isLeaving else { return self.proceed(now: now) }
        switch (news, held.channel.phase) {
        case (.refused, .wanted): self.table.leave(number)
        case (.vanished(let id), .open) where held.news == news && held.channel.id == id:
            self.table.change(number) {
                $0.channel.enter(.wanted, wallMillis: now.wallMillis)
                $0.channel.id = []
                $0.channel.openedMillis = 0
                $0.channel.isAnnounced = false
                $0.news = nil
                $0.absentSinceMillis = nil
            }
        case (.opened(let id), .open), (.opened(let id), .ended):
            if held.channel.id == id, !held.channel.isAnnounced {
                self.table.change(number) { $0.channel.isAnnounced = true }
            }
        case (.closed, .deleted): self.table.change(number) { $0.channel.isAnnounced = true }
        case (.refused, _), (.vanished, _), (.opened, _), (.closed, _): break
        }
        return self.proceed(now: now)
    }
}
