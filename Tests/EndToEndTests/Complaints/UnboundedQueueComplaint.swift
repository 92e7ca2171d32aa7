import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 5: while APNs is slow or away, the sender queues pushes without a limit until memory is full. Reported
    /// as jchambers/pushy#867, #857 and #139, and node-apn/node-apn#191.
    ///
    /// Promised here: at `limits.pending` the worker stops reading Kafka, and further events stay there. When APNs is
    /// back, all of them are read and sent.
    @Test func whileAPNsIsAwayTheQueueIsBoundedAndNothingIsLost() async throws {
        let (limit, orders) = (100, 1_000)
        let settings = """
            shards: 1
            limits.pending: \(limit)
            """
        try await TestHouse.withOrders(orders, settings: settings) { house, worker, publisher in
            let registered = try await worker.metric("mailboat_events_consumed_total")
            house.simulator.setRefusesConnections(true)
            house.simulator.perform(.cut)
            try await publisher.update(0..<orders, "in the oven")
            try await until("the limit is reached") {
                try await worker.metric("mailboat_slots_pending") >= Double(limit)
            }
            // The test publishes for so long that a worker without the limit would read too much.
            var pendingMost = 0.0
            for round in 0..<3 {
                try await publisher.update(0..<orders, "in the oven, round \(round)")
                let refused = house.simulator.statistics().connectionsRefused
                try await until("connecting is tried again") {
                    pendingMost = max(pendingMost, try await worker.metric("mailboat_slots_pending"))
                    return house.simulator.statistics().connectionsRefused >= refused + 2
                }
            }
            #expect(pendingMost == Double(limit), "\(pendingMost) activities pending")
            let consumed = try await worker.metric("mailboat_events_consumed_total") - registered
            #expect(consumed < Double(orders), "\(consumed) of \(4 * orders) events were read")
            #expect(house.simulator.statistics().accepted == 0)

            house.simulator.setRefusesConnections(false)
            try await house.phonesAgree(with: publisher.phones)
            try await house.everythingIsAccountedFor(publisher, worker)
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
        }
    }
}
