import CRDKafka

/// A client's handle of a topic. For a producer, make it once with `KafkaProducer.topic` and use it for every record.
///
/// `@unchecked Sendable`: the pointer never changes and librdkafka's topics may be used from any thread.
public final class KafkaTopic: @unchecked Sendable {
    /// The topic's name as it was given to the client.
    public let name: String
    let pointer: OpaquePointer
    private let client: ClientHandle

    /// Makes the handle for a topic name (1–249 bytes). Contacts nobody.
    /// - Parameter timesOut: whether a producer gives a record up after `message.timeout.ms`. `false`: it tries the
    ///   record as long as the client exists.
    init(_ name: String, client: ClientHandle, timesOut: Bool = true) throws(KafkaError) {
        var configuration: OpaquePointer?
        if !timesOut {
            configuration = rd_kafka_default_topic_conf_dup(client.pointer)
            // 0 means no limit. The name is known and the value valid, so the call cannot fail.
            rd_kafka_topic_conf_set(configuration, "message.timeout.ms", "0", nil, 0)
        }
        // librdkafka owns the configuration from here on, unless this call fails.
        guard let pointer = rd_kafka_topic_new(client.pointer, name, configuration) else {
            if let configuration { rd_kafka_topic_conf_destroy(configuration) }
            throw KafkaError(rd_kafka_last_error(), subject: .topic(name))
        }
        self.name = name
        self.pointer = pointer
        self.client = client
    }

    /// Makes librdkafka return from the consume call whose callback is running now. Only the callback itself calls
    /// this.
    func yield() { rd_kafka_yield(self.client.pointer) }

    deinit { rd_kafka_topic_destroy(self.pointer) }
}
