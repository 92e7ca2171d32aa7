import APNSSimulator
import HTTP2Session
import Testing

extension Complaints {
    /// Complaint 1: pushes get lost when APNs sends GOAWAY, or the sender never recovers. Reported as pushy#865,
    /// pushy#1025, parse-community/node-apn#140, Fatal1ty/aioapns#63 and DocNR/clave#14.
    ///
    /// Promised here: pushes that APNs did not process are sent again on another connection. Pushes that APNs did
    /// process are not sent again. The worker keeps sending.
    @Test func pushesAreNotLostAtGoAwayAndServiceGoesOn() async throws {
        let orders = 300
        try await TestHouse.withOrders(orders) { house, worker, publisher in
            house.simulator.setLatency(Latency(fixedMillis: 10, jitterMillis: 20))
            // About every twentieth request ends its connection, in good order or with an error.
            let graceful = GoAway(reason: "Shutdown", lastStream: .current)
            let failing = GoAway(errorCode: .internalError, reason: "InternalServerError", lastStream: .current)
            let faults = [graceful, failing].map { house.simulator.add(Fault(.goAway($0), rate: 0.05, count: 8)) }
            try await publisher.update(0..<orders, "in the oven", alert: "Hot")
            try await house.phonesAgree(with: publisher.phones)
            #expect(faults.allSatisfy { house.simulator.fired($0) ?? 0 >= 1 })
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 }, "each push arrives once")
            #expect(house.simulator.statistics().accepted == orders)

            house.simulator.clearFaults()
            try await publisher.update(0..<orders, "at the door", alert: "Ding dong")
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.simulator.statistics().accepted == 2 * orders)
            #expect(try await worker.metric("mailboat_apns_goaways_total", label: "Shutdown") >= 1)
            let outcomes = try await house.everythingIsAccountedFor(publisher, worker)
            #expect(outcomes.allSatisfy { ["applied", "delivered"].contains($0.outcome) })
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
        }
    }
}
