import KafkaLog
import Synchronization

/// The worker's seat in its consumer group: the consumer that has it now. When another process has taken the seat, that consumer is finished, and another
/// may sit down later. Any thread.
final class GroupSeat: Sendable {
    private struct State {
        var consumer: KafkaConsumer
        /// Whether the worker stops: no further consumer is made.
        var isClosed = false
    }

    let configuration: ConsumerConfiguration
    private let state: Mutex<State>

    init(_ configuration: ConsumerConfiguration) throws(KafkaError) {
        self.configuration = configuration
        self.state = Mutex(State(consumer: try KafkaConsumer(configuration)))
    }

    /// The one that has the seat, or had it last.
    var consumer: KafkaConsumer { self.state.withLock(\.consumer) }

    /// Puts another consumer in the place of one that is finished. - Returns: `nil`: the worker stops.
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
