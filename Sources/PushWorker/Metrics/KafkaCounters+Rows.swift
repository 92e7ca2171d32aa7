extension KafkaCounters {
    static let rows: [CounterRow<KafkaCounters>] = [
        .total("mailboat_kafka_produced_records_total", "Records handed to the producers.", \.recordsProduced),
        .total(
            "mailboat_kafka_delivery_failures_total", "Records Kafka did not take; they are produced again.",
            \.deliveriesFailed),
        .gauge("mailboat_kafka_retries_waiting", "Records that wait to be produced again.", \.retriesWaiting),
        .total("mailboat_kafka_queue_full_total", "Times a producer had no room: back-pressure.", \.queueFull),
        .total("mailboat_kafka_commits_total", "Batches of offsets committed.", \.commits),
        .total("mailboat_kafka_commit_failures_total", "Batches of which something was refused.", \.commitsFailed),
        .total("mailboat_kafka_rebalances_total", "Assignments and revocations.", \.rebalances),
        .total("mailboat_state_restored_records_total", "Records read from the state topic.", \.restoredRecords),
    ]

    /// Sums over shards.
    mutating func add(_ other: KafkaCounters) { for row in Self.rows { row.add(other, to: &self) } }
}
