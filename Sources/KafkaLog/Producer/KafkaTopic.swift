import CRDKafka

/// A topic that a producer writes to. Made once with `KafkaProducer.topic`, used for every record.
///
/// `@unchecked Sendable`: the pointer never changes and librdkafka's topics may be used from any thread.
public final class KafkaTopic: @unchecked Sendable {
    public let name: String
    let pointer: OpaquePointer
    private let client: ClientHandle

    init(_ pointer: OpaquePointer, name: String, client: ClientHandle) {
        self.name = name
        self.pointer = pointer
        self.client = client
    }

    deinit { rd_kafka_topic_destroy(self.pointer) }
}
