/// Cost of paced updates in a measured time. The publisher begins before that time and ends after it.
struct PacedWindow {
    var workerMicrosPerPush: Double
    var kafkaMicrosPerPush: Double
    /// Share of a core that the worker used.
    var workerBusy: Double
    var pushesPerSecond: Double

    /// Measures for `seconds`, from now on.
    static func measure(seconds: Double, _ worker: Worker, _ sink: Sink, _ broker: Broker) throws -> PacedWindow {
        let begin = Self.look(worker, sink, broker)
        Clock.sleep(millis: Int(seconds * 1_000))
        let end = Self.look(worker, sink, broker)
        let pushes = Double(end.pushes - begin.pushes)
        guard pushes > 0 else { throw BenchmarkFailure("no push was answered for \(seconds) s while updates came") }
        let wallMicros = Double(end.wallMicros - begin.wallMicros)
        let workerMicros = Double(end.workerMicros - begin.workerMicros)
        return PacedWindow(
            workerMicrosPerPush: workerMicros / pushes,
            kafkaMicrosPerPush: Double(end.kafkaMicros - begin.kafkaMicros) / pushes,
            workerBusy: workerMicros / wallMicros, pushesPerSecond: pushes / wallMicros * 1e6)
    }

    private static func look(_ worker: Worker, _ sink: Sink, _ broker: Broker) -> (
        pushes: Int, workerMicros: Int64, kafkaMicros: Int64, wallMicros: Int64
    ) {
        (sink.answeredCount, worker.process.meter.cpuMicros, broker.cpuMicros, Clock.nowMicros)
    }
}
