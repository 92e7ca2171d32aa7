import PushModel

/// Stale dates, in the past as well: a card that has lost its source is said to be stale as of now. None expires anything, unless the app says so; but a
/// phone puts up no card that begins stale.
extension SimulationWorld {
    /// What concerns stale dates alone. It is drawn apart: a world without any is as it was.
    struct StaleDates {
        var random: SplitMix64
        /// Share of updates and starts that have one, in a hundred.
        let percent: Int
        /// `updates.stale-date-expires`.
        let expireUpdates: Bool

        /// What an event may become part of. Nobody can tell whether a start arrives just before it is stale or just after, so its dates lie far away.
        enum Use {
            case update, start
            /// A start of an audience shows what its newest version says: those who come after one that is stale are not started.
            case shownByStart
        }

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x3131_3131_3131_3131)
            self.percent = [0, 0, 15, 50].randomElement(using: &self.random)!
            self.expireUpdates = Int.random(in: 0..<4, using: &self.random) == 0
        }

        mutating func draw(nowSeconds: Int64, _ use: Use) -> Int64? {
            guard self.percent > 0, Int.random(in: 0..<100, using: &self.random) < self.percent else { return nil }
            let farAhead = nowSeconds + 3 * 86_400
            return switch use {
            case .update: nowSeconds + Int64.random(in: -60...300, using: &self.random)
            case .start: Bool.random(using: &self.random) ? nowSeconds - 600 : farAhead
            case .shownByStart: farAhead
            }
        }
    }

    /// When the event is stale; `nil`: it says nothing of that.
    func drawStaleDate(_ activity: Int) -> Int64? {
        guard !self.isAudience(activity) else {
            return self.staleDates.draw(
                nowSeconds: self.wallSeconds, self.plan.audiences.starterCount > 0 ? .shownByStart : .update)
        }
        // That an event was set aside has to be told.
        let isOfStart = self.phones[activity].startToken != nil
        guard !isOfStart || self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, isOfStart ? .start : .update)
    }

    /// Draws the stale date of an audience's start. A start that is stale when it is read starts nobody, and is told to nobody.
    func drawStaleDateOfStart() -> Int64? {
        guard self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, .start)
    }
}
