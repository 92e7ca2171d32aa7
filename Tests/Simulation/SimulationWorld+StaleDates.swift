import PushModel

/// Stale dates, in the past as well: a card that has lost its source is said to be stale as of now. None expires anything, unless the app says so; but a
/// phone puts up no card that begins stale.
extension SimulationWorld {
    /// What concerns stale dates alone. It is drawn apart: a world without any is as it was.
    struct StaleDates {
        var random: SplitMix64
        /// Of updates and starts, how many have one.
        let percent: Int
        /// `updates.stale-date-expires`.
        let expireUpdates: Bool

        init(seed: UInt64) {
            self.random = SplitMix64(seed: seed ^ 0x3131_3131_3131_3131)
            self.percent = [0, 0, 15, 50].randomElement(using: &self.random)!
            self.expireUpdates = Int.random(in: 0..<4, using: &self.random) == 0
        }

        /// - Parameter isOfStart: the event may become part of a start. Nobody can tell whether that arrives just before it is stale or just after, so
        ///   its dates lie far away.
        mutating func draw(nowSeconds: Int64, isOfStart: Bool) -> Int64? {
            guard self.percent > 0, Int.random(in: 0..<100, using: &self.random) < self.percent else { return nil }
            guard isOfStart else { return nowSeconds + Int64.random(in: -60...300, using: &self.random) }
            return Bool.random(using: &self.random) ? nowSeconds - 600 : nowSeconds + 3 * 86_400
        }
    }

    /// When the event is stale; `nil`: it says nothing of that. Audiences have tests of their own: whom a start reaches there depends on whose turn it is.
    func drawStaleDate(_ activity: Int) -> Int64? {
        guard !self.isAudience(activity) else { return nil }
        // That an event was set aside has to be told.
        let isOfStart = self.phones[activity].startToken != nil
        guard !isOfStart || self.plan.publishesAll else { return nil }
        return self.staleDates.draw(nowSeconds: self.wallSeconds, isOfStart: isOfStart)
    }
}
