import DequeModule
import Synchronization

/// Spans that wait to be exported, and numbers of exported and lost ones. The queue is bounded, so spans are lost while
/// a collector cannot be reached. May be used from any thread.
final class SpanQueue: Sendable {
    private struct State {
        var spans: Deque<FinishedSpan> = []
        var counters = ExportCounters()
    }

    /// Maximum number of spans that wait. If there are more, the newest are dropped, because the oldest show how a
    /// fault began.
    static let spanCountMax = 8_192

    private let state = Mutex(State())
    /// Signals that spans wait. Several signals count as one until it is taken.
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

    /// Removes the oldest spans, at most `max`.
    func take(max: Int) -> [FinishedSpan] {
        self.state.withLock { state in
            let taken = Array(state.spans.prefix(max))
            state.spans.removeFirst(taken.count)
            return taken
        }
    }

    /// Puts spans back at the front. Newer spans that no longer have room are dropped.
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

/// Numbers of exported and lost spans of a worker.
struct ExportCounters: Sendable, Equatable {
    /// Number of spans that the collector has taken.
    var spansExported: UInt64 = 0
    /// Number of spans that had no room, were refused, or could not be delivered.
    var spansDropped: UInt64 = 0
    /// Number of requests that the collector did not take. Most of them are sent again.
    var exportsFailed: UInt64 = 0
}
