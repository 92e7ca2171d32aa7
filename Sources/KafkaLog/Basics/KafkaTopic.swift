import CRDKafka

/// A topic as one client knows it. A producer's is made once with `KafkaProducer.topic` and used for every record.
///
/// `@unchecked Sendable`: the pointer never changes and librdkafka's topics may be used from any thread.
public final class KafkaTopic: @unchecked Sendable {
    public let name: String
    let pointer: OpaquePointer
    private let client: ClientHandle

    /// The handle for a topic name (1–249 bytes). Contacts nobody.
    init(_ name: String, client: ClientHandle) throws(KafkaError) {
        guard let pointer = rd_kafka_topic_new(client.pointer, name, nil) else {
            throw KafkaError(rd_kafka_last_error(), subject: .topic(name))
        }
        self.name = name
        self.pointer = pointer
        self.client = client
    }

    /// Inside a consume callback: this was the last one for now.
    func yield() { rd_kafka_yield(self.client.pointer) }

    deinit { rd_kafka_topic_destroy(self.pointer) }
}
