import KafkaLog
import PushWorker

/// The topics of a configuration, each with what it is for.
enum MailboatTopics {
    /// Those of a worker that is told nothing else.
    static var defaults: [TopicPlan.Topic] { Self.of(WorkerConfiguration().topics) }

    static func of(_ topics: WorkerConfiguration.Topics) -> [TopicPlan.Topic] {
        topics.events.map { .init($0, .events) } + [
            .init(topics.routed, .routed), .init(topics.state, .state), .init(topics.outcomes, .outcomes),
            .init(topics.deadLetters, .deadLetters),
        ]
    }
}
