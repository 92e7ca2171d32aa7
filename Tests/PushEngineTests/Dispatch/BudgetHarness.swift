import PushEngine
import Testing

/// An engine whose app has a small budget, and pushes that spend it.
enum BudgetHarness {
    static let hour: Int64 = 3_600_000

    static func alive(
        perHour: Int = 5, reserve: Int = 2, policy: AppConfiguration.BudgetPolicy = .downgrade, frequent: Bool = false
    ) -> EngineHarness {
        let h = EngineHarness {
            $0.apps[0].budgetPerHour = perHour
            $0.apps[0].budgetFrequentPerHour = perHour + 3
            $0.apps[0].budgetReserve = reserve
            $0.apps[0].budgetPolicy = policy
        }
        h.register(frequent: frequent)
        return h
    }

    /// Sends `count` high-priority updates two seconds apart. Returns the priorities with which they left.
    static func spend(_ h: EngineHarness, _ count: Int, alert: String? = nil, at: Int64? = nil) -> [Int] {
        (0..<count).map { n in
            h.update(n, at: at, priority: 10, alert: alert)
            let priority = h.deliver()?.priority ?? 0
            h.advance(2_000)
            return priority
        }
    }
}
