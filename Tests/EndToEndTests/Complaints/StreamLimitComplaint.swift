import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 7: the sender opens more streams than APNs allows, and APNs ends the connection. Reported as
    /// jchambers/pushy#356, ostinelli/apnotic#29 and #140, and Pr0Ger/PyAPNs2#86.
    ///
    /// Promised here: a connection carries one request until APNs has accepted the provider token. After that it never
    /// carries more than the limit that APNs announced last.
    @Test func theStreamLimitIsKeptWhileItChanges() async throws {
        let orders = 300
        let limits: [UInt32] = [3, 1, 8, 2, 6]
        var apns = SimulatorConfiguration()
        apns.concurrentStreamsMax = 5
        let settings = """
            shards: 1
            apns.connections-max: 2
            """
        try await TestHouse.withOrders(orders, settings: settings, simulator: apns) { house, worker, publisher in
            house.simulator.setLatency(Latency(fixedMillis: 5, jitterMillis: 10))
            try await publisher.update(0..<orders, "in the oven", alert: "Hot")
            for (index, limit) in limits.enumerated() {
                try await house.apns("pushes flow") { $0.accepted >= (index + 1) * 40 }
                house.simulator.setConcurrentStreamsMax(limit)
            }
            try await house.phonesAgree(with: publisher.phones)

            let statistics = house.simulator.statistics()
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
            #expect(statistics.connections.allSatisfy { $0.inFlightPeak <= 8 })
            #expect(statistics.connections.contains { $0.inFlightPeak > 1 }, "the limit is used")
            #expect(statistics.connectionsAccepted <= 2, "no connection had to be replaced")
            #expect(statistics.accepted == orders)
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 })
            try await house.everythingIsAccountedFor(publisher, worker)
        }
    }
}
