import CRDKafka
import Glibc

/// Owns one `rd_kafka_topic_partition_list_t`.
struct PartitionList: ~Copyable {
    let pointer: UnsafeMutablePointer<rd_kafka_topic_partition_list_t>

    init(capacity: Int) { self.pointer = rd_kafka_topic_partition_list_new(Int32(clamping: capacity)) }

    init(_ partitions: [TopicPartition]) {
        self.init(capacity: partitions.count)
        for partition in partitions { self.add(partition.topic, partition.partition) }
    }

    init(_ positions: [TopicPartitionOffset]) {
        self.init(capacity: positions.count)
        for position in positions {
            self.add(position.topic, position.partition, offset: position.offset, metadata: position.metadata)
        }
    }

    deinit { rd_kafka_topic_partition_list_destroy(self.pointer) }

    func add(_ topic: String, _ partition: Int32, offset: Int64? = nil, metadata: String? = nil) {
        let element = rd_kafka_topic_partition_list_add(self.pointer, topic, partition)
        if let offset { element?.pointee.offset = offset }
        if let metadata, let bytes = strdup(metadata) {
            // The list itself will free this memory.
            element?.pointee.metadata = UnsafeMutableRawPointer(bytes)
            element?.pointee.metadata_size = strlen(bytes)
        }
    }

    var count: Int { Int(self.pointer.pointee.cnt) }

    /// The element at `index`, which is in 0..<count.
    subscript(index: Int) -> Element { Element(self.pointer.pointee.elems[index]) }

    struct Element {
        let topicPartition: TopicPartition
        let offset: Int64
        let error: rd_kafka_resp_err_t
        /// Metadata of the commit; `nil`: none.
        let metadata: String?

        init(_ raw: rd_kafka_topic_partition_t) {
            self.topicPartition = TopicPartition(topic: String(cString: raw.topic), partition: raw.partition)
            self.offset = raw.offset
            self.error = raw.err
            self.metadata =
                raw.metadata_size > 0
                ? raw.metadata.map {
                    String(decoding: UnsafeRawBufferPointer(start: $0, count: raw.metadata_size), as: UTF8.self)
                } : nil
        }
    }

    /// Copies a list that librdkafka owns.
    static func elements(of list: UnsafePointer<rd_kafka_topic_partition_list_t>) -> [Element] {
        (0..<Int(list.pointee.cnt)).map { Element(list.pointee.elems[$0]) }
    }
}
