import PushModel

/// A version that goes both ways (fan-out contract: Mixed audiences): APNs does not take what is broadcast, so members that listen are served by their
/// tokens. Phones that listen and have no token are not known here, and get the newest version as soon as APNs takes a broadcast: with the stamp that
/// it has by token, so that a phone that gets it twice shows it once.
extension ShardEngine {
    /// A phone that listens may get it by its token and by broadcast: with priority 10 both ways it costs two units. Without a second one the
    /// broadcast has priority 5.
    mutating func goBothWays(
        _ version: Version, book: inout AudienceBook, channel index: Int, of slot: SlotID, now: EngineTime
    ) {
        if version.hasAlert { book.channels.all[index].tokensFirstUntilMillis = nil }
        guard version.isHigh, book.channels.all[index].highStampSeconds < version.stampSeconds else { return }
        // A phone listens in one environment.
        guard !book.channels.all.contains(where: { $0.highStampSeconds == version.stampSeconds }) else {
            book.channels.all[index].highStampSeconds = version.stampSeconds
            return
        }
        let app = self.memory.app(of: slot)
        let reserve = version.hasAlert || version.isEnd ? 0 : app.budgetReserve
        guard
            book.ledger.hasUnit(of: app.budgetAudiencePerHour - reserve, nowMillis: now.steadyMillis),
            book.frequentLedger.hasUnit(of: app.budgetAudienceFrequentPerHour - reserve, nowMillis: now.steadyMillis)
        else { return }
        book.ledger.take(stampSeconds: version.stampSeconds)
        book.frequentLedger.take(stampSeconds: version.stampSeconds)
        book.channels.all[index].highStampSeconds = version.stampSeconds
    }

    /// An alert of an older version goes along with the newest. Members that listen have had it by their tokens, perhaps with that older version: they
    /// get the newest first, and ignore the broadcast. That is not waited for longer than `channel.fallback`.
    func waitsForTokens(
        _ version: Version, alert: Version?, book: inout AudienceBook, channel index: Int, of slot: SlotID,
        now: EngineTime
    ) -> Bool {
        guard book.channels.all[index].isCatchingUp, let alert, alert.stampSeconds < version.stampSeconds,
            let rollUp = self.audiences.rollUps[slot]?.last(where: {
                $0.generation == self.memory.slots[slot].generation && $0.version.stampSeconds == version.stampSeconds
            }), !rollUp.isComplete
        else {
            book.channels.all[index].tokensFirstUntilMillis = nil
            return false
        }
        let until =
            book.channels.all[index].tokensFirstUntilMillis
            ?? now.steadyMillis + self.memory.app(of: slot).channelFallbackMillis
        book.channels.all[index].tokensFirstUntilMillis = until
        return until > now.steadyMillis
    }
}

extension AudienceChannels.Channel {
    /// The broadcast of that version has priority 10. One that may have arrived has not, and one that goes both ways needs a unit of its own.
    func mayBeHigh(_ version: Version) -> Bool {
        guard version.isHigh, version.stampSeconds > self.triedStampSeconds else { return false }
        return self.serves || self.highStampSeconds == version.stampSeconds
    }
}

extension AudienceBook {
    /// APNs has taken a broadcast. Once it has taken the newest version that has not expired, the next one is left to the channel again.
    mutating func noteCaughtUp(channel index: Int, nowSeconds: Int64) {
        let versions = self.publications.last.map { $0.fallbacks + [$0.version] } ?? []
        let newest = versions.last { !$0.isExpired(nowSeconds: nowSeconds) }?.stampSeconds ?? 0
        let taken = self.channels.all[index].takenStampSeconds
        guard taken >= newest else { return }
        // Members that are owed its alert by their tokens have it by the broadcast: see `keepsAlertsSinceSeconds`.
        if self.channels.all[index].isCatchingUp { self.channels.all[index].takenAlertStampSeconds = taken }
        self.channels.all[index].byTokenUntilMillis = 0
        self.channels.all[index].tokensFirstUntilMillis = nil
    }
}

extension VersionLedger {
    /// A unit is left of so many in an hour.
    mutating func hasUnit(of limit: Int, nowMillis: Int64) -> Bool { self.spent(nowMillis: nowMillis) < max(0, limit) }
}
