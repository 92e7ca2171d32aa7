import APNSSimulator
import DeviceModel
import Testing

/// Tests of the ten things that users of other senders complain about most. Each runs a whole worker: embedded Kafka,
/// simulated APNs, and `mailboat run` as a process.
@Suite("What users of other senders complain about", .timeLimit(.minutes(10))) struct Complaints {
    /// Short limits, so that timeouts and waits end soon.
    static let shortWaits = """
        apns.backoff-min: 20ms
        apns.backoff-max: 200ms
        retry.backoff-min: 100ms
        retry.backoff-max: 1s
        """
}

extension TestHouse {
    /// Runs `body` in a house, with a worker and a publisher. The worker has read the registrations of `activities`
    /// orders.
    ///
    /// Order *n* has the name `Orders.name(n)` and the token `Tokens.make(n)`.
    static func withOrders(
        _ activities: Int, settings: String = "", simulator: SimulatorConfiguration = SimulatorConfiguration(),
        _ body: (TestHouse, WorkerProcess, TestPublisher) async throws -> Void
    ) async throws {
        try await Self.with(simulator: simulator) { house in
            let worker = try await house.startWorker(settings: Complaints.shortWaits + "\n" + settings)
            let publisher = try TestPublisher(house.kafka)
            for order in 0..<activities { try publisher.register(Orders.name(order), token: Tokens.make(order)) }
            try await publisher.flush()
            try await worker.ready()
            try await until("the registrations are known") {
                try await worker.metric("mailboat_slots") >= Double(activities)
            }
            try await body(house, worker, publisher)
        }
    }

    /// Waits until the simulator's statistics satisfy `condition`. The test fails if that takes longer than `limit`.
    @discardableResult
    func apns(
        _ what: String, within limit: Duration = .seconds(90), file: StaticString = #fileID, line: UInt = #line,
        until condition: @escaping @Sendable (SimulatorStatistics) -> Bool
    ) async throws -> SimulatorStatistics {
        do {
            return try await self.simulator.wait(within: limit, until: condition)
        } catch let timeout as SimulatorWaitTimeout {
            throw WaitedInVain(what: "\(what); \(timeout)", file: file, line: line)
        }
    }

    /// Number of alerts that each phone of the first `activities` orders has shown.
    func alertCounts(_ activities: Int) -> [UInt32] {
        (0..<activities).map { self.simulator.device(token: Tokens.make($0))?.device.alertCount ?? 0 }
    }

    /// Waits until every event has its outcome, and the worker reports no open or unaccounted event.
    /// - Returns: all records of the outcomes topic.
    @discardableResult
    func everythingIsAccountedFor(_ publisher: TestPublisher, _ worker: WorkerProcess) async throws -> [OutcomeRecord] {
        let outcomes = try TopicTail(self.kafka.outcomes, of: self.kafka)
        try await DeliveryTests.everyEventHasAnOutcome(publisher, outcomes, in: self)
        try await until("nothing waits and nothing is unaccounted for") {
            let unaccounted = try await worker.metric("mailboat_events_unaccounted")
            let pending = try await worker.metric("mailboat_events_pending")
            return unaccounted == 0 && pending == 0
        }
        return try OutcomeRecord.all(in: outcomes)
    }
}

/// The activities of the complaint tests.
enum Orders {
    static func name(_ number: Int) -> String { "order-\(number)" }
}

extension TestPublisher {
    /// Publishes one update for each of `orders`, at high priority.
    func update(_ orders: Range<Int>, _ step: String, alert: String? = nil) async throws {
        for order in orders { try self.update(Orders.name(order), step, priority: 10, alert: alert) }
        try await self.flush()
    }
}
