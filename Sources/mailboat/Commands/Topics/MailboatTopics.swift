import KafkaLog
import PushWorker

/// The topics of a configuration and their purposes.
enum MailboatTopics {
    /// Topics of a worker with default settings.
    static var defaults: [TopicPlan.Topic] { WorkerConfiguration().topics.planned }
}
