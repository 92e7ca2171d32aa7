import KafkaLog
import Synchronization

/// The worker's membership in its consumer group: the consumer that is the member now. When another process replaces
/// the member, that consumer is finished, and a new one may join later. May be used from any thread.
final class GroupSeat: Sendable {
    private struct State {
        var consumer: KafkaConsumer
        /// Whether the worker is stopping, so that no further consumer is made.
        var isClosed = false
    }

    let configuration: ConsumerConfiguration
    private let state: Mutex<State>

    init(_ configuration: ConsumerConfiguration) throws(KafkaError) {
        self.configuration = configuration
        self.state = Mutex(State(consumer: try KafkaConsumer(configuration)))
    }

    /// The consumer that is the member, or was the last member.
    var consumer: KafkaConsumer { self.state.withLock(\.consumer) }

    /// Replaces a finished consumer by a new one.
    /// - Returns: `nil` when the worker is stopping.
    func renew() throws(KafkaError) -> KafkaConsumer? {
        let consumer = try KafkaConsumer(self.configuration)
        return self.state.withLock { state in
            guard !state.isClosed else { return nil }
            state.consumer = consumer
            return consumer
        }
    }

    /// Leaves the group for good: see `KafkaConsumer.close`.
    func close(within limit: Duration) async -> Bool {
        let consumer = self.state.withLock { state in
            state.isClosed = true
            return state.consumer
        }
        return await consumer.close(within: limit)
    }
}
