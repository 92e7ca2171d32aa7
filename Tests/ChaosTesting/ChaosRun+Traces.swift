import ChildProcesses
import CommandSupport
import PushWorker
import TraceCollecting
import Upstream

/// Judges the traces that workers sent to the collector.
extension ChaosRun {
    private static let tracesDurationMax = Duration.seconds(30)
    /// Time without new spans after which nothing more is expected. Workers send once a second, and send again a little
    /// later what the collector did not take.
    private static let tracesQuiet = Duration.seconds(3)

    /// Waits until the workers have sent the collector everything they have traced, or for half a minute.
    func tracesExported() async throws {
        guard self.stage.tracing != nil else { return }
        let deadline = ContinuousClock.now + Self.tracesDurationMax
        var (told, since) = (-1.0, ContinuousClock.now)
        while ContinuousClock.now < deadline {
            var (live, exported) = (0.0, 0.0)
            for worker in self.stage.workers {
                guard let metrics = try await worker.metrics() else { continue }
                live += PrometheusReading.sum("mailboat_tracing_events_live", in: metrics)
                live += PrometheusReading.sum("mailboat_tracing_passes_live", in: metrics)
                exported += PrometheusReading.sum("mailboat_tracing_spans_exported_total", in: metrics)
            }
            if exported != told { (told, since) = (exported, .now) }
            if live == 0, ContinuousClock.now - since >= Self.tracesQuiet { return }
            // The state of other processes has to be polled.
            try await Task.sleep(for: .milliseconds(300))
        }
    }

    /// Judgement of the traces. `nil` means that nothing was to be traced.
    func traceAudit(_ audit: ChaosAudit) -> TraceAudit? {
        guard let tracing = self.stage.tracing else { return nil }
        let tokens = self.publications.flatMap { [$0.token, $0.membership?.token].compactMap { $0 } }
        var traces = TraceAudit(
            tracing.collector.requests.map(\.body), topic: self.stage.topics.events[0],
            isUndisturbed: self.isUndisturbed, tokens: Set(tokens),
            outcomes: { audit.outcomes(at: $0).map(\.outcome) })
        traces.expectAll(isUndisturbed: self.isUndisturbed)
        return traces
    }
}
