import APNSSimulator
import DeviceModel
import Testing

extension Complaints {
    /// Complaint 3: APNs reduces MAX_CONCURRENT_STREAMS to 1 after a rejection, and all later pushes are delayed by
    /// minutes. Reported as jchambers/pushy#732 and #486, and radar 27870881.
    ///
    /// Promised here: the worker keeps to the limit, good pushes keep flowing, and afterwards the connection is fully
    /// used again.
    @Test func badTokensDoNotHoldUpGoodOnes() async throws {
        let (bad, orders) = (20, 120)
        var apns = SimulatorConfiguration()
        apns.collapsesOnRejection = true
        try await TestHouse.withOrders(orders, settings: "registration-wait: 0s", simulator: apns) {
            house, worker, publisher in
            for order in 0..<bad { house.simulator.setToken(Tokens.make(order), .unknown) }
            house.simulator.setLatency(Latency(fixedMillis: 5))
            // Pushes to bad tokens are mixed with pushes to good ones.
            for order in 0..<bad {
                for other in stride(from: order, to: orders, by: bad) {
                    try publisher.update(Orders.name(other), "in the oven", priority: 10)
                }
            }
            try await publisher.flush()
            let seen = try await house.apns("good ones are accepted, bad ones refused") {
                $0.accepted >= orders - bad && $0.refused["BadDeviceToken"] ?? 0 >= bad
            }
            #expect(seen.accepted == orders - bad)

            // APNs is back to normal. It answers so late that most good pushes are on their way at the same time.
            house.simulator.setLatency(Latency(fixedMillis: 2_000))
            try await publisher.update(bad..<orders, "at the door")
            try await house.apns("many streams are open at once") { $0.delayed > (orders - bad) / 2 }
            try await house.apns("the good ones are accepted again") { $0.accepted >= 2 * (orders - bad) }
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.count { $0.outcome == "delivered" } == 2 * (orders - bad))
            #expect(house.violations(except: .deadTokenUsedAgain).isEmpty, "\(house.violations().prefix(3))")
        }
    }
}
