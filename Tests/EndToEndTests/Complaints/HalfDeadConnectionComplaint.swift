import APNSSimulator
import Testing

extension Complaints {
    /// Complaint 6: a connection that is half dead is found only when its requests time out. Reported as
    /// sideshow/apns2#24 and #209, node-apn/node-apn#585 and parse-community/node-apn#29.
    ///
    /// Promised here: a PING after `apns.ping-after` of silence finds the dead connection. The pushes leave on another
    /// connection long before `apns.request-timeout`.
    @Test func aHalfDeadConnectionIsFoundByPingLongBeforeTheRequestTimeout() async throws {
        let orders = 50
        let settings = """
            apns.request-timeout: 5m
            apns.ping-after: 200ms
            apns.ping-timeout: 500ms
            """
        try await TestHouse.withOrders(orders, settings: settings) { house, worker, publisher in
            try await publisher.update(0..<orders, "in the oven")
            try await house.phonesAgree(with: publisher.phones)
            let before = house.simulator.statistics()

            let silenced = await house.simulator.performAndWait(.silence)
            #expect(silenced == before.connectionsOpen && silenced > 0)
            try await publisher.update(0..<orders, "at the door", alert: "Ding dong")
            try await house.phonesAgree(with: publisher.phones)

            let after = house.simulator.statistics()
            #expect(after.connectionsAccepted > before.connectionsAccepted)
            #expect(after.accepted == 2 * orders)
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 })
            #expect(try await worker.metric("mailboat_apns_timeouts_total") == 0)
            #expect(try await worker.metric("mailboat_apns_pings_total") >= 1)
            try await house.everythingIsAccountedFor(publisher, worker)
        }
    }
}
