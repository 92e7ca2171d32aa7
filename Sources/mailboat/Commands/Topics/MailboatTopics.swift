import KafkaLog
import PushWorker

/// The topics of a configuration, each with what it is for.
enum MailboatTopics {
    /// Those of a worker that is told nothing else.
    static var defaults: [TopicPlan.Topic] { WorkerConfiguration().topics.planned }
}
