import CRDKafka

/// Administers the topics and consumer groups of a cluster. Every method blocks. A method makes up to three requests,
/// one after the other, and each of them may take about the method's `limit`.
public final class KafkaAdmin: Sendable {
    private let client: ClientHandle
    /// The queue on which librdkafka reports why it cannot connect. Read and emptied after each failure.
    private let events: KafkaQueue

    /// Checks the settings and makes a client for administration alone.
    /// - Parameter log: receives librdkafka's log lines; `nil`: standard error.
    /// - Throws: the error of a property that librdkafka does not accept.
    public init(_ settings: KafkaSettings, log: KafkaLogHandler? = nil) throws(KafkaError) {
        let client = try ClientConfiguration.withoutGroup(settings)
        rd_kafka_conf_set_events(client.pointer, RD_KAFKA_EVENT_ERROR)
        self.client = try client.makeClient(log: log)
        self.events = KafkaQueue(rd_kafka_queue_get_main(self.client.pointer))
    }

    /// The cluster's identifier; `nil` when no broker gave it within `limit`.
    public func clusterID(within limit: Duration) -> String? { self.client.clusterID(within: limit) }

    /// Describes the topics in `names` that exist, sorted by name; all topics when `names` is `nil`. This method always
    /// asks for the list of all topics, because asking for a topic by name makes some brokers create it.
    public func describeTopics(_ names: [String]? = nil, within limit: Duration) throws(KafkaError)
        -> [TopicDescription]
    {
        let metadata = try self.metadata(within: limit)
        defer { rd_kafka_metadata_destroy(metadata) }
        let wanted = names.map { Set($0) }
        var topics: [TopicDescription] = []
        for index in 0..<Int(metadata.pointee.topic_cnt) {
            let topic = metadata.pointee.topics[index]
            let name = String(cString: topic.topic)
            guard wanted?.contains(name) ?? true, topic.err == RD_KAFKA_RESP_ERR_NO_ERROR else { continue }
            topics.append(
                TopicDescription(
                    name: name, partitionCount: Int(topic.partition_cnt),
                    replicationFactor: topic.partition_cnt > 0 ? Int(topic.partitions[0].replica_cnt) : 0))
        }
        return topics.sorted { $0.name < $1.name }
    }

    /// Why `describeTopics` does not list a topic. The list of all topics omits those that the client may not describe.
    /// So this method asks for the single topic, and the broker answers with the reason. `nil` when no right is
    /// missing, or when the cluster has no administration.
    public func refusal(toShow topic: String, within limit: Duration) throws(KafkaError) -> KafkaError? {
        do throws(KafkaError) {
            // A cluster without administration has no rights, and may create a topic that is asked for by name.
            try self.requireController(within: limit)
        } catch {
            guard error.code == .unsupportedFeature else { throw error }
            return nil
        }
        let handle = try KafkaTopic(topic, client: self.client)
        var found: UnsafePointer<rd_kafka_metadata>?
        let failure = rd_kafka_metadata(self.client.pointer, 0, handle.pointer, &found, limit.wholeMillis)
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = found else {
            throw KafkaError(failure, subject: .topic(topic))
        }
        defer { rd_kafka_metadata_destroy(metadata) }
        guard metadata.pointee.topic_cnt > 0 else { return nil }
        let code = metadata.pointee.topics[0].err
        guard code == RD_KAFKA_RESP_ERR_TOPIC_AUTHORIZATION_FAILED else { return nil }
        return KafkaError(code, subject: .topic(topic)).needing(.describe)
    }

    /// Asks for the cluster's brokers and topics; the caller destroys the answer. While librdkafka cannot connect, it
    /// only waits. So this method asks in short tries, and gives up early if a password or certificate was refused.
    private func metadata(within limit: Duration) throws(KafkaError) -> UnsafePointer<rd_kafka_metadata> {
        let deadline = ContinuousClock.now + limit
        var slice = Self.metadataSliceMin
        var complaint: KafkaError?
        while true {
            var found: UnsafePointer<rd_kafka_metadata>?
            let wait = min(slice, max(.milliseconds(1), deadline - .now))
            let failure = rd_kafka_metadata(self.client.pointer, 1, nil, &found, wait.wholeMillis)
            if failure == RD_KAFKA_RESP_ERR_NO_ERROR, let metadata = found { return metadata }
            complaint = self.takeComplaint() ?? complaint
            if let complaint, complaint.isRefusal { throw complaint }
            let error = self.client.error(failure)
            if error.isWithoutToken { throw error }
            guard error.code == .timedOut || error.code == .transport, ContinuousClock.now < deadline else {
                // The reason why no broker could be asked, such as a refused connection, tells an operator more than
                // "timed out".
                throw complaint.map { KafkaError(code: error.code, text: $0.text) } ?? error
            }
            if error.code == .transport { Sleeping.sleep(.milliseconds(100)) }
            slice = min(slice * 2, limit)
        }
    }

