import KafkaLog
import Logging
import Redaction

/// What log lines say about brokers that do not answer.
extension WorkerConfiguration.Kafka {
    /// The brokers that are asked first, for messages.
    var shownBrokers: String {
        let settings = self.consumerSettings
        return ShownText.addresses(
            BrokerList.withPorts(settings["bootstrap.servers"] ?? settings["metadata.broker.list"] ?? ""))
    }

    /// Metadata of a log line about an error. If no broker has answered, it names those that were asked.
    func metadata(of error: KafkaError) -> Logger.Metadata {
        var metadata: Logger.Metadata = ["cause": "\(error)"]
        if error.isOfConnection { metadata["brokers"] = "\(self.shownBrokers)" }
        return metadata
    }
}

extension KafkaError {
    /// Whether no broker has answered, as far as this error says.
    var isOfConnection: Bool { [.transport, .allBrokersDown, .timedOut].contains(self.code) }
}
