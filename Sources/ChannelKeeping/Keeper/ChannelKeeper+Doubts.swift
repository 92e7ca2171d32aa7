import PushModel

/// Doubts of an audience's owner about its channel: APNs has refused a broadcast as if the channel did not exist. The
/// next list decides.
extension ChannelKeeper {
    /// Doubts a channel that was already announced, because its owner asks for a channel again.
    mutating func doubt(_ number: Int64, now: EngineTime) {
        self.table.update(number) { $0.doubtedMillis = now.steadyMillis }
        self.listWantedMillis = min(self.listWantedMillis, now.steadyMillis)
    }

    /// Settles doubts with a list of channels. A channel in the list is reported to its owner again. A missing
    /// channel is gone, unless it is younger than `settleMillis`: APNs has refused a broadcast, and the list agrees.
    mutating func settleDoubts(_ listed: Set<[UInt8]>, askedMillis: Int64, now: EngineTime) {
        for number in self.table.numbers(in: .open) {
            guard let held = self.table[number], let doubted = held.doubtedMillis, doubted <= askedMillis else {
                continue
            }
            if listed.contains(held.channel.id) {
                self.table.update(number) { $0.doubtedMillis = nil }
                if let owner = held.channel.owner, held.isDurable, held.channel.isAnnounced {
                    self.actions.append(.send(owner: owner, news: .opened(id: held.channel.id)))
                }
                continue
            }
            let age = now.wallMillis - held.channel.openedMillis
            guard age < 0 || age >= self.settings.settleMillis else {
                // The list may be older than the channel's creation.
                self.listWantedMillis = min(self.listWantedMillis, now.steadyMillis + self.settings.settleMillis - age)
                continue
            }
            self.table.update(number) {
                $0.doubtedMillis = nil
                // The refusal counts as an earlier list without the channel, requested `settleMillis` before this one.
                $0.absentSinceMillis = askedMillis - self.settings.settleMillis
                $0.isAbsentForGood = true
            }
        }
    }
}
