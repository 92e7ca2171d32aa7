import APNSSimulator
import HTTP2Session
import Testing

extension Complaints {
    /// Complaint 10, first half: waiting pushes are lost when the process ends. Reported as appleboy/gorush#330, #144
    /// and #536.
    ///
    /// Promised here: a worker that is killed at any moment loses no event. The next worker takes them from Kafka.
    @Test func pushesThatWaitSurviveTheProcess() async throws {
        let orders = 100
        try await TestHouse.withOrders(orders) { house, worker, publisher in
            // APNs answers nothing, so every push is in flight or waits when the worker dies.
            let stall = house.simulator.add(Fault(.stall(applied: false)))
            try await publisher.update(0..<orders, "in the oven", alert: "Hot")
            try await house.apns("pushes are on their way") { $0.unanswered > 0 }
            worker.kill()
            #expect(try await worker.exited() == -9)
            house.simulator.remove(stall)
            #expect(house.simulator.statistics().accepted == 0)

            let successor = try await house.startWorker("successor", settings: Complaints.shortWaits)
            try await house.phonesAgree(with: publisher.phones)
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 })
            try await house.everythingIsAccountedFor(publisher, successor)
            #expect(house.violations(except: .http2, .tls).isEmpty, "\(house.violations().prefix(3))")
        }
    }

    /// Complaint 10, second half: after hours without work no push is sent. Reported as appleboy/gorush#693.
    ///
    /// Promised here: the next event opens new connections and is pushed, no matter how the idle ones were closed.
    @Test(arguments: IdleEnd.allCases) func afterLongIdlenessPushesFlowAtOnce(_ end: IdleEnd) async throws {
        let orders = 50
        try await TestHouse.withOrders(orders, settings: end.settings) { house, worker, publisher in
            try await publisher.update(0..<orders, "in the oven")
            try await house.phonesAgree(with: publisher.phones)
            let before = house.simulator.statistics()

            if let action = end.action { house.simulator.perform(action) }
            // One shard keeps an idle connection, to find out whether APNs can be reached. It reconnects when APNs has
            // closed that connection.
            let keptCount = end == .ourselves ? 1 : 0
            try await house.apns("the idle connections are closed") {
                $0.connectionsAccepted - $0.connectionsOpen >= before.connectionsAccepted - keptCount
            }
            try await publisher.update(0..<orders, "at the door", alert: "Ding dong")
            try await house.phonesAgree(with: publisher.phones)
            let after = house.simulator.statistics()
            #expect(after.accepted == 2 * orders)
            #expect(after.requests == 2 * orders, "no push was needed twice")
            #expect(after.connectionsAccepted > before.connectionsAccepted)
            #expect(try await worker.metric("mailboat_apns_connect_failures_total") == 0)
            #expect(house.alertCounts(orders).allSatisfy { $0 == 1 })
        }
    }

    /// Who closes the idle connections.
    enum IdleEnd: CaseIterable {
        case goAway, closeNotify, cut, ourselves

        var action: ConnectionAction? {
            switch self {
            case .goAway: .goAway(GoAway(reason: "IdleTimeout"))
            case .closeNotify: .close
            case .cut: .cut
            case .ourselves: nil
            }
        }

        var settings: String { self == .ourselves ? "apns.idle-close: 1s" : "" }
    }
}
