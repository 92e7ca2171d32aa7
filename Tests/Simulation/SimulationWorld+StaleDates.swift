import PushModel

/// Stale dates, also in the past. A publisher that has lost its source makes the card stale as of now. No event expires
/// at its stale date unless the app says so. But a phone puts up no card that is stale at its start.
extension SimulationWorld {
    /// Plan of stale dates. It is drawn with a generator of its own, so that worlds without them stay as they were.
    struct StaleDates {
        var random: SplitMix64
        /// Percentage of updates and starts that have a stale date.
        let percent: Int
        /// The setting `updates.stale-date-expires`.
        let expireUpdates: Bool

        /// What an event may become a part of. Nobody can tell whether a start arrives just before its stale date or
        /// just after, so its dates are far away.
        enum Use {
            case update, start
            /// A start of an audience shows the newest version. Members that join after a stale version are not
            /// started.
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

    /// Draws when the event becomes stale; `nil`: it has no stale date.
    func drawStaleDate(_ activity: Int) -> Int64? {
        guard !self.isAudience(activity) else {
            return self.staleDates.draw(
                nowSeconds: self.wallSeconds, self.plan.audiences.starterCount > 0 ? .shownByStart : .update)
        }
        // An event that is set aside must have an outcome, so all outcomes must be published.
        let isOfStart = self.phones[activity].startToken != nil
        guard !isOfStart || self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, isOfStart ? .start : .update)
    }

    /// Draws the stale date of an audience's start. A start that is stale when it is read starts nobody, and has no
    /// outcomes about members.
    func drawStaleDateOfStart() -> Int64? {
        guard self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, .start)
    }
}
