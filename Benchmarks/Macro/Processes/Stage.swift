/// The processes for rows of the whole worker: APNs, Kafka, and the worker between them.
struct Stage {
    let sink: Sink
    let broker: Broker
    let worker: Worker
    private let partitionCount: Int

    /// Starts the three processes, and waits until they are ready. When it throws, none stays running.
    /// - Parameter mode: mode of the simulated APNs.
    init(
        _ bench: Bench, partitionCount: Int, mode: Sink.Mode = .sink, options: Worker.Options = Worker.Options()
    ) throws {
        self.partitionCount = partitionCount
        self.sink = try Sink(bench, mode: mode)
        do {
            self.broker = try Broker(bench, partitionCount: partitionCount)
        } catch {
            self.sink.stop()
            throw error
        }
        do {
            self.worker = try Worker(bench, broker: self.broker, sink: self.sink, options: options)
        } catch {
            self.broker.stop()
            self.sink.stop()
            throw error
        }
    }

    /// Registers activities, from 0 on, and waits until the worker has settled them.
    /// - Parameter lingerMillis: how long a batch that is not full waits. The returned prefiller keeps this setting.
    /// - Returns: the prefiller that registered them, for their updates.
    @discardableResult
    func register(_ activityCount: Int, lingerMillis: Int = Prefiller.lingerMillis) throws -> Prefiller {
        let prefiller = try Prefiller(self.broker, partitionCount: self.partitionCount, lingerMillis: lingerMillis)
        try prefiller.register(0..<activityCount)
        try self.worker.settle(consumed: activityCount)
        return prefiller
    }

    /// Lets members join the audience while the worker runs.
    func join(_ members: Int) throws {
        let prefiller = try Prefiller(self.broker, partitionCount: self.partitionCount)
        for begin in stride(from: 0, to: members, by: Self.joinedTogether) {
            let end = min(members, begin + Self.joinedTogether)
            try prefiller.join(begin..<end)
            try self.worker.settle(consumed: end)
        }
    }
    private static let joinedTogether = 50_000

    /// Waits until no member waits for a push.
    func waitForMembers(limitSeconds: Int = 300, everyMillis: Int = 20) throws {
        try Waiting.until(
            "members that wait", limitSeconds: limitSeconds, process: self.worker.process, everyMillis: everyMillis
        ) { self.worker.metric("mailboat_members_waiting") == 0 }
    }

    func stop() {
        self.worker.stop()
        self.broker.stop()
        self.sink.stop()
    }
}
