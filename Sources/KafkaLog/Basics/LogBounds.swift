import CRDKafka

/// Asks for the first and next offsets of many partitions. A request to a leader covers all its partitions.
enum LogBounds {
    /// Asks for the first and next offset of each partition. Instead of a timestamp, Kafka's ListOffsets takes -2 for
    /// "earliest" and -1 for "latest". `rd_kafka_offsets_for_times` passes the number on.
    static func query(
        client: ClientHandle, _ partitions: [TopicPartition], until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> (low: [Int64], end: [Int64]) {
        let low = try self.offsets(client: client, partitions, time: LogStart.beginning.rawOffset, until: deadline)
        let end = try self.offsets(client: client, partitions, time: LogStart.end.rawOffset, until: deadline)
        return (low, end)
    }

    private static func offsets(
        client: ClientHandle, _ partitions: [TopicPartition], time: Int64, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [Int64] {
        var withoutLeader: KafkaError?
        while true {
            do throws(KafkaError) {
                return try self.ask(client: client, partitions, time: time, until: deadline)
            } catch {
                // A partition has no leader for a moment when its topic is new, or when a broker stops.
                guard error.code.isOfLeader, ContinuousClock.now + self.leaderPause < deadline else {
                    // The earlier error is thrown, because it names the partition without a leader.
                    throw error.code == .timedOut ? withoutLeader ?? error : error
                }
                withoutLeader = error
                Sleeping.sleep(self.leaderPause)
            }
        }
    }

    /// Pause before the leader of a partition is asked again. Meanwhile librdkafka looks for the new leader.
    private static let leaderPause = Duration.milliseconds(100)

    private static func ask(
        client: ClientHandle, _ partitions: [TopicPartition], time: Int64, until deadline: ContinuousClock.Instant
    ) throws(KafkaError) -> [Int64] {
        guard !partitions.isEmpty else { return [] }
        let list = PartitionList(
            partitions.map { TopicPartitionOffset(topic: $0.topic, partition: $0.partition, offset: time) })
        let failure = rd_kafka_offsets_for_times(client.pointer, list.pointer, max(1, (deadline - .now).wholeMillis))
        guard failure == RD_KAFKA_RESP_ERR_NO_ERROR else { throw client.error(failure) }
        var offsets: [Int64] = []
        for (index, partition) in partitions.enumerated() {
            let element = list[index]
            guard element.error == RD_KAFKA_RESP_ERR_NO_ERROR else {
                throw KafkaError(element.error, subject: .partition(partition))
            }
            offsets.append(element.offset)
        }
        return offsets
    }
}
