import CRDKafka

/// A topic as one client knows it. A producer's is made once with `KafkaProducer.topic` and used for every record.
///
/// `@unchecked Sendable`: the pointer never changes and librdkafka's topics may be used from any thread.
public final class KafkaTopic: @unchecked Sendable {
    /// The topic's name as it was given to the client.
    public let name: String
    let pointer: OpaquePointer
    private let client: ClientHandle

    /// Makes the handle for a topic name (1–249 bytes). Contacts nobody.
    /// - Parameter timesOut: whether `message.timeout.ms` applies to a producer's records. `false`: a record is tried
    ///   for as long as the client lives.
    init(_ name: String, client: ClientHandle, timesOut: Bool = true) throws(KafkaError) {
        var configuration: OpaquePointer?
        if !timesOut {
            configuration = rd_kafka_default_topic_conf_dup(client.pointer)
            // 0 means no limit. The name is known and the value valid, so the call cannot fail.
            rd_kafka_topic_conf_set(configuration, "message.timeout.ms", "0", nil, 0)
        }
        // librdkafka takes the configuration over, unless it fails.
        guard let pointer = rd_kafka_topic_new(client.pointer, name, configuration) else {
            if let configuration { rd_kafka_topic_conf_destroy(configuration) }
            throw KafkaError(rd_kafka_last_error(), subject: .topic(name))
        }
        self.name = name
        self.pointer = pointer
        self.client = client
    }

    /// Ends the run of the consume callback that is executing now.
    func yield() { rd_kafka_yield(self.client.pointer) }

    deinit { rd_kafka_topic_destroy(self.pointer) }
}
