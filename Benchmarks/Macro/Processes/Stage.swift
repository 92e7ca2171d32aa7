/// What rows of the whole worker need, each a process of its own: APNs, Kafka and the worker between them.
struct Stage {
    let sink: Sink
    let broker: Broker
    let worker: Worker
    private let partitionCount: Int

    /// Waits until all three are ready. Nothing stays running when it throws.
    /// - Parameter mode: of the simulated APNs.
    init(
        _ bench: Bench, partitionCount: Int, mode: Sink.Mode = .sink, options: Worker.Options = Worker.Options()
    ) throws {
        self.partitionCount = partitionCount
        self.sink = try Sink(bench, mode: mode, takesQuestions: options.asksAboutChannels)
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
    /// - Parameter lingerMillis: how long a batch that is not full waits, here and in what the prefiller writes next.
    /// - Returns: what has registered them, for their updates.
    @discardableResult
    func register(_ activityCount: Int, lingerMillis: Int = Prefiller.lingerMillis) throws -> Prefiller {
        let prefiller = try Prefiller(self.broker, partitionCount: self.partitionCount, lingerMillis: lingerMillis)
        try prefiller.register(0..<activityCount)
        try self.worker.settle(consumed: activityCount)
        return prefiller
    }

    /// Lets members join the audience, while the worker goes on.
    func join(_ members: Int) throws {
        let prefiller = try Prefiller(self.broker, partitionCount: self.partitionCount)
        for begin in stride(from: 0, to: members, by: Self.joinedTogether) {
            let end = min(members, begin + Self.joinedTogether)
            try prefiller.join(begin..<end)
            try self.worker.settle(consumed: end)
        }
    }
    private static let joinedTogether = 50_000

    /// Nobody is owed anything.
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
