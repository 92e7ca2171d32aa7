import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 4: APNs answers `TooManyProviderTokenUpdates`, because every connection, topic or worker thread makes
    /// its own provider token. Or a sender does not count a token's age from its issue. Reported as
    /// jchambers/pushy#811, Pr0Ger/PyAPNs2#76, codedge-llc/pigeon#226, AndrewBarba/apns2#44, kylebrowning/APNSwift#118
    /// and sideshow/apns2#132.
    ///
    /// Promised here: all shards and connections use one provider token per key, also after reconnects. Its age counts
    /// from its `iat`. `ProviderTokenScheduleTests` tests the renewal with the test's own clock.
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
            // New connections use the same provider token.
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
