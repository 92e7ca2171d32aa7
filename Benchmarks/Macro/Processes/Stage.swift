/// What rows of the whole worker need, each a process of its own: APNs, Kafka and the worker between them.
struct Stage {
    let sink: Sink
    let broker: Broker
    let worker: Worker
    private let partitionCount: Int

    /// Waits until all three are ready. Nothing stays running when it throws.
    init(_ bench: Bench, partitionCount: Int, options: Worker.Options = Worker.Options()) throws {
        self.partitionCount = partitionCount
        self.sink = try Sink(bench, takesQuestions: options.asksAboutChannels)
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

    /// Registers so many activities, from 0 on, and waits until the worker has settled them.
    /// - Parameter lingerMillis: how long a batch that is not full waits, here and in what the prefiller writes next.
    /// - Returns: what has registered them, for their updates.
    @discardableResult
    func register(_ activityCount: Int, lingerMillis: Int = Prefiller.lingerMillis) throws -> Prefiller {
        let prefiller = try Prefiller(self.broker, partitionCount: self.partitionCount, lingerMillis: lingerMillis)
        try prefiller.register(0..<activityCount)
        try self.worker.settle(consumed: activityCount)
        return prefiller
    }

    func stop() {
        self.worker.stop()
        self.broker.stop()
        self.sink.stop()
    }
}
