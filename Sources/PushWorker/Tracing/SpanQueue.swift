import DequeModule
import Synchronization

/// Spans that wait to be exported, and what became of others. Bounded: a collector that is away costs spans, not memory. Any thread.
final class SpanQueue: Sendable {
    private struct State {
        var spans: Deque<FinishedSpan> = []
        var counters = ExportCounters()
    }

    /// Past it the newest are dropped: those that wait tell how it began.
    static let spanCountMax = 8_192

    private let state = Mutex(State())
    /// Says that there is something, once, however much comes.
    private let signals: AsyncStream<Void>.Continuation
    let filled: AsyncStream<Void>

    init() { (self.filled, self.signals) = AsyncStream.makeStream(bufferingPolicy: .bufferingNewest(1)) }

    func append(_ span: FinishedSpan) {
        let wasEmpty = self.state.withLock { state in
            guard state.spans.count < Self.spanCountMax else {
                state.counters.spansDropped += 1
                return false
            }
            state.spans.append(span)
            return state.spans.count == 1
        }
        if wasEmpty { self.signals.yield() }
    }

    /// The oldest, at most `max`.
    func take(max: Int) -> [FinishedSpan] {
        self.state.withLock { state in
            let taken = Array(state.spans.prefix(max))
            state.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Puts spans back at the front. Spans behind them that no longer have room are dropped.
    func putBack(_ spans: [FinishedSpan]) {
        self.state.withLock { state in
            state.spans.prepend(contentsOf: spans)
            let excess = max(0, state.spans.count - Self.spanCountMax)
            state.spans.removeLast(excess)
            state.counters.spansDropped += UInt64(excess)
        }
    }

    var counters: ExportCounters { self.state.withLock { $0.counters } }

    func count(_ change: (inout ExportCounters) -> Void) { self.state.withLock { change(&$0.counters) } }
}

/// What became of spans of a worker.
struct ExportCounters: Sendable, Equatable {
    /// The collector has taken them.
    var spansExported: UInt64 = 0
    /// They had no room, were refused, or could not be delivered.
    var spansDropped: UInt64 = 0
    /// Requests that the collector did not take; most are sent again.
    var exportsFailed: UInt64 = 0
}
