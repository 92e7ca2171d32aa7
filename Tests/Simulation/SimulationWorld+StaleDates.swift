import PushModel

/// Stale dates of events, some of them in the past. A publisher that has lost its data source makes a card stale at
/// once. An event expires at its stale date only if the app's settings say so. A phone puts up no card for a start that
/// is already stale.
extension SimulationWorld {
    /// Plan of stale dates. It is drawn with a separate generator, so that worlds without them do not change.
    struct StaleDates {
        var random: SplitMix64
        /// Percentage of updates and starts that have a stale date.
        let percent: Int
        /// The setting `updates.stale-date-expires`.
        let expireUpdates: Bool

        /// The push in which the event's stale date appears. A start's stale date is long past or far ahead. With a
        /// near date, the judge could not tell whether a push arrives just before it or just after it.
        enum Use {
            case update, start
            /// A version of an audience that a start may show. If it were stale, members that join after it would not
            /// be started.
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

    /// Draws the event's stale date, in seconds. `nil`: it has none.
    func drawStaleDate(_ activity: Int) -> Int64? {
        guard !self.isAudience(activity) else {
            return self.staleDates.draw(
                nowSeconds: self.wallSeconds, self.plan.audiences.starterCount > 0 ? .shownByStart : .update)
        }
        // A start that is not sent must have an outcome, so it has a stale date only if all outcomes are published.
        let isOfStart = self.phones[activity].startToken != nil
        guard !isOfStart || self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, isOfStart ? .start : .update)
    }

    /// Draws the stale date of an audience's start, in seconds. A start that is stale when it is read starts nobody,
    /// and has no outcomes about members.
    func drawStaleDateOfStart() -> Int64? {
        guard self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, .start)
    }
}
