import KafkaLog
import PushWorker

/// The Kafka topics that workers need.
enum MailboatTopics {
    /// Topics of a worker with default settings.
    static var defaults: [TopicPlan.Topic] { WorkerConfiguration().topics.planned }
}
