/// Has librdkafka make a client with everything that one is told, and destroy it again. Some properties are refused only then: two that do not go
/// together, or what this build of librdkafka was not made for. Contacts nobody, as brokers are left out.
public enum ClientTrial: Sendable, CaseIterable {
    /// A `KafkaConsumer`.
    case consumer
    /// A `KafkaProducer`.
    case producer
    /// A `KafkaLogReader`.
    case logReader
    /// A `KafkaAdmin`.
    case admin

    /// - Parameters:
    ///   - settings: as such a client gets them.
    ///   - group: `group.id` and `group.instance.id` of a consumer.
    /// - Throws: what it would be refused for, in librdkafka's words; the same for a property that cannot be set at all.
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
