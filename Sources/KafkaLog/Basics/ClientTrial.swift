/// Makes a librdkafka client with its whole configuration, and destroys it again. Some properties are refused only
/// then: two that contradict each other, or one that this build of librdkafka does not support. Contacts nobody,
/// because brokers are left out.
public enum ClientTrial: Sendable, CaseIterable {
    /// A `KafkaConsumer`.
    case consumer
    /// A `KafkaProducer`.
    case producer
    /// A `KafkaLogReader`.
    case logReader
    /// A `KafkaAdmin`.
    case admin

    /// Makes such a client and destroys it.
    /// - Parameters:
    ///   - settings: as such a client gets them.
    ///   - group: `group.id` and `group.instance.id` of a consumer.
    /// - Throws: what the client would be refused for, in librdkafka's words; also for a property that cannot be set at
    ///   all.
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
