import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 4: APNs answers `TooManyProviderTokenUpdates`. Every connection, topic or worker thread has its own
    /// provider token. Or a token's age counts from another time than its issue. jchambers/pushy#811,
    /// Pr0Ger/PyAPNs2#76, codedge-llc/pigeon#226, AndrewBarba/apns2#44, kylebrowning/APNSwift#118, sideshow/apns2#132.
    ///
    /// Promised here: all shards and connections use one token per key, aged from its `iat`, also after reconnects.
    /// `ProviderTokenScheduleTests` tests renewal with a clock of its own.
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
            // New connections share the token, too.
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
