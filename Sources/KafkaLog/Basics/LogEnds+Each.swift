import CRDKafka

/// Asks for the first and next offsets of many partitions, even if some of them have no answer.
extension LogBounds {
    /// The first and next offset of one partition, or why they are not known.
    typealias Answer = Result<(low: Int64, end: Int64), KafkaError>

    /// Works like `query`, but returns an answer or an error for each partition, in order. If one partition has no
    /// leader, librdkafka waits for one, and then gives no answer for any partition
    /// (`rd_kafka_topic_partition_list_query_leaders` of 2.0.2). A leader that does not answer has the same effect. So
    /// if the question about all partitions fails, this method reads each partition's leader from the metadata and asks
    /// each leader separately.
    /// - Throws: a fatal error of the client, or the error of reading the metadata.
    static func queryEach(
        client: ClientHandle, _ partitions: [TopicPartition], until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [Answer] {
        guard !partitions.isEmpty else { return [] }
        do throws(KafkaError) {
            return try self.ask(client: client, partitions, until: .now + (deadline - .now) / 3)
        } catch {
            guard !error.isFatal else { throw error }
        }
        let cluster = try ClusterMetadata(
            client: client, topics: Set(partitions.map(\.topic)), until: .now + (deadline - .now) / 3)
        var answers: [Answer?] = Array(repeating: nil, count: partitions.count)
        var byLeader: [Int32: [Int]] = [:]
        for (index, partition) in partitions.enumerated() {
            switch cluster.leader(of: partition) {
            case .success(let leader): byLeader[leader, default: []].append(index)
            case .failure(let error): answers[index] = .failure(error)
            }
        }
        var leftCount = byLeader.count
        for (_, indexes) in byLeader.sorted(by: { $0.key < $1.key }) {
            let limit = ContinuousClock.now + max(.milliseconds(1), deadline - .now) / leftCount
            leftCount -= 1
            do throws(KafkaError) {
                let found = try self.ask(client: client, indexes.map { partitions[$0] }, until: limit)
                for (index, answer) in zip(indexes, found) { answers[index] = answer }
            } catch {
                for index in indexes { answers[index] = .failure(error) }
            }
        }
        return answers.enumerated().map { index, answer in
            answer ?? .failure(KafkaError(code: .timedOut, subject: .partition(partitions[index])))
        }
    }

    private static func ask(
        client: ClientHandle, _ partitions: [TopicPartition], until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [Answer] {
        let low = try self.each(client: client, partitions, time: LogStart.beginning.rawOffset, until: deadline)
        let end = try self.each(client: client, partitions, time: LogStart.end.rawOffset, until: deadline)
        return zip(low, end).map { low, end in
            switch (low, end) {
            case (.success(let low), .success(let end)): .success((low, end))
            case (.failure(let error), _), (_, .failure(let error)): .failure(error)
            }
        }
    }

    private static func each(
        client: ClientHandle, _ partitions: [TopicPartition], time: Int64, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [Result<Int64, KafkaError>] {
        let list = PartitionList(
            partitions.map { TopicPartitionOffset(topic: $0.topic, partition: $0.partition, offset: time) })
        let failure = rd_kafka_offsets_for_times(client.pointer, list.pointer, max(1, (deadline - .now).wholeMillis))
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else { throw client.error(failure) }
        return partitions.indices.map { index in
            let element = list[index]
            // If no broker was asked about a partition, its element still has the negative `time` as its offset.
            guard element.error == RD_KAFKA_RESP_ERR_NO_ERROR, element.offset >= 0 else {
                let code =
                    element.error == RD_KAFKA_RESP_ERR_NO_ERROR ? RD_KAFKA_RESP_ERR__UNKNOWN_PARTITION : element.error
                return .failure(KafkaError(code, subject: .partition(partitions[index])).needing(.read))
            }
            return .success(element.offset)
        }
    }
}
