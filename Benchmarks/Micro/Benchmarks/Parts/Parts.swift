import Benchmark

/// Everything is measured a thousand times per sample and shown for one.
let benchmarks: @Sendable () -> Void = {
    Benchmark.defaultConfiguration = .init(
        metrics: [.cpuTotal, .wallClock, .throughput, .instructions], scalingFactor: .kilo, maxDuration: .seconds(2))
    EventBenchmarks.define()
    EngineBenchmarks.define()
    HTTP2Benchmarks.define()
    TokenBenchmarks.define()
}
