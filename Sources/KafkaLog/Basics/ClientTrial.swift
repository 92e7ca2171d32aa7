/// Tries out the configuration of a librdkafka client: makes the client and destroys it. librdkafka refuses some
/// properties only when a client is made: two that contradict each other, or one that this build does not support. The
/// trial leaves the brokers out, so that it contacts none.
public enum ClientTrial: Sendable, CaseIterable {
    /// A `KafkaConsumer`.
    case consumer
    /// A `KafkaProducer`.
    case producer
    /// A `KafkaLogReader`.
    case logReader
    /// A `KafkaAdmin`.
    case admin

    /// Makes a client of this kind and destroys it.
    /// - Parameters:
    ///   - settings: the settings of such a client. Its brokers are left out.
    ///   - group: `group.id` and `group.instance.id` of a consumer.
    /// - Throws: the reason why librdkafka refuses the client, in librdkafka's words, or the error of a property that
    ///   Mailboat does not let an operator set.
    public func run(_ settings: KafkaSettings, group: (id: String, instanceID: String?)) throws(KafkaError) {
        let offline = settings.keeping { !KafkaSettings.namesBrokers($0.name) }
        switch self {
        case .consumer:
            try KafkaConsumer.client(
                for: ConsumerConfiguration(
                    settings: offline, groupID: group.id, groupInstanceID: group.instanceID, driverTopic: "")
            ).tryOut()
        case .producer: try KafkaProducer.client(for: offline).tryOut()
        case .logReader: try KafkaLogReader.client(for: offline).tryOut()
        case .admin: try ClientConfiguration.withoutGroup(offline).tryOut()
        }
    }
}
