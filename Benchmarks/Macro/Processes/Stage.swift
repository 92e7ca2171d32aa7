/// What rows of the whole worker need, each a process of its own: APNs, Kafka and the worker between them.
struct Stage {
    let sink: Sink
    let broker: Broker
    let worker: Worker

    /// Waits until all three are ready. Nothing stays running when it throws.
    init(_ bench: Bench, partitionCount: Int, options: Worker.Options = Worker.Options()) throws {
        self.sink = try Sink(bench)
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

    func stop() {
        self.worker.stop()
        self.broker.stop()
        self.sink.stop()
    }
}
