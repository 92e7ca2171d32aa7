import CRDKafka
import Synchronization

/// Makes librdkafka check again which partitions it may fetch. Works from any thread; never blocks the caller.
///
/// Before each Fetch, the thread that talks to a broker decides which partitions to ask for. It leaves out paused
/// partitions and those whose queue is full. If no partition is left, the thread sleeps for up to a second. Neither a
/// drained queue nor the end of a pause wakes it (`rd_kafka_broker_consumer_serve` and `rd_kafka_toppar_pause_resume`
/// of 2.0.2). Any request wakes it, so a `FetchWaker` asks the leaders of the partitions for an offset.
final class FetchWaker: Sendable {
    private struct State {
        var wanted: Set<TopicPartition> = []
        var isAsking = false
        var askedCount = 0
    }

    private let client: ClientHandle
    private let state = Mutex(State())

    /// Maximum time to wait for the answer. After that time the thread has woken by itself.
    private static let answerDurationMax: Duration = .seconds(1)

    init(client: ClientHandle) { self.client = client }

    /// Number of requests that were sent only to wake a thread.
    var askedCount: Int { self.state.withLock { $0.askedCount } }

    /// Wakes the threads that fetch these partitions. Calls made while a request is unanswered are combined into one
    /// request after it.
    func wake(_ partitions: some Sequence<TopicPartition>) {
        let mustStart = self.state.withLock { state in
            state.wanted.formUnion(partitions)
            guard !state.isAsking, !state.wanted.isEmpty else { return false }
            state.isAsking = true
            return true
        }
        guard mustStart else { return }
        NamedThread.start("kafka-wake") { self.ask() }
    }

    private func ask() {
        while true {
            let partitions = self.state.withLock { state in
                let wanted = state.wanted
                state.wanted = []
                state.isAsking = !wanted.isEmpty
                state.askedCount += wanted.isEmpty ? 0 : 1
                return wanted
            }
            guard !partitions.isEmpty else { return }
            let list = PartitionList(
                partitions.map {
                    TopicPartitionOffset(topic: $0.topic, partition: $0.partition, offset: LogStart.end.rawOffset)
                })
            // The answer does not matter: the request alone wakes the thread.
            _ = rd_kafka_offsets_for_times(self.client.pointer, list.pointer, Self.answerDurationMax.wholeMillis)
        }
    }
}
