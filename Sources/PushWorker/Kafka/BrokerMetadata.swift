import KafkaLog
import Logging
import Redaction

/// What log lines say about brokers that do not answer.
extension WorkerConfiguration.Kafka {
    /// The brokers that are asked first, as messages show them.
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
    /// Whether the error means that no broker has answered.
    var isOfConnection: Bool { [.transport, .allBrokersDown, .timedOut].contains(self.code) }
}
