import APNSSimulator
import DeviceModel
import Testing

extension Complaints {
    /// Complaint 8: a Live Activity stops updating although APNs answers 200, because the phone's hourly budget for
    /// high-priority pushes is spent. Reported as callstackincubator/voltra#119, EKKOLearnAI/hermes-studio#3111 and
    /// kisimediaDE/capacitor-live-activity#11.
    ///
    /// Promised here: no activity gets more high-priority pushes in an hour than its budget allows. Further pushes
    /// leave with priority 5, which costs no budget, so the phone still shows the newest state.
    @Test func updatesGoOnWhenTheBudgetIsSpent() async throws {
        let (budget, steps, orders) = (2, 5, 10)
        var apns = SimulatorConfiguration()
        apns.watchedBudgetPerHour = budget
        apns.deviceRules.budgetPerHour = budget
        let settings = """
            budget.per-hour: \(budget)
            budget.reserve: 0
            """
        try await TestHouse.withOrders(orders, settings: settings, simulator: apns) { house, worker, publisher in
            for step in 1...steps {
                try await publisher.update(0..<orders, "step \(step)")
                // Waiting after each step gives each update its own push. Otherwise it could merge with the next.
                try await house.apns("step \(step) is pushed") { $0.accepted >= step * orders }
            }
            try await house.phonesAgree(with: publisher.phones)

            let statistics = house.simulator.statistics()
            #expect(statistics.highPriority == budget * orders)
            #expect(statistics.reactions["throttled"] == nil)
            for order in 0..<orders {
                let device = try #require(house.simulator.device(token: Tokens.make(order))).device
                #expect(device.highPriorityPeak == budget)
                #expect(device.shownCount == UInt32(steps))
            }
            // The metrics page lags a moment behind the pushes.
            try await until("every push beyond the budget is counted as downgraded") {
                try await worker.metric("mailboat_pushes_downgraded_total") == Double((steps - budget) * orders)
            }
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
            try await house.everythingIsAccountedFor(publisher, worker)
        }
    }
}
