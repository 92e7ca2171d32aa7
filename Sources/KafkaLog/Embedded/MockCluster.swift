import CRDKafka
import Dispatch
import Synchronization

/// Owns librdkafka's mock cluster and the client to which the mock belongs.
final class MockCluster: Sendable {
    let bootstrap: String
    let brokerCount: Int
    private let client: ClientHandle
    private let state: Mutex<State>

    /// The mock, `nil` once stopped, and the names of its topics.
    ///
    /// `@unchecked Sendable`: used under the lock only. The mock's functions may be called from any thread, but not
    /// while the mock is being destroyed.
    private struct State: ~Copyable, @unchecked Sendable {
        var mock: OpaquePointer?
        var topics: Set<String> = []
    }

    init(brokerCount: Int, log: KafkaLogHandler?) throws(KafkaError) {
        var client = ClientConfiguration(role: .producer)
        try client.set("client.id", "mailboat-embedded")
        self.client = try client.makeClient(log: log)
        guard let mock = rd_kafka_mock_cluster_new(self.client.pointer, Int32(brokerCount)) else {
            throw KafkaError(
                code: .transport, text: "librdkafka could not start its mock cluster (no free port on 127.0.0.1?)")
        }
        self.bootstrap = String(cString: rd_kafka_mock_cluster_bootstraps(mock))
        self.brokerCount = brokerCount
        self.state = Mutex(State(mock: mock))
    }

    deinit { self.stop() }

    func createTopic(_ topic: EmbeddedKafka.Topic) throws(KafkaError) {
        guard (1...EmbeddedKafka.partitionCountMax).contains(topic.partitionCount) else {
            throw KafkaError(
                code: .invalidArgument,
                text: "a topic has 1 to \(EmbeddedKafka.partitionCountMax) partitions, not \(topic.partitionCount)",
                subject: .topic(topic.name))
        }
        guard !topic.name.isEmpty, topic.name.utf8.count <= 249 else {
            throw KafkaError(
                code: .invalidArgument, text: "a topic name has 1 to 249 bytes", subject: .topic(topic.name))
        }
        let failure = self.state.withLock { state -> rd_kafka_resp_err_t in
            guard let mock = state.mock else { return RD_KAFKA_RESP_ERR__DESTROY }
            guard state.topics.insert(topic.name).inserted else { return RD_KAFKA_RESP_ERR_TOPIC_ALREADY_EXISTS }
            return rd_kafka_mock_topic_create(
                mock, topic.name, Int32(topic.partitionCount), Int32(min(3, self.brokerCount)))
        }
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(failure, subject: .topic(topic.name)) }
    }

    func forEachBroker(_ broker: Int32?, _ body: (OpaquePointer, Int32) -> rd_kafka_resp_err_t) {
        self.state.withLock { state in
            guard let mock = state.mock else { return }
            if let broker {
                _ = body(mock, broker)
            } else {
                for broker in 1...Int32(self.brokerCount) { _ = body(mock, broker) }
            }
        }
    }

    private static let leadersAtOnceMax = 64

    /// Sets the leaders of many partitions at once, each on a thread of its own. The mock looks at its commands about
    /// every eighth of a second, and then executes all waiting commands. So single commands, one after the other, would
    /// be slow.
    func setLeader(of partitions: [TopicPartition], broker: Int32?) {
        self.state.withLock { state in
            guard let mock = state.mock else { return }
            let address = UInt(bitPattern: mock)
            for start in stride(from: 0, to: partitions.count, by: Self.leadersAtOnceMax) {
                let some = DispatchGroup()
                for partition in partitions[start..<min(start + Self.leadersAtOnceMax, partitions.count)] {
                    some.enter()
                    NamedThread.start("kafka-leader") {
                        if let mock = OpaquePointer(bitPattern: address) {
                            _ = rd_kafka_mock_partition_set_leader(
                                mock, partition.topic, partition.partition, broker ?? -1)
                        }
                        some.leave()
                    }
                }
                // The lock is held until all threads have ended, so that the mock is not destroyed earlier.
                some.wait()
            }
        }
    }

    /// Queues failures of the next requests with that API key.
    /// - Parameter broker: the broker whose requests fail; `nil`: the next requests to any broker fail.
    func failRequests(apiKey: Int16, code: KafkaError.Code, count: Int, broker: Int32?) {
        guard count > 0 else { return }
        if let broker {
            return self.state.withLock { state in
                guard let mock = state.mock else { return }
                for _ in 0..<count {
                    _ = mailboat_rd_kafka_mock_broker_fail_next(
                        mock, broker, apiKey, rd_kafka_resp_err_t(rawValue: code.rawValue))
                }
            }
        }
        let errors = [rd_kafka_resp_err_t](repeating: rd_kafka_resp_err_t(rawValue: code.rawValue), count: count)
        self.state.withLock { state in
            guard let mock = state.mock else { return }
            rd_kafka_mock_push_request_errors_array(mock, apiKey, errors.count, errors)
        }
    }

    func clearFailures(apiKey: Int16) {
        self.state.withLock { state in
            guard let mock = state.mock else { return }
            rd_kafka_mock_clear_request_errors(mock, apiKey)
        }
    }

    func stop() {
        self.state.withLock { state in
            guard let mock = state.mock else { return }
            state.mock = nil
            rd_kafka_mock_cluster_destroy(mock)
        }
    }
}
