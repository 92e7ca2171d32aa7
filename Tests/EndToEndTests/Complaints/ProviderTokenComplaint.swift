import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 4: `TooManyProviderTokenUpdates`, because every connection, topic or worker thread has a provider
    /// token of its own, or its age is not counted from its issue. jchambers/pushy#811, Pr0Ger/PyAPNs2#76,
    /// codedge-llc/pigeon#226, AndrewBarba/apns2#44, kylebrowning/APNSwift#118, sideshow/apns2#132.
    ///
    /// Promised here: one token per key for all shards and connections, aged from its `iat`, also across reconnects.
    /// Renewal is tested with a clock of its own in `ProviderTokenScheduleTests`.
    @Test func allConnectionsOfAKeyShareOneProviderToken() async throws {
        let orders = 200
        let settings = """
            shards: 4
            apns.connections-max: 3
            apns.streams-max: 5
            """
        try await TestHouse.withOrders(orders, settings: settings) { house, worker, publisher in
            house.simulator.setLatency(Latency(fixedMillis: 50))
            try await publisher.update(0..<orders, "in the oven")
            try await house.phonesAgree(with: publisher.phones)
            // It happens again on new connections.
            await house.simulator.performAndWait(.goAway(GoAway(reason: "Shutdown")))
            try await publisher.update(0..<orders, "at the door")
            try await house.phonesAgree(with: publisher.phones)

            let statistics = house.simulator.statistics()
            let used = statistics.connections.filter { $0.requests > 0 }
            #expect(used.count >= 8, "\(used.count) connections were used")
            #expect(used.allSatisfy { $0.providerTokens == 1 })
            #expect(statistics.providerTokens == 1, "\(statistics.providerTokens) provider tokens for one key")
            #expect(statistics.refused.isEmpty, "\(statistics.refused)")
            #expect(house.violations().isEmpty, "\(house.violations().prefix(3))")
            let age = try await worker.metric("mailboat_provider_token_age_seconds")
            #expect(age >= 0 && age < 3_600)
        }
    }
}
