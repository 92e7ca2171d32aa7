/// How much of an hour's budget is spent, as a meter and in words. It counts pushes at priority 10, or versions of an
/// audience.
public struct BudgetMeter: Equatable, Sendable {
    /// Who keeps the count.
    public enum Keeper: Equatable, Sendable {
        /// The worker, by the app's settings.
        case worker(reserve: Int, defers: Bool)
        /// The worker, for the members of an audience: one count for those with `frequent-updates`, one for the others.
        case audience(reserve: Int, isFrequent: Bool)
        /// The phone. Beyond its budget it silently drops pushes.
        case phone
    }

    /// Who keeps the count.
    public let keeper: Keeper
    /// Number of pushes or versions that are allowed in any rolling hour.
    public let perHour: Int
    /// Number of pushes or versions spent, including the push in flight.
    public let spent: Int
    /// When each answered push returns to the budget, in seconds from now, the next first; empty: not known.
    public let returnsInSeconds: [Int64]

    /// Creates a meter.
    /// - Parameters:
    ///   - keeper: who keeps the count.
    ///   - perHour: the number allowed in any rolling hour.
    ///   - spent: the number spent, including the push in flight.
    ///   - returnsInSeconds: when each answered push returns to the budget, the next first.
    public init(keeper: Keeper, perHour: Int, spent: Int, returnsInSeconds: [Int64] = []) {
        self.keeper = keeper
        self.perHour = perHour
        self.spent = spent
        self.returnsInSeconds = returnsInSeconds
    }

    /// Number of pushes or versions that the budget still allows now.
    public var left: Int { max(0, self.perHour - self.spent) }

    /// Number of units left that are kept for alerts and ends.
    public var reserve: Int {
        switch self.keeper {
        case .worker(let reserve, _), .audience(let reserve, _): min(reserve, self.perHour)
        case .phone: 0
        }
    }

    /// How much of the budget is left.
    public enum Level: String, Equatable, Sendable {
        /// Any push may have priority 10.
        case plenty
        /// Only alerts and ends may have priority 10.
        case reserve
        /// No push may have priority 10.
        case empty
    }

    /// How much of the budget is left.
    public var level: Level { self.left == 0 ? .empty : self.left <= self.reserve ? .reserve : .plenty }

    /// The meter in words, for those who cannot see the picture.
    public var text: String {
        switch self.keeper {
        case .phone:
            let fate = self.level == .empty ? ": it silently drops more" : ""
            return "\(self.spentText) on the phone\(fate)."
        case .worker(_, let defers):
            return self.text(spent: self.spentText, fate: defers ? "wait in the worker" : "go out at priority 5")
        case .audience(_, let isFrequent):
            let members = "members with\(isFrequent ? "" : "out") frequent updates"
            return self.text(spent: "\(self.spentText) for \(members)", fate: "reach them at priority 5")
        }
    }

    private func text(spent: String, fate: String) -> String {
        switch self.level {
        case .plenty: return "\(spent)." + (self.back(after: 0).map { " The next one returns \($0)." } ?? "")
        case .reserve:
            return "\(spent). What is left is kept for alerts and ends: other updates \(fate)"
                + "\(self.until(below: self.perHour - self.reserve))."
        case .empty: return "\(spent): updates \(fate)\(self.until(below: self.perHour - self.reserve))."
        }
    }

    private var spentText: String {
        let what = if case .audience = self.keeper { "versions" } else { "pushes" }
        return
            "\(self.spent) of \(self.perHour) \(what) at priority 10 of this hour \(self.spent == 1 ? "is" : "are") spent"
    }

    /// Words for when fewer than `limit` units will be spent; empty: not known.
    private func until(below limit: Int) -> String {
        limit > 0 ? self.back(after: self.spent - limit).map { " until one more returns, \($0)" } ?? "" : ""
    }

    private func back(after count: Int) -> String? {
        guard self.returnsInSeconds.indices.contains(count) else { return nil }
        let seconds = self.returnsInSeconds[count]
        return seconds < 120 ? "in \(seconds) s" : "in \((seconds + 59) / 60) min"
    }
}

extension BudgetMeter {
    /// The meter as JSON for the page and the API.
    public var json: JSONTree {
        [
            "perHour": .integer(self.perHour), "spent": .integer(self.spent), "left": .integer(self.left),
            "reserve": .integer(self.reserve), "level": .string(self.level.rawValue), "text": .string(self.text),
            "returnsInSeconds": .array(self.returnsInSeconds.map { .integer($0) }),
        ]
    }
}