    /// Time limit of the first try. Each further try has twice the time.
    private static let metadataSliceMin = Duration.seconds(1)

    /// Why connections failed since the last call: a refusal if there was one, otherwise the latest error.
    private func takeComplaint() -> KafkaError? {
        var complaint: KafkaError?
        while let event = rd_kafka_queue_poll(self.events.pointer, 0) {
            defer { rd_kafka_event_destroy(event) }
            // Other events are not errors. `KafkaError` would read them as errors with the text "Success".
            guard rd_kafka_event_type(event) == RD_KAFKA_EVENT_ERROR else { continue }
            let error = KafkaError(event: event, client: self.client)
            // This error may be outdated, because a token may have arrived since.
            if error.isWithoutToken { continue }
            // "All brokers down" only follows the error that is the cause, so it must not replace that error.
            if error.code != .allBrokersDown, complaint?.isRefusal != true { complaint = error }
        }
        return complaint
    }

    /// Creates topics, waits until they exist, and returns an answer for each topic. If a topic already exists, its
    /// error is Kafka's `TOPIC_ALREADY_EXISTS`, and the topic is not changed. Throws `unsupportedFeature` for a cluster
    /// without administration, such as the embedded one.
    /// - Parameter isOnlyAsked: `true`: creates nothing, and only asks the brokers whether they would. They also check
    ///   the cluster's policies.
    public func createTopics(
        _ topics: [NewTopic], within limit: Duration, isOnlyAsked: Bool = false
    ) throws(KafkaError) -> [TopicAnswer] {
        guard !topics.isEmpty else { return [] }
        var requests: [OpaquePointer?] = []
        defer { for request in requests { rd_kafka_NewTopic_destroy(request) } }
        for topic in topics {
            let reasonCapacity = 512
            var reason = [CChar](repeating: 0, count: reasonCapacity)
            guard
                let request = rd_kafka_NewTopic_new(
                    topic.name, Int32(clamping: topic.partitionCount), Int32(clamping: topic.replicationFactor),
                    &reason, reasonCapacity)
            else {
                throw KafkaError(
                    code: .invalidArgument, text: reason.withUnsafeBufferPointer { String(cString: $0.baseAddress!) },
                    subject: .topic(topic.name))
            }
            requests.append(request)
            for (name, value) in topic.configuration {
                let failure = rd_kafka_NewTopic_set_config(request, name, value)
                guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
                    throw KafkaError(failure, subject: .setting(name: name, value: value))
                }
            }
        }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_CREATETOPICS, within: limit, isOnlyAsked: isOnlyAsked,
            { client, options, queue in rd_kafka_CreateTopics(client, &requests, requests.count, options, queue) },
            { event throws(KafkaError) in
                Self.entries(of: rd_kafka_event_CreateTopics_result(event), rd_kafka_CreateTopics_result_topics)
                    .map { Self.answer($0, needing: .create) }
            })
    }

    /// Reads the broker's answer for a topic. The operation needs `right`.
    static func answer(_ answer: OpaquePointer, needing right: KafkaRight) -> TopicAnswer {
        let name = String(cString: rd_kafka_topic_result_name(answer))
        let code = rd_kafka_topic_result_error(answer)
        guard code != RD_KAFKA_RESP_ERR_NO_ERROR else { return TopicAnswer(name: name, error: nil) }
        let text = rd_kafka_topic_result_error_string(answer).map { String(cString: $0) }
        return TopicAnswer(name: name, error: KafkaError(code, subject: .topic(name), text: text).needing(right))
    }

    /// Each topic's settings by name. They include the broker's defaults, but no value that the broker calls sensitive.
    public func topicConfigurations(_ names: [String], within limit: Duration) throws(KafkaError) -> [String: [String:
        String]]
    {
        guard !names.isEmpty else { return [:] }
        var resources: [OpaquePointer?] = names.map { rd_kafka_ConfigResource_new(RD_KAFKA_RESOURCE_TOPIC, $0) }
        defer { for resource in resources { rd_kafka_ConfigResource_destroy(resource) } }
        return try self.ask(
            RD_KAFKA_ADMIN_OP_DESCRIBECONFIGS, within: limit,
            { client, options, queue in rd_kafka_DescribeConfigs(client, &resources, resources.count, options, queue) },
            { event throws(KafkaError) in
                let answers = Self.entries(
                    of: rd_kafka_event_DescribeConfigs_result(event), rd_kafka_DescribeConfigs_result_resources)
                var configurations: [String: [String: String]] = [:]
                for answer in answers {
                    let name = String(cString: rd_kafka_ConfigResource_name(answer))
                    let code = rd_kafka_ConfigResource_error(answer)
                    guard code == RD_KAFKA_RESP_ERR_NO_ERROR else {
                        throw KafkaError(
                            code, subject: .topic(name),
                            text: rd_kafka_ConfigResource_error_string(answer).map { String(cString: $0) }
                        ).needing(.describeConfigs)
                    }
                    configurations[name] = Self.values(of: answer)
                }
                return configurations
            })
    }

    private static func values(of resource: OpaquePointer) -> [String: String] {
        var values: [String: String] = [:]
        for entry in Self.entries(of: resource, rd_kafka_ConfigResource_configs)
        where rd_kafka_ConfigEntry_is_sensitive(entry) == 0 {
            guard let value = rd_kafka_ConfigEntry_value(entry) else { continue }
            values[String(cString: rd_kafka_ConfigEntry_name(entry))] = String(cString: value)
        }
        return values
    }

    /// Throws if the cluster has no administration, because librdkafka would wait for a controller that never answers.
    /// Such a cluster names a controller that is not one of its brokers. (librdkafka's mock cluster names broker 0, and
    /// its brokers have numbers from 1.)
    private func requireController(within limit: Duration) throws(KafkaError) {
        // The metadata is read first, because `metadata` notices a refused login.
        let metadata = try self.metadata(within: limit)
        defer { rd_kafka_metadata_destroy(metadata) }
        let controller = rd_kafka_controllerid(self.client.pointer, limit.wholeMillis)
        guard controller >= 0 else {
            throw KafkaError(code: .timedOut, text: "the cluster named no controller in time")
        }
        guard (0..<Int(metadata.pointee.broker_cnt)).contains(where: { metadata.pointee.brokers[$0].id == controller })
        else {
            throw KafkaError(
                code: .unsupportedFeature,
                text: "the cluster has no controller to ask: it offers no administration, like the embedded cluster")
        }
    }

    /// The entries of a result of librdkafka; empty when `whole` is `nil`. They are valid until the result's event is
    /// destroyed.
    static func entries(
        of whole: OpaquePointer?,
        _ list: (OpaquePointer?, UnsafeMutablePointer<Int>?) -> UnsafeMutablePointer<OpaquePointer?>?
    ) -> [OpaquePointer] {
        var count = 0
        guard let whole, let entries = list(whole, &count) else { return [] }
        return (0..<count).compactMap { entries[$0] }
    }

    /// Sends one admin request and waits for its answer, which `read` converts.
    func ask<Answer>(
        _ operation: rd_kafka_admin_op_t, within limit: Duration, isOnlyAsked: Bool = false,
        _ send: (OpaquePointer, OpaquePointer?, OpaquePointer) -> Void,
        _ read: (OpaquePointer) throws(KafkaError) -> Answer
    ) throws(KafkaError) -> Answer {
        try self.requireController(within: limit)
        let options = rd_kafka_AdminOptions_new(self.client.pointer, operation)
        defer { rd_kafka_AdminOptions_destroy(options) }
        let reasonCapacity = 512
        var reason = [CChar](repeating: 0, count: reasonCapacity)
        _ = rd_kafka_AdminOptions_set_request_timeout(options, limit.wholeMillis, &reason, reasonCapacity)
        if operation == RD_KAFKA_ADMIN_OP_CREATETOPICS {
            // This is the time that the controller may wait until every broker knows the topic.
            _ = rd_kafka_AdminOptions_set_operation_timeout(options, limit.wholeMillis, &reason, reasonCapacity)
        }
        if isOnlyAsked {
            let failure = rd_kafka_AdminOptions_set_validate_only(options, 1, &reason, reasonCapacity)
            // Without this option the brokers would create the topics.
            guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else { throw KafkaError(failure) }
        }
        let answers = KafkaQueue(rd_kafka_queue_new(self.client.pointer))
        send(self.client.pointer, options, answers.pointer)
        guard let event = rd_kafka_queue_poll(answers.pointer, (limit + .seconds(1)).wholeMillis) else {
            throw KafkaError(code: .timedOut)
        }
        defer { rd_kafka_event_destroy(event) }
        let failure = rd_kafka_event_error(event)
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else {
            throw KafkaError(failure, text: rd_kafka_event_error_string(event).map { String(cString: $0) })
        }
        return try read(event)
    }
}
