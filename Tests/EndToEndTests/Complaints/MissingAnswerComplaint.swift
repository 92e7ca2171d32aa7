import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 2: an answer that never comes blocks the sender for ever. Reported as kylebrowning/APNSwift#93 and
    /// #101, vapor/apns#23 and HENNGE/aapns#31.
    ///
    /// Promised here: a push without an answer is given up after `apns.request-timeout` and sent again. Other pushes do
    /// not wait for it.
    @Test func aMissingAnswerBlocksNobodyAndIsAskedForAgain() async throws {
        let (silenced, orders) = (5, 60)
        try await TestHouse.withOrders(orders, settings: "apns.request-timeout: 1s") { house, worker, publisher in
            for order in 0..<silenced {
                house.simulator.add(Fault(.stall(applied: false), tokenPrefix: Tokens.make(order)))
            }
            try await publisher.update(0..<silenced, "preparing", alert: "Started")
            try await house.apns("the first are left without an answer") { $0.unanswered >= silenced }
            try await publisher.update(silenced..<orders, "preparing", alert: "Started")
            try await house.apns("the others are answered all the while") { $0.accepted >= orders - silenced }
            #expect(house.alertCounts(silenced).allSatisfy { $0 == 0 })

            try await house.apns("each is given up and sent again") { $0.unanswered >= 2 * silenced }
            #expect(try await worker.metric("mailboat_apns_timeouts_total") >= Double(silenced))
            house.simulator.clearFaults()
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 })
            #expect(house.simulator.statistics().accepted == orders)
            try await house.everythingIsAccountedFor(publisher, worker)
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
        }
    }
}
